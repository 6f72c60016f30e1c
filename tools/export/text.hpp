// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Fields as text, for the formats that are text. Everything writes to `at`, where the caller has
// made room, and returns the place behind it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "export/schema.hpp"

namespace pmukit::exporter {

// No number takes more.
constexpr size_t kMostDigits = 20;
constexpr size_t kBdfBytes = 7;

inline char *put_text(char *at, std::string_view text)
{
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
}

namespace detail {

// "00", "01" ... "99"
constexpr std::array<char, 200> make_pairs()
{
    std::array<char, 200> pairs{};
    for (size_t i = 0; i < 100; i++) {
        pairs[2 * i] = static_cast<char>('0' + i / 10);
        pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
}
inline constexpr std::array<char, 200> kPairs = make_pairs();
inline constexpr char kHexDigits[] = "0123456789abcdef";

}  // namespace detail

inline char *put_decimal(char *at, uint64_t value)
{
    if (value < 10) {
        *at = static_cast<char>('0' + value);
        return at + 1;
    }
    char digits[kMostDigits];
    char *first = digits + sizeof digits;
    for (; value >= 100; value /= 100) {
        first -= 2;
        std::memcpy(first, &detail::kPairs[2 * (value % 100)], 2);
    }
    first -= 2;
    std::memcpy(first, &detail::kPairs[2 * value], 2);
    first += *first == '0';
    const size_t size = static_cast<size_t>(digits + sizeof digits - first);
    std::memcpy(at, first, size);
    return at + size;
}

// 0x and as few digits as it takes.
inline char *put_address(char *at, uint64_t value)
{
    const int digits = value ? (67 - __builtin_clzll(value)) / 4 : 1;
    *at++ = '0';
    *at++ = 'x';
    for (int i = digits; i-- > 0; value >>= 4)
        at[i] = detail::kHexDigits[value & 15];
    return at + digits;
}

inline char *put_bdf(char *at, uint64_t id)
{
    using detail::kHexDigits;
    const char text[] = {kHexDigits[id >> 12 & 15], kHexDigits[id >> 8 & 15], ':',
                         kHexDigits[id >> 7 & 1],   kHexDigits[id >> 3 & 15], '.',
                         kHexDigits[id & 7]};
    std::memcpy(at, text, sizeof text);
    return at + sizeof text;
}

// Of a field that is known and no kText.
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
    return put_text(at, value.text());
}

// The inside of a JSON string; what is no UTF-8 becomes U+FFFD. At most six times as long.
char *put_json_escaped(char *at, std::string_view text);
constexpr size_t kMostEscaped = 6;
// As it is, but for what is no UTF-8: U+FFFD. At most three times as long.
char *put_utf8(char *at, std::string_view text);
constexpr size_t kMostUtf8 = 3;

}  // namespace pmukit::exporter
