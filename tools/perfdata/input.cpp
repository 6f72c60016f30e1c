// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "perfdata/output/destination.hpp"

namespace pmukit::perfdata {

Input Input::memory(Bytes bytes)
{
    Input input;
    input.all_ = bytes;
    return input;
}

Input Input::fed()
{
    Input input;
    input.window_ = std::make_unique_for_overwrite<std::byte[]>(kWindowBytes);
    input.ended_ = false;
    return input;
}

Result<Input> Input::open(const std::string &path)
{
    const bool standard = path == "-";
    // The user names this file, so a FIFO is allowed, as in perf: open() waits for its writer.
    Fd fd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                   : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return system_error(path, errno);
    return of_fd(std::move(fd), standard ? "standard input" : path);
}

Result<Input> Input::open_part(const std::string &path)
{
    Result<Fd> fd = open_untrusted("", path);
    return fd ? of_fd(std::move(*fd), path) : fd.error();
}

Result<Input> Input::of_fd(Fd fd, std::string name)
{
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0)
        return system_error(name, errno);
    if (S_ISDIR(status.st_mode))
        return Error{Errc::kUnsupported, name + ": a directory, not a recording"};
    if (!S_ISREG(status.st_mode)) {
        Input input = fed();
        input.fd_ = std::move(fd);
        input.name_ = std::move(name);
        return input;
    }
    Result<MappedFile> file = MappedFile::map(fd.get(), name);
    if (!file)
        return file.error();
    Input input;
    input.file_ = std::make_unique<MappedFile>(std::move(*file));
    input.all_ = input.file_->bytes();
    return input;
}

void Input::discard_before(uint64_t offset)
{
    size_t gone = static_cast<size_t>(std::min<uint64_t>(offset - begin_, last_ - first_));
    begin_ += gone;
    first_ += gone;
}

void Input::make_room(size_t wanted)
{
    if (wanted <= kWindowBytes - first_)
        return;
    std::memmove(window_.get(), window_.get() + first_, last_ - first_);
    last_ -= first_;
    first_ = 0;
}

Result<Bytes> Input::at(uint64_t offset, size_t wanted)
{
    if (whole())
        return all_.subspan(std::min<uint64_t>(offset, all_.size()));
    discard_before(offset);
    make_room(wanted);
    while (last_ - first_ < wanted && !ended_ && fd_) {
        ssize_t got = ::read(fd_.get(), window_.get() + last_, kWindowBytes - last_);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error(name_, errno);
        ended_ = got == 0;
        last_ += static_cast<size_t>(got);
    }
    return Bytes(window_.get() + first_, last_ - first_);
}

size_t Input::feed(Bytes bytes)
{
    make_room(kWindowBytes);
    size_t taken = std::min(bytes.size(), kWindowBytes - last_);
    if (taken)
        std::memcpy(window_.get() + last_, bytes.data(), taken);
    last_ += taken;
    return taken;
}

}  // namespace pmukit::perfdata
