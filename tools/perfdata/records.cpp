// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/records.hpp"

#include <algorithm>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

constexpr std::string_view kKernelNames[] = {
    "",
    "MMAP",
    "LOST",
    "COMM",
    "EXIT",
    "THROTTLE",
    "UNTHROTTLE",
    "FORK",
    "READ",
    "SAMPLE",
    "MMAP2",
    "AUX",
    "ITRACE_START",
    "LOST_SAMPLES",
    "SWITCH",
    "SWITCH_CPU_WIDE",
    "NAMESPACES",
    "KSYMBOL",
    "BPF_EVENT",
    "CGROUP",
    "TEXT_POKE",
    "AUX_OUTPUT_HW_ID",
    "CALLCHAIN_DEFERRED",
};

constexpr std::string_view kUserNames[] = {
    "HEADER_ATTR",
    "HEADER_EVENT_TYPE",
    "HEADER_TRACING_DATA",
    "HEADER_BUILD_ID",
    "FINISHED_ROUND",
    "ID_INDEX",
    "AUXTRACE_INFO",
    "AUXTRACE",
    "AUXTRACE_ERROR",
    "THREAD_MAP",
    "CPU_MAP",
    "STAT_CONFIG",
    "STAT",
    "STAT_ROUND",
    "EVENT_UPDATE",
    "TIME_CONV",
    "HEADER_FEATURE",
    "COMPRESSED",
    "FINISHED_INIT",
    "COMPRESSED2",
    "BPF_METADATA",
    "SCHEDSTAT_CPU",
    "SCHEDSTAT_DOMAIN",
};

// Reads fields one after another; one missing field makes all of them invalid.
class Fields {
public:
    Fields(Bytes body, std::endian order) : in_(body, order), order_(order) {}

    uint16_t u16() { return get<uint16_t>(); }
    uint32_t u32() { return get<uint32_t>(); }
    uint64_t u64() { return get<uint64_t>(); }
    Bytes take(size_t size)
    {
        std::optional<Bytes> bytes = in_.take(size);
        whole_ = whole_ && bytes;
        return bytes.value_or(Bytes());
    }
    WordView words(uint64_t count)
    {
        if (count > in_.left() / sizeof(uint64_t)) {
            whole_ = false;
            return {};
        }
        return WordView(take(count * sizeof(uint64_t)), order_);
    }
    Bytes rest() { return take(in_.left()); }
    // A text up to its NUL or the end of the body: sample_id may follow.
    std::string_view text()
    {
        Bytes bytes = rest();
        std::string_view all(reinterpret_cast<const char *>(bytes.data()), bytes.size());
        return all.substr(0, all.find('\0'));
    }
    size_t left() const { return in_.left(); }
    bool whole() const { return whole_; }

    template <typename T>
    std::optional<T> done(const T &value) const
    {
        return whole_ ? std::optional<T>(value) : std::nullopt;
    }

private:
    template <std::unsigned_integral T>
    T get()
    {
        std::optional<T> value = in_.read<T>();
        whole_ = whole_ && value;
        return value.value_or(T{0});
    }

    ByteReader in_;
    std::endian order_;
    bool whole_ = true;
};

MmapRecord mmap_front(Fields &in)
{
    MmapRecord record;
    record.pid = in.u32();
    record.tid = in.u32();
    record.address = in.u64();
    record.bytes = in.u64();
    record.file_offset = in.u64();
    return record;
}

}  // namespace

std::optional<uint64_t> payload_size(uint32_t type, Bytes body, std::endian order)
{
    ByteReader in(body, order);
    if (type == kAuxtrace && body.size() < kAuxtraceBodyBytes)
        return std::nullopt;
    if (type == kAuxtrace)
        return in.u64();
    if (type != kHeaderTracingData)
        return 0;
    const std::optional<uint32_t> size = in.u32();
    if (!size)
        return std::nullopt;
    return (uint64_t{*size} + 7) & ~uint64_t{7};
}

bool is_pipe_header(uint32_t type)
{
    constexpr uint32_t kTypes[] = {kHeaderAttr, kHeaderEventType, kEventUpdate, kHeaderFeature};
    return std::ranges::find(kTypes, type) != std::end(kTypes);
}

bool is_in_file_header(const Record &record, std::endian order)
{
    const auto update =
        record.type == kEventUpdate ? parse_event_update(record.body, order) : std::nullopt;
    return is_pipe_header(record.type) && (!update || update->type == EventUpdateRecord::kName);
}

std::string_view record_name(uint32_t type)
{
    if (type < std::size(kKernelNames))
        return kKernelNames[type];
    if (type >= kHeaderAttr && type - kHeaderAttr < std::size(kUserNames))
        return kUserNames[type - kHeaderAttr];
    return {};
}

// Kernel records

std::optional<MmapRecord> parse_mmap(Bytes body, std::endian order)
{
    Fields in(body, order);
    MmapRecord record = mmap_front(in);
    record.path = in.text();
    return in.done(record);
}

namespace {

// Returns the build id of an MMAP2 record: a byte with its size, three reserved bytes, room for 20
// bytes. Returns nothing if this is the device and inode instead. Linux 6.18 sets the flag of a
// build id also in records of an event that did not ask for one, if another event did.
Bytes mmap2_build_id(Bytes id)
{
    constexpr size_t kFront = 4;
    const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
    const size_t size = std::to_integer<size_t>(id[0]), end = kFront + size;
    const bool fits = size != 0 && end <= id.size();
    return fits && std::ranges::all_of(id.subspan(1, kFront - 1), is_zero) &&
                   std::ranges::all_of(id.subspan(end), is_zero)
               ? id.subspan(kFront, size)
               : Bytes();
}

}  // namespace

std::optional<MmapRecord> parse_mmap2(Bytes body, uint16_t misc, std::endian order)
{
    constexpr size_t kIdBytes = 24;
    Fields in(body, order);
    MmapRecord record = mmap_front(in);
    const Bytes id = in.take(kIdBytes);
    if (in.whole() && misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
        record.build_id = mmap2_build_id(id);
    if (record.build_id.empty()) {
        Fields file(id, order);
        record.major = file.u32();
        record.minor = file.u32();
        record.inode = file.u64();
        record.inode_generation = file.u64();
    }
    record.protection = in.u32();
    record.flags = in.u32();
    record.path = in.text();
    return in.done(record);
}

std::optional<CommRecord> parse_comm(Bytes body, std::endian order)
{
    Fields in(body, order);
    CommRecord record;
    record.pid = in.u32();
    record.tid = in.u32();
    record.name = in.text();
    return in.done(record);
}

std::optional<TaskRecord> parse_task(Bytes body, std::endian order)
{
    Fields in(body, order);
    TaskRecord record;
    record.pid = in.u32();
    record.parent_pid = in.u32();
    record.tid = in.u32();
    record.parent_tid = in.u32();
    record.time_ns = in.u64();
    return in.done(record);
}

std::optional<LostRecord> parse_lost(Bytes body, std::endian order)
{
    Fields in(body, order);
    LostRecord record;
    record.id = in.u64();
    record.lost = in.u64();
    return in.done(record);
}

std::optional<uint64_t> parse_lost_samples(Bytes body, std::endian order)
{
    return ByteReader(body, order).u64();
}

std::optional<ThrottleRecord> parse_throttle(Bytes body, std::endian order)
{
    Fields in(body, order);
    ThrottleRecord record;
    record.time_ns = in.u64();
    record.id = in.u64();
    record.stream_id = in.u64();
    return in.done(record);
}

std::optional<ReadRecord> parse_read(Bytes body, const Attr &attr, std::endian order)
{
    Fields in(body, order);
    ReadRecord record;
    record.pid = in.u32();
    record.tid = in.u32();
    // The counts have the same format as in a sample.
    Attr counts_only;
    counts_only.sample_type = PERF_SAMPLE_READ;
    counts_only.read_format = attr.read_format;
    std::optional<Sample> counts = parse_sample(in.rest(), counts_only, order);
    if (!counts)
        return std::nullopt;
    record.counts = counts->counts;
    return in.done(record);
}

std::optional<AuxRecord> parse_aux(Bytes body, std::endian order)
{
    Fields in(body, order);
    AuxRecord record;
    record.offset = in.u64();
    record.size = in.u64();
    record.flags = in.u64();
    return in.done(record);
}

std::optional<ThreadRecord> parse_thread(Bytes body, std::endian order)
{
    Fields in(body, order);
    ThreadRecord record;
    record.pid = in.u32();
    record.tid = in.u32();
    return in.done(record);
}

std::optional<NamespacesRecord> parse_namespaces(Bytes body, std::endian order)
{
    Fields in(body, order);
    NamespacesRecord record;
    record.pid = in.u32();
    record.tid = in.u32();
    uint64_t count = in.u64();
    record.links = in.words(count > in.left() ? count : count * 2);
    return in.done(record);
}

std::optional<KsymbolRecord> parse_ksymbol(Bytes body, std::endian order)
{
    Fields in(body, order);
    KsymbolRecord record;
    record.address = in.u64();
    record.bytes = in.u32();
    record.type = in.u16();
    record.flags = in.u16();
    record.name = in.text();
    return in.done(record);
}

std::optional<BpfRecord> parse_bpf(Bytes body, std::endian order)
{
    constexpr size_t kTagBytes = 8;
    Fields in(body, order);
    BpfRecord record;
    record.type = in.u16();
    record.flags = in.u16();
    record.id = in.u32();
    record.tag = in.take(kTagBytes);
    return in.done(record);
}

std::optional<CgroupRecord> parse_cgroup(Bytes body, std::endian order)
{
    Fields in(body, order);
    CgroupRecord record;
    record.id = in.u64();
    record.path = in.text();
    return in.done(record);
}

std::optional<TextPokeRecord> parse_text_poke(Bytes body, std::endian order)
{
    Fields in(body, order);
    TextPokeRecord record;
    record.address = in.u64();
    size_t before = in.u16(), after = in.u16();
    record.before = in.take(before);
    record.after = in.take(after);
    return in.done(record);
}

std::optional<uint64_t> parse_aux_output_hw_id(Bytes body, std::endian order)
{
    return ByteReader(body, order).u64();
}

std::optional<CallchainDeferredRecord> parse_callchain_deferred(Bytes body, std::endian order)
{
    Fields in(body, order);
    CallchainDeferredRecord record;
    record.cookie = in.u64();
    record.callchain = in.words(in.u64());
    return in.done(record);
}

// Records of perf

std::optional<AuxtraceRecord> parse_auxtrace(Bytes body, std::endian order)
{
    Fields in(body, order);
    AuxtraceRecord record;
    record.size = in.u64();
    record.offset = in.u64();
    record.reference = in.u64();
    record.index = in.u32();
    record.tid = in.u32();
    record.cpu = in.u32();
    in.u32();  // reserved
    return in.done(record);
}

std::optional<AuxtraceInfoRecord> parse_auxtrace_info(Bytes body, std::endian order)
{
    Fields in(body, order);
    AuxtraceInfoRecord record;
    record.type = in.u32();
    in.u32();  // reserved
    record.priv = in.words(in.left() / sizeof(uint64_t));
    return in.done(record);
}

std::optional<AuxtraceErrorRecord> parse_auxtrace_error(Bytes body, std::endian order)
{
    Fields in(body, order);
    AuxtraceErrorRecord record;
    record.type = in.u32();
    record.code = in.u32();
    record.cpu = in.u32();
    record.pid = in.u32();
    record.tid = in.u32();
    bool has_time = in.u32() != 0;  // format 1 has the time before the message
    record.ip = in.u64();
    if (has_time)
        in.u64();
    record.message = in.text();
    return in.done(record);
}

std::optional<IdIndexView> parse_id_index(Bytes body, std::endian order)
{
    Fields in(body, order);
    uint64_t count = in.u64();
    WordView words = in.words(count > in.left() ? count : count * 4);
    return in.done(IdIndexView(words));
}

std::optional<BuildIdRecord> parse_build_id(Bytes body, uint16_t misc, std::endian order)
{
    constexpr uint16_t kMiscSize = 1 << 15;  // PERF_RECORD_MISC_BUILD_ID_SIZE
    constexpr size_t kRoom = 24, kMostBytes = 20, kSizeAt = 20;
    Fields in(body, order);
    BuildIdRecord record;
    record.pid = in.u32();
    Bytes room = in.take(kRoom);
    record.path = in.text();
    if (!in.whole())
        return std::nullopt;
    size_t known = misc & kMiscSize ? std::to_integer<size_t>(room[kSizeAt]) : kMostBytes;
    record.build_id = room.first(std::min(known, kMostBytes));
    return record;
}

std::optional<EventUpdateRecord> parse_event_update(Bytes body, std::endian order)
{
    Fields in(body, order);
    EventUpdateRecord record;
    record.type = in.u64();
    record.id = in.u64();
    record.data = in.rest();
    if (record.type == EventUpdateRecord::kUnit || record.type == EventUpdateRecord::kName)
        record.text = Fields(record.data, order).text();
    return in.done(record);
}

std::optional<CpuMapRecord> parse_cpu_map(Bytes body, std::endian order)
{
    Fields in(body, order);
    CpuMapRecord record;
    record.type = in.u16();
    record.data = in.rest();
    return in.done(record);
}

namespace {

constexpr uint16_t kAnyCpu = UINT16_MAX;

// CPUs of a list: a 16-bit count, then that many 16-bit numbers.
std::vector<uint32_t> listed_cpus(ByteReader in)
{
    std::vector<uint32_t> cpus;
    const uint16_t count = in.u16().value_or(0);
    for (uint16_t i = 0; i < count && in.left() >= 2; i++) {
        const uint16_t cpu = *in.u16();
        cpus.push_back(cpu == kAnyCpu ? UINT32_MAX : cpu);
    }
    return cpus;
}

// CPUs of a mask: a 16-bit count, the 16-bit size of a word in bytes (4, or 8 followed by 4 bytes
// of padding), then that many words.
std::vector<uint32_t> masked_cpus(ByteReader in)
{
    constexpr size_t kPaddingBytes = 4;
    std::vector<uint32_t> cpus;
    const uint16_t count = in.u16().value_or(0), word_bytes = in.u16().value_or(0);
    const bool wide = word_bytes == sizeof(uint64_t);
    if (wide && !in.skip(kPaddingBytes))
        return cpus;
    for (uint32_t i = 0; i < count && in.left() >= (wide ? 8U : 4U); i++) {
        const uint64_t word = wide ? *in.u64() : *in.u32();
        for (uint32_t bit = 0; bit < (wide ? 64U : 32U); bit++)
            if (word >> bit & 1)
                cpus.push_back(i * (wide ? 64 : 32) + bit);
    }
    return cpus;
}

// CPUs of a range: a byte that is nonzero if the range includes "any CPU", a byte of padding, and
// the first and the last CPU.
std::vector<uint32_t> ranged_cpus(ByteReader in)
{
    std::vector<uint32_t> cpus;
    std::optional<Bytes> any = in.take(2);
    std::optional<uint16_t> first = in.u16(), last = in.u16();
    if (!last)
        return cpus;
    if ((*any)[0] != std::byte{0})
        cpus.push_back(UINT32_MAX);
    for (uint32_t cpu = *first; cpu <= *last; cpu++)
        cpus.push_back(cpu);
    return cpus;
}

}  // namespace

std::vector<uint32_t> cpus_of(const CpuMapRecord &map, std::endian order)
{
    const ByteReader in(map.data, order);
    switch (map.type) {
        case CpuMapRecord::kCpus:
            return listed_cpus(in);
        case CpuMapRecord::kMask:
            return masked_cpus(in);
        case CpuMapRecord::kRange:
            return ranged_cpus(in);
        default:
            return {};
    }
}

std::optional<ThreadMapRecord> parse_thread_map(Bytes body, std::endian order)
{
    constexpr size_t kEntryBytes = 24;
    Fields in(body, order);
    ThreadMapRecord record;
    record.count = in.u64();
    if (record.count > in.left() / kEntryBytes)
        return std::nullopt;
    record.entries = in.take(record.count * kEntryBytes);
    return in.done(record);
}

std::optional<StatRecord> parse_stat(Bytes body, std::endian order)
{
    Fields in(body, order);
    StatRecord record;
    record.id = in.u64();
    record.cpu = in.u32();
    record.thread = in.u32();
    record.value = in.u64();
    record.enabled_ns = in.u64();
    record.running_ns = in.u64();
    return in.done(record);
}

std::optional<StatRoundRecord> parse_stat_round(Bytes body, std::endian order)
{
    Fields in(body, order);
    StatRoundRecord record;
    record.type = in.u64();
    record.time_ns = in.u64();
    return in.done(record);
}

std::optional<WordView> parse_stat_config(Bytes body, std::endian order)
{
    Fields in(body, order);
    uint64_t count = in.u64();
    WordView words = in.words(count > in.left() ? count : count * 2);
    return in.done(words);
}

std::optional<TimeConvRecord> parse_time_conv(Bytes body, std::endian order)
{
    Fields in(body, order);
    TimeConvRecord record;
    record.shift = in.u64();
    record.mult = in.u64();
    record.zero = in.u64();
    constexpr size_t kLaterBytes = 24;
    if (in.left() >= kLaterBytes) {
        record.cycles = in.u64();
        record.mask = in.u64();
        Bytes flags = in.take(2);
        record.user_time_zero = flags[0] != std::byte{0};
        record.user_time_short = flags[1] != std::byte{0};
    }
    return in.done(record);
}

std::optional<SchedstatCpuRecord> parse_schedstat_cpu(Bytes body, std::endian order)
{
    Fields in(body, order);
    SchedstatCpuRecord record;
    record.jiffies = in.u64();
    record.cpu = in.u32();
    record.version = in.u16();
    in.u16();  // padding
    for (uint32_t &count : record.counts)
        count = in.u32();
    record.run_ns = in.u64();
    record.wait_ns = in.u64();
    record.slices = in.u64();
    return in.done(record);
}

std::optional<SchedstatDomainRecord> parse_schedstat_domain(Bytes body, std::endian order)
{
    constexpr uint16_t kLongVersion = 17;
    constexpr size_t kCounts = 36, kLongCounts = 45;
    Fields in(body, order);
    SchedstatDomainRecord record;
    record.jiffies = in.u64();
    record.cpu = in.u32();
    record.version = in.u16();
    record.domain = in.u16();
    record.counts =
        in.take((record.version >= kLongVersion ? kLongCounts : kCounts) * sizeof(uint32_t));
    return in.done(record);
}

std::optional<BpfMetadataRecord> parse_bpf_metadata(Bytes body, std::endian order)
{
    constexpr size_t kNameBytes = 512, kEntryBytes = 64 + 256;
    Fields in(body, order);
    BpfMetadataRecord record;
    Bytes name = in.take(kNameBytes);
    record.count = in.u64();
    if (record.count > in.left() / kEntryBytes)
        return std::nullopt;
    record.entries = in.take(record.count * kEntryBytes);
    record.program = Fields(name, order).text();
    return in.done(record);
}

}  // namespace pmukit::perfdata
