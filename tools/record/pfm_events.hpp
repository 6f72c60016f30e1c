// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Events by the names that libpfm4 has for them, as perf's --pfm-events takes them:
// NAME[:UMASK][:MODIFIER=VALUE],... with groups in braces. libpfm(3) says what a name is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "record/recorder.hpp"

namespace pmukit::record {

struct PfmName {
    std::string text;
    size_t at;                     // in the list, from 0
    std::optional<size_t> leader;  // the first of its group, unless it is that itself
};

// Pure. Errors name the character, from 1, and have it, from 0, as offset.
Result<std::vector<PfmName>> parse_pfm_list(std::string_view list);

// kUnsupported: built without libpfm4. Users are counted unless a name says otherwise, the kernel
// too, as perf does it. Not to be called from two threads at once: libpfm4 keeps globals.
Result<std::vector<CodedEvent>> encode_pfm_list(std::string_view list);

struct PfmListed {
    std::string name;  // complete: PMU::EVENT or PMU::EVENT:UMASK
    std::string description;
};

// What the PMUs of this machine count, as libpfm4 knows it.
Result<std::vector<PfmListed>> list_pfm_events();

}  // namespace pmukit::record
