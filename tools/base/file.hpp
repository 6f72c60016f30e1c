// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads small files whole, writes sequences of bytes whole, and maps files for reading.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit {

inline Error system_error(const std::string &what, int error)
{
    Errc code = error == ENOENT                     ? Errc::kNotFound
                : error == EACCES || error == EPERM ? Errc::kDenied
                : error == EPIPE                    ? Errc::kReaderLeft
                                                    : Errc::kIo;
    return Error{code, what + ": " + std::strerror(error)};
}

// What open_for_reading() opens.
enum class Readable {
    kFile,      // a regular file, also one of sysfs or procfs
    kPipeAlso,  // also a FIFO, for a file that the user names: <(ssh HOST cat /proc/kallsyms)
};

// Opens the file of an O_PATH descriptor for reading, if it is one. `path` is for messages.
inline Result<Fd> open_found(const Fd &found, const std::string &path, Readable readable)
{
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0)
        return system_error(path, errno);
    if (S_ISDIR(status.st_mode))
        return system_error(path, EISDIR);
    const bool pipe = S_ISFIFO(status.st_mode) && readable == Readable::kPipeAlso;
    if (!S_ISREG(status.st_mode) && !pipe)
        return Error{Errc::kUnsupported, path + ": not a regular file"};
    // Opens the file that was checked, even if another one has its name by now. Without O_NONBLOCK,
    // open() also waits if another process has a lease on the file.
    Fd fd(::open(("/proc/self/fd/" + std::to_string(found.get())).c_str(),
                 O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd || (pipe && ::fcntl(fd.get(), F_SETFL, 0) != 0))
        return system_error(path, errno);
    return fd;
}

// Opens a file for reading without waiting for anything. Nothing but a file is opened: open() of a
// FIFO waits for a writer, and open() of a device can affect it. A FIFO without a writer is empty.
inline Result<Fd> open_for_reading(const std::string &path, Readable readable = Readable::kFile)
{
    return open_found(Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)), path, readable);
}

// Reads a whole file. A longer file is an error.
inline Result<std::string> read_file(const std::string &path, size_t most_bytes,
                                     Readable readable = Readable::kFile)
{
    const Result<Fd> fd = open_for_reading(path, readable);
    if (!fd)
        return fd.error();
    std::string text;
    char chunk[4096];
    while (text.size() <= most_bytes) {
        ssize_t got = ::read(fd->get(), chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error(path, errno);
        if (got == 0)
            return text;
        text.append(chunk, static_cast<size_t>(got));
    }
    return Error{Errc::kUnsupported,
                 path + ": longer than " + std::to_string(most_bytes) + " bytes"};
}

// Reads a file of sysfs or procfs, which is about a page long. A file above 64 KiB is an error.
inline Result<std::string> read_small_file(const std::string &path)
{
    return read_file(path, 65536);
}

// Message for a mapped input that was truncated. Access to its missing pages raises SIGBUS; a
// system call that reads them fails with EFAULT.
inline constexpr std::string_view kInputIsGone =
    "the input became shorter while it was read, or its disk failed";

// Waits until a non-blocking fd accepts data. Another process that shares the terminal or pipe may
// have set O_NONBLOCK on it.
inline void wait_for_room(int fd)
{
    pollfd room{fd, POLLOUT, 0};
    ::poll(&room, 1, -1);  // ignores errors: the next write reports them
}

inline Result<void> write_all(int fd, Bytes bytes, const std::string &name)
{
    while (!bytes.empty()) {
        ssize_t put = ::write(fd, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN) {
            wait_for_room(fd);
            continue;
        }
        // The bytes belong to a mapped input file that became shorter. The output is not at fault.
        if (put < 0 && errno == EFAULT)
            return Error{Errc::kIo, std::string(kInputIsGone)};
        if (put < 0)
            return system_error(name, errno);
        bytes = bytes.subspan(static_cast<size_t>(put));
    }
    return {};
}

// Writes to a pipe. If stop_fd is readable and the pipe accepts no data for a second, returns an
// error. Other processes may share the pipe, so it stays in blocking mode. Each write therefore has
// at most PIPE_BUF bytes, which fit when poll() reports POLLOUT (pipe(7)).
inline Result<void> write_to_pipe(int fd, Bytes bytes, const std::string &name, int stop_fd)
{
    constexpr int kPatience_ms = 1000;
    while (!bytes.empty()) {
        pollfd fds[] = {{fd, POLLOUT, 0}, {stop_fd, POLLIN, 0}};
        ::poll(fds, 2, -1);
        if (fds[0].revents == 0 && fds[1].revents != 0 && ::poll(fds, 1, kPatience_ms) == 0)
            return Error{Errc::kIo,
                         name + ": stopped by a signal while it had no reader; incomplete"};
        if (fds[0].revents == 0)
            continue;
        const ssize_t put = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
        if (put < 0 && errno != EAGAIN && errno != EINTR)
            return system_error(name, errno);
        bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(put, 0)));
    }
    return {};
}

inline Bytes as_bytes(std::string_view text)
{
    return std::as_bytes(std::span(text.data(), text.size()));
}

// A file mapped for reading. Pages that were read can be dropped from memory. A later access reads
// a dropped page from the file again.
class MappedFile {
public:
    static Result<MappedFile> open(const std::string &path)
    {
        const Result<Fd> fd = open_for_reading(path);
        return fd ? map(fd->get(), path) : fd.error();
    }

    // The caller may close the descriptor. `name` is the name of the file in messages.
    static Result<MappedFile> map(int fd, const std::string &name)
    {
        struct stat status {};
        if (::fstat(fd, &status) != 0)
            return system_error(name, errno);
        if (!S_ISREG(status.st_mode))
            return Error{Errc::kUnsupported, name + ": not a regular file"};
        MappedFile file;
        file.size_ = static_cast<size_t>(status.st_size);
        if (file.size_ == 0)
            return file;
        void *at = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            return system_error(name, errno);
        file.at_ = static_cast<std::byte *>(at);
        ::madvise(at, file.size_, MADV_SEQUENTIAL);
        return file;
    }

    MappedFile(MappedFile &&other) noexcept
        : at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0))
    {
    }
    MappedFile &operator=(MappedFile &&) = delete;
    ~MappedFile()
    {
        if (at_)
            ::munmap(at_, size_);
    }

    Bytes bytes() const { return {at_, size_}; }

    // Drops the pages before the offset, in large steps, so that memory use does not grow with the
    // file. A later access reads them again.
    void forget_before(size_t offset)
    {
        constexpr size_t kStep = size_t{8} << 20;  // a multiple of every page size in use
        size_t until = offset > size_ ? size_ / kStep * kStep : offset / kStep * kStep;
        if (until <= forgotten_)
            return;
        ::madvise(at_ + forgotten_, until - forgotten_, MADV_DONTNEED);
        forgotten_ = until;
    }

    // Drops the whole pages inside a range.
    void forget(size_t offset, size_t size) const
    {
        constexpr size_t kPageBytes = 65536;  // a multiple of every page size in use
        size_t first = (offset + kPageBytes - 1) / kPageBytes * kPageBytes;
        size_t last = (offset + size) / kPageBytes * kPageBytes;
        if (offset + size <= size_ && first < last)
            ::madvise(at_ + first, last - first, MADV_DONTNEED);
    }

private:
    MappedFile() = default;

    std::byte *at_ = nullptr;
    size_t size_ = 0;
    size_t forgotten_ = 0;
};

}  // namespace pmukit
