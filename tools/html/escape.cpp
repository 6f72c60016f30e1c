// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "html/escape.hpp"

#include <algorithm>

#include "base/escape.hpp"
#include "base/text.hpp"

namespace pmukit::html {
namespace {

struct Entity {
    char character;
    std::string_view text;
};
constexpr Entity kEntities[] = {
    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"},
};

// Returns the number of bytes of the first character; 0: it is invalid, or not allowed in a page.
size_t character_at(std::string_view text)
{
    constexpr std::string_view kSpaces = "\t\n\r", kNeither[] = {"\xef\xbf\xbe", "\xef\xbf\xbf"};
    if (kSpaces.find(text.front()) != kSpaces.npos)
        return 1;
    const bool allowed = !text.starts_with(kNeither[0]) && !text.starts_with(kNeither[1]);
    return allowed && unsafe_bytes(text) == 0 ? utf8_bytes(text) : 0;
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
        const size_t bytes = character_at(text);
        const std::string_view entity = entity_of(text.front());
        if (!bytes)
            out += kReplacementCharacter;
        else if (!entity.empty())
            out += entity;
        else
            out += text.substr(0, bytes);
        text.remove_prefix(bytes ? bytes : 1);
    }
    return out;
}

}  // namespace pmukit::html
