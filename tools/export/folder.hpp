// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// An output folder. Until all of its files are complete, it has a temporary name, NAME.part-PID, as
// perfdata::NewFile has. Then it is renamed to NAME. This header also sets the permissions of
// outputs.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "perfdata/output/new_file.hpp"

namespace pmukit::exporter {

// Sets the umask for the lifetime of the object. Files and folders that any library creates are
// then accessible only to the user, because they contain addresses.
class ForUserAlone {
public:
    ForUserAlone() : before_(::umask(077)) {}
    ForUserAlone(const ForUserAlone &) = delete;
    ForUserAlone &operator=(const ForUserAlone &) = delete;
    ~ForUserAlone() { ::umask(before_); }

private:
    mode_t before_;
};

class Folder {
public:
    // Returns an error if the name exists already.
    static Result<Folder> create(const std::string &path);
    // Removes final slashes: "tables" for "tables/". A name derived from the result, such as
    // NAME.part-PID, is then beside the folder, not in it.
    static std::string name_of(std::string path);
    Folder(Folder &&other) noexcept;
    Folder &operator=(Folder &&) = delete;
    ~Folder();

    const std::string &path() const { return path_; }
    // Path under which the files are written. It refers to the unfinished folder by a file
    // descriptor, so that files are not written into another folder that gets its name.
    const std::string &part() const { return part_; }
    // Error: another folder has the temporary name.
    Result<void> finish();

private:
    Folder(std::string path, perfdata::Destination to);

    std::string path_, part_;
    perfdata::Destination to_;
    std::string part_name_;  // in the directory of to_; empty: the destructor removes nothing
    Fd part_fd_;
};

}  // namespace pmukit::exporter
