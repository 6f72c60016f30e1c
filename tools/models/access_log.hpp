// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The reference log of every access to a device's memory: one line per access, in order. It is
// independent of counters, units and epochs, so results computed from it can check them.
//
//   # pmukit access log 1
//   R 0x<dpa> <width in bytes>
//   W 0x<dpa> <width in bytes>
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "models/line_file.hpp"

namespace pmukit::models {

class AccessLog {
public:
    // Makes a log without a file, which only counts accesses.
    AccessLog() = default;
    // Creates or truncates the file.
    static Result<AccessLog> create(const std::string &path);

    void read(uint64_t dpa, unsigned width) { add('R', dpa, width, reads_); }
    void write(uint64_t dpa, unsigned width) { add('W', dpa, width, writes_); }

    // See LineFile::close().
    Result<void> close() { return file_.close(); }
    bool failed() const { return file_.failed(); }

    uint64_t reads() const { return reads_; }
    uint64_t writes() const { return writes_; }

private:
    void add(char kind, uint64_t dpa, unsigned width, uint64_t &tally);

    LineFile file_;
    uint64_t reads_ = 0;
    uint64_t writes_ = 0;
};

}  // namespace pmukit::models
