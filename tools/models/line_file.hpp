// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A text file that is written line by line, with a buffer and a memory for errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::models {

class LineFile {
public:
    // Writes nowhere.
    LineFile() = default;
    // Creates or truncates the file. what names its kind in errors: "access log".
    static Result<LineFile> create(const std::string &what, const std::string &path);

    LineFile(LineFile &&) = default;
    LineFile &operator=(LineFile &&) = default;
    ~LineFile();

    bool is_open() const { return static_cast<bool>(file_); }
    // At most kMaxLineBytes, the newline included.
    void append(std::string_view line);

    // Writes what is still buffered. The first error of any write is kept and returned here and by
    // every later call: a log with a hole is worth nothing.
    Result<void> close();
    bool failed() const { return failure_ != 0; }

    static constexpr size_t kMaxLineBytes = 256;

private:
    void flush();

    std::string name_;  // kind and path
    Fd file_;
    std::vector<char> buffer_;
    size_t used_ = 0;
    int failure_ = 0;  // errno of the first failed write
};

}  // namespace pmukit::models
