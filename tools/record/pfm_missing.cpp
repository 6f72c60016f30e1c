// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Replaces pfm_events.cpp in a build without libpfm4, such as the static programs for guests.
#include "record/pfm_events.hpp"

namespace pmukit::record {
namespace {

Error missing()
{
    return Error{Errc::kUnsupported,
                 "this pmukit was built without libpfm4; install libpfm4-dev and build it again, "
                 "or name events as pmu/term=value/ with -e"};
}

}  // namespace

Result<std::vector<CodedEvent>> encode_pfm_list(std::string_view)
{
    return missing();
}

Result<std::vector<PfmListed>> list_pfm_events()
{
    return missing();
}

}  // namespace pmukit::record
