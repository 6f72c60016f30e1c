// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The hottest units of CXL memory. HotList counts accesses and losses: one list for the interval,
// one since the start.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/saturate.hpp"
#include "base/sentences.hpp"
#include "cli/drivers/cxl_hmu/handlers.hpp"
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"
#include "session/per_stream.hpp"

namespace pmukit::cli {
namespace {

namespace cxl_hmu = decode::cxl_hmu;
using cxl_hmu::HotList;
using cxl_hmu::HotUnit;

constexpr LiveList kLists[] = {{"DPA range", "epochs", "accesses", "accesses"}};
constexpr LiveView kView = {0, "pages", kLists, "dpa", "accesses", "epochs", true};

// Both lists of a PMU get every record.
class Heat final : public cxl_hmu::Sink {
public:
    // Call if the event was open before top started.
    void begins_later()
    {
        all_.begins_later();
        first_is_later_ = true;
    }
    void record(const cxl_hmu::Record &record) override
    {
        if (std::exchange(first_is_later_, false))
            seen_.first_of_others(record.sequence, record.lost);
        now_.record(record);
        all_.record(record);
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        now_.skipped(offset, bytes);
        all_.skipped(offset, bytes);
    }
    const HotList &of(Span span) const { return span == Span::kNow ? now_ : all_; }
    uint64_t lost() const { return seen_.of(all_.totals().lost); }
    void next_interval() { now_ = HotList(); }

private:
    HotList now_, all_;
    bool first_is_later_ = false;
    LossesSeen seen_;
};

class LiveCxlHmu final
    : public PerStream<LiveDriver, PlainDecoder<cxl_hmu::StreamDecoder>, LiveCxlHmu &> {
public:
    explicit LiveCxlHmu(PmuNames names) : PerStream(*this), names_(std::move(names)) {}

    const LiveView &view() const override { return kView; }
    Heat &sink_of(const Stream &stream) { return heat_[names_(stream)]; }

    void sample(const Stream &stream, uint64_t, Bytes words) override
    {
        whole_records(sink_of(stream), words);
    }
    void opened(const std::string &pmu) override { opened_.insert(pmu); }
    void traced(const record::TraceFormat &format, Bytes record) override
    {
        const auto pmu = record::trace_text(format, record, "pmu");
        const auto words = record::trace_array(format, record, "words");
        if (pmu && words)
            whole_records(heat_of_event(std::string(*pmu)), *words);
        else
            unreadable_++;
    }

    std::vector<LiveRow> rows(Span span, size_t most) const override
    {
        std::vector<LiveRow> rows;
        for (const auto &[pmu, heat] : heat_) {
            const uint64_t bytes = uint64_t{1} << heat.of(span).totals().unit_log2.value_or(0);
            const bool always_on = heat.of(span).totals().always_on;
            for (const HotUnit &unit : heat.of(span).hottest(most))
                rows.push_back(
                    {pmu, fmt::format("{:#018x}-{:#018x}", unit.dpa, unit.dpa + bytes - 1),
                     unit.dpa, always_on ? unit.epochs : unit.accesses, unit.epochs, !always_on});
        }
        std::ranges::stable_sort(rows, std::greater(), &LiveRow::value);
        rows.resize(most ? std::min(rows.size(), most) : rows.size());
        return rows;
    }
    uint64_t sum(Span span) const override
    {
        uint64_t sum = 0;
        for (const auto &[pmu, heat] : heat_)
            add_to(sum, heat.of(span).totals().accesses);
        return sum;
    }
    std::vector<LiveLoss> losses() const override
    {
        cxl_hmu::HotTotals sum;
        uint64_t left_out = 0;
        for (const auto &[pmu, heat] : heat_) {
            const cxl_hmu::HotTotals &totals = heat.of(Span::kAll).totals();
            add_to(sum.lost, heat.lost());
            add_to(sum.sequence_gaps, totals.sequence_gaps);
            sum.overflows += totals.overflows;
            sum.skipped_bytes += totals.skipped_bytes;
            sum.without_unit += totals.without_unit;
            left_out += heat.of(Span::kAll).left_out().units;
        }
        return {{sum.lost, sentences::kLostEntries},
                {sum.sequence_gaps, sentences::kMissingRecords},
                {sum.overflows, sentences::kListFull},
                {sum.without_unit, sentences::kWithoutUnit},
                {sum.skipped_bytes, sentences::kSkippedBytes},
                {left_out, sentences::kUnitsLeftOut},
                {unreadable_, sentences::kUnreadable}};
    }
    void next_interval() override
    {
        for (auto &[pmu, heat] : heat_)
            heat.next_interval();
    }

private:
    Heat &heat_of_event(const std::string &pmu)
    {
        const auto [at, fresh] = heat_.try_emplace(pmu);
        if (fresh && !opened_.contains(pmu))
            at->second.begins_later();
        return at->second;
    }
    static void whole_records(Heat &heat, Bytes words)
    {
        cxl_hmu::StreamDecoder decoder(heat);
        decoder.start(0);
        decoder.data(words);
        decoder.end();
    }

    PmuNames names_;
    std::map<std::string, Heat> heat_;
    std::set<std::string> opened_;
    uint64_t unreadable_ = 0;
};

}  // namespace

std::unique_ptr<LiveDriver> make_cxl_hmu_live(PmuNames names)
{
    return std::make_unique<LiveCxlHmu>(std::move(names));
}

}  // namespace pmukit::cli
