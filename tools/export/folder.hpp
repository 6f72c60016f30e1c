// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// An output folder, which gets its name when all its files are complete. Until then its name is
// that of an unfinished file (perfdata::NewFile): NAME.part-PID. Also sets the permissions of
// outputs.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.hpp"
#include "perfdata/new_file.hpp"

namespace pmukit::exporter {

// RAII: sets the umask so that files and folders that any library creates are accessible only to
// the user, as they contain addresses.
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
    // Error: the name exists already.
    static Result<Folder> create(const std::string &path);
    // Removes final slashes: "tables" for "tables/". A name derived from the result, such as
    // NAME.part-PID, is then beside the folder, not in it.
    static std::string name_of(std::string path);
    Folder(Folder &&other) noexcept;
    Folder &operator=(Folder &&) = delete;
    ~Folder();

    const std::string &path() const { return path_; }
    // Path to write the files to, through a descriptor of the parent folder.
    const std::string &part() const { return part_; }
    Result<void> finish();

private:
    Folder(std::string path, perfdata::Destination to);

    std::string path_, part_;  // part_ empty: nothing to remove
    perfdata::Destination to_;
};

}  // namespace pmukit::exporter
