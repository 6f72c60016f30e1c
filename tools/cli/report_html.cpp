// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/report_html.hpp"

#include <fmt/core.h>

#include "cli/version.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {

html::Page page_of(const Recording &recording, const RecordingTotals &totals)
{
    html::Page page;
    page.title = "pmukit report of " + recording.path();
    page.program = fmt::format("made by pmukit {}", kVersion);
    page.source = recording.common_source().value_or("");
    std::string events;
    for (const perfdata::Event &event : recording.reader().events())
        events += (events.empty() ? "" : ", ") + perfdata::name_of(event);
    page.facts = {fmt::format("{} records of {}.", totals.records,
                              events.empty() ? "events without a name" : events)};
    return page;
}

}  // namespace pmukit::cli
