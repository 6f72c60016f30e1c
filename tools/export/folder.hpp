// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A folder that has its name when all its files are whole: until then it is called as an unfinished
// file is (perfdata::NewFile). And the permissions of what is made.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.hpp"
#include "perfdata/new_file.hpp"

namespace pmukit::exporter {

// While it lives, files and folders that this process makes are its user's alone, whatever library
// makes them: they hold addresses.
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
    // Error: there is something of this name already.
    static Result<Folder> create(const std::string &path);
    // "tables" of "tables/": what is called after it stands beside it, not in it.
    static std::string name_of(std::string path);
    Folder(Folder &&other) noexcept;
    Folder &operator=(Folder &&) = delete;
    ~Folder();

    const std::string &path() const { return path_; }
    // Where its files are written, by the descriptor of the folder that it is in.
    const std::string &part() const { return part_; }
    Result<void> finish();

private:
    Folder(std::string path, perfdata::Destination to);

    std::string path_, part_;  // part_ empty: nothing to remove
    perfdata::Destination to_;
};

}  // namespace pmukit::exporter
