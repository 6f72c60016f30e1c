// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Text made of values. fmt's core header only checks and gathers them; fmt.cpp has the formatting,
// compiled once: <fmt/format.h> in every file made the whole build several times slower.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <string>
#include <string_view>

namespace pmukit {

// Behind what is there, as fmt::format has it.
void append_values(std::string &to, fmt::string_view format, fmt::format_args values);

template <typename... Args>
void append(std::string &to, fmt::format_string<Args...> format, Args &&...args)
{
    append_values(to, format, fmt::make_format_args(args...));
}

// Bytes of the character that a text, which is not empty, begins with (Unicode 15, table 3-7). 0:
// it is none.
size_t utf8_bytes(std::string_view text);
constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";
// As it is, but for each byte of no character: U+FFFD.
std::string valid_utf8(std::string_view text);

// Words or whole numbers, with something between each two.
template <typename Words>
std::string joined(const Words &words, std::string_view between)
{
    std::string all;
    bool first = true;
    for (const auto &word : words) {
        if (!first)
            all += between;
        first = false;
        if constexpr (std::convertible_to<decltype(word), std::string_view>)
            all += std::string_view(word);
        else
            all += std::to_string(word);
    }
    return all;
}

}  // namespace pmukit
