// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

namespace pmukit {
namespace {

bool continues(std::string_view text, size_t at)
{
    return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80;
}

}  // namespace

size_t utf8_bytes(std::string_view text)
{
    struct Row {
        uint8_t first, last;  // range of the first byte
        uint8_t second_first, second_last;
        size_t bytes;
    };
    constexpr Row kRows[] = {
        {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const uint8_t first = static_cast<uint8_t>(text[0]);
    for (const Row &row : kRows) {
        if (first < row.first || first > row.last)
            continue;
        const uint8_t second = text.size() > 1 ? static_cast<uint8_t>(text[1]) : 0;
        if (row.bytes > 1 && (second < row.second_first || second > row.second_last))
            return 0;
        for (size_t i = 2; i < row.bytes; i++)
            if (!continues(text, i))
                return 0;
        return row.bytes;
    }
    return 0;
}

std::string valid_utf8(std::string_view text)
{
    // Most names are ASCII.
    const auto first = std::ranges::find_if(text, [](char c) { return (c & 0x80) != 0; });
    std::string valid(text.begin(), first);
    text.remove_prefix(valid.size());
    while (!text.empty()) {
        const size_t bytes = utf8_bytes(text);
        valid += bytes ? text.substr(0, bytes) : kReplacementCharacter;
        text.remove_prefix(bytes ? bytes : 1);
    }
    return valid;
}

std::string shortened(std::string_view text, size_t most)
{
    constexpr std::string_view kMiddle = "...";
    if (text.size() <= most)
        return std::string(text);
    const size_t kept = most - kMiddle.size();
    size_t head = kept / 2, tail = text.size() - (kept - head);
    while (head > 0 && continues(text, head))
        head--;
    while (continues(text, tail))
        tail++;
    return std::string(text.substr(0, head)).append(kMiddle).append(text.substr(tail));
}

std::string without_octal(std::string_view text)
{
    constexpr size_t kDigits = 3;
    constexpr int kBase = 8;
    std::string plain;
    while (!text.empty()) {
        uint8_t value = 0;
        const std::string_view digits = text.substr(1, kDigits);
        const auto [end, failure] = std::from_chars(digits.begin(), digits.end(), value, kBase);
        const bool is_number = text.front() == '\\' && digits.size() == kDigits &&
                               end == digits.end() && failure == std::errc();
        plain += is_number ? static_cast<char>(value) : text.front();
        text.remove_prefix(is_number ? 1 + kDigits : 1);
    }
    return plain;
}

void append_values(std::string &to, fmt::string_view format, fmt::format_args values)
{
    fmt::vformat_to(std::back_inserter(to), format, values);
}

}  // namespace pmukit
