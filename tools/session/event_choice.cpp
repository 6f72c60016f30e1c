// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/event_choice.hpp"

#include <fmt/core.h>

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {
namespace {

// True if name is the recorded name of the event, or the name of its PMU.
bool is_called(const perfdata::Reader &reader, const perfdata::Event &event,
               const std::string &name)
{
    const std::string own = perfdata::name_of(reader, event);
    return own == name || reader.pmu_name(event.attr.type) == name ||
           own.substr(0, own.find('/')) == name;
}

}  // namespace

Result<std::vector<bool>> choose_events(const perfdata::Reader &reader,
                                        const std::vector<std::string> &names)
{
    if (names.empty())
        return std::vector<bool>();
    std::vector<bool> chosen(reader.events().size());
    std::vector<std::string> known;
    for (const std::string &name : names) {
        bool found = false;
        for (size_t i = 0; i < chosen.size(); i++)
            if (is_called(reader, reader.events()[i], name))
                found = chosen[i] = true;
        if (found)
            continue;
        for (const perfdata::Event &event : reader.events())
            known.push_back(perfdata::name_of(reader, event));
        const std::string all = joined(known, ", ");
        for (const perfdata::Event &event : reader.events())
            known.push_back(reader.pmu_name(event.attr.type));
        return Error{Errc::kUsage, fmt::format("--event {}: not in this recording, which has: {}{}",
                                               name, all, did_you_mean(name, known))};
    }
    return chosen;
}

}  // namespace pmukit::cli
