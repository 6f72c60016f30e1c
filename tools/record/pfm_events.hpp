// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Events by libpfm4 name, in the syntax of perf's --pfm-events: NAME[:UMASK][:MODIFIER=VALUE],...
// with groups in braces. libpfm(3) describes the names.
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
    size_t at;                     // offset in the list
    std::optional<size_t> leader;  // index of its group's first event; none for that event
};

// Pure. Error messages count characters from 1; the offset of an error counts from 0.
Result<std::vector<PfmName>> parse_pfm_list(std::string_view list);

// kUnsupported: built without libpfm4. As in perf, user and kernel mode are counted unless a name
// says otherwise. Not to be called from two threads at once: libpfm4 has global state.
Result<std::vector<CodedEvent>> encode_pfm_list(std::string_view list);

struct PfmListed {
    std::string name;  // complete: PMU::EVENT or PMU::EVENT:UMASK
    std::string description;
};

// The events of this machine's PMUs that libpfm4 knows.
Result<std::vector<PfmListed>> list_pfm_events();

}  // namespace pmukit::record
