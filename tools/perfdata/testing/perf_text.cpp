// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/testing/perf_text.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "perfdata/format.hpp"
#include "perfdata/ordered.hpp"

namespace pmukit::perfdata::testing {
namespace {

// Like %#x of printf, which prints a zero without prefix.
std::string hex(uint64_t value)
{
    return value ? fmt::format("{:#x}", value) : "0";
}

int number(std::optional<uint32_t> value)
{
    return value ? static_cast<int>(*value) : -1;
}

// perf 7.3.4 does not convert protection and flags of MMAP2 to its own byte order.
uint32_t as_perf_has_it(uint32_t word, std::endian order)
{
    return order == std::endian::native ? word : __builtin_bswap32(word);
}

class PerfText {
public:
    explicit PerfText(const Reader &reader) : reader_(reader) {}
    void add(const Record &record);
    void words(const Record &record);
    std::string take() { return std::move(text_); }

private:
    template <typename... Args>
    void say(fmt::format_string<Args...> format, Args &&...args)
    {
        append(text_, format, std::forward<Args>(args)...);
    }
    template <typename Parsed>
    bool whole(const std::optional<Parsed> &parsed)
    {
        if (!parsed)
            say(" TOO SHORT\n");
        return parsed.has_value();
    }
    std::endian order() const { return reader_.order(); }

    void stamp(const Record &record);
    void kernel_record(const Record &record);
    void perf_record(const Record &record);

    void sample(const Record &record);
    void callchain(const WordView &chain);
    void branches(const BranchView &branches);
    void registers(std::string_view whose, const Registers &registers);
    void weight(uint64_t sample_type, uint64_t weight);
    void page_size(std::string_view whose, uint64_t bytes);
    void counts(const CountView &counts, uint64_t read_format);

    void mmap(const Record &record);
    void mmap2(const Record &record);
    void read(const Record &record);
    void switched(const Record &record);
    void namespaces(const Record &record);
    void aux(const Record &record);
    void deferred(const Record &record);

    void time_conv(const Record &record);
    void id_index(const Record &record);
    void event_update(const Record &record);
    void thread_map(const Record &record);
    void cpu_map(Bytes body);
    void stat(const Record &record);
    void stat_config(const Record &record);
    void schedstat_cpu(const Record &record);
    void schedstat_domain(const Record &record);
    void auxtrace_info(const Record &record);
    void auxtrace(const Record &record);

    const Event *event_of(const Record &record) const;
    const Attr *attr_of(const Record &record) const;
    uint64_t event_id(const Record &record, Bytes body) const;

    const Reader &reader_;
    std::string text_;
};

// Returns the event of a record: the first event if the record names none; nullptr: the file has no
// events.
const Event *PerfText::event_of(const Record &record) const
{
    if (reader_.events().empty())
        return nullptr;
    return &reader_.events()[reader_.event_of(record).value_or(0)];
}

const Attr *PerfText::attr_of(const Record &record) const
{
    const Event *event = event_of(record);
    return event ? &event->attr : nullptr;
}

// Returns UINT64_MAX if the record has no id, or no event of the file defines the id's offset.
uint64_t PerfText::event_id(const Record &record, Bytes body) const
{
    const Attr *attr = attr_of(record);
    const auto sample_id = attr ? parse_sample_id(body, *attr, order()) : std::nullopt;
    return sample_id ? sample_id->id.value_or(UINT64_MAX) : UINT64_MAX;
}

// Prints CPU and time, if any event records them.
void PerfText::stamp(const Record &record)
{
    const Attr *attr = attr_of(record);
    const bool is_sample = record.type == PERF_RECORD_SAMPLE;
    if (!attr || (!is_sample && !reader_.events().front().attr.sample_id_all)) {
        say("-1 -1 ");
        return;
    }
    uint64_t fields = 0;
    for (const Event &event : reader_.events())
        fields |= event.attr.sample_type;
    uint32_t cpu = 0;
    uint64_t time_ns = 0;
    if (record.type < kHeaderAttr) {
        SampleId sample_id;
        if (is_sample) {
            auto sample = parse_sample(record.body, *attr, order());
            sample_id = sample ? sample->sample_id : SampleId();
        } else {
            sample_id = parse_sample_id(record.body, *attr, order()).value_or(SampleId());
        }
        cpu = sample_id.cpu.value_or(UINT32_MAX);
        time_ns = sample_id.time_ns.value_or(UINT64_MAX);
    }
    if (fields & PERF_SAMPLE_CPU)
        say("{} ", cpu);
    if (fields & PERF_SAMPLE_TIME)
        say("{} ", time_ns);
}

void PerfText::add(const Record &record)
{
    if (record.payload_at != 0)
        return;
    // At the start of a pipe, the CPU and time that perf prints depend on the events that perf has
    // already read. So they are not compared for these records.
    if (record.type != kHeaderAttr && record.type != kHeaderFeature)
        stamp(record);
    // perf does not count the 16 bytes before the first record of a pipe.
    const uint64_t offset = record.offset - (reader_.is_pipe() ? kPipeHeaderBytes : 0);
    say("{} [{}]: ", hex(offset), hex(record.body.size() + kRecordHeaderBytes));
    words(record);
}

void PerfText::words(const Record &record)
{
    // perf omits HEADER_ from the names of its own records.
    std::string_view name = record_name(record.type);
    constexpr std::string_view kOwn = "HEADER_";
    if (name.starts_with(kOwn))
        name.remove_prefix(kOwn.size());
    say("PERF_RECORD_{}", name.empty() ? "UNKNOWN" : name);
    if (record.type < kHeaderAttr)
        kernel_record(record);
    else
        perf_record(record);
}

// Kernel records

void PerfText::kernel_record(const Record &record)
{
    const Bytes body = record.body;
    switch (record.type) {
        case PERF_RECORD_SAMPLE:
            return sample(record);
        case PERF_RECORD_MMAP:
            return mmap(record);
        case PERF_RECORD_MMAP2:
            return mmap2(record);
        case PERF_RECORD_READ:
            return read(record);
        case PERF_RECORD_SWITCH:
        case PERF_RECORD_SWITCH_CPU_WIDE:
            return switched(record);
        case PERF_RECORD_NAMESPACES:
            return namespaces(record);
        case PERF_RECORD_AUX:
            return aux(record);
        case kRecordCallchainDeferred:
            return deferred(record);
        case PERF_RECORD_COMM:
            if (auto comm = parse_comm(body, order()); whole(comm))
                say("{}: {}:{}/{}\n", record.misc & PERF_RECORD_MISC_COMM_EXEC ? " exec" : "",
                    comm->name, number(comm->pid), number(comm->tid));
            return;
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT:
            if (auto task = parse_task(body, order()); whole(task))
                say("({}:{}):({}:{})\n", number(task->pid), number(task->tid),
                    number(task->parent_pid), number(task->parent_tid));
            return;
        case PERF_RECORD_LOST:
            if (auto lost = parse_lost(body, order()); whole(lost))
                say(": id:{}: lost:{}\n", lost->id, lost->lost);
            return;
        case PERF_RECORD_LOST_SAMPLES:
            if (auto lost = parse_lost_samples(body, order()); whole(lost))
                say(": id:{}: lost samples :{}\n", event_id(record, body), *lost);
            return;
        case PERF_RECORD_ITRACE_START:
            if (auto thread = parse_thread(body, order()); whole(thread))
                say(" pid: {} tid: {}\n", thread->pid, thread->tid);
            return;
        case PERF_RECORD_KSYMBOL:
            if (auto symbol = parse_ksymbol(body, order()); whole(symbol))
                say(" addr {:x} len {} type {} flags {:#x} name {}\n", symbol->address,
                    symbol->bytes, symbol->type, symbol->flags, symbol->name);
            return;
        case PERF_RECORD_BPF_EVENT:
            if (auto bpf = parse_bpf(body, order()); whole(bpf))
                say(" type {}, flags {}, id {}\n", bpf->type, bpf->flags, bpf->id);
            return;
        case PERF_RECORD_CGROUP:
            if (auto cgroup = parse_cgroup(body, order()); whole(cgroup))
                say(" cgroup: {} {}\n", cgroup->id, cgroup->path);
            return;
        case PERF_RECORD_AUX_OUTPUT_HW_ID:
            if (auto id = parse_aux_output_hw_id(body, order()); whole(id))
                say(" hw_id: {}\n", hex(*id));
            return;
        default:
            say(": unhandled!\n");
    }
}

void PerfText::mmap(const Record &record)
{
    auto map = parse_mmap(record.body, order());
    if (whole(map))
        say(" {}/{}: [{}({}) @ {}]: {} {}\n", number(map->pid), number(map->tid), hex(map->address),
            hex(map->bytes), hex(map->file_offset),
            record.misc & PERF_RECORD_MISC_MMAP_DATA ? 'r' : 'x', map->path);
}

void PerfText::mmap2(const Record &record)
{
    auto map = parse_mmap2(record.body, record.misc, order());
    if (!whole(map))
        return;
    say(" {}/{}: [{}({}) @ {} ", number(map->pid), number(map->tid), hex(map->address),
        hex(map->bytes), hex(map->file_offset));
    if (record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        say("<");
        for (std::byte byte : map->build_id)
            say("{:02x}", std::to_integer<unsigned>(byte));
        say(">");
    } else {
        say("{:02x}:{:02x} {} {}", map->major, map->minor, map->inode, map->inode_generation);
    }
    const uint32_t protection = as_perf_has_it(map->protection, order());
    say("]: {}{}{}{} {}\n", protection & PROT_READ ? 'r' : '-', protection & PROT_WRITE ? 'w' : '-',
        protection & PROT_EXEC ? 'x' : '-',
        as_perf_has_it(map->flags, order()) & MAP_SHARED ? 's' : 'p', map->path);
}

void PerfText::read(const Record &record)
{
    const Event *event = event_of(record);
    const Attr attr = event ? event->attr : Attr();
    auto read = parse_read(record.body, attr, order());
    if (!whole(read))
        return;
    const CountView::Count count = read->counts[0];
    say(": {} {} {} {}\n", read->pid, read->tid, event ? event->name : "unknown", count.value);
    if (attr.read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        say("... time enabled : {}\n", read->counts.time_enabled_ns().value_or(0));
    if (attr.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        say("... time running : {}\n", read->counts.time_running_ns().value_or(0));
    if (count.id)
        say("... id           : {}\n", *count.id);
    if (count.lost)
        say("... lost         : {}\n", *count.lost);
}

void PerfText::switched(const Record &record)
{
    const bool out = record.misc & PERF_RECORD_MISC_SWITCH_OUT;
    const bool preempted = record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    std::string_view how = !out ? "IN         " : preempted ? "OUT preempt" : "OUT        ";
    if (record.type == PERF_RECORD_SWITCH) {
        say(" {}\n", how);
        return;
    }
    auto other = parse_thread(record.body, order());
    if (whole(other))
        say(" {}  {} pid/tid: {:5}/{:<5}\n", how, out ? "next" : "prev", number(other->pid),
            number(other->tid));
}

void PerfText::namespaces(const Record &record)
{
    static constexpr std::string_view kNames[] = {"net",  "uts", "ipc",   "pid",
                                                  "user", "mnt", "cgroup"};
    auto spaces = parse_namespaces(record.body, order());
    if (!whole(spaces))
        return;
    const size_t count = spaces->links.size() / 2;
    say(" {}/{} - nr_namespaces: {}\n\t\t[", number(spaces->pid), number(spaces->tid), count);
    for (size_t i = 0; i < count; i++) {
        if (i && i % 4 == 0)
            say("\n\t\t ");
        say("{}/{}: {}/{}{}", i, i < std::size(kNames) ? kNames[i] : "unknown",
            spaces->links[2 * i], hex(spaces->links[2 * i + 1]), i + 1 == count ? "]\n" : ", ");
    }
}

void PerfText::aux(const Record &record)
{
    auto aux = parse_aux(record.body, order());
    if (!whole(aux))
        return;
    say(" offset: {} size: {} flags: {} [{}{}{}{}]\n", hex(aux->offset), hex(aux->size),
        hex(aux->flags), aux->flags & PERF_AUX_FLAG_TRUNCATED ? "T" : "",
        aux->flags & PERF_AUX_FLAG_OVERWRITE ? "O" : "",
        aux->flags & PERF_AUX_FLAG_PARTIAL ? "P" : "",
        aux->flags & PERF_AUX_FLAG_COLLISION ? "C" : "");
}

void PerfText::deferred(const Record &record)
{
    auto deferred = parse_callchain_deferred(record.body, order());
    const Attr *attr = attr_of(record);
    if (!whole(deferred) || !attr)
        return;
    const SampleId sample_id = parse_sample_id(record.body, *attr, order()).value_or(SampleId());
    say("(IP, {:#x}): {}/{}: {}\n", record.misc, number(sample_id.pid), number(sample_id.tid),
        hex(deferred->cookie));
    callchain(deferred->callchain);
    say(": unhandled!\n");
}

// Samples

void PerfText::sample(const Record &record)
{
    const Attr *attr = attr_of(record);
    auto sample = attr ? parse_sample(record.body, *attr, order()) : std::nullopt;
    if (!whole(sample))
        return;
    const uint64_t type = attr->sample_type;
    say("(IP, {:#x}): {}/{}: {} period: {} addr: {}\n", record.misc, number(sample->sample_id.pid),
        number(sample->sample_id.tid), hex(sample->ip.value_or(0)),
        sample->period.value_or(attr->sample_period), hex(sample->addr.value_or(0)));
    if (type & PERF_SAMPLE_CALLCHAIN)
        callchain(sample->callchain);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        branches(sample->branches);
    if (type & PERF_SAMPLE_REGS_USER)
        registers("user", sample->user_regs);
    if (type & PERF_SAMPLE_REGS_INTR)
        registers("intr", sample->intr_regs);
    // perf counts the offset from the body of the record.
    if (type & PERF_SAMPLE_STACK_USER)
        say("... ustack: size {}, offset {:#x}\n", sample->user_stack.size(),
            sample->user_stack.empty() ? 0 : sample->user_stack.data() - record.body.data());
    if (sample->weight && type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
        weight(type, *sample->weight);
    if (type & PERF_SAMPLE_DATA_SRC)
        say(" . data_src: 0x{:x}\n", sample->data_src.value_or(0));
    if (type & PERF_SAMPLE_PHYS_ADDR)
        say(" .. phys_addr: 0x{:x}\n", sample->phys_addr.value_or(0));
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
        page_size("data", sample->data_page_bytes.value_or(0));
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
        page_size("code", sample->code_page_bytes.value_or(0));
    if (type & PERF_SAMPLE_TRANSACTION)
        say("... transaction: {:x}\n", sample->transaction.value_or(0));
    if (type & PERF_SAMPLE_READ)
        counts(sample->counts, attr->read_format);
}

void PerfText::callchain(const WordView &chain)
{
    struct Context {
        uint64_t mark;
        std::string_view name;
    };
    constexpr uint64_t kUserDeferred = static_cast<uint64_t>(-640);  // since Linux 6.19
    static constexpr Context kContexts[] = {
        {static_cast<uint64_t>(PERF_CONTEXT_HV), " (PERF_CONTEXT_HV)"},
        {static_cast<uint64_t>(PERF_CONTEXT_KERNEL), " (PERF_CONTEXT_KERNEL)"},
        {static_cast<uint64_t>(PERF_CONTEXT_USER), " (PERF_CONTEXT_USER)"},
        {kUserDeferred, " (PERF_CONTEXT_USER_DEFERRED)"},
        {static_cast<uint64_t>(PERF_CONTEXT_GUEST), " (PERF_CONTEXT_GUEST)"},
        {static_cast<uint64_t>(PERF_CONTEXT_GUEST_KERNEL), " (PERF_CONTEXT_GUEST_KERNEL)"},
        {static_cast<uint64_t>(PERF_CONTEXT_GUEST_USER), " (PERF_CONTEXT_GUEST_USER)"},
    };
    say("... FP chain: nr:{}\n", chain.size());
    bool deferred = false;
    for (size_t i = 0; i < chain.size(); i++) {
        std::string_view name;
        for (const Context &context : kContexts)
            if (context.mark == chain[i])
                name = context.name;
        say("..... {:2}: {:016x}{}\n", i, chain[i], name);
        deferred = deferred || chain[i] == kUserDeferred;
    }
    if (deferred)
        say("...... (deferred)\n");
}

void PerfText::branches(const BranchView &branches)
{
    say("... branch stack: nr:{}\n", branches.size());
    for (size_t i = 0; i < branches.size(); i++)
        say("..... {:2}: {:016x} -> {:016x}\n", i, branches[i].from, branches[i].to);
}

void PerfText::registers(std::string_view whose, const Registers &registers)
{
    static constexpr std::string_view kAbi[] = {"none", "32-bit", "64-bit"};
    if (registers.abi == 0)
        return;
    say("... {} regs: mask 0x{:x} ABI {}\n", whose, registers.mask,
        registers.abi < std::size(kAbi) ? kAbi[registers.abi] : "unknown");
    for (size_t i = 0; i < registers.values.size(); i++)
        say(".... 0x{:016x}\n", registers.values[i]);
}

void PerfText::weight(uint64_t sample_type, uint64_t weight)
{
    if (sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
        say("... weight: {},0x{:x},0x{:x}\n", weight & UINT32_MAX, weight >> 32 & 0xffff,
            weight >> 48);
    else
        say("... weight: {}\n", weight);
}

void PerfText::page_size(std::string_view whose, uint64_t bytes)
{
    std::string text = "N/A";
    constexpr std::string_view kUnits = "BKMGTPE";
    size_t unit = 0;
    for (uint64_t rest = bytes; rest != 0 && unit < kUnits.size(); unit++, rest /= 1024)
        if (rest < 1024) {
            text = fmt::format("{}{}", rest, unit ? kUnits.substr(unit, 1) : "");
            break;
        }
    say(" .. {} page size: {}\n", whose, text);
}

void PerfText::counts(const CountView &counts, uint64_t read_format)
{
    say("... sample_read:\n");
    if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        say("...... time enabled {:016x}\n", counts.time_enabled_ns().value_or(0));
    if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        say("...... time running {:016x}\n", counts.time_running_ns().value_or(0));
    if (read_format & PERF_FORMAT_GROUP)
        say(".... group nr {}\n", counts.size());
    for (size_t i = 0; i < counts.size(); i++) {
        const CountView::Count count = counts[i];
        say("..... id {:016x}, value {:016x}", count.id.value_or(0), count.value);
        if (count.lost)
            say(", lost {}", *count.lost);
        say("\n");
    }
}

// Records that perf adds

void PerfText::perf_record(const Record &record)
{
    switch (record.type) {
        case kHeaderAttr:
        case kHeaderFeature:
        case kHeaderBuildId:
        case kHeaderTracingData:
        case kFinishedRound:
            return say("\n");
        case kSchedstatCpu:
            return schedstat_cpu(record);
        case kSchedstatDomain:
            return schedstat_domain(record);
        case kTimeConv:
            return time_conv(record);
        case kIdIndex:
            return id_index(record);
        case kEventUpdate:
            return event_update(record);
        case kThreadMap:
            return thread_map(record);
        case kCpuMap:
            cpu_map(record.body);
            return say(": unhandled!\n");
        case kStat:
            return stat(record);
        case kStatConfig:
            return stat_config(record);
        case kStatRound:
            if (auto round = parse_stat_round(record.body, order()); whole(round))
                say("\n... time {}, type {}\n: unhandled!\n", round->time_ns,
                    round->type == 0 ? "INTERVAL" : "FINAL");
            return;
        case kAuxtraceInfo:
            return auxtrace_info(record);
        case kAuxtrace:
            return auxtrace(record);
        default:
            say(": unhandled!\n");
    }
}

void PerfText::time_conv(const Record &record)
{
    auto conversion = parse_time_conv(record.body, order());
    if (!whole(conversion))
        return;
    say("\n... Time Shift      {}\n... Time Multiplier {}\n... Time Zero       {}\n",
        conversion->shift, conversion->mult, conversion->zero);
    // Newer records have two more numbers and two flags.
    if (record.body.size() > 3 * sizeof(uint64_t))
        say("... Time Cycles     {}\n... Time Mask       {}\n... Cap Time Zero   {}\n"
            "... Cap Time Short  {}\n",
            conversion->cycles, hex(conversion->mask), int{conversion->user_time_zero},
            int{conversion->user_time_short});
    say(": unhandled!\n");
}

void PerfText::id_index(const Record &record)
{
    auto index = parse_id_index(record.body, order());
    if (!whole(index))
        return;
    say(" nr: {}\n", index->size());
    for (size_t i = 0; i < index->size(); i++) {
        const IdIndexView::Entry entry = (*index)[i];
        say(" ... id: {}  idx: {}  cpu: {}  tid: {}\n", entry.id, entry.index, number(entry.cpu),
            number(entry.tid));
    }
}

void PerfText::event_update(const Record &record)
{
    auto update = parse_event_update(record.body, order());
    if (!whole(update))
        return;
    say("\n... id:    {}\n", update->id);
    if (update->type == EventUpdateRecord::kUnit)
        say("... unit:  {}\n", update->text);
    if (update->type == EventUpdateRecord::kName)
        say("... name:  {}\n", update->text);
    if (update->type == EventUpdateRecord::kScale && update->data.size() >= sizeof(double))
        say("... scale: {:f}\n",
            std::bit_cast<double>(load<uint64_t>(update->data.data(), order())));
    if (update->type == EventUpdateRecord::kCpus) {
        text_ += "... ";
        const size_t at = text_.size();
        cpu_map(update->data);
        text_.erase(at, 2);  // the colon and blank of a CPU_MAP record
    }
}

void PerfText::thread_map(const Record &record)
{
    constexpr size_t kEntryBytes = 24;
    auto map = parse_thread_map(record.body, order());
    if (!whole(map))
        return;
    say(" nr: {} thread{}: ", map->count, map->count > 1 ? "s" : "");
    for (uint64_t i = 0; i < map->count; i++)
        say("{}{}", i ? ", " : "",
            static_cast<int>(load<uint64_t>(map->entries.data() + i * kEntryBytes, order())));
    say("\n: unhandled!\n");
}

void PerfText::cpu_map(Bytes body)
{
    auto map = parse_cpu_map(body, order());
    if (!whole(map))
        return;
    say(": ");
    const std::vector<uint32_t> cpus = cpus_of(*map, order());
    for (size_t i = 0, first = 0; i < cpus.size(); i++) {
        if (i + 1 < cpus.size() && cpus[i + 1] == cpus[i] + 1)
            continue;
        say("{}{}", first ? "," : "", number(cpus[first]));
        if (i > first)
            say("-{}", cpus[i]);
        first = i + 1;
    }
    say("\n");
}

void PerfText::stat(const Record &record)
{
    auto stat = parse_stat(record.body, order());
    if (whole(stat))
        say("\n... id {}, cpu {}, thread {}\n... value {}, enabled {}, running {}\n: unhandled!\n",
            stat->id, number(stat->cpu), number(stat->thread), stat->value, stat->enabled_ns,
            stat->running_ns);
}

// perf prints names for three of the terms, in this order.
void PerfText::stat_config(const Record &record)
{
    struct Term {
        uint64_t tag;
        std::string_view name;
    };
    static constexpr Term kTerms[] = {{0, "aggr_mode"}, {2, "scale    "}, {1, "interval "}};
    auto config = parse_stat_config(record.body, order());
    if (!whole(config))
        return;
    say("\n");
    for (const Term &term : kTerms)
        for (size_t i = 0; i + 1 < config->size(); i += 2)
            if ((*config)[i] == term.tag)
                say("... {} {}\n", term.name, (*config)[i + 1]);
    say(": unhandled!\n");
}

void PerfText::schedstat_cpu(const Record &record)
{
    auto stat = parse_schedstat_cpu(record.body, order());
    if (!whole(stat))
        return;
    say("\ncpu{}", stat->cpu);
    for (uint32_t count : stat->counts)
        say(" {}", count);
    say(" {} {} {} : unhandled!\n", stat->run_ns, stat->wait_ns, stat->slices);
}

void PerfText::schedstat_domain(const Record &record)
{
    auto stat = parse_schedstat_domain(record.body, order());
    if (!whole(stat))
        return;
    say("\ndomain{}", stat->domain);
    for (size_t i = 0; i + sizeof(uint32_t) <= stat->counts.size(); i += sizeof(uint32_t))
        say(" {}", load<uint32_t>(stat->counts.data() + i, order()));
    say(" : unhandled!\n");
}

void PerfText::auxtrace_info(const Record &record)
{
    constexpr uint32_t kHisiPtt = 6;
    auto info = parse_auxtrace_info(record.body, order());
    if (!whole(info))
        return;
    say(" type: {}\n", info->type);
    if (info->type == kHisiPtt && !info->priv.empty())
        say("  PMU Type           {}\n", info->priv[0]);
}

void PerfText::auxtrace(const Record &record)
{
    auto trace = parse_auxtrace(record.body, order());
    if (whole(trace))
        say(" size: {}  offset: {}  ref: {}  idx: {}  tid: {}  cpu: {}\n", hex(trace->size),
            hex(trace->offset), hex(trace->reference), trace->index, number(trace->tid),
            number(trace->cpu));
}

}  // namespace

std::string perf_record_text(const Reader &reader, const Record &record)
{
    PerfText text(reader);
    text.words(record);
    return text.take();
}

Result<std::string> perf_text(Reader &reader)
{
    OrderedReader ordered(reader);
    PerfText text(reader);
    for (Record record;;) {
        if (!ordered.next(record)) {
            if (ordered.error())
                return *ordered.error();
            return text.take();
        }
        text.add(record);
    }
}

namespace {

bool starts_like_any(std::string_view line, std::initializer_list<std::string_view> starts)
{
    return std::any_of(starts.begin(), starts.end(),
                       [line](std::string_view start) { return line.starts_with(start); });
}

// Hex dumps, data of perf's session, warnings and titles are not compared.
bool is_left_out(std::string_view line)
{
    if (line.empty() || line == "." ||
        starts_like_any(line, {". ", "#", " ... thread", " ...... dso", "WARNING: "}))
        return true;
    return line.starts_with("0") && line.find("]: event: ") != std::string_view::npos;
}

// Removes stamp and content from a line of a pipe such as
// "-1 -1 0x10 [0x54]: PERF_RECORD_FEATURE, # hostname...". The contents are compared as sections of
// the header.
std::string_view without_details(std::string_view line)
{
    // For a branch, versions of perf print different fields; perf script prints those that all
    // versions have.
    constexpr size_t kDigits = 16;
    if (const size_t to = line.find(" -> "); line.starts_with("..... ") && to != line.npos)
        return line.substr(0, to + 4 + kDigits);
    for (std::string_view name : {"]: PERF_RECORD_FEATURE", "]: PERF_RECORD_ATTR"}) {
        const size_t at = line.find(name);
        if (at == std::string_view::npos)
            continue;
        const size_t size = line.rfind(" [", at);
        const size_t offset = line.rfind(' ', size - 1);
        line = line.substr(0, at + name.size());
        return offset == std::string_view::npos ? line : line.substr(offset + 1);
    }
    return line;
}

// Removes the register name, which depends on the machine, from a line such as ".... AX    0x0123".
std::string_view without_name(std::string_view line, std::string &kept)
{
    constexpr std::string_view kMark = ".... ";
    const size_t value = line.rfind("0x");
    if (!line.starts_with(kMark) || value == std::string_view::npos || line[5] == 'i' ||
        line.find(' ', value) != std::string_view::npos)
        return line;
    kept = fmt::format("{}{}", kMark, line.substr(value));
    return kept;
}

}  // namespace

std::string plain_perf_text(std::string_view said)
{
    std::string plain, kept;
    while (!said.empty()) {
        const size_t end = std::min(said.find('\n'), said.size());
        std::string_view line = said.substr(0, end);
        said.remove_prefix(std::min(end + 1, said.size()));
        // perf's statistics follow the last record.
        if (line.starts_with("Aggregated stats:"))
            break;
        if (is_left_out(line))
            continue;
        if (line.starts_with("... ustack: size 0, "))
            line = "... ustack: size 0, offset 0x0";
        line = without_details(line);
        plain += without_name(line, kept);
        plain += '\n';
    }
    return plain;
}

std::string plain_perf_header(std::string_view said)
{
    std::string plain;
    while (!said.empty()) {
        const size_t end = std::min(said.find('\n'), said.size());
        std::string_view line = said.substr(0, end);
        said.remove_prefix(std::min(end + 1, said.size()));
        // Only the size of a NUMA node is compared, not the list of memory blocks after the size.
        if (line.starts_with("#  ") && line.find("M]: ") != std::string_view::npos)
            line = line.substr(0, line.find(": "));
        if (starts_like_any(line, {"# hostname",
                                   "# os release",
                                   "# perf version",
                                   "# arch",
                                   "# nrcpus",
                                   "# cpu",
                                   "# total memory",
                                   "# sibling",
                                   "# CPU",
                                   "# node",
                                   "# pmu mappings",
                                   "# group",
                                   "#  L",
                                   "# time of",
                                   "# memory nodes",
                                   "#    ",
                                   "# directory",
                                   "# compressed",
                                   "# clockid frequency",
                                   "# schedstat",
                                   "# Maximum",
                                   "# nr_domains",
                                   "# Domain",
                                   "# e_machine",
                                   "#   e_flags",
                                   "# cacheline"}) ||
            line.find(" pmu capabilities: ") != std::string_view::npos)
            plain += std::string(line) + "\n";
    }
    return plain;
}

std::vector<std::byte> without_sections(Bytes file)
{
    constexpr size_t kDataOffsetAt = 40, kDataSizeAt = 48, kFeaturesAt = 72;
    std::vector<std::byte> bare(file.begin(), file.end());
    if (bare.size() < kFileHeaderBytes)
        return bare;
    const uint64_t offset = load_le<uint64_t>(bare.data() + kDataOffsetAt);
    if (load_le<uint64_t>(bare.data() + kDataSizeAt) == 0 && offset < bare.size())
        store_le<uint64_t>(bare.data() + kDataSizeAt, bare.size() - offset);
    std::fill_n(bare.begin() + kFeaturesAt, kFeatureBits / 8, std::byte{0});
    return bare;
}

}  // namespace pmukit::perfdata::testing
