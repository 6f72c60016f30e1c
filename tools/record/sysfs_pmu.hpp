// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A PMU as /sys/bus/event_source/devices/<name> describes it. The root directory is a parameter,
// for saved copies of the tree and for tests.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::record {

constexpr const char *kSysfsPmus = "/sys/bus/event_source/devices";
constexpr size_t kConfigWords = 5;  // config, config1 ... config4

using ConfigWords = std::array<uint64_t, kConfigWords>;

// The location of a term's value: bits of one config word, lowest bits of the value first.
struct Field {
    struct Bits {
        unsigned first, last;  // inclusive
    };
    size_t word = 0;
    std::vector<Bits> bits;

    unsigned width() const;
};

struct Pmu {
    std::string name;
    uint32_t type = 0;
    std::map<std::string, Field> format;
    std::map<std::string, std::string> events;  // alias -> terms
    std::map<std::string, std::string> caps;
    std::optional<std::vector<int>> cpumask;  // CPUs on which a system-wide PMU is read
    std::optional<std::vector<int>> cpus{};   // on hybrid machines: CPUs with this core PMU
};

// Parses a format such as "config1:0-31" or "config:4,8-11".
Result<Field> parse_format(std::string_view text);
// Returns an Error if the value has more bits than the field.
Result<void> set_field(const Field &field, uint64_t value, ConfigWords &words);
uint64_t get_field(const Field &field, const ConfigWords &words);

Result<Pmu> read_pmu(const std::string &root, const std::string &name);
// Returns the names of the PMUs with their attr.type, sorted by name.
Result<std::vector<std::pair<std::string, uint32_t>>> list_pmus(const std::string &root);

}  // namespace pmukit::record
