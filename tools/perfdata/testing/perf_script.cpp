// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/testing/perf_script.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "perfdata/format.hpp"
#include "perfdata/ordered.hpp"
#include "perfdata/testing/perf_text.hpp"

namespace pmukit::perfdata::testing {
namespace {

struct Field {
    std::string_view names;
    uint64_t sample_type;  // perf refuses to print a field that no event has
};
constexpr Field kFields[] = {
    {"pid,tid", PERF_SAMPLE_TID},
    {"cpu", PERF_SAMPLE_CPU},
    {"time", PERF_SAMPLE_TIME},
    {"period", PERF_SAMPLE_PERIOD},
    {"ip", PERF_SAMPLE_IP},
    {"addr", PERF_SAMPLE_ADDR},
    {"data_src", PERF_SAMPLE_DATA_SRC},
    {"weight", PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT},
    {"cgroup", PERF_SAMPLE_CGROUP},
    {"iregs", PERF_SAMPLE_REGS_INTR},
    {"uregs", PERF_SAMPLE_REGS_USER},
    {"brstack", PERF_SAMPLE_BRANCH_STACK},
    {"phys_addr", PERF_SAMPLE_PHYS_ADDR},
    {"data_page_size", PERF_SAMPLE_DATA_PAGE_SIZE},
    {"code_page_size", PERF_SAMPLE_CODE_PAGE_SIZE},
};

// Records that perf script prints with its options --show-*-events.
constexpr uint32_t kShown[] = {
    PERF_RECORD_MMAP,       PERF_RECORD_MMAP2,
    PERF_RECORD_COMM,       PERF_RECORD_FORK,
    PERF_RECORD_EXIT,       PERF_RECORD_LOST,
    PERF_RECORD_NAMESPACES, PERF_RECORD_CGROUP,
    PERF_RECORD_SWITCH,     PERF_RECORD_SWITCH_CPU_WIDE,
    PERF_RECORD_KSYMBOL,    PERF_RECORD_BPF_EVENT,
};

// perf does not print the instruction pointer as a field if it unwinds the callchain from a copy of
// the stack. In a pipe, perf also omits the field for samples of PMUs with a dynamic type.
bool without_ip(const Reader &reader, bool piped)
{
    return std::ranges::any_of(reader.events(), [piped](const Event &event) {
        return event.attr.sample_type & PERF_SAMPLE_STACK_USER ||
               (piped && event.attr.type >= PERF_TYPE_MAX);
    });
}

// Returns true if perf script prints the payload of all events.
bool are_bpf_output(const Reader &reader)
{
    constexpr uint64_t kBpfOutput = 10;  // PERF_COUNT_SW_BPF_OUTPUT
    return std::ranges::all_of(reader.events(), [](const Event &event) {
        return event.attr.type == PERF_TYPE_SOFTWARE && event.attr.config == kBpfOutput;
    });
}

// Fields that all events have.
uint64_t common_fields(const Reader &reader, bool piped)
{
    uint64_t common = UINT64_MAX;
    for (const Event &event : reader.events()) {
        // Either kind of weight is printed as one field.
        uint64_t fields = event.attr.sample_type;
        if (fields & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
            fields |= PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;
        common &= fields;
    }
    if (!are_bpf_output(reader))
        common &= ~uint64_t{PERF_SAMPLE_RAW};
    return without_ip(reader, piped) ? common & ~uint64_t{PERF_SAMPLE_IP} : common;
}

// Events of a pipe may have no names.
bool have_names(const Reader &reader)
{
    return std::ranges::none_of(reader.events(), [](const Event &e) { return e.name.empty(); });
}

bool is_context(uint64_t ip)
{
    return ip >= static_cast<uint64_t>(PERF_CONTEXT_MAX);
}

std::string size_text(uint64_t bytes)
{
    constexpr std::string_view kUnits = "BKMGTPE";
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < kUnits.size(); unit++)
        bytes /= 1024;
    return bytes ? fmt::format("{}{}", bytes, unit ? kUnits.substr(unit, 1) : "") : "N/A";
}

class ScriptText {
public:
    ScriptText(const Reader &reader, bool piped) : reader_(reader), piped_(piped) {}
    void add(const Record &record)
    {
        if (reader_.events().empty())
            return;
        fields_ = common_fields(reader_, piped_);
        if (record.type == PERF_RECORD_SAMPLE)
            sample(record);
        else if (record.type == kRecordCallchainDeferred)
            deferred(record);
        else if (std::ranges::find(kShown, record.type) != std::end(kShown))
            other(record);
        if (record.type == PERF_RECORD_CGROUP)
            if (const auto cgroup = parse_cgroup(record.body, reader_.order()))
                cgroups_[cgroup->id] = cgroup->path;
    }
    std::string take() { return std::move(text_); }

private:
    template <typename... Args>
    void say(fmt::format_string<Args...> format, Args &&...args)
    {
        append(text_, format, std::forward<Args>(args)...);
    }
    bool has(uint64_t fields) const { return fields_ & fields; }

    void start(const SampleId &sample_id);
    void sample(const Record &record);
    void counts(const Sample &sample, const Event &event);
    void one(const Sample &sample, uint64_t period, const Event &event);
    void other(const Record &record);
    void deferred(const Record &record);
    void where(const Sample &sample, uint64_t sample_type);
    void frames(const WordView &callchain);
    void registers(const Registers &registers);
    void branches(const BranchView &branches);
    void payload(Bytes raw);
    std::string_view cgroup_name(const Sample &sample) const;
    SampleId id_of(const Record &record) const;

    const Reader &reader_;
    const bool piped_;
    uint64_t fields_ = 0;
    std::map<std::pair<uint64_t, uint32_t>, uint64_t> counted_;  // key: id, and thread if inherited
    std::map<uint64_t, std::string> cgroups_;
    std::string text_;
};

void ScriptText::start(const SampleId &sample_id)
{
    constexpr uint64_t kSecond = 1000000000;
    const uint64_t time_ns = sample_id.time_ns.value_or(0);
    if (has(PERF_SAMPLE_TID))
        say("{}/{} ", static_cast<int>(sample_id.pid.value_or(0)),
            static_cast<int>(sample_id.tid.value_or(0)));
    if (has(PERF_SAMPLE_CPU))
        say("[{:03}] ", static_cast<int>(sample_id.cpu.value_or(0)));
    if (has(PERF_SAMPLE_TIME))
        say("{}.{:09}: ", time_ns / kSecond, time_ns % kSecond);
}

// A callchain replaces the instruction pointer, one line per address.
void ScriptText::where(const Sample &sample, uint64_t sample_type)
{
    if (!(sample_type & PERF_SAMPLE_CALLCHAIN)) {
        say("{:x} ", sample.ip.value_or(0));
        return;
    }
    frames(sample.callchain);
}

void ScriptText::frames(const WordView &callchain)
{
    for (size_t i = 0; i < callchain.size(); i++)
        if (!is_context(callchain[i]))
            say("\n{:x}", callchain[i]);
    say("\n");
}

void ScriptText::registers(const Registers &registers)
{
    if (registers.abi == PERF_SAMPLE_REGS_ABI_NONE)
        return;
    say("ABI:{} ", registers.abi);
    for (size_t i = 0; i < registers.values.size(); i++)
        say("{:#x} ", registers.values[i]);
}

// struct perf_branch_entry: bit fields begin at the lowest bit on a little-endian machine, and at
// the highest bit on a big-endian one.
void ScriptText::branches(const BranchView &branches)
{
    const bool big = reader_.order() == std::endian::big;
    const auto field = [big](uint64_t flags, unsigned at, unsigned bits) {
        return flags >> (big ? 64 - at - bits : at) & ((uint64_t{1} << bits) - 1);
    };
    for (size_t i = 0; i < branches.size(); i++) {
        const BranchView::Branch &branch = branches[i];
        const bool missed = field(branch.flags, 0, 1), predicted = field(branch.flags, 1, 1);
        say("{:#x}/{:#x}/{}/{}/{}/{} ", branch.from, branch.to,
            missed      ? 'M'
            : predicted ? 'P'
                        : '-',
            field(branch.flags, 2, 1) ? 'X' : '-', field(branch.flags, 3, 1) ? 'A' : '-',
            field(branch.flags, 4, 16));
    }
}

// Eight bytes per line, followed by the bytes as text.
void ScriptText::payload(Bytes raw)
{
    constexpr size_t kBytesOfALine = 8;
    say("\nBPF output: ");
    for (size_t at = 0; at < raw.size(); at += kBytesOfALine) {
        std::string letters;
        say("{:04x}: ", at);
        for (std::byte byte : raw.subspan(at, std::min(kBytesOfALine, raw.size() - at))) {
            const auto value = std::to_integer<unsigned char>(byte);
            say("{:02x} ", value);
            letters += value >= ' ' && value <= '~' ? static_cast<char>(value) : '.';
        }
        say("{}\n", letters);
    }
}

std::string_view ScriptText::cgroup_name(const Sample &sample) const
{
    const auto known = cgroups_.find(sample.cgroup.value_or(0));
    return known == cgroups_.end() ? "unknown" : std::string_view(known->second);
}

void ScriptText::sample(const Record &record)
{
    const std::optional<size_t> number = reader_.event_of(record);
    if (!number)
        return;
    const Event &event = reader_.events()[*number];
    const auto sample = parse_sample(record.body, event.attr, reader_.order());
    if (!sample) {
        say("TOO SHORT\n");
        return;
    }
    if (event.attr.sample_type & PERF_SAMPLE_READ)
        counts(*sample, event);
    else
        one(*sample, sample->period.value_or(0), event);
}

// A sample with counts becomes one sample per event whose count has advanced since the last one.
void ScriptText::counts(const Sample &sample, const Event &event)
{
    constexpr uint64_t kInherit = 1 << 1;
    for (size_t i = 0; i < sample.counts.size(); i++) {
        const CountView::Count count = sample.counts[i];
        const uint64_t id = count.id.value_or(0);
        const auto number = reader_.event_of_id(id);
        const Event &counted = number ? reader_.events()[*number] : event;
        const bool by_thread = counted.attr.flags & kInherit;
        uint64_t &last = counted_[{id, by_thread ? sample.sample_id.tid.value_or(0) : 0}];
        const uint64_t period = count.value - last;
        last = count.value;
        if (period != 0)
            one(sample, period, counted);
    }
}

void ScriptText::one(const Sample &sample, uint64_t period, const Event &event)
{
    start(sample.sample_id);
    if (has(PERF_SAMPLE_PERIOD))
        say("{} ", period);
    if (have_names(reader_))
        say("{}: ", event.name);
    if (has(PERF_SAMPLE_ADDR))
        say("{:x} ", sample.addr.value_or(0));
    if (has(PERF_SAMPLE_DATA_SRC))
        say("{:x} ", sample.data_src.value_or(0));
    if (has(PERF_SAMPLE_WEIGHT))
        say("{} ", event.attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT
                       ? sample.weight.value_or(0) & UINT32_MAX
                       : sample.weight.value_or(0));
    if (has(PERF_SAMPLE_CGROUP))
        say("{} ", cgroup_name(sample));
    if (has(PERF_SAMPLE_IP))
        where(sample, event.attr.sample_type);
    if (has(PERF_SAMPLE_REGS_INTR))
        registers(sample.intr_regs);
    if (has(PERF_SAMPLE_REGS_USER))
        registers(sample.user_regs);
    if (has(PERF_SAMPLE_BRANCH_STACK))
        branches(sample.branches);
    if (has(PERF_SAMPLE_RAW) && sample.raw)
        payload(*sample.raw);
    if (has(PERF_SAMPLE_PHYS_ADDR))
        say("{:x} ", sample.phys_addr.value_or(0));
    if (has(PERF_SAMPLE_DATA_PAGE_SIZE))
        say("{} ", size_text(sample.data_page_bytes.value_or(0)));
    if (has(PERF_SAMPLE_CODE_PAGE_SIZE))
        say("{} ", size_text(sample.code_page_bytes.value_or(0)));
    say("\n");
}

SampleId ScriptText::id_of(const Record &record) const
{
    if (reader_.events().empty())
        return {};
    const Event &event = reader_.events()[reader_.event_of(record).value_or(0)];
    if (!event.attr.sample_id_all)
        return {};
    return parse_sample_id(record.body, event.attr, reader_.order()).value_or(SampleId());
}

void ScriptText::other(const Record &record)
{
    start(id_of(record));
    text_ += perf_record_text(reader_, record);
}

void ScriptText::deferred(const Record &record)
{
    const auto callchain = parse_callchain_deferred(record.body, reader_.order());
    if (!callchain)
        return;
    start(id_of(record));
    say("DEFERRED CALLCHAIN [cookie: {:x}]", callchain->cookie);
    frames(callchain->callchain);
}

// Removes the description of data_src: "|OP N/A|LVL N/A|...|BLK  N/A".
std::string without_meaning(std::string line)
{
    constexpr std::string_view kLast = "|BLK";
    const size_t begin = line.find("|OP "), last = line.find(kLast);
    if (begin == std::string::npos || last == std::string::npos)
        return line;
    const size_t word = line.find_first_not_of(' ', last + kLast.size());
    const size_t end = std::min(line.find(' ', word), line.size());
    return line.erase(begin, end - begin);
}

// Removes the symbol that perf adds to a callchain frame in a pipe.
std::string_view without_symbol(std::string_view line)
{
    const size_t digits = std::min(line.find_first_not_of("0123456789abcdef"), line.size());
    return digits != 0 && digits < line.size() && line[digits] == ' ' ? line.substr(0, digits)
                                                                      : line;
}

// Removes the register name from words such as "AX:0x12". Shortens a branch such as
// "0x1/0x2/P/-/-/0/COND/-" to the fields that all versions of perf print.
std::string without_names(std::string_view line)
{
    constexpr size_t kParts = 6;
    std::string text;
    while (!line.empty()) {
        const size_t end = std::min(line.find(' '), line.size());
        std::string_view word = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
        const size_t name =
            std::min(word.find_first_not_of(
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
                     word.size());
        if (word.substr(name).starts_with(":0x"))
            word.remove_prefix(name + 1);
        size_t parts = word.starts_with("0x") ? 0 : kParts;
        for (size_t at = 0; at < word.size() && parts < kParts; at++)
            if (word[at] == '/' && ++parts == kParts)
                word = word.substr(0, at);
        text += (text.empty() ? "" : " ") + std::string(word);
    }
    return text;
}

// Reduces blanks to one between words, none at the ends.
std::string squeezed(std::string_view line)
{
    std::string text;
    for (char c : line) {
        const bool blank = c == ' ' || c == '\t';
        if (!blank)
            text += c;
        else if (!text.empty() && text.back() != ' ')
            text += ' ';
    }
    if (text.ends_with(' '))
        text.pop_back();
    return text;
}

std::string plain_lines(std::string_view said)
{
    std::string plain;
    while (!said.empty()) {
        const size_t end = std::min(said.find('\n'), said.size());
        const std::string line =
            without_names(squeezed(without_meaning(std::string(said.substr(0, end)))));
        said.remove_prefix(std::min(end + 1, said.size()));
        if (!line.empty())
            plain += std::string(without_symbol(line)) + '\n';
    }
    return plain;
}

}  // namespace

Result<std::string> script_fields(Reader &reader)
{
    // In pipe layout events arrive with the records.
    for (Record record;;) {
        const Result<bool> more = reader.next(record);
        if (!more)
            return more.error();
        if (!*more)
            break;
    }
    const uint64_t common = common_fields(reader, reader.is_pipe());
    // perf prints the payload of a BPF output event only with its default fields, not with a full
    // list of fields. So default fields that are not compared are removed, and the others are
    // added.
    const bool added = common & PERF_SAMPLE_RAW;
    std::string fields = added ? "-comm,-ip,-sym,-symoff,-dso" : have_names(reader) ? "event" : "";
    for (const Field &field : kFields)
        if (common & field.sample_type)
            for (std::string_view name : split(field.names, ',')) {
                fields += fields.empty() ? "" : ",";
                fields += added ? "+" : "";
                fields += name;
            }
    return fields;
}

Result<std::string> perf_script(Reader &reader)
{
    return perf_script(reader, reader.is_pipe());
}

Result<std::string> perf_script(Reader &reader, bool piped)
{
    OrderedReader ordered(reader);
    ScriptText text(reader, piped);
    for (Record record;;) {
        const Result<bool> more = ordered.next(record);
        if (!more)
            return more.error();
        if (!*more)
            return plain_lines(text.take());
        if (record.payload_at == 0)
            text.add(record);
    }
}

std::string plain_perf_script(std::string_view said)
{
    return plain_lines(said);
}

}  // namespace pmukit::perfdata::testing
