// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/file.hpp"

namespace pmukit::exporter {

namespace fs = std::filesystem;

namespace {

// For nftw(). Continues after errors.
int remove_one(const char *path, const struct stat *, int, struct FTW *)
{
    ::remove(path);
    return 0;
}

}  // namespace

std::string Folder::name_of(std::string path)
{
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    return path;
}

Result<Folder> Folder::create(const std::string &given)
{
    const std::string path = name_of(given);
    std::error_code failure;
    if (fs::exists(fs::symlink_status(path, failure)))
        return Error{Errc::kIo, path + ": already exists; name a new folder"};
    Result<perfdata::Destination> to = perfdata::Destination::of(path);
    if (!to)
        return to.error();
    Folder folder(path, std::move(*to));
    const int parent = folder.to_.folder();
    const std::string name = perfdata::part_of(folder.to_.name());
    if (::mkdirat(parent, name.c_str(), 0700) != 0)
        return system_error(path, errno);
    folder.part_name_ = name;
    folder.part_fd_ =
        Fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!folder.part_fd_ || ::fstat(folder.part_fd_.get(), &status) != 0)
        return system_error(path, errno);
    if (status.st_uid != ::geteuid())
        return Error{Errc::kDenied, path + ": another user replaced the new folder"};
    folder.part_ = fmt::format("/proc/self/fd/{}", folder.part_fd_.get());
    return folder;
}

Folder::Folder(std::string path, perfdata::Destination to)
    : path_(std::move(path)), to_(std::move(to))
{
}

Folder::Folder(Folder &&other) noexcept
    : path_(std::move(other.path_)),
      part_(std::move(other.part_)),
      to_(std::move(other.to_)),
      part_name_(std::exchange(other.part_name_, {})),
      part_fd_(std::move(other.part_fd_))
{
}

Folder::~Folder()
{
    if (part_name_.empty())
        return;
    // Not by fs::remove_all(): this may run because memory is used up.
    constexpr int kMostOpen = 4;
    char all[32];
    std::snprintf(all, sizeof all, "/proc/self/fd/%d/.", part_fd_.get());
    if (part_fd_)
        ::nftw(all, remove_one, kMostOpen, FTW_DEPTH | FTW_PHYS);
    ::unlinkat(to_.folder(), part_name_.c_str(), AT_REMOVEDIR);
}

Result<void> Folder::finish()
{
    struct stat named {};
    struct stat made {};
    if (::fstatat(to_.folder(), part_name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        ::fstat(part_fd_.get(), &made) != 0)
        return system_error(path_, errno);
    if (named.st_dev != made.st_dev || named.st_ino != made.st_ino)
        return Error{Errc::kDenied, path_ + ": another program replaced the unfinished folder"};
    if (::renameat(to_.folder(), part_name_.c_str(), to_.folder(), to_.name().c_str()) != 0)
        return system_error(path_, errno);
    part_name_.clear();
    return {};
}

}  // namespace pmukit::exporter
