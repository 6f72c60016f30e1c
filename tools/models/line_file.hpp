// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A text file that is written line by line through a buffer; close() reports the first write error.
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
    // Without a file: append() does nothing.
    LineFile() = default;
    // Creates or truncates the file. `what` is its kind in errors, as "access log".
    static Result<LineFile> create(const std::string &what, const std::string &path);

    LineFile(LineFile &&) = default;
    LineFile &operator=(LineFile &&) = default;
    ~LineFile();

    bool is_open() const { return static_cast<bool>(file_); }
    // At most kMaxLineBytes, including the newline.
    void append(std::string_view line);

    // Writes the rest of the buffer. Returns the first error of any write; later calls return the
    // same error, because an incomplete log is useless.
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
