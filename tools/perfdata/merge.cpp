// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/merge.hpp"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <variant>

#include "base/hash.hpp"
#include "perfdata/copy.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/generic_events.hpp"
#include "perfdata/ordered.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/sample.hpp"
#include "perfdata/translate.hpp"

namespace pmukit::perfdata {
namespace {

constexpr size_t kMaxHosts = 512;
constexpr uint64_t kThreadsPerHost = uint64_t{1} << 22;  // PID_MAX_LIMIT of Linux
constexpr uint64_t kRingsPerInput = uint64_t{1} << 20;
// A cgroup id has a generation above its lower 32 bits: 2^16 generations fit.
constexpr uint64_t kCgroupsPerHost = uint64_t{1} << 48;
constexpr size_t kMaxInputs = (uint64_t{1} << 32) / kRingsPerInput;
constexpr uint32_t kCpusUnknown = 8192;  // NR_CPUS of the largest kernels, if NRCPUS is missing
constexpr size_t kLeastWaitingBytes = size_t{2} << 20;  // least memory for records of one input
constexpr size_t kRoundBytes = size_t{1} << 20;  // bytes of records between two FINISHED_ROUND
constexpr uint32_t kTracepointType = 2;

// Copied only from the first recording: perf expects one record of each type.
constexpr uint32_t kOnlyFirst[] = {kThreadMap, kCpuMap, kStatConfig, kTimeConv, kFinishedInit};
// Records with kernel addresses: copied only for the host of the first recording, because the
// addresses of two kernels would conflict.
constexpr uint32_t kOfKernel[] = {PERF_RECORD_KSYMBOL, PERF_RECORD_BPF_EVENT,
                                  PERF_RECORD_TEXT_POKE};
// Sections that are copied even if there are several hosts. Any other section describes one host,
// and readers would apply it to all hosts.
constexpr unsigned kOfHosts[] = {kFeatVersion,     kFeatCmdline, kFeatClockId,  kFeatClockData,
                                 kFeatBranchStack, kFeatStat,    kFeatGroupDesc};

template <typename List, typename Value>
bool is_in(const List &list, const Value &value)
{
    return std::ranges::find(list, value) != std::end(list);
}

bool is_of_device(const Event &event)
{
    return event.attr.type >= PERF_TYPE_MAX;
}

// Finds the event id of AUX buffers by the AUX records before them in their file.
class AuxIds {
public:
    explicit AuxIds(const Reader &reader) : reader_(reader) {}

    // Call with each record, in the order of the file.
    void note(const Record &record);
    // Returns the id of the event, once for each ring. nullopt: the file itself says it, or the
    // event is unknown.
    std::optional<uint64_t> id_of(const AuxtraceRecord &trace);

private:
    std::optional<uint64_t> only_id() const;

    static constexpr uint32_t kNone = UINT32_MAX;
    static constexpr size_t kMostRings = 16384;

    const Reader &reader_;
    std::map<uint32_t, uint64_t> by_cpu_, by_tid_;
    std::set<uint64_t> rings_;  // indexes of rings whose id is in the file, or was returned
};

void AuxIds::note(const Record &record)
{
    if (rings_.size() > kMostRings || by_cpu_.size() > kMostRings || by_tid_.size() > kMostRings)
        return;
    if (record.type == kIdIndex) {
        const auto index = parse_id_index(record.body, reader_.order());
        for (size_t i = 0; index && i < index->size(); i++) {
            const auto event = reader_.event_of_id((*index)[i].id);
            if (event && is_of_device(reader_.events()[*event]))
                rings_.insert((*index)[i].index);
        }
    }
    const auto event =
        record.type == PERF_RECORD_AUX ? reader_.event_of(record) : std::optional<size_t>();
    const auto sample_id =
        event ? parse_sample_id(record.body, reader_.events()[*event].attr, reader_.order())
              : std::nullopt;
    if (!sample_id || !sample_id->id)
        return;
    by_cpu_.try_emplace(sample_id->cpu.value_or(kNone), *sample_id->id);
    by_tid_.try_emplace(sample_id->tid.value_or(kNone), *sample_id->id);
}

// Returns an id of the event that can have an AUX area, if it is the only one.
std::optional<uint64_t> AuxIds::only_id() const
{
    const auto &events = reader_.events();
    const auto event = std::ranges::find_if(events, is_of_device);
    const bool is_only = std::ranges::count_if(events, is_of_device) == 1;
    return is_only && !event->ids.empty() ? std::optional(event->ids.front()) : std::nullopt;
}

std::optional<uint64_t> AuxIds::id_of(const AuxtraceRecord &trace)
{
    if (reader_.event_of_id(trace.reference) || !rings_.insert(trace.index).second)
        return std::nullopt;
    const auto &known = trace.cpu == kNone ? by_tid_ : by_cpu_;
    const auto id = known.find(trace.cpu == kNone ? trace.tid : trace.cpu);
    return id != known.end() ? std::optional(id->second) : only_id();
}

struct Input {
    Input(Reader &from, size_t max_bytes) : reader(from), ordered(from, max_bytes), aux_ids(from)
    {
        ordered.on_read([this](const Record &record) { aux_ids.note(record); });
    }
    Input(const Input &) = delete;
    Input &operator=(const Input &) = delete;

    Reader &reader;
    OrderedReader ordered;
    MergedInput summary;
    size_t host = 0;
    Translation translation;
    std::map<uint32_t, uint32_t> types;  // PMU types: in this input -> merged

    Record head;
    bool ended = false;
    uint64_t head_ns = 0;  // merged time of the head, or of the last record that had a time
    std::optional<uint32_t> info_type;  // type of AUXTRACE_INFO
    std::vector<uint64_t> info;

    // By event: the merged id for records that have none. The records of other events have theirs.
    std::vector<uint64_t> own_ids;
    std::optional<HeaderOfCopy> header;  // set when the events are known
    AuxIds aux_ids;
};

// Clocks

std::optional<ClockData> clock_data(const Reader &reader)
{
    const std::optional<Bytes> content = reader.feature(kFeatClockData);
    return content ? parse_clock_data(*content, reader.order()) : std::nullopt;
}

bool same_clock(const Reader &a, const Reader &b)
{
    const Attr &first = a.events().front().attr, &second = b.events().front().attr;
    return first.use_clockid == second.use_clockid && first.clock_id == second.clock_id;
}

bool is_wall_clock(const Reader &reader)
{
    const Attr &attr = reader.events().front().attr;
    return attr.use_clockid && (attr.clock_id == CLOCK_REALTIME || attr.clock_id == CLOCK_TAI);
}

// The difference of two clocks, by the wall clock; nullopt: a file has no CLOCK_DATA.
std::optional<uint64_t> shift_of(const Reader &first, const Reader &other)
{
    const std::optional<ClockData> here = clock_data(other), there = clock_data(first);
    if (!here || !there)
        return std::nullopt;
    return (here->wall_ns - here->clock_ns) - (there->wall_ns - there->clock_ns);
}

// Refuses two boots of a host: `first` is another recording with the name of this host. A small
// shift comes from adjustments of the wall clock.
Result<void> check_clock(const Input &first, const Input &other)
{
    constexpr uint64_t kSecond_ns = 1000000000;
    const uint64_t shift = shift_of(first.reader, other.reader).value_or(0);
    if (!same_clock(first.reader, other.reader) || shift < kSecond_ns || -shift < kSecond_ns)
        return {};
    return Error{Errc::kUsage,
                 fmt::format("{}: since {}, host {} was restarted or suspended, or its clock was "
                             "set; threads of two boots cannot be distinguished: report both "
                             "separately",
                             other.reader.part(), first.reader.part(), other.summary.host)};
}

void relate_clocks(const Input &first, Input &other)
{
    const std::optional<uint64_t> shift = shift_of(first.reader, other.reader);
    const bool same = same_clock(first.reader, other.reader);
    if (same && other.host == first.host) {
        other.summary.clock = shift ? ClockRelation::kSame : ClockRelation::kSameHost;
        return;
    }
    other.summary.clock = ClockRelation::kUnknown;
    if (shift) {
        other.summary.clock = ClockRelation::kAligned;
        other.translation.time_shift_ns = *shift;
        other.summary.shift_ns = static_cast<int64_t>(*shift);
    } else if (same && is_wall_clock(other.reader)) {
        other.summary.clock = ClockRelation::kAligned;
    }
}

// Merging

class Merge {
public:
    Merge(std::vector<Reader> &readers, const ProgressCallback &progress) : progress_(progress)
    {
        for (Reader &reader : readers)
            inputs_.emplace_back(reader, std::max(OrderedReader::kDefaultBytes / readers.size(),
                                                  kLeastWaitingBytes));
    }

    Result<Writer> run(const std::string &to);
    std::vector<MergedInput> inputs() const
    {
        std::vector<MergedInput> all;
        for (const Input &input : inputs_) {
            all.push_back(input.summary);
            all.back().late_records = input.ordered.late_records();
        }
        return all;
    }

private:
    Result<void> check(const Input &input);
    Result<void> check_trace_events(const Input &input);
    void find_hosts();
    Result<void> check_names() const;
    Result<void> check_boot_id(const Input &input);
    const Input &first_of_host(const Input &input) const
    {
        return *std::ranges::find(inputs_, input.host, &Input::host);
    }
    Result<void> check_boot(const Input &input, const Record &record);
    void number_ids(Input &input);
    void number_types(Input &input);
    uint32_t merged_type(uint32_t type, const std::string &name);
    std::string with_host(const std::string &name, const Input &input) const
    {
        return hosts_.size() < 2 ? name : name + "@" + input.summary.host;
    }
    std::vector<WriterEvent> events() const;

    Result<void> advance(Input &input);
    Result<void> write_preamble(Input &input, Writer &to);
    Result<void> write_info(Writer &to);
    Result<void> add_id(const Input &input, uint32_t type, size_t event);
    Result<void> write_aux_id(Input &input, Writer &to);
    Result<void> write_head(Input &input, Writer &to);
    Result<void> write_all(Writer &to);
    bool is_left_out(Input &input, const Record &record) const;
    void put_body(const Input &input);
    // PMU capabilities, in the order of the recordings.
    struct AllCaps {
        std::vector<std::pair<std::string, HostInfo::Caps>> pmus;
        std::map<std::string, size_t> place;  // index of a PMU in pmus
        std::set<std::tuple<size_t, std::string, std::string>> said;
    };
    void add_caps(const Input &input, AllCaps &all) const;
    bool has_one_clock() const;
    void write_sections(Writer &to) const;

    std::deque<Input> inputs_;
    const ProgressCallback &progress_;
    uint64_t bytes_ = 0;  // read from all inputs
    std::vector<std::string> hosts_;
    std::vector<uint32_t> cpus_;  // number of CPUs of each host
    // First input and boot id of each host. If an input is itself of several hosts, its PMUs are
    // named pmu@host; the second key is that host.
    std::map<std::pair<size_t, std::string>, std::pair<const Input *, std::string>> boots_;
    // Address of each kernel map of a host. A restarted kernel has another one (KASLR).
    std::map<std::pair<size_t, std::string>, uint64_t> kernels_;
    FlatMap<std::monostate> used_ids_;
    uint64_t next_id_ = 1;
    uint32_t next_type_ = PERF_TYPE_MAX;
    std::map<std::string, uint32_t> type_by_name_;
    std::set<uint32_t> used_types_;
    std::optional<Bytes> tracing_data_;  // the same for all inputs with trace events
    std::vector<std::byte> body_;
    size_t since_round_ = 0;
};

// Checks that the formats of trace events are the same in all inputs: perf reads them from a single
// section, which it requires.
Result<void> Merge::check_trace_events(const Input &input)
{
    const Reader &reader = input.reader;
    if (hosts_.size() > 1)
        return Error{Errc::kUnsupported,
                     reader.part() + ": trace events of several hosts cannot be merged"};
    if (reader.is_pipe())
        return Error{
            Errc::kUnsupported,
            reader.part() + ": trace events of a pipe; make a file of it first, with pmukit cut"};
    const Bytes layouts = reader.feature(kFeatTracingData).value_or(Bytes());
    if (tracing_data_ && !std::ranges::equal(*tracing_data_, layouts))
        return Error{Errc::kUnsupported,
                     reader.part() + ": recordings of different trace events cannot be merged"};
    tracing_data_ = layouts;
    return {};
}

// True if the records of both events have an id, at the same places.
bool has_same_id_places(const Event &a, const Event &b)
{
    const auto sample = sample_id_position(a.attr.sample_type),
               trailer = trailer_id_position(a.attr.sample_type);
    return sample && trailer && sample == sample_id_position(b.attr.sample_type) &&
           trailer == trailer_id_position(b.attr.sample_type);
}

Result<void> Merge::check(const Input &input)
{
    const Reader &reader = input.reader;
    if (reader.order() != inputs_.front().reader.order())
        return Error{Errc::kUnsupported,
                     reader.part() + ": recordings of different byte order cannot be merged"};
    if (reader.is_directory())
        return Error{Errc::kUnsupported,
                     reader.part() + ": a directory; make a file of it first, with pmukit cut"};
    if (reader.feature(kFeatStat))
        return Error{Errc::kUnsupported, reader.part() +
                                             ": a recording of perf stat, which has counts and no "
                                             "samples; perf stat report reads it"};
    for (const Event &event : reader.events()) {
        if (!event.attr.sample_id_all)
            return Error{Errc::kUnsupported,
                         reader.part() +
                             ": its records have no sample id (sample_id_all): they "
                             "are from before Linux 2.6.38"};
        if (reader.events().size() > 1 && !has_same_id_places(event, reader.events().front()))
            return Error{Errc::kUnsupported,
                         reader.part() +
                             ": its records do not name their event (PERF_SAMPLE_IDENTIFIER); "
                             "record with perf record --sample-identifier, or with pmukit record"};
        if (event.attr.type != kTracepointType)
            continue;
        if (Result<void> fits = check_trace_events(input); !fits)
            return fits;
    }
    if (reader.events().empty())
        return Error{Errc::kUnsupported, reader.part() + ": no events"};
    return {};
}

uint32_t cpus_of(const Reader &reader)
{
    const std::optional<Bytes> content = reader.feature(kFeatNrCpus);
    const auto counts = content ? parse_cpu_counts(*content, reader.order()) : std::nullopt;
    return counts && counts->available && counts->available < kCpusUnknown ? counts->available
                                                                           : kCpusUnknown;
}

// Two machines may share a name (localhost), and two boots of one machine do: what never changes
// between two restarts is compared.
Result<void> Merge::check_names() const
{
    struct Trait {
        unsigned feature;
        const char *name;
        size_t bytes = SIZE_MAX;  // first bytes that are compared
    };
    constexpr Trait kTraits[] = {{kFeatArch, "architecture"},
                                 {kFeatCpuDesc, "CPU"},
                                 {kFeatCpuId, "CPU"},
                                 {kFeatOsRelease, "kernel release"},
                                 // Available CPUs; the number of CPUs online may change.
                                 {kFeatNrCpus, "number of CPUs", sizeof(uint32_t)}};
    for (const Input &input : inputs_) {
        const Reader &first = first_of_host(input).reader;
        for (const Trait &trait : kTraits) {
            const auto here = input.reader.feature(trait.feature);
            const auto there = first.feature(trait.feature);
            const auto part = [&trait](Bytes content) {
                return content.first(std::min(content.size(), trait.bytes));
            };
            if (here && there && !std::ranges::equal(part(*here), part(*there)))
                return Error{
                    Errc::kUsage,
                    fmt::format("{}: its host has the name of that of {}, {}, and another "
                                "{}: they cannot be distinguished",
                                input.reader.part(), first.part(), input.summary.host, trait.name)};
        }
    }
    return {};
}

std::vector<PmuCaps> caps_of(const Reader &reader)
{
    const std::optional<Bytes> content = reader.feature(kFeatPmuCaps);
    return (content ? parse_pmu_caps(*content, reader.order()) : std::nullopt)
        .value_or(std::vector<PmuCaps>());
}

// The part behind the @ that a merge adds to the name of a PMU.
std::string host_in_name(std::string_view pmu)
{
    const size_t at = pmu.rfind('@');
    return std::string(at == pmu.npos ? "" : pmu.substr(at + 1));
}

// Refuses a recording of another boot of a host, by the boot ids of pmukit record.
Result<void> Merge::check_boot_id(const Input &input)
{
    for (const PmuCaps &pmu : caps_of(input.reader))
        for (const auto &[cap, value] : pmu.caps) {
            if (cap != kBootCap)
                continue;
            const auto [known, fresh] = boots_.try_emplace({input.host, host_in_name(pmu.pmu)},
                                                           std::pair{&input, std::string(value)});
            const auto &[first, boot] = known->second;
            if (boot != value)
                return Error{
                    Errc::kUsage,
                    fmt::format("{}: boot {} of host {}, and {} is of its boot {}: threads of two "
                                "boots cannot be distinguished: report both separately",
                                input.reader.part(), value, input.summary.host,
                                first->reader.part(), boot)};
        }
    return {};
}

// Refuses a recording of another boot of a host that is known by its name.
Result<void> Merge::check_boot(const Input &input, const Record &record)
{
    const std::endian order = input.reader.order();
    const auto map = record.type == PERF_RECORD_MMAP ? parse_mmap(record.body, order)
                     : record.type == PERF_RECORD_MMAP2
                         ? parse_mmap2(record.body, record.misc, order)
                         : std::nullopt;
    if (!map || map->pid != UINT32_MAX || map->address == 0 ||
        !map->path.starts_with("[kernel.kallsyms]"))
        return {};
    const auto [known, fresh] =
        kernels_.try_emplace({input.host, std::string(map->path)}, map->address);
    if (known->second == map->address)
        return {};
    return Error{Errc::kUsage,
                 fmt::format("{}: the kernel of host {} is at {:#x} here and at {:#x} in an "
                             "earlier input: the host was restarted in between; report both "
                             "separately",
                             input.reader.part(), input.summary.host, map->address, known->second)};
}

void Merge::find_hosts()
{
    for (size_t i = 0; i < inputs_.size(); i++) {
        Input &input = inputs_[i];
        input.summary.host = input.reader.hostname();
        if (input.summary.host.empty())
            input.summary.host = "host" + std::to_string(i + 1);
        const auto known = std::ranges::find(hosts_, input.summary.host);
        input.host = static_cast<size_t>(known - hosts_.begin());
        if (known == hosts_.end()) {
            hosts_.push_back(input.summary.host);
            cpus_.push_back(0);
        }
        cpus_[input.host] = std::max(cpus_[input.host], cpus_of(input.reader));
        input.translation.rings = {i * kRingsPerInput, kRingsPerInput};
        input.translation.all_ids = &used_ids_;
    }
    if (hosts_.size() < 2)
        return;
    for (Input &input : inputs_) {
        Translation &to = input.translation;
        to.threads = {input.host * kThreadsPerHost, kThreadsPerHost};
        to.cgroups = {input.host * kCgroupsPerHost, kCgroupsPerHost};
        to.cpus.size = cpus_[input.host];
        for (size_t host = 0; host < input.host; host++)
            to.cpus.shift += cpus_[host];
    }
}

uint64_t merged_id(const Input &input, uint64_t id)
{
    const uint64_t *const fresh = input.translation.ids.find(id);
    return fresh ? *fresh : id;
}

void Merge::number_ids(Input &input)
{
    const auto unused_id = [this] {
        while (!used_ids_.insert(next_id_, {}))
            next_id_++;
        return next_id_;
    };
    for (const Event &event : input.reader.events()) {
        for (uint64_t id : event.ids)
            if (!used_ids_.insert(id, {}))
                input.translation.ids.insert(id, unused_id());
        input.own_ids.push_back(event.ids.empty() ? unused_id()
                                                  : merged_id(input, event.ids.front()));
    }
    input.translation.is_own = [&reader = input.reader](uint64_t id) {
        return reader.event_of_id(id).has_value();
    };
}

uint32_t Merge::merged_type(uint32_t type, const std::string &name)
{
    if (type < PERF_TYPE_MAX)
        return type;
    const auto [known, fresh] = type_by_name_.try_emplace(name, type);
    if (fresh && !used_types_.insert(type).second) {
        while (!used_types_.insert(next_type_).second)
            next_type_++;
        known->second = next_type_;
    }
    return known->second;
}

void Merge::number_types(Input &input)
{
    const std::optional<Bytes> content = input.reader.feature(kFeatPmuMappings);
    const auto pmus = content ? parse_pmu_mappings(*content, input.reader.order()) : std::nullopt;
    for (const auto &[type, name] : pmus.value_or(std::vector<PmuName>())) {
        input.types[type] = merged_type(type, with_host(std::string(name), input));
        // The kernel's own types mean the same on every host, but their names may differ.
        if (type < PERF_TYPE_MAX && hosts_.size() < 2)
            type_by_name_.try_emplace(std::string(name), type);
    }
    for (const Event &event : input.reader.events())
        if (!input.types.contains(event.attr.type))
            input.types[event.attr.type] = merged_type(
                event.attr.type, with_host("type" + std::to_string(event.attr.type), input));
}

std::vector<WriterEvent> Merge::events() const
{
    std::vector<WriterEvent> all;
    for (const Input &input : inputs_)
        for (size_t i = 0; WriterEvent & event : events_for_copy(input.reader)) {
            std::byte *type = event.attr.data() + kAttrType,
                      *fields = event.attr.data() + kAttrSampleType;
            const std::endian order = input.reader.order();
            store(type, input.types.at(load<uint32_t>(type, order)), order);
            store(fields, load<uint64_t>(fields, order) | PERF_SAMPLE_IDENTIFIER, order);
            for (uint64_t &id : event.ids)
                id = merged_id(input, id);
            if (event.ids.empty())
                event.ids.push_back(input.own_ids[i]);
            event.name = with_host(name_of(input.reader, input.reader.events()[i++]), input);
            all.push_back(std::move(event));
        }
    return all;
}

// Records

bool Merge::is_left_out(Input &input, const Record &record) const
{
    const std::endian order = input.reader.order();
    if (input.header->has(record) || record.type == kFinishedRound ||
        record.type == kAuxtraceInfo || record.type == kHeaderTracingData)
        return true;
    // CPU numbers of one host have another meaning in a recording of several hosts.
    const auto update =
        record.type == kEventUpdate ? parse_event_update(record.body, order) : std::nullopt;
    if (hosts_.size() > 1 && update && update->type == EventUpdateRecord::kCpus)
        return true;
    if (&input != &inputs_.front() && is_in(kOnlyFirst, record.type))
        return true;
    if (input.host == inputs_.front().host)
        return false;
    const bool is_map = record.type == PERF_RECORD_MMAP || record.type == PERF_RECORD_MMAP2;
    const bool of_kernel = is_map && record.body.size() >= 4 &&
                           load<uint32_t>(record.body.data(), order) == UINT32_MAX;
    return of_kernel || is_in(kOfKernel, record.type);
}

Result<void> Merge::advance(Input &input)
{
    const uint64_t before = input.reader.position();
    const bool more = input.ordered.next(input.head);
    if (const std::optional<Error> &error = input.ordered.error())
        return Error{error->code, input.reader.part() + ": " + error->message, error->offset};
    // own_ids has an id for each event that was known when the ids were numbered.
    if (input.reader.events().size() != input.own_ids.size())
        return Error{Errc::kUnsupported,
                     input.reader.part() + ": an event is described after the first record",
                     input.reader.position()};
    bytes_ += input.reader.position() - before;
    report(progress_, bytes_);
    input.ended = !more;
    if (input.ended || input.head.type >= kHeaderAttr)
        return {};
    const std::optional<uint64_t> time_ns = input.reader.time_of(input.head);
    if (time_ns && *time_ns != 0 && *time_ns != UINT64_MAX)
        input.head_ns = *time_ns + input.translation.time_shift_ns;
    return {};
}

// Offset of the event id in a record of this size without PERF_SAMPLE_IDENTIFIER. nullopt: none.
std::optional<size_t> id_place(bool is_sample, uint64_t sample_type, size_t bytes)
{
    const auto place =
        is_sample ? sample_id_position(sample_type) : trailer_id_position(sample_type);
    if (!place || *place > bytes || (is_sample && bytes - *place < sizeof(uint64_t)))
        return std::nullopt;
    return is_sample ? *place : bytes - *place;
}

// Adds the word of PERF_SAMPLE_IDENTIFIER to the record in body_ if it has none.
Result<void> Merge::add_id(const Input &input, uint32_t type, size_t event)
{
    const Reader &reader = input.reader;
    const uint64_t fields = reader.events()[event].attr.sample_type;
    if (type >= kHeaderAttr || (fields & PERF_SAMPLE_IDENTIFIER))
        return {};
    if (kRecordHeaderBytes + body_.size() + sizeof(uint64_t) > UINT16_MAX)
        return Error{Errc::kUnsupported,
                     fmt::format("{}: a record of {} bytes has no space for the id of its event; "
                                 "record with perf record --sample-identifier",
                                 reader.part(), kRecordHeaderBytes + body_.size())};
    const bool is_sample = type == PERF_RECORD_SAMPLE;
    const auto place = id_place(is_sample, fields, body_.size());
    const uint64_t id =
        place ? load<uint64_t>(body_.data() + *place, reader.order()) : input.own_ids[event];
    std::byte word[sizeof id];
    store(word, id, reader.order());
    body_.insert(is_sample ? body_.begin() : body_.end(), std::begin(word), std::end(word));
    return {};
}

// Writes an ID_INDEX that names the event of an AUX buffer.
Result<void> Merge::write_aux_id(Input &input, Writer &to)
{
    const Record &record = input.head;
    const std::endian order = input.reader.order();
    const auto trace = record.type == kAuxtrace && record.payload_at == 0
                           ? parse_auxtrace(record.body, order)
                           : std::nullopt;
    const auto id = trace ? input.aux_ids.id_of(*trace) : std::nullopt;
    if (!id)
        return {};
    Packer index(order);
    index.put(uint64_t{1}).put(*id).put(uint64_t{trace->index});
    for (uint32_t number : {trace->cpu, trace->tid})
        index.put(static_cast<uint64_t>(static_cast<int32_t>(number)));
    std::vector<std::byte> body = index.take();
    if (!translate(kIdIndex, body, {}, order, input.translation))
        return {};
    Record entry;
    entry.type = kIdIndex;
    entry.body = body;
    return to.copy(entry);
}

// Copies the body of the head to body_. The name of an event gets the host, as in events().
void Merge::put_body(const Input &input)
{
    const Record &record = input.head;
    const std::endian order = input.reader.order();
    body_.assign(record.body.begin(), record.body.end());
    const auto update =
        record.type == kEventUpdate ? parse_event_update(record.body, order) : std::nullopt;
    if (!update || update->type != EventUpdateRecord::kName || hosts_.size() < 2)
        return;
    const std::string name = with_host(std::string(update->text), input);
    const size_t bytes = 2 * sizeof(uint64_t) + (name.size() + 8) / 8 * 8;
    body_ =
        Packer(order).put(update->type).put(update->id).put(as_bytes(name)).pad_to(bytes).take();
}

Result<void> Merge::write_head(Input &input, Writer &to)
{
    if (Result<void> one_boot = check_boot(input, input.head); !one_boot)
        return one_boot;
    if (is_left_out(input, input.head))
        return {};
    if (Result<void> done = write_aux_id(input, to); !done)
        return done;
    const Reader &reader = input.reader;
    Record record = input.head;
    put_body(input);
    const size_t event = reader.event_of(record).value_or(0);
    if (!translate(record.type, body_, reader.events()[event].attr, reader.order(),
                   input.translation)) {
        input.summary.foreign_records += record.payload_at == 0;  // once for all pieces
        return {};
    }
    if (Result<void> done = add_id(input, record.type, event); !done)
        return done;
    record.body = body_;
    since_round_ += kRecordHeaderBytes + body_.size();
    return to.copy(record);
}

// Writes the records without a time at the beginning of an input, which perf wrote before it
// started the events. In the merged recording, these records of all inputs precede the first
// sample.
Result<void> Merge::write_preamble(Input &input, Writer &to)
{
    for (;;) {
        if (Result<void> done = advance(input); !done)
            return done;
        if (input.ended || input.head_ns != 0 || input.head.type == kAuxtrace)
            return {};
        const auto info = parse_auxtrace_info(input.head.body, input.reader.order());
        if (input.head.type == kAuxtraceInfo && info) {
            input.info_type = info->type;
            // As in stock perf, the last of several records is used.
            input.info.clear();
            for (size_t i = 0; i < info->priv.size(); i++)
                input.info.push_back(info->priv[i]);
        }
        if (Result<void> done = write_head(input, to); !done)
            return done;
    }
}

// Returns the words of AUXTRACE_INFO after the PMU's type: they describe the format of the AUX
// data.
std::vector<uint64_t> layout_words(const std::vector<uint64_t> &info)
{
    return {info.begin() + !info.empty(), info.end()};
}

// Stock perf uses one AUXTRACE_INFO for all AUX data. So the record is written only if all inputs
// with AUX data have an AUXTRACE_INFO of the same type. Error: their AUX data has different
// layouts.
Result<void> Merge::write_info(Writer &to)
{
    const Input *of = nullptr;
    size_t number = 0, number_of = 0;
    for (const Input &input : inputs_) {
        number++;
        if (!input.info_type && !input.reader.feature(kFeatAuxtrace))
            continue;
        if (!input.info_type || (of && of->info_type != input.info_type))
            return {};
        if (!of) {
            of = &input;
            number_of = number;
        }
        if (layout_words(input.info) != layout_words(of->info))
            return Error{Errc::kUnsupported,
                         fmt::format("inputs {} and {} have AUX data of different layouts "
                                     "(AUXTRACE_INFO): merge recordings of one layout",
                                     number_of, number)};
    }
    if (!of)
        return {};
    std::vector<uint64_t> priv = of->info;
    if (!priv.empty())  // the first word is the PMU's type
        if (const auto type = of->types.find(static_cast<uint32_t>(priv[0]));
            type != of->types.end())
            priv[0] = type->second;
    return to.auxtrace_info(*of->info_type, priv);
}

Result<void> Merge::write_all(Writer &to)
{
    // Orders the heads of the inputs: the lowest time first; at equal times, the input that was
    // named first.
    using Head = std::pair<uint64_t, size_t>;
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    const auto wait = [&](size_t index) {
        if (!inputs_[index].ended)
            heads.emplace(inputs_[index].head_ns, index);
    };
    for (size_t i = 0; i < inputs_.size(); i++)
        wait(i);
    while (!heads.empty()) {
        const size_t index = heads.top().second;
        Input *next = &inputs_[index];
        heads.pop();
        do {  // keep the pieces of a payload together
            if (Result<void> done = write_head(*next, to); !done)
                return done;
            if (Result<void> done = advance(*next); !done)
                return done;
        } while (!next->ended && next->head.payload_at != 0);
        wait(index);
        if (since_round_ < kRoundBytes)
            continue;
        since_round_ = 0;
        if (Result<void> done = to.finished_round(); !done)
            return done;
    }
    return {};
}

// Sections

std::string joined_texts(const std::deque<Input> &inputs, unsigned feature)
{
    std::vector<std::string> texts;
    for (const Input &input : inputs) {
        const std::optional<Bytes> content = input.reader.feature(feature);
        const auto text =
            content ? parse_text_feature(*content, input.reader.order()) : std::nullopt;
        if (text && !is_in(texts, *text))
            texts.emplace_back(*text);
    }
    std::string all;
    for (const std::string &text : texts)
        all += (all.empty() ? "" : "+") + text;
    return all;
}

// Combines the capabilities of a PMU from all recordings.
void Merge::add_caps(const Input &input, AllCaps &all) const
{
    for (const PmuCaps &pmu : caps_of(input.reader)) {
        const std::string name = with_host(std::string(pmu.pmu), input);
        const auto [known, fresh] = all.place.try_emplace(name, all.pmus.size());
        if (fresh)
            all.pmus.push_back({name, {}});
        for (const auto &[cap, value] : pmu.caps)
            if (all.said.emplace(known->second, cap, value).second)
                all.pmus[known->second].second.emplace_back(cap, value);
    }
}

// Returns true if the CLOCK_DATA of the first recording holds for the times of all.
bool Merge::has_one_clock() const
{
    return std::ranges::none_of(inputs_, [](const Input &input) {
        return input.summary.clock == ClockRelation::kUnknown ||
               input.summary.clock == ClockRelation::kSameHost;
    });
}

void Merge::write_sections(Writer &to) const
{
    const Reader &first = inputs_.front().reader;
    const std::endian order = to.order();
    for (const FeatureSection &section : first.features()) {
        const std::optional<Bytes> content = first.feature(section.feature);
        const bool wanted = is_copied_section(section.feature) &&
                            section.feature != kFeatSampleTime &&
                            section.feature != kFeatTracingData &&
                            (section.feature != kFeatClockData || has_one_clock());
        if (content && wanted && (hosts_.size() < 2 || is_in(kOfHosts, section.feature)))
            to.section(section.feature, {content->begin(), content->end()});
    }
    if (hosts_.size() > 1) {
        for (unsigned feature : {kFeatHostname, kFeatOsRelease, kFeatArch})
            to.section(feature, Packer(order).string(joined_texts(inputs_, feature)).take());
        uint32_t cpus = 0;
        for (uint32_t of_host : cpus_)
            cpus += of_host;
        to.section(kFeatNrCpus, Packer(order).put(cpus).put(cpus).take());
    }
    if (tracing_data_ && !tracing_data_->empty())
        to.section(kFeatTracingData, {tracing_data_->begin(), tracing_data_->end()});
    Packer build_ids(order);
    for (const Input &input : inputs_)
        if (const std::optional<Bytes> content = input.reader.feature(kFeatBuildId))
            build_ids.put(*content);
    if (!build_ids.bytes().empty())
        to.section(kFeatBuildId, build_ids.take());
    AllCaps caps;
    for (const Input &input : inputs_)
        add_caps(input, caps);
    if (!caps.pmus.empty())
        to.section(kFeatPmuCaps, packed_caps(caps.pmus, order));
    Packer pmus(order);
    pmus.put(static_cast<uint32_t>(type_by_name_.size()));
    for (const auto &[name, type] : type_by_name_)
        pmus.put(type).string(name);
    to.section(kFeatPmuMappings, pmus.take());
}

Result<Writer> Merge::run(const std::string &to)
{
    for (Input &input : inputs_)
        if (Result<void> front = input.reader.read_front(); !front)
            return front.error();
    find_hosts();
    if (hosts_.size() > kMaxHosts)
        return Error{Errc::kUnsupported, "more than 512 hosts"};
    if (inputs_.size() > kMaxInputs)
        return Error{Errc::kUnsupported, fmt::format("more than {} recordings", kMaxInputs)};
    if (Result<void> named = check_names(); !named)
        return named.error();
    for (Input &input : inputs_) {
        if (Result<void> fits = check(input); !fits)
            return fits.error();
        if (Result<void> one_boot = check_boot_id(input); !one_boot)
            return one_boot.error();
        number_ids(input);
        number_types(input);
        input.header.emplace(input.reader);
        if (&input == &inputs_.front())
            continue;
        if (Result<void> one_boot = check_clock(first_of_host(input), input); !one_boot)
            return one_boot.error();
        relate_clocks(inputs_.front(), input);
    }
    Result<Writer> writer = Writer::create_copy(to, inputs_.front().reader.order(), events());
    if (!writer)
        return writer.error();
    for (Input &input : inputs_)
        if (Result<void> done = write_preamble(input, *writer); !done)
            return done.error();
    if (Result<void> done = write_info(*writer); !done)
        return done.error();
    if (Result<void> done = write_all(*writer); !done)
        return done.error();
    write_sections(*writer);
    if (Result<void> done = writer->complete(); !done)
        return done.error();
    return writer;
}

}  // namespace

Result<Merged> merge_recordings(std::vector<Reader> &inputs, const std::string &to,
                                const ProgressCallback &progress)
{
    Merge merge(inputs, progress);
    Result<Writer> written = merge.run(to);
    if (!written)
        return written.error();
    return Merged{merge.inputs(), std::move(*written)};
}

Result<Merged> merge_recordings(std::vector<Reader> &inputs, const std::string &to)
{
    return merge_recordings(inputs, to, {});
}

}  // namespace pmukit::perfdata
