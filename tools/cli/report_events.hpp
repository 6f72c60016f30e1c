// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit report: events that no driver of pmukit decodes, such as cycles: the number of samples.
#pragma once

#include <vector>

#include "console/json_writer.hpp"
#include "console/output.hpp"
#include "session/samples.hpp"

namespace pmukit::cli {

class OrdinaryEvents {
public:
    explicit OrdinaryEvents(const Recording &recording);
    OrdinaryEvents(const OrdinaryEvents &) = delete;
    OrdinaryEvents &operator=(const OrdinaryEvents &) = delete;

    // Call with each record, in the order of the file.
    void note(const perfdata::Record &record) { samples_.note(record); }
    void finish() { samples_.finish(); }

    // The rest is for use after finish().
    std::vector<std::string> lines() const;
    void write(JsonWriter &json) const;

private:
    bool is_shown(size_t event) const;
    uint64_t samples_of(size_t event) const { return event < counts_.size() ? counts_[event] : 0; }

    const Recording &recording_;
    std::vector<uint64_t> counts_;  // of samples, by event
    Samples samples_;
};

}  // namespace pmukit::cli
