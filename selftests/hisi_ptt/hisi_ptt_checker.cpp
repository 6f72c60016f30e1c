// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "hisi_ptt_checker.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>

#include "base/number.hpp"

namespace pmukit::checker::hisi_ptt {

namespace {

constexpr std::string_view kLogTitle = "# pmukit tlp log 1";
constexpr std::string_view kRootComplex = "00:00.0";

// The key=value pairs of a line; the last value of a repeated key counts.
using Words = std::map<std::string_view, std::string_view>;

struct Line {
    std::string_view text;
    std::vector<std::string_view> words;  // words that contain no '='
    Words keys;
};

Line line_of(std::string_view text)
{
    Line line{text, {}, {}};
    for (const std::string_view word : split(trim(text), ' ')) {
        const size_t equals = word.find('=');
        if (word.empty())
            continue;
        if (equals == word.npos)
            line.words.push_back(word);
        else
            line.keys[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return line;
}

Error damaged(std::string_view text)
{
    return Error{Errc::kDamaged, fmt::format("'{}' is not understood", trim(text))};
}

bool has(const Line &line, std::string_view word)
{
    return std::ranges::find(line.words, word) != line.words.end();
}

std::string word_of(const Line &line, std::string_view key)
{
    const auto found = line.keys.find(key);
    return found == line.keys.end() ? std::string() : std::string(found->second);
}

// Returns the number of the key; sets `good` to false if it is missing or invalid.
uint64_t number_of(const Line &line, std::string_view key, bool &good)
{
    const Result<uint64_t> value = parse_u64(word_of(line, key));
    good = good && value;
    return value ? *value : 0;
}

// The model's packet log

void fill_completion(const Line &line, Tlp &tlp, bool &good)
{
    const uint64_t bytes = number_of(line, "bytes", good);
    const uint64_t address = bytes > 0 ? number_of(line, "addr", good) : 0;
    tlp.other = word_of(line, "cpl");
    tlp.status = word_of(line, "status");
    tlp.bytes = number_of(line, "left", good);
    tlp.address = address & 0x7f;
    tlp.dwords = bytes > 0 ? (address % 4 + bytes + 3) / 4 : 0;
}

void fill_request(const Line &line, Tlp &tlp, bool &good)
{
    const bool config = tlp.kind.starts_with("Cfg");
    tlp.other = word_of(line, "target");
    tlp.address = number_of(line, config ? "reg" : "addr", good);
    tlp.bytes = number_of(line, "bytes", good);
}

Result<Seen> seen_of(const Line &line)
{
    if (line.words.size() < 4)
        return damaged(line.text);
    bool good = true;
    const Result<uint64_t> time = parse_u64(line.words[0]);
    Seen seen;
    seen.time_ns = time ? *time : 0;
    seen.inbound = line.words[1] == "in";
    seen.flow = line.words[2];
    seen.port = word_of(line, "port");
    seen.lost = has(line, "lost");
    seen.tlp.kind = line.words[3];
    seen.tlp.requester = word_of(line, "req");
    seen.tlp.pasid = word_of(line, "pasid");
    seen.tlp.tag = number_of(line, "tag", good);
    if (seen.flow == "CPL")
        fill_completion(line, seen.tlp, good);
    else
        fill_request(line, seen.tlp, good);
    if (!time || !good)
        return damaged(line.text);
    return seen;
}

Result<Trace> run_of(const Line &line)
{
    bool good = true;
    const std::string filter = word_of(line, "filter");
    const size_t colon = std::min(filter.find(':'), filter.size());
    const Result<uint64_t> target =
        parse_u64(std::string_view(filter).substr(std::min(colon + 1, filter.size())));
    Trace run;
    run.start_ns = number_of(line, "at", good);
    run.selection.format_dwords = word_of(line, "format") == "8dw" ? 8 : 4;
    run.selection.direction = static_cast<unsigned>(number_of(line, "direction", good));
    run.selection.types = static_cast<unsigned>(number_of(line, "types", good));
    run.selection.by_requester = filter.starts_with("requester");
    run.selection.target = static_cast<unsigned>(target ? *target : 0);
    run.selection.tick_ns = number_of(line, "tick_ns", good);
    if (!good || !target || run.selection.tick_ns == 0)
        return damaged(line.text);
    return run;
}

Result<void> take_note(const Line &line, std::vector<Trace> &runs)
{
    bool good = true;
    if (has(line, "start")) {
        Result<Trace> run = run_of(line);
        if (!run)
            return run.error();
        runs.push_back(std::move(*run));
    } else if (has(line, "stop") && !runs.empty()) {
        runs.back().stop_ns = number_of(line, "at", good);
    } else if (has(line, "change")) {
        return Error{Errc::kUnsupported, "a trace that was changed while it ran"};
    }
    if (!good)
        return damaged(line.text);
    return {};
}

// Calls take(line) for every line after the title.
template <typename Take>
Result<void> for_each_line(std::string_view text, Take take)
{
    const std::vector<std::string_view> lines = split(text, '\n');
    if (lines.empty() || lines[0] != kLogTitle)
        return Error{Errc::kDamaged, fmt::format("does not begin with '{}'", kLogTitle)};
    for (size_t i = 1; i < lines.size(); i++) {
        if (trim(lines[i]).empty())
            continue;
        if (Result<void> taken = take(line_of(lines[i])); !taken)
            return taken;
    }
    return {};
}

// The dump: <offset> <time> <kind> <requester> tag <tag> ..., names followed by their values

std::string after(const Line &line, std::string_view word)
{
    const auto found = std::ranges::find(line.words, word);
    return found == line.words.end() || found + 1 == line.words.end() ? std::string()
                                                                      : std::string(found[1]);
}

uint64_t number_after(const Line &line, std::string_view word, bool &good)
{
    const Result<uint64_t> value = parse_u64(after(line, word));
    good = good && value;
    return value ? *value : 0;
}

// "be 0xf/0x3": enabled bytes of the first and of the last dword
void fill_from_enables(const Line &line, uint64_t dwords, Tlp &tlp, bool &good)
{
    const std::string both = after(line, "be");
    const size_t slash = std::min(both.find('/'), both.size());
    const Result<uint64_t> first = parse_u64(std::string_view(both).substr(0, slash));
    const Result<uint64_t> last =
        slash < both.size() ? parse_u64(std::string_view(both).substr(slash + 1)) : first;
    good = good && first && last && *first <= 0xf && *last <= 0xf;
    if (!good)
        return;
    count_enabled(*first, *last, dwords, tlp);
}

Result<Tlp> logged_in(const Line &line)
{
    if (line.words.size() < 6)
        return damaged(line.text);
    bool good = true;
    const Result<uint64_t> time = parse_u64(line.words[1]);
    Tlp tlp;
    tlp.ticks = time ? *time : 0;
    tlp.kind = line.words[2];
    tlp.requester = line.words[3];
    tlp.tag = number_after(line, "tag", good);
    tlp.pasid = after(line, "pasid");
    if (tlp.kind.starts_with("Cfg")) {
        // "CfgRd0" becomes "CfgRd", because the model's log does not have the digit.
        tlp.kind = tlp.kind.substr(0, 5);
        tlp.other = after(line, "of");
        tlp.address = number_after(line, "register", good);
        fill_from_enables(line, 1, tlp, good);
    } else if (tlp.kind.starts_with("Cpl")) {
        tlp.other = after(line, "by");
        tlp.status = line.words.size() > 8 ? std::string(line.words[8]) : "";
        tlp.bytes = number_after(line, "bytes", good);
        tlp.address = number_after(line, "lower", good);
        tlp.dwords = has(line, "length") ? number_after(line, "length", good) : 0;
    } else {
        tlp.address = number_after(line, "address", good);
        fill_from_enables(line, number_after(line, "length", good), tlp, good);
    }
    if (!time || !good)
        return damaged(line.text);
    return tlp;
}

unsigned type_bit(std::string_view flow)
{
    if (flow == "P")
        return 1;
    return flow == "NP" ? 2 : 4;
}

// Returns whether the selected direction traces the packet, by the rules in the documentation.
bool direction_takes(const Selection &selection, const Seen &seen)
{
    const bool completion = seen.flow == "CPL";
    const bool for_cpu = seen.tlp.requester == kRootComplex;
    const bool four = selection.format_dwords == 4;
    if (!seen.inbound)
        return selection.direction == 1 || (four && selection.direction >= 2);
    switch (selection.direction) {
        case 0:
            return four;
        case 2:
            return !completion || !for_cpu;
        case 3:
            return completion && for_cpu;
        default:
            return false;
    }
}

// The bit of a port in a port filter: for "00:11.0" bit 2 * (slot 0x11 modulo 8).
unsigned port_bit(std::string_view port)
{
    const std::string_view slot = port.size() == 7 ? port.substr(3, 2) : "0";
    const Result<uint64_t> number = parse_u64("0x" + std::string(slot));
    return number ? static_cast<unsigned>(*number % 8 * 2) : 0;
}

unsigned id_of(std::string_view bdf)
{
    if (bdf.size() != 7)
        return ~0u;
    const auto part = [bdf](size_t at, size_t length) {
        const Result<uint64_t> number = parse_u64("0x" + std::string(bdf.substr(at, length)));
        return number ? static_cast<unsigned>(*number) : 0;
    };
    return part(0, 2) << 8 | part(3, 2) << 3 | part(6, 1);
}

}  // namespace

std::string text_of(const Tlp &tlp)
{
    return fmt::format(
        "{} by {} tag {:#x} ticks {} address {:#x} bytes {} dwords {} other '{}' status '{}' "
        "pasid '{}'",
        tlp.kind, tlp.requester, tlp.tag, tlp.ticks, tlp.address, tlp.bytes, tlp.dwords, tlp.other,
        tlp.status, tlp.pasid);
}

Result<std::vector<Trace>> read_traced(std::string_view text)
{
    std::vector<Trace> runs;
    const Result<void> read = for_each_line(text, [&](const Line &line) -> Result<void> {
        if (line.text.starts_with('#'))
            return take_note(line, runs);
        Result<Seen> seen = seen_of(line);
        if (!seen)
            return seen.error();
        if (runs.empty())
            return Error{Errc::kDamaged, "a packet before the first start"};
        runs.back().packets.push_back(std::move(*seen));
        return {};
    });
    if (!read)
        return read.error();
    return runs;
}

Result<std::vector<Seen>> read_seen(std::string_view text)
{
    std::vector<Seen> all;
    const Result<void> read = for_each_line(text, [&](const Line &line) -> Result<void> {
        Result<Seen> seen = seen_of(line);
        if (!seen)
            return seen.error();
        all.push_back(std::move(*seen));
        return {};
    });
    if (!read)
        return read.error();
    return all;
}

Result<std::vector<Tlp>> read_dump(std::string_view text)
{
    std::vector<Tlp> tlps;
    for (const std::string_view line : split(text, '\n')) {
        if (!line.starts_with("0x"))
            continue;
        Result<Tlp> tlp = logged_in(line_of(line));
        if (!tlp)
            return tlp.error();
        tlps.push_back(std::move(*tlp));
    }
    return tlps;
}

void count_enabled(uint64_t first, uint64_t last, uint64_t dwords, Tlp &tlp)
{
    const uint64_t end = dwords == 1 ? first : last;
    const auto before = first == 0 ? 0 : static_cast<uint64_t>(std::countr_zero(first));
    tlp.address += before;
    tlp.bytes = first == 0 ? 0 : 4 * (dwords - 1) + std::bit_width(end) - before;
}

bool takes(const Selection &selection, const Seen &seen)
{
    if (!direction_takes(selection, seen) || (selection.types & type_bit(seen.flow)) == 0)
        return false;
    if (selection.by_requester)
        return id_of(seen.tlp.requester) == selection.target;
    return (selection.target >> port_bit(seen.port) & 1) != 0;
}

std::vector<Tlp> logged(const Trace &run, const std::vector<Seen> &packets)
{
    std::vector<Tlp> tlps;
    for (const Seen &seen : packets) {
        tlps.push_back(seen.tlp);
        tlps.back().ticks = seen.time_ns / run.selection.tick_ns;
        if (run.selection.format_dwords == 4)
            tlps.back().pasid.clear();  // a 4DW entry has no PASID prefix
    }
    cut_times(run.selection.format_dwords, tlps);
    return tlps;
}

std::vector<Tlp> logged_of_all(std::span<const Trace> runs)
{
    std::vector<Tlp> all;
    for (const Trace &run : runs) {
        const std::vector<Tlp> one = logged(run, run.packets);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

std::vector<Seen> ought_to_be_taken(const Trace &run, const std::vector<Seen> &seen)
{
    std::vector<Seen> taken;
    for (const Seen &packet : seen)
        if (packet.time_ns >= run.start_ns && packet.time_ns < run.stop_ns &&
            takes(run.selection, packet))
            taken.push_back(packet);
    return taken;
}

void cut_times(unsigned format_dwords, std::vector<Tlp> &tlps)
{
    for (Tlp &tlp : tlps)
        tlp.ticks &= format_dwords == 8 ? 0xffffffff : 0x7ff;
}

std::optional<std::string> difference(const std::vector<Tlp> &expected,
                                      const std::vector<Tlp> &found)
{
    const size_t common = std::min(expected.size(), found.size());
    for (size_t i = 0; i < common; i++)
        if (expected[i] != found[i])
            return fmt::format("packet {}: expected {}, found {}", i, text_of(expected[i]),
                               text_of(found[i]));
    if (expected.size() != found.size())
        return fmt::format("expected {} packets, found {}; the first {} are the same",
                           expected.size(), found.size(), common);
    return std::nullopt;
}

}  // namespace pmukit::checker::hisi_ptt
