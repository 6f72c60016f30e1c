// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The oracle: writes down every access to a device's memory, one line each, in order. It knows
// nothing of counters, units or epochs, so what is computed from the log can judge them.
//
//   # pmukit access log 1
//   R 0x<dpa> <width in bytes>
//   W 0x<dpa> <width in bytes>
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::models {

class AccessLog {
public:
    // Counts, but writes nowhere.
    AccessLog() = default;
    // Creates or truncates the file.
    static Result<AccessLog> create(const std::string &path);

    AccessLog(AccessLog &&) = default;
    AccessLog &operator=(AccessLog &&) = default;
    ~AccessLog();

    void read(uint64_t dpa, unsigned width) { add('R', dpa, width, reads_); }
    void write(uint64_t dpa, unsigned width) { add('W', dpa, width, writes_); }

    // Writes what is still buffered. The first error of any write is kept and returned here and by
    // every later call: a log with a hole is worth nothing.
    Result<void> close();
    bool failed() const { return failure_ != 0; }

    uint64_t reads() const { return reads_; }
    uint64_t writes() const { return writes_; }

private:
    void add(char kind, uint64_t dpa, unsigned width, uint64_t &tally);
    void flush();

    std::string path_;
    Fd file_;
    std::vector<char> buffer_;
    size_t used_ = 0;
    int failure_ = 0;  // errno of the first failed write
    uint64_t reads_ = 0;
    uint64_t writes_ = 0;
};

}  // namespace pmukit::models
