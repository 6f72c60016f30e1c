// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The source of a recording's bytes; this header is not installed. There are two kinds:
//   whole   the caller's bytes, or a mapped file: all bytes are available
//   stream  a pipe, or bytes that the caller feeds: a window of fixed size moves over them
//
//     stream   ....gone....|==== window ====|......not read yet......
//                          begin_           begin_ + filled
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/result.hpp"

namespace pmukit::perfdata {

class __attribute__((visibility("hidden"))) Input {
public:
    // A record has at most 64 KiB - 1 bytes, so a window holds many records.
    static constexpr size_t kWindowBytes = size_t{1} << 20;

    static Input memory(Bytes bytes);
    // A regular file is mapped; anything else is a stream. "-": standard input.
    static Result<Input> open(const std::string &path);
    // Opens one file of a perf.data directory. Only a regular file is opened, because another user
    // may have written the directory.
    static Result<Input> open_part(const std::string &path);
    static Result<Input> of_fd(Fd fd, std::string name);
    static Input fed();

    bool whole() const { return !window_; }
    Bytes all() const { return all_; }  // only for a whole input

    // Returns the available bytes from offset on. They are fewer than `wanted` only if the input
    // ends earlier or if more bytes must be fed. A stream only moves forward and drops earlier
    // bytes. wanted is at most kWindowBytes.
    Result<Bytes> at(uint64_t offset, size_t wanted);
    // True if the input has no bytes after those that at() returns.
    bool ended() const { return ended_; }

    // Takes as many bytes as fit, and returns their number.
    size_t feed(Bytes bytes);
    void end_feed() { ended_ = true; }

    // Drops from memory those pages of a mapped file that lie before offset.
    void forget_before(uint64_t offset)
    {
        if (file_)
            file_->forget_before(offset);
    }

private:
    Input() = default;
    void discard_before(uint64_t offset);
    void make_room(size_t wanted);

    Bytes all_;
    std::unique_ptr<MappedFile> file_;

    std::unique_ptr<std::byte[]> window_;
    uint64_t begin_ = 0;           // offset in the input of window_[first_]
    size_t first_ = 0, last_ = 0;  // the filled part of window_
    Fd fd_;
    std::string name_;
    bool ended_ = true;
};

}  // namespace pmukit::perfdata
