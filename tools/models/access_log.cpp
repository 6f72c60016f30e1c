// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/access_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace pmukit::models {

namespace {

constexpr size_t kBufferBytes = size_t{64} * 1024;
constexpr size_t kLineBytes = 32;  // "W 0x" + 16 digits + " " + 10 digits + newline is 32 at most
constexpr std::string_view kFirstLine = "# pmukit access log 1\n";

}  // namespace

Result<AccessLog> AccessLog::create(const std::string &path)
{
    AccessLog log;
    log.path_ = path;
    log.file_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!log.file_)
        return Error{Errc::kIo, "cannot create access log " + path + ": " + std::strerror(errno)};
    log.buffer_.resize(kBufferBytes);
    std::memcpy(log.buffer_.data(), kFirstLine.data(), kFirstLine.size());
    log.used_ = kFirstLine.size();
    return log;
}

AccessLog::~AccessLog()
{
    flush();
}

void AccessLog::add(char kind, uint64_t dpa, unsigned width, uint64_t &tally)
{
    tally++;
    if (!file_)
        return;
    if (kLineBytes > buffer_.size() - used_)
        flush();
    char *at = buffer_.data() + used_;
    char *const end = buffer_.data() + buffer_.size();
    *at++ = kind;
    *at++ = ' ';
    *at++ = '0';
    *at++ = 'x';
    at = std::to_chars(at, end, dpa, 16).ptr;
    *at++ = ' ';
    at = std::to_chars(at, end, width).ptr;
    *at++ = '\n';
    used_ = static_cast<size_t>(at - buffer_.data());
}

void AccessLog::flush()
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

Result<void> AccessLog::close()
{
    flush();
    if (file_ && ::close(file_.release()) != 0 && failure_ == 0)
        failure_ = errno;
    if (failure_ != 0)
        return Error{Errc::kIo, "access log " + path_ + ": " + std::strerror(failure_)};
    return {};
}

}  // namespace pmukit::models
