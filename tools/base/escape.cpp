// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/escape.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/text.hpp"

namespace pmukit {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

// Returns the code point of a valid UTF-8 character of at most three bytes.
uint32_t code_point(std::string_view character)
{
    constexpr uint8_t kFirst[] = {0x7f, 0x1f, 0x0f};
    uint32_t point = static_cast<uint8_t>(character[0]) & kFirst[character.size() - 1];
    for (const char next : character.substr(1))
        point = point << 6 | (static_cast<uint8_t>(next) & 0x3f);
    return point;
}

bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

bool is_unsafe(uint32_t point)
{
    struct Range {
        uint32_t first, last;
    };
    // ALM; LRM, RLM; separators, embeddings and overrides; isolates
    constexpr Range kRanges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
                                 {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    return std::ranges::any_of(
        kRanges, [point](const Range &in) { return point >= in.first && point <= in.last; });
}

}  // namespace

size_t unsafe_bytes(std::string_view text)
{
    if (is_printable(text[0]))
        return 0;
    const size_t bytes = utf8_bytes(text);
    if (bytes == 0)
        return 1;
    return bytes <= 3 && is_unsafe(code_point(text.substr(0, bytes))) ? bytes : 0;
}

std::string escape(std::string_view text, std::string_view kept)
{
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const auto special = std::ranges::find_if_not(text, is_printable);
        shown.append(text.begin(), special);
        text = {special, text.end()};
        if (text.empty())
            break;
        const bool keep = kept.find(text.front()) != kept.npos;
        const size_t unsafe = keep ? 0 : unsafe_bytes(text);
        for (size_t i = 0; i < unsafe; i++) {
            const auto byte = static_cast<uint8_t>(text[i]);
            shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
        }
        const size_t bytes = unsafe ? unsafe : std::max<size_t>(utf8_bytes(text), 1);
        if (!unsafe)
            shown += text.substr(0, bytes);
        text.remove_prefix(bytes);
    }
    return shown;
}

std::string replace_unsafe(std::string_view text, char instead)
{
    if (std::ranges::all_of(text, is_printable))
        return std::string(text);
    const std::string valid = valid_utf8(text);
    std::string shown;
    shown.reserve(valid.size());
    for (std::string_view rest = valid; !rest.empty();) {
        const size_t unsafe = unsafe_bytes(rest);
        const size_t bytes = unsafe ? unsafe : utf8_bytes(rest);
        if (unsafe)
            shown += instead;
        else
            shown += rest.substr(0, bytes);
        rest.remove_prefix(bytes);
    }
    return shown;
}

char *put_json_escape(char *at, std::string_view text, size_t bytes)
{
    const uint32_t point = code_point(text.substr(0, bytes));
    *at++ = '\\';
    *at++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *at++ = kDigits[point >> shift & 15];
    return at;
}

std::string escape_json(std::string json)
{
    if (std::ranges::all_of(json, is_printable))
        return json;
    std::string shown;
    for (std::string_view rest = json; !rest.empty();) {
        const size_t unsafe = unsafe_bytes(rest);
        const size_t bytes = unsafe ? unsafe : utf8_bytes(rest);
        char escaped[kJsonEscapeBytes];
        if (unsafe)
            shown.append(escaped, put_json_escape(escaped, rest, unsafe));
        else
            shown += rest.substr(0, bytes);
        rest.remove_prefix(bytes);
    }
    return shown;
}

}  // namespace pmukit
