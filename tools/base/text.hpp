// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Text formatting. The core header of {fmt} only checks and collects the values; fmt.cpp compiles
// the formatting code once. <fmt/format.h> in every file would make the whole build several times
// slower.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <string>
#include <string_view>

namespace pmukit {

// Appends values to the text, formatted as by fmt::format.
void append_values(std::string &to, fmt::string_view format, fmt::format_args values);

template <typename... Args>
void append(std::string &to, fmt::format_string<Args...> format, Args &&...args)
{
    append_values(to, format, fmt::make_format_args(args...));
}

// Returns the length in bytes of the UTF-8 character at the start of the text (Unicode 15, table
// 3-7); 0 if the text begins with an invalid character. The text must not be empty.
size_t utf8_bytes(std::string_view text);
constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";
// Replaces each byte that belongs to no valid character with U+FFFD.
std::string valid_utf8(std::string_view text);

// Limits in bytes of a name that an output repeats: with each row, and with each frame of a call
// chain. Names of the kernel are shorter: NAME_MAX is 255, the name of a thread has 15 bytes.
constexpr size_t kMostRowName = 255, kMostFrameName = 512, kMostPath = 4096;
// Returns the text with "..." in place of its middle if it is longer than `most` bytes. The result
// of valid UTF-8 is valid.
std::string shortened(std::string_view text, size_t most);

// Decodes the octal numbers by which the kernel writes blanks, backslashes and line ends in the
// paths of /proc/mounts and /proc/PID/maps: \040.
std::string without_octal(std::string_view text);

// Joins words or whole numbers with `between`.
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
