// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Groups, tasks and CPUs that use most of a cache, and those that move most memory traffic. A gauge
// (occupancy) shows its current value and its maximum, a count its growth.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/saturate.hpp"
#include "base/sentences.hpp"
#include "cli/drivers/cache_qos/handlers.hpp"
#include "cli/drivers/cache_qos/missing.hpp"
#include "cli/drivers/cache_qos/resctrl_tree.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"
#include "session/per_stream.hpp"

namespace pmukit::cli {
namespace {

namespace cache_qos = decode::cache_qos;
using cache_qos::kMachine;
using cache_qos::Reading;
using cache_qos::SeriesKey;

// By is_count()
constexpr LiveList kLists[] = {
    {"monitor, L3, occupancy", "at most less", "last bytes", "most bytes", "occupancy"},
    {"monitor, L3, traffic", {}, "bytes moved", "bytes moved", "traffic"},
};
constexpr LiveView kView = {2, "groups", kLists, "monitor", "bytes", "bound", false};

struct Level {
    uint64_t first = 0, before = 0, last = 0, most = 0, bound = 0;
    // Number of the last pass in which the driver read this monitor. In each pass, the driver reads
    // the monitor of the whole machine first.
    uint64_t pass = 0;
    uint8_t kind = 0;
    std::optional<cache_qos::Name> named{};

    // Sets each member: for `*this = Level{}`, g++ 14 -O2 warns about uninitialized members.
    void begin(uint64_t bytes)
    {
        first = before = bytes;
        last = most = bound = pass = 0;
        named.reset();
    }
};

bool is_count(uint8_t event)
{
    return event != PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
}

// A counter that restarted has grown by its new value.
uint64_t grown(uint64_t from, uint64_t to)
{
    return to < from ? to : to - from;
}

class Monitors final : public cache_qos::Sink {
public:
    void header(uint64_t, const cache_qos::Header &header) override
    {
        if (!account_.note(header.sequence))
            return;
        lost_ = header.lost;
        missing_.header(header);
        of_resctrl_ = header.backend == PMUKIT_CACHE_QOS_BACKEND_RESCTRL;
    }
    void reading(uint64_t, const Reading &reading) override
    {
        if (account_.note(reading.sequence))
            note(reading, names_.find(reading.monitor, reading.domain));
    }
    void name(uint64_t, const cache_qos::NamePart &part) override
    {
        if (!account_.note(part.sequence))
            return;
        missing_.name(part);
        names_.note(part);
    }
    void skipped(uint64_t, uint64_t bytes) override { skipped_bytes_ += bytes; }

    // `named` is nullptr if no record has named the monitor.
    void note(const Reading &reading, const cache_qos::Name *named)
    {
        missing_.reading(reading);
        if (!cache_qos::has_value(reading))
            return;
        const SeriesKey key = {reading.monitor, reading.domain, reading.event};
        const auto [at, fresh] = levels_.try_emplace(key);
        Level &level = at->second;
        // If the kind or the use count (life) of the monitor number differs, the driver has
        // assigned the number to another task, group or CPU list.
        if (fresh || level.kind != reading.kind ||
            (named && level.named && named->life != level.named->life))
            level.begin(reading.bytes);
        level.kind = reading.kind;
        if (named && named->kind == reading.kind)
            level.named = *named;
        level.last = reading.bytes;
        level.most = std::max(level.most, reading.bytes);
        level.bound = reading.bound;
        level.pass = reading.monitor == kMachine ? level.pass + 1 : passes(key);
    }
    void next_interval()
    {
        for (auto &[key, level] : levels_)
            level.before = level.last;
    }
    // Returns true if the monitor number has the name of another life, or if the driver has begun
    // two passes since it last read this monitor. The first of them is complete and did not read
    // the monitor, so the monitor no longer exists.
    bool has_ended(const SeriesKey &key, const Level &level) const
    {
        const cache_qos::Name *named = names_.find(key.monitor, key.domain);
        return (named && level.named && named->life != level.named->life) ||
               passes(key) > level.pass + 1;
    }
    bool of_resctrl() const { return of_resctrl_; }
    const std::map<SeriesKey, Level> &levels() const { return levels_; }
    uint64_t lost() const { return lost_ + account_.missing(); }
    uint64_t skipped_bytes() const { return skipped_bytes_; }
    const MissingCounts &missing() const { return missing_.counts(); }

private:
    uint64_t passes(const SeriesKey &key) const
    {
        const auto machine = levels_.find({kMachine, key.domain, key.event});
        return machine == levels_.end() ? 0 : machine->second.pass;
    }

    std::map<SeriesKey, Level> levels_;
    cache_qos::Names names_;
    cache_qos::SequenceAccount account_;
    MissingValues missing_;
    uint64_t lost_ = 0, skipped_bytes_ = 0;
    bool of_resctrl_ = false;
};

uint64_t value_of(const SeriesKey &key, const Level &level, Span span)
{
    if (is_count(key.event))
        return grown(span == Span::kNow ? level.before : level.first, level.last);
    return span == Span::kNow ? level.last : level.most;
}

// Keeps the first `most` rows of each list, or all if `most` is 0.
std::vector<LiveRow> largest(std::vector<LiveRow> rows, size_t most)
{
    std::array<size_t, std::size(kLists)> seen{};
    if (most)
        std::erase_if(rows, [&](const LiveRow &row) { return seen[row.list]++ >= most; });
    return rows;
}

// The trace event has no PMU name; a machine has only one such PMU.
constexpr const char *kTracedPmu = "cache_qos_aux";

class LiveCacheQos final
    : public PerStream<LiveDriver, PlainDecoder<cache_qos::StreamDecoder>, LiveCacheQos &> {
public:
    explicit LiveCacheQos(PmuNames names) : PerStream(*this), names_(std::move(names)) {}

    const LiveView &view() const override { return kView; }
    // The event of each CPU numbers its readings separately.
    Monitors &sink_of(const Stream &stream) { return monitors_[{names_(stream), stream.cpu}]; }

    void sample(const Stream &stream, uint64_t, Bytes words) override
    {
        cache_qos::StreamDecoder decoder(sink_of(stream));
        decoder.start(0);
        decoder.data(words);
        decoder.end();
    }
    void traced(const record::TraceFormat &format, Bytes record) override;

    std::vector<LiveRow> rows(Span span, size_t most) const override
    {
        std::vector<LiveRow> rows;
        for (const auto &[pmu, monitors] : monitors_)
            for (const auto &[key, level] : monitors.levels()) {
                if (span == Span::kNow && monitors.has_ended(key, level))
                    continue;
                rows.push_back(
                    {pmu.first,
                     fmt::format("{} {}{}{}, {}, {}", cache_qos::kind_name(level.kind), key.monitor,
                                 level.named ? " " : "", level.named ? level.named->label() : "",
                                 key.domain, cache_qos::event_name(key.event)),
                     key.monitor, value_of(key, level, span), level.bound, true,
                     is_count(key.event)});
            }
        std::ranges::stable_sort(rows, [](const LiveRow &a, const LiveRow &b) {
            return std::tuple(a.list, b.value) < std::tuple(b.list, a.value);
        });
        return largest(std::move(rows), most);
    }
    uint64_t sum(Span) const override { return 0; }
    std::string_view note() const override
    {
        const bool any = std::ranges::any_of(
            monitors_, [](const auto &monitors) { return monitors.second.of_resctrl(); });
        return any ? resctrl::kMeaning : std::string_view();
    }
    std::vector<LiveLoss> losses() const override
    {
        uint64_t lost = 0, skipped = 0;
        MissingCounts missing{};
        for (const auto &[pmu, monitors] : monitors_) {
            add_to(lost, monitors.lost());
            skipped += monitors.skipped_bytes();
            for (size_t what = 0; what < kMissing.size(); what++)
                missing[what] += monitors.missing()[what];
        }
        std::vector<LiveLoss> losses = {{lost, sentences::kLostReadings},
                                        {skipped, sentences::kSkippedBytes},
                                        {unreadable_, sentences::kUnreadable}};
        for (size_t what = 0; what < kMissing.size(); what++)
            losses.push_back({missing[what], kMissing[what].sentence});
        return losses;
    }
    void next_interval() override
    {
        for (auto &[pmu, monitors] : monitors_)
            monitors.next_interval();
    }

private:
    using Pmu = std::pair<std::string, uint32_t>;

    PmuNames names_;
    std::map<Pmu, Monitors> monitors_;
    uint64_t unreadable_ = 0;
};

void LiveCacheQos::traced(const record::TraceFormat &format, Bytes record)
{
    const auto number = [&](std::string_view field) {
        return record::trace_number(format, record, field);
    };
    const auto monitor = number("monitor"), domain = number("domain"), kind = number("kind"),
               event = number("event"), bytes = number("bytes"), bound = number("bound");
    if (!monitor || !domain || !kind || !event || !bytes || !bound) {
        unreadable_++;
        return;
    }
    Reading reading;
    reading.monitor = static_cast<uint32_t>(*monitor);
    reading.domain = static_cast<uint16_t>(*domain);
    reading.kind = static_cast<uint8_t>(*kind);
    reading.event = static_cast<uint8_t>(*event);
    reading.bytes = *bytes;
    reading.bound = *bound;
    reading.status = static_cast<uint32_t>(number("status").value_or(0));
    // Trace events of older drivers have no names, and so none of these fields.
    const auto life = number("life"), id = number("id");
    const auto text = record::trace_array(format, record, "name");
    cache_qos::Name named{.kind = reading.kind,
                          .id = id.value_or(0),
                          .life = static_cast<uint32_t>(life.value_or(0)),
                          .text = cache_qos::text_of(text.value_or(Bytes{}))};
    monitors_[{kTracedPmu, UINT32_MAX}].note(reading, named.text.empty() ? nullptr : &named);
}

}  // namespace

std::unique_ptr<LiveDriver> make_cache_qos_live(PmuNames names)
{
    return std::make_unique<LiveCacheQos>(std::move(names));
}

}  // namespace pmukit::cli
