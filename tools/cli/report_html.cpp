// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/report_html.hpp"

#include <fmt/core.h>

#include "cli/driver_handlers.hpp"
#include "cli/figures.hpp"
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
    for (size_t event = 0; event < recording.reader().events().size(); event++) {
        events += (events.empty() ? "" : ", ") +
                  perfdata::name_of(recording.reader(), recording.reader().events()[event]);
        if (const std::string terms = terms_of(recording, event); !terms.empty())
            events += " with " + terms;
    }
    const std::optional<uint64_t> duration_ns = recording.duration_ns();
    page.facts = {fmt::format("{} in the file{}; events: {}.", counted(totals.records, "records"),
                              duration_ns ? ", over " + seconds_text(*duration_ns) : "",
                              events.empty() ? "without a name" : events)};
    return page;
}

}  // namespace pmukit::cli
