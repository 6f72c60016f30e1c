// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What decoders have in common that read a stream in pieces: where they are in it, and the bytes
// that cannot be read before more of them are there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"

namespace pmukit::decode {

// The offset of a decoder, and what it passed over but has not reported yet: damage is one piece,
// in however many steps it was passed over.
class Position {
public:
    explicit Position(uint64_t offset = 0) : offset_(offset) {}

    // Of the first byte that was not consumed.
    uint64_t offset() const { return offset_; }
    void move(uint64_t bytes) { offset_ += bytes; }
    void skip(uint64_t bytes)
    {
        if (!skipped_bytes_)
            skipped_at_ = offset_;
        skipped_bytes_ += bytes;
        offset_ += bytes;
    }
    // sink.skipped(offset, bytes), unless there is nothing to tell.
    template <typename Sink>
    void tell_skipped(Sink &sink)
    {
        if (skipped_bytes_)
            sink.skipped(skipped_at_, skipped_bytes_);
        skipped_bytes_ = 0;
    }

private:
    uint64_t offset_ = 0;
    uint64_t skipped_at_ = 0, skipped_bytes_ = 0;  // not reported yet
};

// The last bytes of a stream, for whose meaning others are missing. A `use` takes what it can from
// the start of the bytes it is given and returns their number; of kBytes or more it leaves less.
template <size_t kBytes>
class Carry {
public:
    size_t size() const { return size_; }
    void clear() { size_ = 0; }

    // More of the stream: what is carried goes on with it, until the rest can be used where it
    // lies.
    template <typename Use>
    void data(Bytes bytes, const Use &use)
    {
        while (size_ && !bytes.empty()) {
            const size_t before = size_;
            const size_t more = std::min(bytes.size(), kBytes - size_);
            std::memcpy(bytes_.data() + size_, bytes.data(), more);
            size_ += more;
            const size_t used = use(Bytes(bytes_.data(), size_));
            if (used >= before) {  // the rest of the carry is the beginning of these bytes
                bytes = bytes.subspan(used - before);
                size_ = 0;
            } else {
                bytes = bytes.subspan(more);
                drop(used);
            }
        }
        if (bytes.empty())
            return;
        const Bytes rest = bytes.subspan(use(bytes));
        std::copy(rest.begin(), rest.end(), bytes_.begin());
        size_ = rest.size();
    }

    // Nothing follows for now: `use` decides by what is there.
    template <typename Use>
    void settle(const Use &use)
    {
        drop(use(Bytes(bytes_.data(), size_)));
    }

private:
    void drop(size_t used)
    {
        size_ -= used;
        std::memmove(bytes_.data(), bytes_.data() + used, size_);
    }

    size_t size_ = 0;
    std::array<std::byte, kBytes> bytes_{};
};

}  // namespace pmukit::decode
