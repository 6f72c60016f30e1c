// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The records inside COMPRESSED and COMPRESSED2 records. One zstd stream runs through all of them,
// and a record may begin in one and end in the next.
#pragma once

#include <bit>
#include <memory>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace pmukit::perfdata {

class Unpacker {
public:
    // Null: built without libzstd, or no memory for it.
    static std::unique_ptr<Unpacker> make();
    ~Unpacker();
    Unpacker(const Unpacker &) = delete;
    Unpacker &operator=(const Unpacker &) = delete;

    // The next packed bytes, borrowed until next() has given all their records.
    void start(Bytes packed);
    // A whole record with its header, borrowed until the next call; empty: start() with more.
    // Error: the stream or a size in it makes no sense, and nothing more can be unpacked.
    Result<Bytes> next(std::endian order);
    // Bytes of a record whose rest has not come.
    size_t remainder() const { return last_ - first_; }
    // start() was given bytes that next() has not given all records of.
    bool busy() const { return busy_; }

private:
    struct Stream;
    explicit Unpacker(std::unique_ptr<Stream> stream);
    Result<void> fill();

    std::unique_ptr<Stream> stream_;
    Bytes packed_;
    std::unique_ptr<std::byte[]> room_;
    size_t first_ = 0, last_ = 0;  // what is unpacked and not given
    bool more_ = false;            // the stream may hold unpacked bytes back
    bool busy_ = false;
};

}  // namespace pmukit::perfdata
