// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/cut.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "perfdata/aux.hpp"
#include "perfdata/copy.hpp"
#include "perfdata/format.hpp"
#include "perfdata/lost_entries.hpp"

namespace pmukit::perfdata {
namespace {

// Records about the state of the machine: copied from the beginning, because samples need them.
constexpr uint32_t kStateTypes[] = {
    PERF_RECORD_MMAP,      PERF_RECORD_MMAP2,        PERF_RECORD_COMM,
    PERF_RECORD_FORK,      PERF_RECORD_EXIT,         PERF_RECORD_NAMESPACES,
    PERF_RECORD_KSYMBOL,   PERF_RECORD_BPF_EVENT,    PERF_RECORD_CGROUP,
    PERF_RECORD_TEXT_POKE, PERF_RECORD_ITRACE_START, PERF_RECORD_AUX_OUTPUT_HW_ID,
};

struct Range {
    uint64_t begin, end;
};

// Ranges sorted by their begin; no two overlap or touch.
class Ranges {
public:
    void add(uint64_t begin, uint64_t end)
    {
        if (begin >= end)
            return;
        // At the limit, extends the last range up to the new one. This limits the memory for sparse
        // files.
        if (by_begin_.size() >= kMaxRanges)
            begin = std::min(begin, std::prev(by_begin_.end())->second);
        auto at = by_begin_.upper_bound(begin);
        if (at != by_begin_.begin() && std::prev(at)->second >= begin)
            begin = (--at)->first;
        while (at != by_begin_.end() && at->first <= end) {
            end = std::max(end, at->second);
            at = by_begin_.erase(at);
        }
        by_begin_[begin] = end;
    }
    bool touches(uint64_t begin, uint64_t end) const
    {
        const auto behind = by_begin_.lower_bound(end);
        return begin < end && behind != by_begin_.begin() && std::prev(behind)->second > begin;
    }
    // The parts of [begin, end) that are in the ranges.
    std::vector<Range> in(uint64_t begin, uint64_t end) const
    {
        std::vector<Range> parts;
        if (begin >= end)
            return parts;
        auto at = by_begin_.upper_bound(begin);
        if (at != by_begin_.begin())
            --at;
        for (; at != by_begin_.end() && at->first < end; ++at)
            if (at->second > begin)
                parts.push_back({std::max(begin, at->first), std::min(end, at->second)});
        return parts;
    }

private:
    static constexpr size_t kMaxRanges = 65536;
    std::map<uint64_t, uint64_t> by_begin_;
};

bool selected(const std::vector<int> &numbers, uint64_t number)
{
    return numbers.empty() ||
           (number <= INT32_MAX && std::ranges::binary_search(numbers, static_cast<int>(number)));
}

// Decides which records match a selection.
class Chooser {
public:
    Chooser(const Reader &reader, const CutSelection &selection)
        : reader_(reader), selection_(selection)
    {
    }

    bool wants_event(size_t event) const
    {
        return selection_.events.empty() ||
               (event < selection_.events.size() && selection_.events[event]);
    }
    bool wants_cpu(uint32_t cpu) const
    {
        return cpu == UINT32_MAX || selected(selection_.cpus, cpu);
    }
    // Decides about a record with one time and one CPU. LOST_SAMPLES without a time covers the
    // whole recording, so a selection by time leaves it out.
    bool wants(const Record &record) const
    {
        if (record.type == PERF_RECORD_LOST_SAMPLES && !selection_.all_times() &&
            reader_.time_of(record).value_or(0) == 0)
            return false;
        const std::optional<size_t> event = reader_.event_of(record);
        if (!event)
            return selection_.events.empty() && selection_.cpus.empty() && selection_.all_times();
        return (wants_event(*event) || has_wanted_member(record, *event)) && in_time(record) &&
               wants_cpu(cpu_of(record, *event));
    }
    bool is_before(const Record &record) const
    {
        const std::optional<uint64_t> time_ns = reader_.time_of(record);
        return time_ns && *time_ns < selection_.begin_ns;
    }
    bool is_over(const Record &record) const
    {
        const std::optional<uint64_t> time_ns = reader_.time_of(record);
        return time_ns && *time_ns != UINT64_MAX && *time_ns > selection_.end_ns;
    }

private:
    // The samples of a group that reads all of its members ({a,b}:S) are those of its leader.
    bool has_wanted_member(const Record &record, size_t leader) const
    {
        const Attr &attr = reader_.events()[leader].attr;
        if (record.type != PERF_RECORD_SAMPLE || !(attr.sample_type & PERF_SAMPLE_READ))
            return false;
        const std::optional<Sample> sample = parse_sample(record.body, attr, reader_.order());
        for (size_t i = 0; sample && i < sample->counts.size(); i++)
            if (const std::optional<uint64_t> id = sample->counts[i].id)
                if (const auto member = reader_.event_of_id(*id); member && wants_event(*member))
                    return true;
        return false;
    }
    bool in_time(const Record &record) const
    {
        const std::optional<uint64_t> time_ns = reader_.time_of(record);
        return !time_ns || (*time_ns >= selection_.begin_ns && *time_ns <= selection_.end_ns);
    }
    uint32_t cpu_of(const Record &record, size_t event) const
    {
        if (selection_.cpus.empty())
            return UINT32_MAX;
        const Attr &attr = reader_.events()[event].attr;
        if (record.type != PERF_RECORD_SAMPLE)
            return parse_sample_id(record.body, attr, reader_.order())
                .value_or(SampleId{})
                .cpu.value_or(UINT32_MAX);
        const std::optional<Sample> sample = parse_sample(record.body, attr, reader_.order());
        return sample ? sample->sample_id.cpu.value_or(UINT32_MAX) : UINT32_MAX;
    }

    const Reader &reader_;
    const CutSelection &selection_;
};

struct Buffer {
    std::optional<AuxStream> stream;  // nullopt: the buffer has no new data
    Range range;
};

// The first pass: collects the buffers, and the bytes of each stream that selected records
// announce.
class Plan final : public AuxSink {
public:
    Plan(Reader &reader, const CutSelection &selection)
        : reader_(reader), selection_(selection), chooser_(reader, selection), merge_(reader, *this)
    {
    }

    Result<void> make(const ProgressCallback &progress);
    bool keeps(size_t buffer) const { return keeps_[buffer]; }
    size_t buffers() const { return buffers_.size(); }
    // Returns the ranges of the kept buffers of a stream; nullptr: no buffer is kept.
    const Ranges *kept(const AuxStream &stream) const
    {
        const auto found = kept_.find(stream);
        return found == kept_.end() ? nullptr : &found->second;
    }

    void aux_record(const AuxStream &stream, const AuxRecord &aux) override
    {
        announced_[stream];
        if (chooser_.wants(*record_))
            announced_[stream].add(aux.offset, aux.offset + aux.size);
    }
    void aux_data(const AuxStream &stream, uint64_t, uint64_t, Bytes) override { stream_ = stream; }
    void aux_loss(const AuxStream &, uint64_t, uint64_t) override {}

private:
    void note_buffer(const Record &record);
    bool wants(size_t number, const Buffer &buffer) const;

    Reader &reader_;
    const CutSelection &selection_;
    Chooser chooser_;
    AuxMerge merge_;
    const Record *record_ = nullptr;
    std::optional<AuxStream> stream_;  // stream of the current AUXTRACE record
    std::vector<Buffer> buffers_;
    std::vector<bool> keeps_;
    std::map<AuxStream, Ranges> announced_;  // ranges that selected AUX records announce
    std::map<AuxStream, Ranges> kept_;
};

void Plan::note_buffer(const Record &record)
{
    const std::optional<AuxtraceRecord> trace = parse_auxtrace(record.body, reader_.order());
    const uint64_t begin = trace ? trace->offset : 0;
    const uint64_t bytes = std::min(record.payload_bytes, UINT64_MAX - begin);
    buffers_.push_back({stream_, {begin, begin + bytes}});
}

bool Plan::wants(size_t number, const Buffer &buffer) const
{
    if (!selected(selection_.buffers, number))
        return false;
    if (!buffer.stream)
        return selection_.events.empty() && selection_.all_times();
    if (!chooser_.wants_event(buffer.stream->event) || !chooser_.wants_cpu(buffer.stream->cpu))
        return false;
    const auto announced = announced_.find(*buffer.stream);
    return selection_.all_times() || announced == announced_.end() ||
           announced->second.touches(buffer.range.begin, buffer.range.end);
}

Result<void> Plan::make(const ProgressCallback &progress)
{
    for (Record record;;) {
        if (!reader_.next(record)) {
            if (reader_.error())
                return *reader_.error();
            break;
        }
        report(progress, record.offset);
        record_ = &record;
        stream_.reset();
        merge_.record(record);
        if (record.type == kAuxtrace && record.payload_at == 0)
            note_buffer(record);
    }
    for (const Buffer &buffer : buffers_) {
        keeps_.push_back(wants(keeps_.size(), buffer));
        if (keeps_.back() && buffer.stream)
            kept_[*buffer.stream].add(buffer.range.begin, buffer.range.end);
    }
    return {};
}

// The second pass: writes the output.
class Cutter final : public AuxSink {
public:
    Cutter(const Reader &reader, const CutSelection &selection, const Plan &plan, Writer &to)
        : reader_(reader), chooser_(reader, selection), plan_(plan), to_(to), merge_(reader, *this)
    {
    }

    Result<void> record(const Record &record);
    const CutTotals &totals() const { return totals_; }
    // First and last sample time of the output: the section SAMPLE_TIME.
    TimeSpan sample_times() const { return {first_ns_, last_ns_}; }

    void aux_record(const AuxStream &stream, const AuxRecord &aux) override;
    void aux_data(const AuxStream &, uint64_t, uint64_t, Bytes) override {}
    void aux_loss(const AuxStream &, uint64_t, uint64_t) override {}

private:
    bool wants(const Record &record) const;
    Result<void> sample(const Record &record);
    Result<void> aux(const Record &record);
    Result<void> auxtrace(const Record &record);

    const Reader &reader_;
    Chooser chooser_;
    const Plan &plan_;
    Writer &to_;
    AuxMerge merge_;
    std::vector<Range> parts_;                 // selected parts of the current AUX record
    std::map<AuxStream, uint64_t> announced_;  // end of the data that earlier records announced
    bool keeps_buffer_ = false;
    uint64_t first_ns_ = 0, last_ns_ = 0;
    CutTotals totals_;
};

Result<void> Cutter::record(const Record &record)
{
    if (record.type == PERF_RECORD_SAMPLE)
        return sample(record);
    if (record.type == PERF_RECORD_AUX)
        return aux(record);
    if (record.type == kAuxtrace)
        return auxtrace(record);
    if (record.type == kIdIndex)
        merge_.record(record);
    return wants(record) ? to_.copy(record) : Result<void>();
}

bool Cutter::wants(const Record &record) const
{
    if (record.type >= kHeaderAttr)
        return true;
    if (std::ranges::find(kStateTypes, record.type) != std::end(kStateTypes))
        return !chooser_.is_over(record);
    // These records complete callchains of earlier samples. They may belong to an event that is not
    // selected, and follow the end of the selection.
    if (record.type == kRecordCallchainDeferred)
        return !chooser_.is_before(record);
    return chooser_.wants(record);
}

Result<void> Cutter::sample(const Record &record)
{
    totals_.samples++;
    if (!chooser_.wants(record))
        return {};
    if (const std::optional<uint64_t> time_ns = reader_.time_of(record)) {
        first_ns_ = first_ns_ == 0 ? *time_ns : std::min(first_ns_, *time_ns);
        last_ns_ = std::max(last_ns_, *time_ns);
    }
    totals_.samples_kept++;
    return to_.copy(record);
}

// Selects the parts of an AUX record whose buffers are kept. The output has one record per part. If
// several records announce the same part, only the first is used: otherwise n records that announce
// n buffers would become n * n records. Records of an overwritten area repeat offsets and are
// copied unchanged.
void Cutter::aux_record(const AuxStream &stream, const AuxRecord &aux)
{
    const uint64_t end = aux.offset + aux.size;
    const Ranges *kept = plan_.kept(stream);
    if (!kept)
        return;
    if (aux.flags & PERF_AUX_FLAG_OVERWRITE) {
        if (kept->touches(aux.offset, end))
            parts_.push_back({aux.offset, end});
        return;
    }
    uint64_t &announced = announced_[stream];
    parts_ = kept->in(std::max(aux.offset, announced), end);
    announced = std::max(announced, end);
}

Result<void> Cutter::aux(const Record &record)
{
    parts_.clear();
    merge_.record(record);
    const std::optional<AuxRecord> said = parse_aux(record.body, reader_.order());
    if (!said || said->size == 0)
        return chooser_.wants(record) ? to_.copy(record) : Result<void>();
    std::vector<std::byte> body(record.body.begin(), record.body.end());
    Record part = record;
    part.body = body;
    for (const Range &range : parts_) {
        // The cut removes the data after this part; the kernel did not lose it. So the loss flags
        // are cleared.
        const bool whole_end = range.end == said->offset + said->size;
        const uint64_t flags = whole_end ? said->flags : said->flags & ~kAuxLossFlags;
        store(body.data(), range.begin, reader_.order());
        store(body.data() + 8, range.end - range.begin, reader_.order());
        store(body.data() + 16, flags, reader_.order());
        if (Result<void> done = to_.copy(part); !done)
            return done;
    }
    return {};
}

Result<void> Cutter::auxtrace(const Record &record)
{
    merge_.record(record);
    if (record.payload_at == 0) {
        // If the file grew after the first pass, the plan does not have the new buffers.
        keeps_buffer_ = totals_.buffers < plan_.buffers() && plan_.keeps(totals_.buffers);
        totals_.buffers++;
        totals_.buffers_kept += keeps_buffer_;
    }
    if (!keeps_buffer_)
        return {};
    totals_.aux_bytes_kept += record.payload.size();
    return to_.copy(record);
}

Result<void> check_selection(const Reader &reader, const CutSelection &selection)
{
    const Chooser chooser(reader, selection);
    for (size_t i = 0; i < reader.events().size(); i++) {
        const Event &event = reader.events()[i];
        if (!chooser.wants_event(i))
            continue;
        const char *lacks = nullptr;
        if (!selection.all_times() && !(event.attr.sample_type & PERF_SAMPLE_TIME))
            lacks = "times";
        if (!selection.cpus.empty() && !(event.attr.sample_type & PERF_SAMPLE_CPU))
            lacks = "CPUs";
        if (lacks)
            return Error{Errc::kUnsupported,
                         "event " + (event.name.empty() ? std::to_string(i) : event.name) +
                             " was recorded without " + lacks + ", so it cannot be cut by them"};
    }
    return {};
}

}  // namespace

Result<CutRecording> cut_recording(Reader &plan, Reader &copy, const CutSelection &selection,
                                   const std::string &to, const ProgressCallback &progress)
{
    for (Reader *reader : {&plan, &copy})
        if (Result<void> front = reader->read_front(); !front)
            return front.error();
    if (Result<void> fits = check_selection(plan, selection); !fits)
        return fits.error();
    Plan planned(plan, selection);
    if (Result<void> made = planned.make(progress); !made)
        return made.error();
    Result<Writer> writer = Writer::create_copy(to, copy.order(), events_for_copy(copy));
    if (!writer)
        return writer.error();
    Cutter cutter(copy, selection, planned, *writer);
    const auto filter = [&](const Record &record) {
        report(progress, plan.position() + record.offset);
        return cutter.record(record);
    };
    if (Result<void> copied = RecordCopier::run(copy, *writer, filter); !copied)
        return copied.error();
    if (copy.feature(kFeatSampleTime))
        writer->sample_times(cutter.sample_times());
    if (Result<void> done = writer->complete(); !done)
        return done.error();
    return CutRecording{cutter.totals(), std::move(*writer)};
}

Result<CutRecording> cut_recording(Reader &plan, Reader &copy, const CutSelection &selection,
                                   const std::string &to)
{
    return cut_recording(plan, copy, selection, to, {});
}

}  // namespace pmukit::perfdata
