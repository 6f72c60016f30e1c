// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where an output goes. Its directory is held open, so that nothing can be exchanged between the
// check and the write. Links, FIFOs, sockets and devices in a sticky directory that others can
// write to are taken only from this user and from the directory's owner: what fs.protected_symlinks
// and fs.protected_fifos refuse is refused whatever those sysctls say, and for each component.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::perfdata {

class Destination {
public:
    // Links are followed, whether the last one leads to something or not. Error: a component does
    // not exist, could have been planted by another user, or cannot be replaced (a mount point, a
    // device).
    static Result<Destination> of(const std::string &path);

    int folder() const { return folder_.get(); }
    const std::string &name() const { return name_; }  // in the folder
    // For messages and for libraries that take no descriptor.
    std::string path_of(const std::string &name) const;
    // A FIFO, a terminal, /dev/null: it is written as it is. Otherwise a regular file, or nothing
    // yet.
    bool is_in_place() const { return static_cast<bool>(in_place_); }
    Result<Fd> open_in_place() const;

private:
    friend class PathWalk;
    Destination() = default;

    Fd folder_, in_place_;  // O_PATH
    std::string name_, shown_folder_;
};

// Pure: could another user have put this entry there, in a directory that many write to? The rule
// of may_follow_link() and may_create_in_sticky() in fs/namei.c of the kernel.
bool could_be_planted(const struct stat &folder, const struct stat &entry, uid_t user);

// A regular file of this path, which another user may have chosen: nothing else is ever opened, as
// opening a device, a FIFO or a file of procfs or sysfs can have effects. Below root, which holds
// links and ".." too, if that is not empty.
Result<Fd> open_untrusted(const std::string &root, const std::string &path);

}  // namespace pmukit::perfdata
