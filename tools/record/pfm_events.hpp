// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Events by libpfm4 name, in the syntax of perf's option --pfm-events:
// NAME[:UMASK][:MODIFIER=VALUE],... with groups in braces. libpfm(3) describes the names.
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
    size_t at;                     // offset of the name in the list
    std::optional<size_t> leader;  // index of the group's leader; none for the leader itself
};

// Parses a list. Error messages count characters from 1; the offset of an Error counts from 0.
Result<std::vector<PfmName>> parse_pfm_list(std::string_view list);

// Returns kUnsupported if the program is built without libpfm4. As in perf, an event counts user
// and kernel mode unless its name selects one of them. Two threads must not call this function at
// once, because libpfm4 has global state.
Result<std::vector<CodedEvent>> encode_pfm_list(std::string_view list);

struct PfmListed {
    std::string name;  // the whole name: PMU::EVENT or PMU::EVENT:UMASK
    std::string description;
};

// Returns the events that libpfm4 knows for the PMUs of this machine.
Result<std::vector<PfmListed>> list_pfm_events();

}  // namespace pmukit::record
