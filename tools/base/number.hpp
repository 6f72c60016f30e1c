// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Numbers as users and sysfs write them: 12, 0x1f, and lists such as 0-3,8.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit {

inline std::string_view trim(std::string_view text)
{
    constexpr std::string_view kBlank = " \t\r\n";
    size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Splits at every separator. An empty text has no parts; "a,,b" has an empty part.
inline std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            break;
        text.remove_prefix(end + 1);
        if (text.empty())
            parts.push_back(text);
    }
    return parts;
}

// Returns an error with the message "'text' HOW". The message is appended piece by piece: for
// literal + string, g++ 12 warns of overlaps that cannot happen.
inline Error wrong_text(Errc code, std::string_view text, std::string_view how)
{
    std::string message(1, '\'');
    message.append(text).append("' ").append(how);
    return Error{code, message};
}

// Parses a decimal number, or a hexadecimal one after 0x. The whole text must be the number.
inline Result<uint64_t> parse_u64(std::string_view text)
{
    std::string_view digits = text;
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
        digits.remove_prefix(2);
        base = 16;
    }
    uint64_t value = 0;
    auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (failure == std::errc::result_out_of_range)
        return wrong_text(Errc::kUsage, text, "does not fit in 64 bits");
    if (failure != std::errc() || end != digits.data() + digits.size())
        return wrong_text(Errc::kUsage, text, "is not a number");
    return value;
}

// Parses a list of numbers in sysfs format: "0-3,8". A blank text is the empty list. A number above
// `most` is an error.
inline Result<std::vector<int>> parse_list(std::string_view text, int most)
{
    std::vector<int> numbers;
    for (std::string_view part : split(trim(text), ',')) {
        size_t dash = part.find('-');
        Result<uint64_t> first = parse_u64(part.substr(0, dash));
        Result<uint64_t> last = dash == part.npos ? first : parse_u64(part.substr(dash + 1));
        if (!first || !last || *last < *first || *last > static_cast<uint64_t>(most))
            return wrong_text(Errc::kUsage, trim(text), "is not a list such as 0-3,8");
        for (uint64_t number = *first; number <= *last; number++)
            numbers.push_back(static_cast<int>(number));
    }
    return numbers;
}

constexpr int kMaxCpu = 65535;

// Parses a list of CPUs, such as the argument of option -C.
inline Result<std::vector<int>> parse_cpulist(std::string_view text)
{
    return parse_list(text, kMaxCpu);
}

}  // namespace pmukit
