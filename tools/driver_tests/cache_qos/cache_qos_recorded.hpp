// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the CPUID leaves and L3s of real processors from testdata/cache_qos_leaves.txt. That file
// describes its format.
#pragma once

#include <linux/types.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pmukit::driver_tests {

using Leaf = std::array<u32, 4>;
using Leaves = std::map<std::pair<u32, u32>, Leaf>;

// All L3s of one kind in a machine. Shifts apply to APIC ids.
struct RecordedL3 {
    u32 count = 0, packages = 0;
    u64 bytes = 0;
    u32 shift = 0, package_shift = 0, cpus = 0;
};

struct Recorded {
    std::string name;
    Leaves leaves;
    std::map<u32, u64> msrs;
    int refused = 0;
    bool asked = false;
    u32 nr_rmid = 0, scale = 0, width = 0, events = 0, factor_above = 0, factor_ppm = 0;
    bool restarts = false;
    std::vector<RecordedL3> l3;
};

inline u64 recorded_number(std::istream &in)
{
    std::string word;
    in >> word;
    return std::stoull(word, nullptr, 0);
}
inline u32 recorded_number32(std::istream &in)
{
    return static_cast<u32>(recorded_number(in));
}

inline void add_recorded(Recorded &part, const std::string &word, std::istream &in)
{
    if (word == "leaf") {
        const u32 leaf = recorded_number32(in), subleaf = recorded_number32(in);
        for (u32 &reg : part.leaves[{leaf, subleaf}])
            reg = recorded_number32(in);
    } else if (word == "msr") {
        const u32 msr = recorded_number32(in);
        part.msrs[msr] = recorded_number(in);
    } else if (word == "refused") {
        part.refused = static_cast<int>(recorded_number(in));
    } else if (word == "is" || word == "asked") {
        part.asked = word == "asked";
        for (u32 *field : {&part.nr_rmid, &part.scale, &part.width, &part.events,
                           &part.factor_above, &part.factor_ppm})
            *field = recorded_number32(in);
        part.restarts = recorded_number(in);
    } else if (word == "l3") {
        RecordedL3 &l3 = part.l3.emplace_back();
        l3.count = recorded_number32(in);
        l3.packages = recorded_number32(in);
        l3.bytes = recorded_number(in);
        for (u32 *field : {&l3.shift, &l3.package_shift, &l3.cpus})
            *field = recorded_number32(in);
    } else {
        throw std::invalid_argument(word);
    }
}

inline std::vector<Recorded> recorded(const char *path)
{
    std::ifstream file(path);
    std::vector<Recorded> parts;
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        std::string word;
        if (!(in >> word) || word == "#")
            continue;
        if (word == "part")
            std::getline(in >> std::ws, parts.emplace_back().name);
        else
            add_recorded(parts.back(), word, in);
    }
    return parts;
}

}  // namespace pmukit::driver_tests
