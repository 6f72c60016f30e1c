// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Bus, device and function in hexadecimal, without a domain: 01:00.0.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pmukit::vfu {

// Returns bus << 8 | device << 3 | function; nullopt for any other text.
inline std::optional<uint16_t> parse_bdf(std::string_view text)
{
    constexpr std::string_view kShape = "00:00.0";
    if (text.size() != kShape.size() || text[2] != ':' || text[5] != '.')
        return std::nullopt;

    const auto number = [](std::string_view digits, unsigned limit) -> std::optional<unsigned> {
        unsigned value = 0;
        const auto [end, failure] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (failure != std::errc() || end != digits.data() + digits.size() || value >= limit)
            return std::nullopt;
        return value;
    };
    const auto bus = number(text.substr(0, 2), 256);
    const auto device = number(text.substr(3, 2), 32);
    const auto function = number(text.substr(6, 1), 8);
    if (!bus || !device || !function)
        return std::nullopt;
    return static_cast<uint16_t>(*bus << 8 | *device << 3 | *function);
}

}  // namespace pmukit::vfu
