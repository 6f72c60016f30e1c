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

Result<Fd> open_in_place(const std::string &path)
{
    Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd)
        return system_error(path, errno);
    return fd;
}

// The end of a chain of links, whether something is there or not.
std::string target_of(const std::string &path)
{
    constexpr int kMostLinks = 40;  // as the kernel follows them
    std::filesystem::path target = path;
    std::error_code failure;
    for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(target, failure); i++) {
        const std::filesystem::path next = std::filesystem::read_symlink(target, failure);
        if (failure)
            break;
        target = target.parent_path() / next;
    }
    const std::filesystem::path plain = std::filesystem::canonical(target, failure);
    return failure ? target.string() : plain.string();
}

}  // namespace

NewName::NewName(const std::string &path)
    : path_(path), target_(target_of(path)), part_(NewFile::part_name(path_))
{
}

NewName NewName::of_descriptor(std::string name)
{
    NewName made;
    made.path_ = std::move(name);
    return made;
}

NewName::NewName(NewName &&other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      part_(std::exchange(other.part_, {}))
{
}

NewName::~NewName()
{
    if (!part_.empty())
        ::unlink(part_.c_str());
}

Result<Fd> NewName::create() const
{
    ::unlink(part_.c_str());  // of a program before us that had our number, or of somebody else
    // Physical addresses are nobody else's business: the owner reads it, as perf does it.
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    Fd fd(::open(part_.c_str(), kFlags, 0600));
    if (!fd)
        return system_error(path_, errno);
    return fd;
}

Result<void> NewName::give()
{
    if (!part_.empty() && ::rename(part_.c_str(), target_.c_str()) != 0)
        return system_error(path_, errno);
    part_.clear();
    return {};
}

std::string NewName::keep()
{
    return std::exchange(part_, {});
}

NewFile::NewFile(NewName name, Fd fd) : name_(std::move(name)), fd_(std::move(fd))
{
    gathered_.reserve(kGatheredBytes);
}

Result<NewFile> NewFile::create(const std::string &path)
{
    // Its memory first: where there is none, there is no file yet that had to go again.
    NewFile file{NewName(path), Fd()};
    Result<Fd> opened = file.name_.part().empty() ? open_in_place(path) : file.name_.create();
    if (!opened)
        return opened.error();
    file.fd_ = std::move(*opened);
    return file;
}

NewFile::~NewFile() = default;

std::string NewFile::part_name(const std::string &path)
{
    if (is_written_in_place(path))
        return {};
    return target_of(path) + ".part-" + std::to_string(::getpid());
}

NewFile NewFile::into(Fd fd, std::string name)
{
    return NewFile(NewName::of_descriptor(std::move(name)), std::move(fd));
}

Result<void> NewFile::flush()
{
    Result<void> done = write_all(fd_.get(), gathered_, name_.path());
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
        return write_all(fd_.get(), bytes, name_.path());
    append(gathered_, bytes);
    return {};
}

Result<void> NewFile::patch(uint64_t at, Bytes bytes)
{
    if (Result<void> done = flush(); !done)
        return done;
    const ssize_t put = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put != static_cast<ssize_t>(bytes.size()))
        return system_error(name_.path(), put < 0 ? errno : ENOSPC);
    return {};
}

bool NewFile::can_patch() const
{
    return !name_.part().empty() || ::lseek(fd_.get(), 0, SEEK_CUR) >= 0;
}

uint64_t NewFile::bytes_there() const
{
    struct stat status {};
    return ::stat(name_.part().c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

std::string NewFile::keep(uint64_t end)
{
    if (fd_ && bytes_there() > end) {
        // Where this fails there is only more than was wanted.
        [[maybe_unused]] const int cut = ::ftruncate(fd_.get(), static_cast<off_t>(end));
    }
    return name_.keep();
}

Result<void> NewFile::complete()
{
    if (!fd_)
        return {};
    if (Result<void> done = flush(); !done)
        return done;
    // close() is where some file systems say that the disk is full.
    if (!name_.part().empty() && ::close(fd_.release()) != 0)
        return system_error(name_.path(), errno);
    return {};
}

Result<void> NewFile::finish()
{
    Result<void> done = complete();
    return done ? name_.give() : done;
}

}  // namespace pmukit::perfdata
