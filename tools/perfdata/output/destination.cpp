// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/output/destination.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <iterator>
#include <utility>

#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::perfdata {
namespace {

constexpr int kMostLinks = 40;  // most links in a path, as in the kernel (MAXSYMLINKS)

std::string through_proc(int fd)
{
    return "/proc/self/fd/" + std::to_string(fd);
}

Result<std::string> link_text(int folder, const char *name, const std::string &path)
{
    char text[PATH_MAX];
    const ssize_t bytes = ::readlinkat(folder, name, text, sizeof text);
    if (bytes < 0)
        return system_error(path, errno);
    return std::string(text, static_cast<size_t>(bytes));
}

// Renaming a file over a mount point fails with EBUSY. statx() reports mount points since Linux
// 5.8.
bool is_mount_point(int fd)
{
    struct statx status {};
    return ::statx(fd, "", AT_EMPTY_PATH, 0, &status) == 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

bool is_harmless_device(const struct stat &status)
{
    constexpr unsigned kMemory = 1, kTtys = 4, kAlternateTty = 5, kFirstPts = 136, kLastPts = 143;
    constexpr unsigned kNull = 3, kZero = 5, kFull = 7, kConsole = 1;
    const unsigned major = ::major(status.st_rdev), minor = ::minor(status.st_rdev);
    if (major == kMemory)
        return minor == kNull || minor == kZero || minor == kFull;
    if (major == kAlternateTty)  // /dev/tty and /dev/console; the next minor is ptmx
        return minor <= kConsole;
    return major == kTtys || (major >= kFirstPts && major <= kLastPts);
}

// File systems whose regular files belong to the kernel: reading or mapping a file can affect a
// device (a PCI resource in sysfs), consume data (kmsg, trace_pipe) or block forever.
bool is_kernel_file_system(int fd)
{
    constexpr unsigned long kConfigfs = 0x62656570, kFusectl = 0x65735543, kMqueue = 0x19800202;
    constexpr unsigned long kTypes[] = {PROC_SUPER_MAGIC,
                                        SYSFS_MAGIC,
                                        DEBUGFS_MAGIC,
                                        TRACEFS_MAGIC,
                                        CGROUP_SUPER_MAGIC,
                                        SECURITYFS_MAGIC,
                                        CGROUP2_SUPER_MAGIC,
                                        EFIVARFS_MAGIC,
                                        BPF_FS_MAGIC,
                                        PSTOREFS_MAGIC,
                                        SELINUX_MAGIC,
                                        SMACK_MAGIC,
                                        BINFMTFS_MAGIC,
                                        NSFS_MAGIC,
                                        kConfigfs,
                                        kFusectl,
                                        kMqueue};
    struct statfs system {};
    if (::fstatfs(fd, &system) != 0)
        return true;
    return std::ranges::find(kTypes, static_cast<unsigned long>(system.f_type)) != std::end(kTypes);
}

}  // namespace

bool could_be_planted(const struct stat &folder, const struct stat &entry, uid_t user)
{
    const bool shared = (folder.st_mode & S_ISVTX) && (folder.st_mode & (S_IWOTH | S_IWGRP));
    return shared && entry.st_uid != user && entry.st_uid != folder.st_uid;
}

// Resolves a path component by component, as the kernel does.
class PathWalk {
public:
    explicit PathWalk(const std::string &path) : path_(path) {}

    Result<Destination> walk()
    {
        if (path_.empty())
            return Error{Errc::kUsage, "the name of the output is empty; name a file"};
        shown_ = path_.substr(0, path_.rfind('/') + 1);
        if (Result<void> begun = go_to(path_); !begun)
            return begun.error();
        while (!left_.empty()) {
            std::string component = std::move(left_.front());
            left_.pop_front();
            if (Result<void> stepped = step(component); !stepped)
                return stepped.error();
        }
        if (to_.name_.empty())
            return system_error(path_, EISDIR);
        to_.shown_folder_ = links_ ? text_of_folder() : shown_;
        return std::move(to_);
    }

private:
    // Puts the components of a path before the remaining ones.
    Result<void> go_to(const std::string &path)
    {
        std::deque<std::string> components;
        for (const std::string_view component : split(path, '/'))
            if (!component.empty() && component != ".")
                components.emplace_back(component);
        left_.insert(left_.begin(), components.begin(), components.end());
        if (to_.folder_ && !path.starts_with('/'))
            return {};
        return enter(AT_FDCWD, path.starts_with('/') ? "/" : ".");
    }

    Result<void> enter(int from, const char *name, int flags = 0)
    {
        Fd folder(::openat(from, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags));
        if (!folder)
            return system_error(path_, errno);
        to_.folder_ = std::move(folder);
        return {};
    }

    Result<void> step(const std::string &component)
    {
        const bool last = left_.empty();
        if (component == "..")
            return enter(to_.folder(), "..");
        Fd entry(::openat(to_.folder(), component.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (!entry && errno == ENOENT && last) {
            to_.name_ = component;
            return {};
        }
        struct stat status {};
        if (!entry || ::fstat(entry.get(), &status) != 0)
            return system_error(path_, errno);
        if (S_ISLNK(status.st_mode))
            return follow(entry, component, status);
        if (last)
            return end_at(std::move(entry), component, status);
        if (!S_ISDIR(status.st_mode))
            return system_error(path_, ENOTDIR);
        to_.folder_ = std::move(entry);
        return {};
    }

    Result<void> refuse_planted(const std::string &name, const struct stat &entry) const
    {
        struct stat folder {};
        if (::fstat(to_.folder(), &folder) != 0)
            return system_error(path_, errno);
        if (!could_be_planted(folder, entry, ::geteuid()))
            return {};
        return Error{Errc::kDenied, path_ + ": " + (S_ISLNK(entry.st_mode) ? "the link " : "") +
                                        name + " belongs to user " + std::to_string(entry.st_uid) +
                                        ", in a directory that others can write to; it is not " +
                                        (S_ISLNK(entry.st_mode) ? "followed" : "written") +
                                        ": name another file, or remove it"};
    }

    Result<void> follow(const Fd &link, const std::string &component, const struct stat &status)
    {
        if (Result<void> safe = refuse_planted(component, status); !safe)
            return safe;
        if (++links_ > kMostLinks)
            return system_error(path_, ELOOP);
        struct statfs system {};
        if (::fstatfs(link.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC)
            return follow_proc(component);
        Result<std::string> text = link_text(link.get(), "", path_);
        return text ? go_to(*text) : text.error();
    }

    // Follows a link of procfs. A link such as /proc/self/fd/1 refers to an open file. If that file
    // has no name, the text of the link is not a path.
    Result<void> follow_proc(const std::string &component)
    {
        if (!left_.empty())
            return enter(to_.folder(), component.c_str());
        Fd entry(::openat(to_.folder(), component.c_str(), O_PATH | O_CLOEXEC));
        struct stat status {};
        if (!entry || ::fstat(entry.get(), &status) != 0)
            return system_error(path_, errno);
        if (!S_ISREG(status.st_mode))
            return keep_in_place(std::move(entry), component, status);
        to_.is_open_file_ = true;
        if (status.st_nlink == 0)
            return Error{Errc::kNotFound, path_ + ": leads to a deleted file; name another"};
        Result<std::string> text = link_text(to_.folder(), component.c_str(), path_);
        return text ? go_to(*text) : text.error();
    }

    Result<void> end_at(Fd entry, const std::string &name, const struct stat &status)
    {
        if (S_ISDIR(status.st_mode)) {
            to_.folder_ = std::move(entry);
            return {};
        }
        if (!S_ISREG(status.st_mode)) {
            if (Result<void> safe = refuse_planted(name, status); !safe)
                return safe;
            return keep_in_place(std::move(entry), name, status);
        }
        if (is_mount_point(entry.get()))
            return Error{Errc::kUsage, path_ +
                                           ": is a mount point, which cannot be replaced; mount "
                                           "its directory instead, or name another file"};
        to_.name_ = name;
        return {};
    }

    Result<void> keep_in_place(Fd entry, const std::string &name, const struct stat &status)
    {
        const bool device = S_ISBLK(status.st_mode) || S_ISCHR(status.st_mode);
        if (S_ISDIR(status.st_mode) || (device && !is_harmless_device(status)))
            return Error{Errc::kUsage,
                         path_ + (device ? ": is a device" : ": is a directory") + "; name a file"};
        to_.name_ = name;
        to_.in_place_ = std::move(entry);
        return {};
    }

    std::string text_of_folder() const
    {
        const Result<std::string> text =
            link_text(AT_FDCWD, through_proc(to_.folder()).c_str(), path_);
        return (text ? *text : through_proc(to_.folder())) + "/";
    }

    const std::string &path_;
    std::string shown_;  // the directory as given by the user
    std::deque<std::string> left_;
    Destination to_;
    int links_ = 0;
};

Result<Destination> Destination::of(const std::string &path)
{
    return PathWalk(path).walk();
}

std::string Destination::path_of(const std::string &name) const
{
    return shown_folder_ + name;
}

Result<Fd> Destination::open_in_place() const
{
    // Opens the file that was checked, even if another file has its name by now.
    Fd fd(::open(through_proc(in_place_.get()).c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (!fd)
        return system_error(path_of(name_), errno);
    return fd;
}

Result<Fd> open_untrusted(const std::string &root, const std::string &path)
{
    Fd found;
    if (root.empty()) {
        found = Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    } else {
        const Fd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!folder)
            return system_error(root, errno);
        open_how how{};
        how.flags = O_PATH | O_CLOEXEC;
        how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
        found = Fd(
            static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
    }
    if (found && is_kernel_file_system(found.get()))
        return Error{Errc::kUnsupported, root + path + ": not a regular file"};
    return open_found(found, root + path, Readable::kFile);
}

}  // namespace pmukit::perfdata
