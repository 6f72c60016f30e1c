// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes fields for the text formats. Every function writes to `at`, where the caller has reserved
// space, and returns the end of the text.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.hpp"
#include "export/schema.hpp"

namespace pmukit::exporter {

// Maximum number of bytes of a number or address. A call may overwrite this many bytes even if the
// number is shorter.
constexpr size_t kMostDigits = 20;
constexpr size_t kBdfBytes = 7;

inline char *put_text(char *at, std::string_view text)
{
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
}

// Copies a text without a call of memcpy(). Fast for short texts of variable length.
inline char *put_word(char *at, std::string_view word)
{
    const char *from = word.data();
    const size_t size = word.size();
    if (size > 16)
        return put_text(at, word);
    if (size >= 8) {
        std::memcpy(at, from, 8);
        std::memcpy(at + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        std::memcpy(at, from, 4);
        std::memcpy(at + size - 4, from + size - 4, 4);
    } else if (size != 0) {
        at[0] = from[0];
        at[size / 2] = from[size / 2];
        at[size - 1] = from[size - 1];
    }
    return at + size;
}

namespace detail {

inline constexpr char kHexDigits[] = "0123456789abcdef";
constexpr uint64_t kEachByte = 0x0101010101010101;

// Splits a number into eight decimal digits, one per byte; the first digit is in the lowest byte.
// The computation treats first the halves, then the quarters, then the digits in parallel.
constexpr uint64_t eight_decimals(uint32_t value)
{
    const uint64_t halves = value / 10000 | uint64_t{value % 10000} << 32;
    const uint64_t hundreds = halves * 5243 >> 19 & 0x0000007f0000007f;
    const uint64_t quarters = (halves - 100 * hundreds) << 16 | hundreds;
    const uint64_t tens = quarters * 103 >> 10 & 0x000f000f000f000f;
    return (quarters - 10 * tens) << 8 | tens;
}

// Splits a number into its eight hexadecimal digits (0 to 15), one per byte, the first in the
// lowest byte.
constexpr uint64_t eight_nibbles(uint32_t value)
{
    uint64_t nibbles = value;
    nibbles = (nibbles << 32 | nibbles >> 16) & 0x0000ffff0000ffff;
    nibbles = (nibbles << 16 | nibbles >> 8) & 0x00ff00ff00ff00ff;
    return (nibbles << 8 | nibbles >> 4) & 0x0f0f0f0f0f0f0f0f;
}

// Converts nibbles to '0' ... '9', 'a' ... 'f'.
constexpr uint64_t hex_characters(uint64_t nibbles)
{
    const uint64_t letters = (nibbles + 6 * kEachByte) >> 4 & kEachByte;
    return nibbles + '0' * kEachByte + letters * ('a' - '0' - 10);
}

// Writes eight characters; the first is in the lowest byte.
inline void put_eight(char *at, uint64_t characters)
{
    if (std::endian::native == std::endian::big)
        characters = byteswap(characters);
    std::memcpy(at, &characters, sizeof characters);
}

}  // namespace detail

inline char *put_decimal(char *at, uint64_t value)
{
    if (value < 100) {
        const uint64_t tens = value * 103 >> 10;
        *at = static_cast<char>('0' + tens);
        at += tens != 0;
        *at = static_cast<char>('0' + value - 10 * tens);
        return at + 1;
    }
    constexpr uint64_t kBelow = 100000000;
    constexpr uint64_t kZeros = '0' * detail::kEachByte;
    if (value >= kBelow) {
        at = put_decimal(at, value / kBelow);
        detail::put_eight(at,
                          detail::eight_decimals(static_cast<uint32_t>(value % kBelow)) + kZeros);
        return at + 8;
    }
    const uint64_t digits = detail::eight_decimals(static_cast<uint32_t>(value));
    const int leading = __builtin_ctzll(digits | uint64_t{1} << 56) / 8;
    detail::put_eight(at, (digits + kZeros) >> 8 * leading);
    return at + 8 - leading;
}

// Writes 0x and the hexadecimal digits without leading zeros.
inline char *put_address(char *at, uint64_t value)
{
    const int leading = __builtin_clzll(value | 1) / 4;
    value <<= 4 * leading;
    const auto characters = [](uint64_t half) {
        return detail::hex_characters(detail::eight_nibbles(static_cast<uint32_t>(half)));
    };
    at = put_text(at, "0x");
    detail::put_eight(at, characters(value >> 32));
    detail::put_eight(at + 8, characters(value));
    return at + 16 - leading;
}

inline char *put_bdf(char *at, uint64_t id)
{
    using detail::kHexDigits;
    at[0] = kHexDigits[id >> 12 & 15];
    at[1] = kHexDigits[id >> 8 & 15];
    at[2] = ':';
    at[3] = kHexDigits[id >> 7 & 1];
    at[4] = kHexDigits[id >> 3 & 15];
    at[5] = '.';
    at[6] = kHexDigits[id & 7];
    return at + kBdfBytes;
}

// Writes a known field of any kind except kText.
inline char *put_plain(char *at, Kind kind, const Value &value)
{
    switch (kind) {
        case Kind::kNumber:
            return put_decimal(at, value.number());
        case Kind::kAddress:
            return put_address(at, value.number());
        case Kind::kBdf:
            return put_bdf(at, value.number());
        case Kind::kText:
        case Kind::kWord:
            break;
    }
    return put_word(at, value.text());
}

// Returns the bit mask of the columns that are kText. Callers compute it once, not for every row.
inline uint64_t text_columns(std::span<const Column> columns)
{
    uint64_t texts = 0;
    for (size_t i = 0; i < columns.size(); i++)
        texts |= uint64_t{columns[i].kind == Kind::kText} << i;
    return texts;
}

// Returns the number of bytes of the kText fields in a row. texts: see text_columns().
inline size_t text_bytes(uint64_t texts, const Value *values)
{
    size_t bytes = 0;
    for (; texts != 0; texts &= texts - 1)
        bytes += values[__builtin_ctzll(texts)].bytes;
    return bytes;
}

// Escapes text for a JSON string, and the characters that a terminal must not get
// (base/escape.hpp). Invalid UTF-8 becomes U+FFFD. The result is at most six times as long as the
// text.
char *put_json_escaped(char *at, std::string_view text);
constexpr size_t kMostEscaped = 6;
// Copies text. Invalid UTF-8 becomes U+FFFD. The result is at most three times as long as the text.
char *put_utf8(char *at, std::string_view text);
constexpr size_t kMostUtf8 = 3;

}  // namespace pmukit::exporter
