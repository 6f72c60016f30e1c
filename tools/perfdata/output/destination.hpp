// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The destination of an output. Its directory is held open, so that it cannot be exchanged between
// the check and the write. In a sticky directory that others can write to, links, FIFOs, sockets
// and devices are accepted only if they belong to this user or to the owner of the directory. This
// applies the rules of fs.protected_symlinks and fs.protected_fifos regardless of those sysctls,
// for each component. This header is not installed.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::perfdata {

class __attribute__((visibility("hidden"))) Destination {
public:
    // Follows links, even if the target of the last one does not exist. Error: a component does not
    // exist, could have been planted by another user, or cannot be replaced (a mount point, a
    // device).
    static Result<Destination> of(const std::string &path);

    int folder() const { return folder_.get(); }
    const std::string &name() const { return name_; }  // file name in folder()
    // For messages and for libraries that take no descriptor.
    std::string path_of(const std::string &name) const;
    // True for a FIFO, a terminal or /dev/null, which is written directly. Otherwise the
    // destination is a regular file or does not exist yet.
    bool is_in_place() const { return static_cast<bool>(in_place_); }
    Result<Fd> open_in_place() const;
    // True if a link of procfs, such as /proc/self/fd/1 behind /dev/stdout, led to a regular file.
    bool is_open_file() const { return is_open_file_; }

private:
    friend class PathWalk;
    Destination() = default;

    Fd folder_, in_place_;  // O_PATH
    std::string name_, shown_folder_;
    bool is_open_file_ = false;
};

// Returns true if another user could have created this entry in a directory that many users can
// write to. Makes no system call. The rule is that of may_follow_link() and may_create_in_sticky()
// in the kernel's fs/namei.c.
__attribute__((visibility("hidden"))) bool could_be_planted(const struct stat &folder,
                                                            const struct stat &entry, uid_t user);

// Opens a regular file at this path, which another user may have chosen. Nothing else is opened,
// because opening a device, a FIFO or a file of procfs or sysfs can have effects. If root is not
// empty, the path, its links and ".." stay below root.
__attribute__((visibility("hidden"))) Result<Fd> open_untrusted(const std::string &root,
                                                                const std::string &path);

}  // namespace pmukit::perfdata
