// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/terms.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace pmukit::cli {

uint64_t Term::of(const perfdata::Attr &attr) const
{
    const uint64_t words[] = {attr.config, attr.config1, attr.config2};
    const unsigned bits = last_bit - first_bit + 1;
    return words[word] >> first_bit & (~uint64_t{0} >> (64 - bits));
}

std::string_view Term::meaning(uint64_t value) const
{
    const auto found = std::ranges::find(values, value, &TermValue::value);
    return found == values.end() ? unit : found->meaning;
}

std::string terms_text(std::span<const Term> terms, const perfdata::Attr &attr)
{
    std::string text;
    for (const Term &term : terms) {
        const uint64_t value = term.of(attr);
        const std::string_view meaning = term.meaning(value);
        if (!value && meaning == term.unit)
            continue;
        text += fmt::format("{}{}=", text.empty() ? "" : ", ", term.name);
        text += term.in_hex ? fmt::format("{:#x}", value) : std::to_string(value);
        if (!meaning.empty())
            text += fmt::format(" ({})", meaning);
    }
    return text;
}

}  // namespace pmukit::cli
