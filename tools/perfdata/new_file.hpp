// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A file that gets its name only when it is whole: until then it is part_name(NAME), and it goes
// away with its object. Or what is there already and no file (/dev/null), or a descriptor: bytes
// just go into it. Small writes are gathered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::perfdata {

class NewFile {
public:
    // A path that is a link: the file it leads to.
    static Result<NewFile> create(const std::string &path);
    // "NAME.part-PID"; empty for what create() writes into as it is.
    static std::string part_name(const std::string &path);
    static NewFile into(Fd fd, std::string name);
    NewFile(NewFile &&) = default;
    NewFile &operator=(NewFile &&) = delete;
    ~NewFile();

    uint64_t offset() const { return offset_; }  // of the next byte
    Result<void> put(Bytes bytes);
    // What was gathered goes out, for whoever reads at the other end.
    Result<void> flush();
    // Over what was put before; not in a pipe.
    Result<void> patch(uint64_t at, Bytes bytes);
    // All is written, and a file has its name.
    Result<void> finish();

private:
    NewFile(std::string path, std::string part, Fd fd);
    const std::string &name() const { return path_.empty() ? part_ : path_; }  // for messages

    std::string path_, part_;  // path_ empty: not ours to name
    Fd fd_;
    std::vector<std::byte> gathered_;
    uint64_t offset_ = 0;
};

}  // namespace pmukit::perfdata
