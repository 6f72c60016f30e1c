// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the access log and the source log of a model (models/access_log.hpp, run_logs.hpp): one
// line per access, in order. Memory use does not grow with the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "models/cxl_hmu/request.hpp"

namespace pmukit::models::cxl_hmu {

// Parses "R|W 0x<dpa> <width> [T]", where T marks an access by a TEE and the width is 1 to 64
// bytes. An M2S request transfers one cache line.
std::optional<Request> parse_access_line(std::string_view line);

// Returns true if a file that begins with these bytes is a log that AccessReader reads.
bool begins_as_access_log(std::string_view text);

class AccessReader {
public:
    // path: "-" is standard input. Error: not a log, or it cannot be opened.
    static Result<AccessReader> open(const std::string &path);

    // Reads accesses in order and returns their number; 0 at the end of the log. Error: a line that
    // is neither an access nor a comment (#), or a failed read.
    Result<size_t> read(std::span<Request> into);
    // After the end: the log ends inside a line, which was not read.
    bool is_cut() const { return is_cut_; }

private:
    AccessReader(std::string name, Fd file) : name_(std::move(name)), file_(std::move(file)) {}
    Result<bool> fill();
    std::string_view pending() const
    {
        return {buffer_.data() + begin_, static_cast<size_t>(end_ - begin_)};
    }

    std::string name_;
    Fd file_;
    std::vector<char> buffer_;
    size_t begin_ = 0, end_ = 0;  // unread bytes of the buffer
    uint64_t line_ = 0;           // number of the last line
    bool is_cut_ = false;
};

}  // namespace pmukit::models::cxl_hmu
