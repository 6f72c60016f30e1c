// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Samples of events that no driver decodes, a row each.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "cli/export/driver_export.hpp"
#include "session/samples.hpp"

namespace pmukit::cli {

class SampleRows {
public:
    explicit SampleRows(RowsOut &out)
        : out_(out), samples_(out.recording(), [this](const EventSample &sample) { put(sample); })
    {
    }
    SampleRows(const SampleRows &) = delete;
    SampleRows &operator=(const SampleRows &) = delete;

    // Rows of other events are left out.
    void only(std::function<bool(size_t)> wanted) { wanted_ = std::move(wanted); }
    // Each record, in the order of the file.
    void note(const perfdata::Record &record) { samples_.note(record); }
    // No more. What the rows lack is among the losses.
    void finish();

private:
    void put(const EventSample &sample);
    void put_callchain(std::span<const StackFrame> frames);
    const std::string &name_of(size_t event);

    RowsOut &out_;
    std::function<bool(size_t)> wanted_;
    Samples samples_;
    std::map<size_t, std::string> names_;  // of events
    std::string callchain_;
};

// "kernel", "user" ... of a record's misc.
std::string_view cpu_mode_name(uint16_t misc);

}  // namespace pmukit::cli
