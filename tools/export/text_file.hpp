// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A file for rows of text: room() reserves space, to which the caller then writes characters
// without allocations.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "perfdata/output/new_file.hpp"

namespace pmukit::exporter {

class TextFile {
public:
    // path: "-" is standard output. shown: name of the file in messages; if empty, it is the path.
    static Result<TextFile> create(const std::string &path, const std::string &shown = {});

    // Returns space for at most `bytes` characters.
    char *room(size_t bytes)
    {
        if (bytes > size_ - used_)
            make_room(bytes);
        return buffer_.get() + used_;
    }
    // Call this after writing to the space from room(). end: the end of the written characters.
    void wrote(const char *end) { used_ = static_cast<size_t>(end - buffer_.get()); }
    void text(std::string_view text);

    Result<void> set_mode(mode_t mode) { return file_.set_mode(mode); }
    const Result<void> &state() const { return state_; }
    Result<void> finish();

private:
    explicit TextFile(perfdata::NewFile file);
    void make_room(size_t bytes);
    void flush();

    perfdata::NewFile file_;
    std::unique_ptr<char[]> buffer_;
    size_t size_, used_ = 0;
    Result<void> state_;
};

}  // namespace pmukit::exporter
