// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Samples of events that are no unit's, a row each.
#pragma once

#include <map>
#include <string>

#include "cli/export/driver_export.hpp"
#include "perfdata/sample.hpp"

namespace pmukit::cli {

class SampleRows {
public:
    explicit SampleRows(RowsOut &out) : out_(out) {}
    // Every record of type PERF_RECORD_SAMPLE; those of units are passed over.
    void note(const perfdata::Record &record);

private:
    void put_callchain(const perfdata::WordView &callchain);
    void put_stack(const perfdata::Sample &sample, decode::imc::Mode mode);
    const std::string &name_of(size_t event);

    RowsOut &out_;
    perfdata::SampleParser parser_;
    std::map<size_t, std::string> names_;  // of events
    std::string callchain_;
    std::vector<StackFrame> frames_;
};

// "kernel", "user" ... of a record's misc.
std::string_view cpu_mode_name(uint16_t misc);

}  // namespace pmukit::cli
