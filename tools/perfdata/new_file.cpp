// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/file.hpp"

namespace pmukit::perfdata {
namespace {

constexpr size_t kGatheredBytes = size_t{1} << 20;

// Renaming a file over a device would remove it from the machine.
bool is_written_in_place(const std::string &path)
{
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

// The end of a chain of links; a link to nothing is replaced.
std::string target_of(const std::string &path)
{
    std::error_code failure;
    const std::filesystem::path target = std::filesystem::canonical(path, failure);
    return failure ? path : target.string();
}

}  // namespace

NewFile::NewFile(std::string path, std::string part, Fd fd)
    : path_(std::move(path)), part_(std::move(part)), fd_(std::move(fd))
{
    gathered_.reserve(kGatheredBytes);
}

std::string NewFile::part_name(const std::string &path)
{
    if (is_written_in_place(path))
        return {};
    return target_of(path) + ".part-" + std::to_string(::getpid());
}

Result<NewFile> NewFile::create(const std::string &path)
{
    const std::string part = part_name(path);
    if (part.empty()) {
        Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (!fd)
            return system_error(path, errno);
        return into(std::move(fd), path);
    }
    // Its memory first: where there is none, there is no file yet that had to go again.
    NewFile file(target_of(path), part, Fd());
    // Physical addresses are nobody else's business: the owner reads it, as perf does it.
    file.fd_ = Fd(::open(part.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    if (!file.fd_)
        return system_error(path, errno);
    return file;
}

NewFile NewFile::into(Fd fd, std::string name)
{
    return NewFile({}, std::move(name), std::move(fd));
}

NewFile::~NewFile()
{
    if (fd_ && !path_.empty())
        ::unlink(part_.c_str());
}

Result<void> NewFile::flush()
{
    Result<void> done = write_all(fd_.get(), gathered_, name());
    gathered_.clear();
    return done;
}

Result<void> NewFile::put(Bytes bytes)
{
    offset_ += bytes.size();
    if (bytes.size() > kGatheredBytes - gathered_.size())
        if (Result<void> done = flush(); !done)
            return done;
    if (bytes.size() > kGatheredBytes)
        return write_all(fd_.get(), bytes, name());
    append(gathered_, bytes);
    return {};
}

Result<void> NewFile::patch(uint64_t at, Bytes bytes)
{
    if (Result<void> done = flush(); !done)
        return done;
    const ssize_t put = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == ESPIPE)
        return Error{Errc::kUsage,
                     name() + ": a recording is not written front to back; name a file"};
    if (put != static_cast<ssize_t>(bytes.size()))
        return system_error(name(), put < 0 ? errno : ENOSPC);
    return {};
}

Result<void> NewFile::finish()
{
    if (Result<void> done = flush(); !done)
        return done;
    if (path_.empty())
        return {};
    // close() is where some file systems say that the disk is full.
    if (::close(fd_.release()) == 0 && ::rename(part_.c_str(), path_.c_str()) == 0)
        return {};
    Error error = system_error(path_, errno);
    ::unlink(part_.c_str());
    return error;
}

}  // namespace pmukit::perfdata
