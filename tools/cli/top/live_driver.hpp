// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// View of one driver in `pmukit top`: its rows with the largest values, in this interval and since
// the start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/trace_format.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

enum class Span { kNow, kAll };  // kNow: this interval; kAll: since the start

struct LiveRow {
    std::string pmu, name;
    uint64_t id = 0;  // machine-readable form of the name
    uint64_t value = 0, more = 0;
    bool has_value = true;  // false: the hardware has no value; `value` only ranks the row
    size_t list = 0;        // index in LiveView::lists
};

// A kind of loss or error. It is shown if the count is not 0 or is a lower bound (at_least).
struct LiveLoss {
    uint64_t count;
    std::string_view text;
    bool at_least = false;
};

// A list of rows, which are ranked together: column heads.
struct LiveList {
    std::string_view what, more;
    std::string_view now, all;  // head of the value, by Span
    std::string_view name{};    // in JSON, if a view has several lists
};

// Names of a view and of its lists.
struct LiveView {
    unsigned place;         // views are sorted by it
    std::string_view name;  // such as "pages"; the key of its first letter selects the view
    std::span<const LiveList> lists;
    // JSON keys
    std::string_view id_key, value_key, more_key;
    // True if the values of all rows add up to sum(), so that a row can show its share.
    bool has_shares;
};

// Counts the losses of an event that another process opened, without losses before the first record
// that top read.
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
    // Returns the `most` rows of each list with the largest values, the largest first, list by
    // list; all rows if `most` is 0.
    virtual std::vector<LiveRow> rows(Span span, size_t most) const = 0;
    virtual uint64_t sum(Span span) const = 0;
    virtual std::vector<LiveLoss> losses() const = 0;
    // Line of text below the rows; empty: none.
    virtual std::string_view note() const { return {}; }
    virtual void next_interval() = 0;
    // Call if top opened an event of this PMU: its trace records are then numbered from 0. Without
    // this call, the event was open before top started.
    virtual void opened(const std::string &) {}
    // Call with each record of the driver's trace event.
    virtual void traced(const record::TraceFormat &format, Bytes record) = 0;
};

// Returns the name of a stream's PMU.
using PmuNames = std::function<std::string(const Stream &)>;

}  // namespace pmukit::cli
