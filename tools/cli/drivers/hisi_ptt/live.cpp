// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Requesters with the most TLPs on the traced links.
#include <algorithm>
#include <map>
#include <set>

#include "base/saturate.hpp"
#include "base/sentences.hpp"
#include "cli/drivers/hisi_ptt/handlers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"
#include "decode/hisi_ptt/hisi_ptt_tlp.hpp"
#include "session/per_stream.hpp"

namespace pmukit::cli {
namespace {

namespace ptt = decode::hisi_ptt;

constexpr LiveList kLists[] = {{"requester", "payload bytes", "TLPs", "TLPs"}};
constexpr LiveView kView = {1, "requesters", kLists, "requester", "tlps", "bytes", true};

struct Traffic {
    uint64_t tlps = 0, bytes = 0;
};

// Counts TLPs by requester. The map needs no limit: there are at most 65536 requesters.
class Link final : public ptt::Sink {
public:
    void packet(const ptt::Packet &packet) override
    {
        const ptt::Tlp tlp = parse_tlp(packet);
        // The position of the requester ID in the header of an unknown type of TLP is unknown.
        if (tlp.kind.queue == ptt::TlpClass::kUnknown) {
            unknown_++;
            return;
        }
        const uint64_t bytes = ptt::data_bytes(tlp);
        for (auto *table : {&now_, &all_}) {
            Traffic &traffic = (*table)[tlp.requester];
            traffic.tlps++;
            traffic.bytes += bytes;
        }
    }
    void skipped(uint64_t, uint64_t bytes) override { skipped_bytes_ += bytes; }
    void lost(uint64_t, uint64_t) override { losses_++; }

    const std::map<uint16_t, Traffic> &of(Span span) const
    {
        return span == Span::kNow ? now_ : all_;
    }
    void next_interval() { now_.clear(); }
    uint64_t skipped_bytes() const { return skipped_bytes_; }
    uint64_t losses() const { return losses_; }
    uint64_t unknown() const { return unknown_; }

private:
    std::map<uint16_t, Traffic> now_, all_;
    uint64_t skipped_bytes_ = 0, losses_ = 0, unknown_ = 0;
};

// Losses that the records of an event report.
class Account {
public:
    // Call if the event was open before top started.
    void begins_later(const ptt::Record &first)
    {
        records_.begins_later();
        seen_.first_of_others(first.sequence, first.lost);
        was_at_least_ = (first.flags & PMUKIT_HISI_PTT_F_AT_LEAST) != 0;
    }
    bool note(const ptt::Record &record) { return records_.note(record); }

    const ptt::RecordAccount &records() const { return records_; }
    uint64_t lost_entries() const { return aux_lost_ + seen_.of(records_.lost_entries()); }
    // A flag that was already set in the first record is not evidence of a new loss.
    bool at_least() const
    {
        return aux_gap_ || aux_at_least_ ||
               (records_.at_least() && (!was_at_least_ || records_.overruns() != 0));
    }
    // Call for a gap in the AUX data. The number of entries lost in the gap is known only at the
    // end, when lose() is called.
    void gap() { aux_gap_ = true; }
    void lose(const perfdata::LostEntries &lost)
    {
        add_to(aux_lost_, lost.count());
        aux_at_least_ |= lost.at_least();
        aux_gap_ = false;
    }

private:
    ptt::RecordAccount records_;
    LossesSeen seen_;
    uint64_t aux_lost_ = 0;
    bool aux_gap_ = false, aux_at_least_ = false, was_at_least_ = false;
};

class LiveHisiPtt;

class StreamOfLink {
public:
    StreamOfLink(LiveHisiPtt &to, const Stream &stream);
    ptt::StreamDecoder &decoder() { return decoder_; }

private:
    ptt::StreamDecoder decoder_;
};

class LiveHisiPtt final : public PerStream<LiveDriver, StreamOfLink, LiveHisiPtt &> {
public:
    explicit LiveHisiPtt(PmuNames names) : PerStream(*this), names_(std::move(names)) {}

    const LiveView &view() const override { return kView; }
    Link &sink_of(const Stream &stream) { return links_[names_(stream)]; }

    void aux_entries(const Stream &stream, std::optional<uint64_t> base) override
    {
        of(stream).decoder().align(base);
    }
    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        PerStream::aux_begin(stream, offset, 0, 0);
        PerStream::aux_loss(stream, offset, bytes);
        if (bytes == 0)
            accounts_[names_(stream)].gap();
    }
    void entries_lost(const Stream &stream, const perfdata::LostEntries &lost) override
    {
        accounts_[names_(stream)].lose(lost);
    }
    void sample(const Stream &stream, uint64_t, Bytes words) override
    {
        whole_record(names_(stream), words, false);
    }
    void opened(const std::string &pmu) override { opened_.insert(pmu); }
    void traced(const record::TraceFormat &format, Bytes record) override
    {
        const auto pmu = record::trace_text(format, record, "pmu");
        const auto words = record::trace_array(format, record, "words");
        if (pmu && words)
            whole_record(std::string(*pmu), *words, !opened_.contains(std::string(*pmu)));
        else
            unreadable_++;
    }

    std::vector<LiveRow> rows(Span span, size_t most) const override
    {
        std::vector<LiveRow> rows;
        for (const auto &[pmu, link] : links_)
            for (const auto &[id, traffic] : link.of(span))
                rows.push_back({pmu, ptt::bdf_text(id), id, traffic.tlps, traffic.bytes});
        std::ranges::stable_sort(rows, std::greater(), &LiveRow::value);
        rows.resize(most ? std::min(rows.size(), most) : rows.size());
        return rows;
    }
    uint64_t sum(Span span) const override
    {
        uint64_t sum = 0;
        for (const auto &[pmu, link] : links_)
            for (const auto &[id, traffic] : link.of(span))
                sum += traffic.tlps;
        return sum;
    }
    std::vector<LiveLoss> losses() const override
    {
        uint64_t entries = 0, missing = 0, overruns = 0, skipped = unreadable_, cuts = 0,
                 unknown = 0;
        bool at_least = false;
        for (const auto &[pmu, account] : accounts_) {
            add_to(entries, account.lost_entries());
            at_least |= account.at_least();
            add_to(missing, account.records().missing_records());
            overruns += account.records().overruns();
        }
        uint64_t skipped_bytes = 0;
        for (const auto &[pmu, link] : links_) {
            skipped_bytes += link.skipped_bytes();
            cuts += link.losses();
            unknown += link.unknown();
        }
        return {{entries, "trace entries lost before the AUX area or the ring", at_least},
                {missing, sentences::kMissingRecords},
                {overruns, "times the device overwrote unread data"},
                {cuts, "times trace data was lost"},
                {unknown, "TLPs are of no known type and have no requester"},
                {skipped_bytes, "bytes held no trace entry and were skipped"},
                {skipped, sentences::kUnreadable}};
    }
    void next_interval() override
    {
        for (auto &[pmu, link] : links_)
            link.next_interval();
    }

private:
    // `of_others` is true if another process opened the event.
    void whole_record(const std::string &pmu, Bytes words, bool of_others)
    {
        const auto record = ptt::parse_record(words);
        if (!record) {
            unreadable_++;
            return;
        }
        const auto [at, fresh] = accounts_.try_emplace(pmu);
        if (fresh && of_others)
            at->second.begins_later(*record);
        if (!at->second.note(*record))
            return;
        ptt::StreamDecoder decoder(links_[pmu], {record->format});
        decoder.start(0);
        decoder.entries(record->format, record->entries);
        decoder.end();
    }

    PmuNames names_;
    std::map<std::string, Link> links_;
    std::map<std::string, Account> accounts_;  // a PMU has one event at a time
    std::set<std::string> opened_;
    uint64_t unreadable_ = 0;
};

StreamOfLink::StreamOfLink(LiveHisiPtt &to, const Stream &stream)
    : decoder_(to.sink_of(stream), layout_of(stream))
{
}

}  // namespace

std::unique_ptr<LiveDriver> make_hisi_ptt_live(PmuNames names)
{
    return std::make_unique<LiveHisiPtt>(std::move(names));
}

}  // namespace pmukit::cli
