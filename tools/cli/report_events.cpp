// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/report_events.hpp"

#include "base/counted.hpp"
#include "base/escape.hpp"
#include "cli/drivers.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {

OrdinaryEvents::OrdinaryEvents(const Recording &recording)
    : recording_(recording), samples_(recording, [this](const EventSample &sample) {
          counts_.resize(std::max(counts_.size(), sample.event + 1));
          counts_[sample.event]++;
      })
{
}

bool OrdinaryEvents::is_shown(size_t event) const
{
    return !recording_.driver(event) &&
           (samples_of(event) != 0 ||
            !perfdata::is_dummy(recording_.reader().events()[event].attr));
}

std::vector<std::string> OrdinaryEvents::lines() const
{
    std::vector<std::string> lines;
    for (size_t event = 0; event < recording_.reader().events().size(); event++) {
        if (!is_shown(event))
            continue;
        lines.push_back(event_line(recording_, event, {}));
        lines.push_back("  " + counted(samples_of(event), "samples"));
    }
    return lines;
}

void OrdinaryEvents::write(JsonWriter &json) const
{
    const perfdata::Reader &reader = recording_.reader();
    json.begin("events", JsonWriter::kArray);
    for (size_t event = 0; event < reader.events().size(); event++)
        if (is_shown(event))
            json.element({{"pmu", recording_.pmu_name(event)},
                          {"event", escape(perfdata::name_of(reader, reader.events()[event]))},
                          {"duration_ns", recording_.duration_ns()},
                          {"samples", samples_of(event)}});
    json.end();
}

}  // namespace pmukit::cli
