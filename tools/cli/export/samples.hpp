// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Samples of events that no driver decodes, one row each.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cli/export/driver_export.hpp"
#include "session/functions.hpp"
#include "session/samples.hpp"
#include "session/unwind.hpp"

namespace pmukit::cli {

class SampleRows {
public:
    // `names` has the names of functions and programs, and must outlive this object.
    SampleRows(RowsOut &out, Names &names)
        : out_(out),
          names_(names),
          explainer_(names.explainer(out.threads())),
          unwinder_(out.threads(), names.programs(out.threads())),
          samples_(out.recording(), [this](const EventSample &sample) { put(sample); })
    {
        samples_.unwind_by(&unwinder_);
    }
    SampleRows(const SampleRows &) = delete;
    SampleRows &operator=(const SampleRows &) = delete;

    // Skips rows of events for which wanted() is false.
    void only(std::function<bool(size_t)> wanted) { wanted_ = std::move(wanted); }
    // Call with each record, in file order.
    void note(const perfdata::Record &record) { samples_.note(record); }
    // Time before which no further row is written.
    uint64_t passed_ns() const { return samples_.passed_ns(); }
    // Call at the end of the data. Writes a loss for each kind of data that the rows lack.
    void finish();

private:
    void put(const EventSample &sample);
    void put_callchain(const EventSample &sample);
    void put_frames(const EventSample &sample);
    const std::string &name_of(size_t event);

    RowsOut &out_;
    Names &names_;
    std::function<bool(size_t)> wanted_;
    Explainer explainer_;
    Unwinder unwinder_;
    Samples samples_;
    std::map<size_t, std::string> event_names_;
    std::string callchain_, frames_;
};

// Returns the name of the CPU mode in a record's misc field: "kernel", "user" ...
std::string_view cpu_mode_name(uint16_t misc);

}  // namespace pmukit::cli
