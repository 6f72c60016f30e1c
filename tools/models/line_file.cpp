// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/line_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>

namespace pmukit::models {

namespace {

constexpr size_t kBufferBytes = size_t{64} * 1024;

}  // namespace

Result<LineFile> LineFile::create(const std::string &what, const std::string &path)
{
    LineFile out;
    out.name_ = what + " " + path;
    out.file_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!out.file_)
        return Error{Errc::kIo, "cannot create " + out.name_ + ": " + std::strerror(errno)};
    out.buffer_.resize(kBufferBytes);
    return out;
}

LineFile::~LineFile()
{
    flush();
}

void LineFile::append(std::string_view line)
{
    assert(line.size() <= kMaxLineBytes);
    if (!file_)
        return;
    if (line.size() > buffer_.size() - used_)
        flush();
    std::memcpy(buffer_.data() + used_, line.data(), line.size());
    used_ += line.size();
}

void LineFile::flush()
{
    size_t done = 0;
    while (file_ && failure_ == 0 && done < used_) {
        const ssize_t n = ::write(file_.get(), buffer_.data() + done, used_ - done);
        if (n >= 0)
            done += static_cast<size_t>(n);
        else if (errno != EINTR)
            failure_ = errno;
    }
    used_ = 0;
}

Result<void> LineFile::close()
{
    flush();
    if (file_ && ::close(file_.release()) != 0 && failure_ == 0)
        failure_ = errno;
    if (failure_ != 0)
        return Error{Errc::kIo, name_ + ": " + std::strerror(failure_)};
    return {};
}

}  // namespace pmukit::models
