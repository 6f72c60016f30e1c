// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Helpers for decoders that read a stream in pieces: Position is the position in the stream, Carry
// keeps the bytes that cannot be decoded before more data arrives. This header is not installed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"

namespace pmukit::decode {

// The offset of a decoder in its stream, and the skipped bytes that it has not reported yet.
// Adjacent skipped bytes are reported together.
class __attribute__((visibility("hidden"))) Position {
public:
    explicit Position(uint64_t offset = 0) : offset_(offset) {}

    // Offset of the first byte that was not consumed.
    uint64_t offset() const { return offset_; }
    void move(uint64_t bytes) { offset_ += bytes; }
    void skip(uint64_t bytes)
    {
        if (!skipped_bytes_)
            skipped_at_ = offset_;
        skipped_bytes_ += bytes;
        offset_ += bytes;
    }
    // Calls sink.skipped(offset, bytes) if there are unreported bytes.
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

// Keeps the unused bytes at the end of a piece for the next piece. `use` is a function that
// consumes as many bytes as it can from the start of its argument, and returns their number. If its
// argument has kBytes or more, `use` leaves fewer than kBytes.
template <size_t kBytes>
class __attribute__((visibility("hidden"))) Carry {
public:
    size_t size() const { return size_; }
    void clear() { size_ = 0; }

    // Passes the next bytes of the stream to `use`. Bytes are copied behind the carried bytes only
    // until `use` has consumed the carried ones; `use` gets the other bytes without a copy.
    template <typename Use>
    void data(Bytes bytes, const Use &use)
    {
        while (size_ && !bytes.empty()) {
            const size_t before = size_;
            const size_t more = std::min(bytes.size(), kBytes - size_);
            std::memcpy(bytes_.data() + size_, bytes.data(), more);
            size_ += more;
            const size_t used = use(Bytes(bytes_.data(), size_));
            // All carried bytes are consumed.
            if (used >= before) {
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

    // Passes the carried bytes to `use` without waiting for more data.
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
