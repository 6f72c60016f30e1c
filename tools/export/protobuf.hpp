// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes messages in the wire format of Protocol Buffers (protobuf.dev, "Encoding"). A field is its
// number and wire type, then a varint, or a length and bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pmukit::exporter {

class Message {
public:
    void number(uint32_t field, uint64_t value)
    {
        varint(uint64_t{field} << 3);
        varint(value);
    }
    // A string, bytes or another message.
    void text(uint32_t field, std::string_view text)
    {
        varint(uint64_t{field} << 3 | kLengthDelimited);
        varint(text.size());
        bytes_ += text;
    }
    void message(uint32_t field, const Message &message) { text(field, message.bytes_); }
    // A packed field of numbers.
    void numbers(uint32_t field, std::span<const uint64_t> values)
    {
        Message all;
        for (const uint64_t value : values)
            all.varint(value);
        message(field, all);
    }
    void clear() { bytes_.clear(); }
    const std::string &bytes() const { return bytes_; }

private:
    static constexpr uint64_t kLengthDelimited = 2;

    // Seven bits per byte, the lowest first; the highest bit of a byte says that another follows.
    void varint(uint64_t value)
    {
        for (; value >= 0x80; value >>= 7)
            bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

}  // namespace pmukit::exporter
