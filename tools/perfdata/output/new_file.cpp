// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/output/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/file.hpp"

namespace pmukit::perfdata {
namespace {

constexpr size_t kGatheredBytes = size_t{1} << 20;

}  // namespace

std::string part_of(const std::string &name)
{
    return name + ".part-" + std::to_string(::getpid());
}

Result<NewName> NewName::of(const std::string &path)
{
    Result<Destination> to = Destination::of(path);
    if (!to)
        return to.error();
    NewName made = of_descriptor(path);
    if (!to->is_in_place())
        made.part_ = part_of(to->name());
    made.to_.emplace(std::move(*to));
    return made;
}

NewName NewName::of_descriptor(std::string name)
{
    NewName made;
    made.path_ = std::move(name);
    return made;
}

NewName::NewName(NewName &&other) noexcept
    : path_(std::move(other.path_)),
      part_(std::exchange(other.part_, {})),
      to_(std::move(other.to_))
{
}

NewName::~NewName()
{
    if (!part_.empty())
        ::unlinkat(to_->folder(), part_.c_str(), 0);
}

std::string NewName::part() const
{
    return part_.empty() ? std::string() : to_->path_of(part_);
}

Result<Fd> NewName::create() const
{
    if (is_in_place())
        return to_->open_in_place();
    // A file of this name may be left over from an earlier program with the same PID, or may belong
    // to another user.
    ::unlinkat(to_->folder(), part_.c_str(), 0);
    // Only the owner may read the file, as with perf: a recording contains physical addresses.
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    Fd fd(::openat(to_->folder(), part_.c_str(), kFlags, 0600));
    if (!fd)
        return system_error(path_, errno);
    return fd;
}

Result<void> NewName::give()
{
    if (!part_.empty() &&
        ::renameat(to_->folder(), part_.c_str(), to_->folder(), to_->name().c_str()) != 0)
        return system_error(path_, errno);
    part_.clear();
    return {};
}

Result<void> NewName::give_durably()
{
    const bool is_file = !is_in_place();
    Result<void> given = give();
    if (!given || !is_file)
        return given;
    const Fd folder(::openat(to_->folder(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // A directory that is writable but not readable cannot be synced: fsync() and syncfs() need it
    // open for reading.
    if (folder && ::fsync(folder.get()) != 0 && errno != EINVAL)
        return system_error(path_, errno);
    return {};
}

uint64_t NewName::bytes() const
{
    struct stat status {};
    const bool known = !part_.empty() &&
                       ::fstatat(to_->folder(), part_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    return known ? static_cast<uint64_t>(status.st_size) : 0;
}

std::string NewName::keep()
{
    std::string kept = part();
    part_.clear();
    return kept;
}

NewFile::NewFile(NewName name, Fd fd) : name_(std::move(name)), fd_(std::move(fd))
{
    gathered_.reserve(kGatheredBytes);
}

Result<NewFile> NewFile::create(const std::string &path)
{
    return create_shown(path, path);
}

Result<NewFile> NewFile::create_shown(const std::string &path, std::string shown)
{
    Result<NewName> name = NewName::of(path);
    if (!name)
        return name.error();
    name->show_as(std::move(shown));
    // Allocates the buffer before it creates the file: if the allocation fails, there is no file to
    // remove.
    NewFile file{std::move(*name), Fd()};
    Result<Fd> opened = file.name_.create();
    if (!opened)
        return opened.error();
    file.fd_ = std::move(*opened);
    return file;
}

NewFile::~NewFile() = default;

std::string NewFile::part_name(const std::string &path)
{
    const Result<Destination> to = Destination::of(path);
    return !to || to->is_in_place() ? std::string() : to->path_of(part_of(to->name()));
}

NewFile NewFile::into(Fd fd, std::string name)
{
    return NewFile(NewName::of_descriptor(std::move(name)), std::move(fd));
}

void NewFile::give_up_when(int stop_fd)
{
    struct stat status {};
    if (::fstat(fd_.get(), &status) == 0 && S_ISFIFO(status.st_mode))
        stop_fd_ = stop_fd;
}

Result<void> NewFile::write(Bytes bytes)
{
    return stop_fd_ < 0 ? write_all(fd_.get(), bytes, name_.path())
                        : write_to_pipe(fd_.get(), bytes, name_.path(), stop_fd_);
}

Result<void> NewFile::flush()
{
    Result<void> done = write(gathered_);
    gathered_.clear();
    if (durable_ && done)  // if this fails, the sync at the end writes the data
        ::sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    return done;
}

Result<void> NewFile::put(Bytes bytes)
{
    offset_ += bytes.size();
    if (bytes.size() > kGatheredBytes - gathered_.size())
        if (Result<void> done = flush(); !done)
            return done;
    if (bytes.size() > kGatheredBytes)
        return write(bytes);
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
    return !name_.is_in_place() || ::lseek(fd_.get(), 0, SEEK_CUR) >= 0;
}

uint64_t NewFile::bytes_there() const
{
    return name_.bytes();
}

std::string NewFile::keep(uint64_t end)
{
    if (fd_ && bytes_there() > end) {
        // If this fails, the kept file only has more bytes.
        [[maybe_unused]] const int cut = ::ftruncate(fd_.get(), static_cast<off_t>(end));
    }
    return name_.keep();
}

Result<void> NewFile::set_mode(mode_t mode)
{
    if (!name_.is_in_place() && ::fchmod(fd_.get(), mode) != 0)
        return system_error(name_.path(), errno);
    return {};
}

Result<void> NewFile::complete()
{
    if (!fd_)
        return {};
    if (Result<void> done = flush(); !done)
        return done;
    if (durable_ && !name_.is_in_place() && ::fdatasync(fd_.get()) != 0)
        return system_error(name_.path(), errno);
    // Some file systems report a full disk only at close().
    if (!name_.is_in_place() && ::close(fd_.release()) != 0)
        return system_error(name_.path(), errno);
    return {};
}

Result<void> NewFile::finish()
{
    Result<void> done = complete();
    if (!done)
        return done;
    return durable_ ? name_.give_durably() : name_.give();
}

}  // namespace pmukit::perfdata
