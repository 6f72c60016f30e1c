// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What `pmukit top` keeps of one driver while records come: the hottest of this interval and of
// all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/trace_format.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

enum class Span { kNow, kAll };  // this interval; since the beginning

struct LiveRow {
    std::string pmu, name;
    uint64_t id = 0;  // what name says, for programs
    uint64_t value = 0, more = 0;
};

// What is known to be missing, or went wrong. Shown when it is not 0, or a lower bound.
struct LiveLoss {
    uint64_t count;
    std::string_view text;
    bool at_least = false;
};

// How a view calls things.
struct LiveView {
    unsigned place;         // among the views, from the first on
    std::string_view name;  // "pages"; its first letter is its key
    std::string_view what;  // heads of the columns
    std::string_view value, more;
    // For programs
    std::string_view id_key, value_key, more_key;
    // Values add up to all that there is.
    bool has_shares;
};

// Where others opened an event, what it lost before the first record that we saw is not counted.
class LossesSeen {
public:
    void first_of_others(std::optional<uint64_t> sequence, std::optional<uint64_t> lost)
    {
        if (sequence.value_or(0))
            before_ = lost.value_or(0);
    }
    uint64_t of(uint64_t lost) const { return std::max(lost, before_) - before_; }

private:
    uint64_t before_ = 0;
};

class LiveDriver : public DriverSink {
public:
    virtual const LiveView &view() const = 0;
    // Largest value first; at most so many.
    virtual std::vector<LiveRow> rows(Span span, size_t most) const = 0;
    virtual uint64_t sum(Span span) const = 0;
    virtual std::vector<LiveLoss> losses() const = 0;
    virtual void next_interval() = 0;
    // An event of this PMU is opened for us: its trace records are numbered from the first one on.
    // Those of others were open before we looked.
    virtual void opened(const std::string &) {}
    // Of its trace event.
    virtual void traced(const record::TraceFormat &format, Bytes record) = 0;
};

// The PMU of a stream.
using PmuNames = std::function<std::string(const Stream &)>;

}  // namespace pmukit::cli
