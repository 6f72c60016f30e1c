// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Counts guest accesses that the device's documentation forbids or reserves, and logs the first
// kLinesPerRule of each rule as "violation: <rule>: <detail>". A lenient device counts nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "vfu/device.hpp"

namespace pmukit::models {

class Violations {
public:
    static constexpr unsigned kLinesPerRule = 10;

    Violations(vfu::Host &host, bool lenient) : host_(host), lenient_(lenient) {}

    // rule: a string literal, because only the view is stored.
    void add(std::string_view rule, std::string_view detail);
    uint64_t count() const { return count_; }

private:
    vfu::Host &host_;
    bool lenient_;
    uint64_t count_ = 0;
    std::map<std::string_view, unsigned> lines_;
};

}  // namespace pmukit::models
