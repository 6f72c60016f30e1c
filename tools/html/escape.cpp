// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "html/escape.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace pmukit::html {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

struct Entity {
    char character;
    std::string_view text;
};
constexpr Entity kEntities[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"},
};

// Forms of UTF-8 by number of bytes: lead bits of the first byte, and the smallest code point.
struct Form {
    uint8_t mask, lead;
    uint32_t smallest;
};
constexpr std::array<Form, 4> kForms = {
    {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}}};

bool is_xml_char(uint32_t point)
{
    if (point < 0x20)
        return point == '\t' || point == '\n' || point == '\r';
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return point <= 0x10ffff && !surrogate && point != 0xfffe && point != 0xffff;
}

// Returns the number of bytes of the first character; nullopt: it is invalid, or not allowed in a
// page.
std::optional<size_t> character_at(std::string_view text)
{
    const auto first = static_cast<uint8_t>(text.front());
    for (size_t bytes = 1; bytes <= kForms.size(); bytes++) {
        const Form &form = kForms[bytes - 1];
        if ((first & form.mask) != form.lead)
            continue;
        if (text.size() < bytes)
            return std::nullopt;
        uint32_t point = first & static_cast<uint8_t>(~form.mask);
        for (size_t i = 1; i < bytes; i++) {
            const auto next = static_cast<uint8_t>(text[i]);
            if ((next & 0xc0) != 0x80)
                return std::nullopt;
            point = point << 6 | (next & 0x3f);
        }
        return point >= form.smallest && is_xml_char(point) ? std::optional(bytes) : std::nullopt;
    }
    return std::nullopt;
}

std::string_view entity_of(char character)
{
    for (const Entity &entity : kEntities)
        if (entity.character == character)
            return entity.text;
    return {};
}

// True for a character that needs no escaping, as most characters of a page.
bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && entity_of(c).empty();
}

}  // namespace

std::string escaped(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto special = std::ranges::find_if_not(text, is_plain);
        out.append(text.begin(), special);
        text = {special, text.end()};
        if (text.empty())
            break;
        const std::optional<size_t> bytes = character_at(text);
        const std::string_view entity = entity_of(text.front());
        if (!bytes)
            out += kReplacement;
        else if (!entity.empty())
            out += entity;
        else
            out += text.substr(0, *bytes);
        text.remove_prefix(bytes.value_or(1));
    }
    return out;
}

}  // namespace pmukit::html
