// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Terms of events: the fields of perf_event_attr that a driver describes in format/, and the
// meaning of their values (Documentation/ABI/testing/).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "perfdata/attr.hpp"

namespace pmukit::cli {

struct TermValue {
    uint64_t value;
    std::string_view meaning;
};

struct Term {
    std::string_view name;
    unsigned word;                 // 0: attr.config, 1: config1, 2: config2
    unsigned first_bit, last_bit;  // in the word
    std::string_view unit = {};    // what a value means if `values` does not list it
    std::span<const TermValue> values = {};
    bool in_hex = false;

    uint64_t of(const perfdata::Attr &attr) const;
    // Meaning of a value; empty: the number itself says it.
    std::string_view meaning(uint64_t value) const;
};

// Terms of an event: "access_type=3 (non-TEE read and write), range_size=4 (in 256 MiB)". A 0
// without a meaning of its own is left out.
std::string terms_text(std::span<const Term> terms, const perfdata::Attr &attr);

}  // namespace pmukit::cli
