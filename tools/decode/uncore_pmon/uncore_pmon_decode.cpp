// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/uncore_pmon/uncore_pmon_decode.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace pmukit::decode::uncore_pmon {
namespace {

// Configuration space: PCI Express Base Specification, 7.5.1.1 and 7.9.6 (DVSEC).
constexpr size_t kStatus = 0x06, kFirstBar = 0x10, kExtended = 0x100;
constexpr uint16_t kHasCapabilities = 0x10;
constexpr uint16_t kDvsec = 0x23;
constexpr size_t kVendorWord = 4;
constexpr size_t kEntryDword = 0x8, kPlaceDword = 0xc;
constexpr uint16_t kEntryPmon = 1;
constexpr unsigned kBars = 6;
constexpr size_t kBarBytes = 4;
constexpr uint32_t kBarIsIo = 1, kBarPrefetchable = 8;

// The table
// Number of words of an entry that have a defined meaning.
constexpr size_t kWords = 3;
constexpr uint32_t kMinStrideWords = 3;
constexpr unsigned kMaxCounters = 8;
// Narrower counters could wrap between two reads.
constexpr unsigned kMinWidthBits = 24, kMaxWidthBits = 64;
constexpr uint64_t kAllOnes = ~uint64_t{0};
// Physical addresses on x86 are below this limit.
constexpr uint64_t kMmioLimit = uint64_t{1} << 52;
// MSRs below kMsrFirst are architectural. MSRs from kMsrLimit on belong to hypervisors, and from
// 0xc0000000 on they are architectural again.
constexpr uint64_t kMsrFirst = 0x2000;
constexpr uint64_t kMsrLimit = 0x40000000;
constexpr uint64_t kPciLimit = uint64_t{1} << 31;
constexpr unsigned kCounterBytes = 8;

using Words = std::array<uint64_t, kWords>;

uint64_t bits(uint64_t word, unsigned last, unsigned first)
{
    return (word >> first) & (kAllOnes >> (63 - (last - first)));
}

struct TypeName {
    std::string_view name;
    uint16_t type;
    // True if MMIO control registers are 8 bytes apart, false if they are 4 bytes apart.
    bool wide_controls;
};

// Types of units of Sapphire Rapids, Emerald Rapids, Granite Rapids and Sierra Forest. A type
// number has the same meaning on all of them.
constexpr TypeName kTypes[] = {
    {"cha", 0, false},     {"iio", 1, false},    {"irp", 2, false},      {"m2pcie", 3, false},
    {"pcu", 4, false},     {"ubox", 5, false},   {"imc", 6, false},      {"m2m", 7, false},
    {"upi", 8, false},     {"m3upi", 9, false},  {"mdf", 11, false},     {"cxlcm", 12, true},
    {"cxldp", 13, true},   {"hbm", 14, false},   {"b2hot", 15, false},   {"b2cmi", 16, false},
    {"b2cxl", 17, true},   {"b2upi", 18, false}, {"mdf_sbo", 20, false}, {"pciex16", 21, false},
    {"pciex8", 22, false},
};

const TypeName *find_type(uint16_t type)
{
    const auto *found = std::ranges::find(kTypes, type, &TypeName::type);
    return found == std::end(kTypes) ? nullptr : found;
}

unsigned control_step(uint16_t type, Access access)
{
    switch (access) {
        case Access::kMsr:
            return 1;
        case Access::kPci:
            return 8;
        case Access::kMmio:
            break;
    }
    const TypeName *known = find_type(type);
    return known && known->wide_controls ? 8 : 4;
}

unsigned counter_step(Access access)
{
    return access == Access::kMsr ? 1 : kCounterBytes;
}

template <typename Word>
std::optional<Word> at(Bytes bytes, size_t offset)
{
    if (offset > bytes.size() || bytes.size() - offset < sizeof(Word))
        return std::nullopt;
    return load_le<Word>(bytes.data() + offset);
}

size_t next_capability(uint32_t header)
{
    return header >> 20 & 0xffc;
}

// Follows the capability list from `offset`; returns the offset of the first DVSEC with entry ID 1.
// A capability has at least 4 bytes, so a list of more than kConfigBytes / 4 is circular.
std::optional<size_t> find_dvsec(Bytes config, size_t offset)
{
    for (size_t left = kConfigBytes / 4; left && offset >= kExtended; left--) {
        const auto header = at<uint32_t>(config, offset);
        if (!header || *header == 0 || *header == 0xffffffff)
            return std::nullopt;
        const auto vendor = at<uint16_t>(config, offset + kVendorWord);
        const auto entry = at<uint32_t>(config, offset + kEntryDword);
        if ((*header & 0xffff) == kDvsec && vendor && *vendor == kIntel && entry &&
            (*entry & 0xffff) == kEntryPmon)
            return offset;
        offset = next_capability(*header);
    }
    return std::nullopt;
}

Words words_at(Bytes table, size_t entry, const Global &global)
{
    Words words;
    const size_t begin = entry * global.stride_words * 8;
    for (size_t i = 0; i < kWords; i++)
        words[i] = load_le<uint64_t>(table.data() + begin + i * 8);
    return words;
}

bool has_all_ones(const Words &words)
{
    return std::ranges::find(words, kAllOnes) != words.end();
}

// Returns why the offsets of the registers in the entry, which are relative to the box control, are
// invalid; nullptr: they are valid.
const char *wrong_layout(const Unit &unit)
{
    const unsigned step = control_step(unit.type, unit.access);
    const unsigned last_control = unit.control_offset + step * unit.counters;
    const unsigned last_counter = unit.counter_offset + counter_step(unit.access) * unit.counters;
    if (!unit.control_offset || !unit.counter_offset)
        return "control or counter offset 0";
    if (unit.control_offset < last_counter && unit.counter_offset < last_control)
        return "controls and counters overlap";
    if (unit.access == Access::kMsr)
        return unit.box_control >= kMsrFirst &&
                       unit.box_control < kMsrLimit - std::max(last_control, last_counter)
                   ? nullptr
                   : "control address is not an MSR of the uncore";
    // Counters in configuration space are read in two halves.
    const unsigned counter_alignment = unit.access == Access::kMmio ? kCounterBytes : 4;
    if (unit.box_control % 4 || unit.control_offset % 4 ||
        (unit.box_control + unit.counter_offset) % counter_alignment)
        return "registers not aligned";
    if (unit.access == Access::kMmio)
        return unit.box_control < kMmioLimit - std::max(last_control, last_counter)
                   ? nullptr
                   : "control address beyond physical addresses";
    if (unit.box_control >= kPciLimit ||
        bits(unit.box_control, 11, 0) + std::max(last_control, last_counter) > kConfigBytes)
        return "control address is not in a configuration space";
    return nullptr;
}

const char *wrong_words(const Words &words)
{
    if (has_all_ones(words))
        return "all ones";
    if (!words[0] || !words[1])
        return "no control address or no description";
    if (bits(words[0], 63, 62) > 2)
        return "unknown access type";
    return nullptr;
}

Unit unit_of(const Words &words, uint32_t entry)
{
    return {.entry = entry,
            .type = static_cast<uint16_t>(bits(words[2], 15, 0)),
            .id = static_cast<uint16_t>(bits(words[2], 31, 16)),
            .access = static_cast<Access>(bits(words[0], 63, 62)),
            .counters = static_cast<uint8_t>(bits(words[0], 7, 0)),
            .width_bits = static_cast<uint8_t>(bits(words[0], 23, 16)),
            .control_offset = static_cast<uint8_t>(bits(words[0], 15, 8)),
            .counter_offset = static_cast<uint8_t>(bits(words[0], 31, 24)),
            .status_offset = static_cast<uint8_t>(bits(words[0], 39, 32)),
            .box_control = words[1]};
}

const char *wrong_unit(const Unit &unit)
{
    if (!unit.counters)
        return "no counters";
    if (unit.counters > kMaxCounters)
        return "more than 8 counters";
    if (unit.width_bits < kMinWidthBits || unit.width_bits > kMaxWidthBits)
        return "counter width not in 24..64";
    return wrong_layout(unit);
}

// Returns true if two units have the same layout, as all units of a type must have.
bool alike(const Unit &a, const Unit &b)
{
    return a.access == b.access && a.counters == b.counters && a.width_bits == b.width_bits &&
           a.control_offset == b.control_offset && a.counter_offset == b.counter_offset;
}

const char *wrong_among(const Unit &unit, const std::vector<Unit> &before)
{
    for (const Unit &other : before) {
        if (other.type != unit.type)
            continue;
        if (other.id == unit.id)
            return "type and id stand in the table twice";
        if (!alike(other, unit))
            return "not as the first unit of its type";
    }
    return nullptr;
}

Result<std::optional<Place>> place_from(Bytes config, size_t offset)
{
    const auto vendor = at<uint16_t>(config, 0);
    const auto device = at<uint16_t>(config, 2);
    const auto status = at<uint16_t>(config, kStatus);
    if (!vendor || *vendor != kIntel || !device || !status || !(*status & kHasCapabilities))
        return std::optional<Place>();
    const std::optional<size_t> dvsec = find_dvsec(config, offset);
    if (!dvsec)
        return std::optional<Place>();

    const auto where = at<uint32_t>(config, *dvsec + kPlaceDword);
    if (!where)
        return Error{Errc::kTruncated, "the capability of the table is cut off", *dvsec};
    const unsigned bir = *where & 7;
    if (*where & ~uint32_t{7})
        return Error{Errc::kDamaged, "the table is not at the beginning of its BAR",
                     *dvsec + kPlaceDword};
    if (bir >= kBars)
        return Error{Errc::kDamaged, fmt::format("there is no BAR {}", bir), *dvsec + kPlaceDword};
    const size_t bar_offset = kFirstBar + bir * kBarBytes;
    const auto bar = at<uint32_t>(config, bar_offset);
    if (!bar || *bar & (kBarIsIo | kBarPrefetchable))
        return Error{Errc::kDamaged, fmt::format("BAR {} is not plain memory", bir), bar_offset};
    return std::optional<Place>({bir, *dvsec, *vendor, *device});
}

}  // namespace

std::string_view name_of(Access access)
{
    constexpr std::string_view kNames[] = {"MSR", "MMIO", "PCICFG"};
    return kNames[static_cast<size_t>(access)];
}

bool is_cut_short(Bytes config)
{
    const auto status = at<uint16_t>(config, kStatus);
    return config.size() < kConfigBytes && status && *status & kHasCapabilities;
}

Result<std::optional<Place>> find_table(Bytes config)
{
    return place_from(config, kExtended);
}

// If the next capability is not at a higher offset (a circular list), there is no next table.
Result<std::optional<Place>> next_table(Bytes config, const Place &place)
{
    const auto header = at<uint32_t>(config, place.capability);
    if (!header || next_capability(*header) <= place.capability)
        return std::optional<Place>();
    return place_from(config, next_capability(*header));
}

Result<Global> parse_global(Bytes begin, uint64_t bar_bytes)
{
    if (begin.size() < kGlobalBytes || bar_bytes < kGlobalBytes)
        return Error{Errc::kTruncated, "the BAR is too small for a table", begin.size()};
    Words words;
    for (size_t i = 0; i < kWords; i++)
        words[i] = load_le<uint64_t>(begin.data() + i * 8);
    if (has_all_ones(words))
        return Error{Errc::kDamaged, "the table begins with all ones", 0};
    if (!words[0] || !words[1])
        return Error{Errc::kDamaged, "the table begins with nothing", 0};

    const Global global = {.type = static_cast<uint8_t>(bits(words[0], 7, 0)),
                           .access = static_cast<uint8_t>(bits(words[0], 63, 62)),
                           .stride_words = static_cast<uint32_t>(bits(words[0], 15, 8)),
                           .max_units = static_cast<uint32_t>(bits(words[0], 25, 16)),
                           .control = words[1],
                           .status_offset = static_cast<uint8_t>(bits(words[2], 7, 0)),
                           .status_registers = static_cast<uint16_t>(bits(words[2], 23, 8))};
    if (global.stride_words < kMinStrideWords)
        return Error{Errc::kDamaged, fmt::format("stride {} is below 3 words", global.stride_words),
                     0};
    if (!global.max_units)
        return Error{Errc::kDamaged, "the table has no units", 0};
    if (global.bytes() > bar_bytes)
        return Error{Errc::kDamaged,
                     fmt::format("{} units of {} words reach beyond the BAR", global.max_units,
                                 global.stride_words),
                     0};
    return global;
}

Result<Table> parse_table(Bytes table, uint64_t bar_bytes)
{
    const Result<Global> global = parse_global(table, bar_bytes);
    if (!global)
        return global.error();
    if (table.size() < global->bytes())
        return Error{
            Errc::kTruncated,
            fmt::format("the table has {} bytes, {} are there", global->bytes(), table.size()),
            table.size()};

    Table result = {*global, {}, {}};
    for (uint32_t entry = 1; entry <= global->max_units; entry++) {
        const Words words = words_at(table, entry, *global);
        if (!words[0] && !words[1])  // an unused entry
            continue;
        const Unit unit = unit_of(words, entry);
        const char *wrong = wrong_words(words);
        if (!wrong)
            wrong = wrong_unit(unit);
        if (!wrong)
            wrong = wrong_among(unit, result.units);
        if (wrong)
            result.refused.push_back({entry, wrong});
        else
            result.units.push_back(unit);
    }
    return result;
}

std::string_view name_of_type(uint16_t type)
{
    const TypeName *known = find_type(type);
    return known ? known->name : std::string_view();
}

std::string pmu_name(const Unit &unit)
{
    const std::string_view name = name_of_type(unit.type);
    return name.empty() ? fmt::format("uncore_type_{}_{}", unit.type, unit.id)
                        : fmt::format("uncore_{}_{}", name, unit.id);
}

uint64_t control_address(const Unit &unit, unsigned counter)
{
    return unit.box_control + unit.control_offset +
           uint64_t{counter} * control_step(unit.type, unit.access);
}

uint64_t counter_address(const Unit &unit, unsigned counter)
{
    return unit.box_control + unit.counter_offset + uint64_t{counter} * counter_step(unit.access);
}

std::string pci_text(uint64_t address)
{
    return fmt::format("{:x}:{:x}.{:x}@{:x}", bits(address, 27, 20), bits(address, 19, 15),
                       bits(address, 14, 12), bits(address, 11, 0));
}

}  // namespace pmukit::decode::uncore_pmon
