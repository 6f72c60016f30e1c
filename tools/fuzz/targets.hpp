// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What is fuzzed: a function each from any bytes at all. It returns; a promise of the code it calls
// that turns out to be broken ends the program.
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace pmukit::fuzz {

void perfdata_file(Bytes bytes);
void perfdata_pipe(Bytes bytes);
void recover(Bytes bytes);
void cxl_hmu(Bytes bytes);
void hisi_ptt(Bytes bytes);
void event_strings(Bytes bytes);
void sysfs(Bytes bytes);

struct Target {
    std::string_view name;  // also that of the folder of its seeds
    void (*run)(Bytes);
};
constexpr Target kTargets[] = {
    {"perfdata_file", perfdata_file},
    {"perfdata_pipe", perfdata_pipe},
    {"recover", recover},
    {"cxl_hmu", cxl_hmu},
    {"hisi_ptt", hisi_ptt},
    {"event_strings", event_strings},
    {"sysfs", sysfs},
};

// A promise that every input must keep.
inline void hold(bool promise)
{
    if (!promise)
        __builtin_trap();
}

}  // namespace pmukit::fuzz
