// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests against the documented rules how the driver decodes table entries and event terms, computes
// counter values, and assigns counters to events.
extern "C" {
#include "uncore_pmon/uncore_pmon_core.h"
}

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

// Kinds of counters that a memory controller has but the table does not list
constexpr u32 kFixed = 1U << UNCORE_PMON_FIXED;
constexpr u32 kFree = 1U << UNCORE_PMON_FREE;

// The table

struct UnitWords {
    u64 counters = 4, control = 64, width = 48, counter = 8, access = 1;
    u64 box_control = 0xc8aa2800, type = 6, id = 0;
};

using Entry = std::array<u64, 3>;

Entry entry_of(const UnitWords &words)
{
    return {words.counters | words.control << 8 | words.width << 16 | words.counter << 24 |
                words.access << 62,
            words.box_control, words.type | words.id << 16};
}

std::vector<uncore_pmon_entry> decode(const std::vector<Entry> &units, u32 stride = 3)
{
    std::vector<u64> words((units.size() + 1) * stride);
    for (size_t i = 0; i < units.size(); i++)
        std::ranges::copy(units[i], words.begin() + static_cast<long>((i + 1) * stride));
    const uncore_pmon_global global = {.stride_words = stride,
                                       .max_units = static_cast<u32>(units.size()),
                                       .access = 0,
                                       .control = 1};
    std::vector<uncore_pmon_entry> entries(units.size());
    uncore_pmon_table_decode(words.data(), &global, entries.data());
    return entries;
}

std::string why(const UnitWords &words)
{
    const uncore_pmon_entry entry = decode({entry_of(words)}).at(0);
    EXPECT_TRUE(entry.used);
    return entry.wrong ? entry.wrong : "";
}

uncore_pmon_unit unit_of(const UnitWords &words)
{
    const uncore_pmon_entry entry = decode({entry_of(words)}).at(0);
    EXPECT_EQ(entry.wrong, nullptr) << entry.wrong;
    return entry.unit;
}

std::string global_text(u64 word0, u64 word1, u64 word2, u64 bar_bytes)
{
    const u64 words[] = {word0, word1, word2};
    uncore_pmon_global global = {};
    const char *wrong = uncore_pmon_global_decode(words, bar_bytes, &global);
    return wrong ? wrong : "good";
}

TEST(UncorePmonGlobal, RejectsTableBeyondTheBar)
{
    const u64 eight_units = 3 << 8 | 8 << 16;
    EXPECT_EQ(global_text(eight_units, 1, 0, 216), "good");
    EXPECT_EQ(global_text(eight_units, 1, 0, 215), "the units reach beyond the BAR");
    EXPECT_EQ(global_text(u64{1023} << 16 | 255 << 8, 1, 0, 1024 * 255 * 8), "good");
    EXPECT_EQ(global_text(u64{1023} << 16 | 255 << 8, 1, 0, 1024 * 255 * 8 - 1),
              "the units reach beyond the BAR");
    const u64 words[] = {u64{1023} << 16 | 255 << 8, 1, 0};
    uncore_pmon_global global;
    ASSERT_EQ(uncore_pmon_global_decode(words, ~u64{0}, &global), nullptr);
    EXPECT_EQ(global.stride_words, 255U);
    EXPECT_EQ(global.max_units, 1023U);
    EXPECT_EQ(uncore_pmon_table_bytes(&global), 2088960U);
}

TEST(UncorePmonGlobal, RecognizesGlobalControlInMmio)
{
    const auto is_mmio = [](u64 access, u64 address) {
        const u64 words[] = {access << 62 | 3 << 8 | 1 << 16, address, 0};
        uncore_pmon_global global;
        EXPECT_EQ(uncore_pmon_global_decode(words, 4096, &global), nullptr);
        return uncore_pmon_global_is_mmio(&global);
    };
    EXPECT_TRUE(is_mmio(1, 0xfe000000));
    EXPECT_TRUE(is_mmio(1, (u64{1} << 52) - 4));
    EXPECT_FALSE(is_mmio(1, u64{1} << 52));
    EXPECT_FALSE(is_mmio(1, 0xfe000002));
    EXPECT_FALSE(is_mmio(0, 0x2ff0));
    EXPECT_FALSE(is_mmio(2, 0x2ff0));
}

TEST(UncorePmonGlobal, RejectsInvalidEntryWithReason)
{
    EXPECT_EQ(global_text(3 << 8, 1, 0, 4096), "the table has no units");
    for (u64 stride = 0; stride < 3; stride++)
        EXPECT_EQ(global_text(stride << 8 | 1 << 16, 1, 0, 4096), "the stride is below 3 words");
    EXPECT_EQ(global_text(0, 1, 0, 4096), "the table begins with nothing");
    EXPECT_EQ(global_text(3 << 8 | 1 << 16, 0, 0, 4096), "the table begins with nothing");
    for (int i = 0; i < 3; i++) {
        u64 words[] = {3 << 8 | 1 << 16, 1, 0};
        words[i] = ~u64{0};
        EXPECT_EQ(global_text(words[0], words[1], words[2], 4096),
                  "the table begins with all ones");
    }
}

TEST(UncorePmonUnits, DecodesFieldsAndOffsets)
{
    const uncore_pmon_unit unit = unit_of({.id = 7});
    EXPECT_EQ(unit.box_control, 0xc8aa2800U);
    EXPECT_EQ(unit.type, 6);
    EXPECT_EQ(unit.id, 7);
    EXPECT_EQ(unit.access, UNCORE_PMON_ACCESS_MMIO);
    EXPECT_EQ(unit.counters, 4);
    EXPECT_EQ(unit.width_bits, 48);
    EXPECT_EQ(uncore_pmon_control_offset(&unit, 3), 76U);
    EXPECT_EQ(uncore_pmon_counter_offset(&unit, 3), 32U);
    EXPECT_EQ(uncore_pmon_control_offset(&unit, UNCORE_PMON_SLOT_FIXED), 0x54U);
    EXPECT_EQ(uncore_pmon_counter_offset(&unit, UNCORE_PMON_SLOT_FIXED), 0x38U);
    EXPECT_EQ(uncore_pmon_unit_bytes(&unit, kFixed), 0x58U) << "to the end of the fixed control";
    EXPECT_EQ(uncore_pmon_unit_bytes(&unit, kFree), 0x50U) << "to the end of the controls";
    const uncore_pmon_unit long_one = unit_of({.counters = 6, .control = 88});
    EXPECT_EQ(uncore_pmon_unit_bytes(&long_one, kFixed), 112U) << "the fixed control is inside";
    const uncore_pmon_unit counters_last = unit_of({.control = 8, .counter = 24});
    EXPECT_EQ(uncore_pmon_unit_bytes(&counters_last, 0), 56U);
}

TEST(UncorePmonUnits, RegisterDistancesDependOnAccessAndType)
{
    for (u64 type : {12, 13, 17}) {
        const uncore_pmon_unit unit = unit_of({.type = type});
        EXPECT_EQ(uncore_pmon_control_offset(&unit, 1), 72U) << type;
        EXPECT_EQ(uncore_pmon_unit_bytes(&unit, 0), 96U);
    }
    const uncore_pmon_unit unknown = unit_of({.type = 99});
    EXPECT_EQ(uncore_pmon_control_offset(&unknown, 1), 68U);
    const uncore_pmon_unit msr = unit_of({.access = 0, .box_control = 0x2000, .type = 0});
    EXPECT_EQ(uncore_pmon_control_offset(&msr, 1), 65U);
    EXPECT_EQ(uncore_pmon_counter_offset(&msr, 1), 9U);
    const uncore_pmon_unit pci = unit_of({.access = 2, .box_control = 0xfe11318, .type = 8});
    EXPECT_EQ(uncore_pmon_control_offset(&pci, 1), 72U);
    EXPECT_EQ(uncore_pmon_counter_offset(&pci, 1), 16U);
}

TEST(UncorePmonUnits, RejectsInvalidEntriesWithReason)
{
    EXPECT_EQ(why({}), "");
    EXPECT_EQ(why({.counters = 0}), "no counters");
    EXPECT_EQ(why({.counters = 8, .control = 72}), "");
    EXPECT_EQ(why({.counters = 9}), "more than 8 counters");
    EXPECT_EQ(why({.width = 23}), "counter width not in 24..64");
    EXPECT_EQ(why({.width = 24}), "");
    EXPECT_EQ(why({.width = 64}), "");
    EXPECT_EQ(why({.width = 65}), "counter width not in 24..64");
    EXPECT_EQ(why({.control = 0}), "control or counter offset 0");
    EXPECT_EQ(why({.counter = 0}), "control or counter offset 0");
    EXPECT_EQ(why({.access = 3}), "unknown access type");
    EXPECT_EQ(why({.box_control = 0}), "no control address or no description");
    EXPECT_EQ(why({.box_control = ~u64{0}}), "all ones");
    EXPECT_EQ(why({.control = 36}), "controls and counters overlap");
    EXPECT_EQ(why({.control = 40}), "");
    EXPECT_EQ(why({.control = 4, .counter = 16}), "controls and counters overlap");
    EXPECT_EQ(why({.control = 4, .counter = 24}), "");
    EXPECT_EQ(why({.box_control = 0xc8aa2804}), "registers not aligned");
    EXPECT_EQ(why({.box_control = 0xc8aa2802, .type = 9}), "registers not aligned");
    EXPECT_EQ(why({.control = 66}), "registers not aligned");
    EXPECT_EQ(why({.counter = 12}), "registers not aligned");
    EXPECT_EQ(why({.box_control = (u64{1} << 52) - 88}), "");
    EXPECT_EQ(why({.box_control = (u64{1} << 52) - 80}),
              "control address beyond physical addresses");
    EXPECT_EQ(why({.access = 0, .box_control = 0x2003}), "");
    EXPECT_EQ(why({.access = 2, .box_control = 0xfe11fa0}), "");
    EXPECT_EQ(why({.access = 2, .box_control = 0xfe11fa4}),
              "control address is not in a configuration space");
    EXPECT_EQ(why({.access = 2, .box_control = u64{1} << 31}),
              "control address is not in a configuration space");
    EXPECT_EQ(why({.access = 2, .box_control = 0x7fffffa0}), "");
}

// A table entry must not make the driver write architectural MSRs, such as those for system calls,
// or MSRs through which a guest passes addresses to its hypervisor.
TEST(UncorePmonUnits, RejectsArchitecturalAndHypervisorMsrs)
{
    for (u64 msr : {0x2000U, 0x3800U, 0x3fffffbbU})
        EXPECT_EQ(why({.access = 0, .box_control = msr}), "") << msr;
    for (u64 msr : {0x10U, 0x174U, 0x1fffU, 0x3fffffbcU, 0x40000000U, 0x4b564d00U, 0xbfffffffU,
                    0xc0000080U, 0xffffffffU})
        EXPECT_EQ(why({.access = 0, .box_control = msr}),
                  "control address is not an MSR of the uncore")
            << msr;
    EXPECT_EQ(why({.access = 0, .box_control = u64{1} << 32 | 0x2000}),
              "control address is not an MSR of the uncore");
}

TEST(UncorePmonUnits, AcceptsCounterRegistersBehindControlRegisters)
{
    EXPECT_EQ(why({.control = 8, .counter = 24}), "") << "right behind the controls";
    EXPECT_EQ(why({.control = 8, .counter = 80, .box_control = (u64{1} << 52) - 120}), "");
    EXPECT_EQ(why({.control = 8, .counter = 80, .box_control = (u64{1} << 52) - 112}),
              "control address beyond physical addresses");
    EXPECT_EQ(why({.control = 2, .access = 0, .box_control = 0x3ffffff3}), "");
    EXPECT_EQ(why({.control = 2, .access = 0, .box_control = 0x3ffffff4}),
              "control address is not an MSR of the uncore");
    EXPECT_EQ(why({.control = 8, .counter = 80, .access = 2, .box_control = 0xfe11f90}), "");
    EXPECT_EQ(why({.control = 8, .counter = 80, .access = 2, .box_control = 0xfe11f94}),
              "control address is not in a configuration space");
}

TEST(UncorePmonUnits, RejectsDuplicateUnitsAndUnitsThatDifferFromTheFirstOfTheirType)
{
    const std::vector<uncore_pmon_entry> entries =
        decode({entry_of({}), entry_of({.id = 1}), entry_of({.id = 1}),
                entry_of({.counters = 2, .id = 2}), entry_of({.type = 7, .id = 1}),
                entry_of({.counters = 0, .type = 8}), entry_of({.counters = 2, .type = 8})},
               5);
    const char *wanted[] = {nullptr,
                            nullptr,
                            "type and id stand in the table twice",
                            "not as the first unit of its type",
                            nullptr,
                            "no counters",
                            nullptr};
    for (size_t i = 0; i < entries.size(); i++)
        EXPECT_STREQ(entries[i].wrong, wanted[i]) << i;
    for (const UnitWords &other : {UnitWords{.control = 72, .id = 1},
                                   {.width = 47, .id = 1},
                                   {.counter = 16, .id = 1},
                                   {.access = 0, .box_control = 0x2000, .id = 1}})
        EXPECT_STREQ(decode({entry_of({}), entry_of(other)})[1].wrong,
                     "not as the first unit of its type");
}

TEST(UncorePmonGlobal, RecognizesGlobalControlInAnMsr)
{
    const auto is_msr = [](u8 access, u64 control) {
        const uncore_pmon_global global = {
            .stride_words = 3, .max_units = 1, .access = access, .control = control};
        return uncore_pmon_global_is_msr(&global);
    };
    EXPECT_TRUE(is_msr(0, 0x2ff0));
    EXPECT_TRUE(is_msr(0, 0x2000));
    EXPECT_TRUE(is_msr(0, 0x3fffffff));
    for (u64 msr : {u64{0}, u64{0x1fff}, u64{0x40000000}, u64{0xc0000082}, u64{0x100002ff0}})
        EXPECT_FALSE(is_msr(0, msr)) << msr;
    EXPECT_FALSE(is_msr(1, 0x2ff0));
    EXPECT_FALSE(is_msr(2, 0x2ff0));
}

TEST(UncorePmonUnits, RejectsMoreChasThanTheProcessorHas)
{
    const auto cha = [](u64 id) {
        return entry_of(
            {.control = 2, .access = 0, .box_control = 0x2000 + id * 16, .type = 0, .id = id});
    };
    std::vector<uncore_pmon_entry> entries =
        decode({cha(0), entry_of({.id = 7}), cha(1), {}, cha(2), cha(2), cha(3)});
    ASSERT_STREQ(entries[5].wrong, "type and id stand in the table twice");
    uncore_pmon_table_limit_chas(entries.data(), 6, 2);
    EXPECT_EQ(entries[0].wrong, nullptr);
    EXPECT_EQ(entries[1].wrong, nullptr) << "a memory controller";
    EXPECT_EQ(entries[2].wrong, nullptr);
    EXPECT_EQ(entries[3].wrong, nullptr) << "an empty place";
    EXPECT_STREQ(entries[4].wrong, "the processor has fewer caching agents");
    EXPECT_STREQ(entries[5].wrong, "type and id stand in the table twice");
    EXPECT_EQ(entries[6].wrong, nullptr) << "behind the last that was asked for";
}

TEST(UncorePmonUnits, UnitsCollideIfTheirRegistersOverlap)
{
    const auto collide = [](const UnitWords &a, const UnitWords &b) {
        const uncore_pmon_unit one = unit_of(a), other = unit_of(b);
        EXPECT_EQ(uncore_pmon_units_collide(&one, &other), uncore_pmon_units_collide(&other, &one));
        return uncore_pmon_units_collide(&one, &other);
    };
    // Each of these units has 80 bytes of registers.
    EXPECT_TRUE(collide({.box_control = 0x10000}, {.box_control = 0x10000}));
    EXPECT_TRUE(collide({.box_control = 0x10000}, {.box_control = 0x10048}));
    EXPECT_FALSE(collide({.box_control = 0x10000}, {.box_control = 0x10050}));
    const UnitWords msr = {.control = 2, .access = 0, .box_control = 0x2000, .type = 0};
    const auto at = [&msr](u64 address) {
        UnitWords words = msr;
        words.box_control = address;
        return words;
    };
    EXPECT_TRUE(collide(msr, at(0x200b))) << "the last counter";
    EXPECT_FALSE(collide(msr, at(0x200c)));
    EXPECT_FALSE(collide(msr, {.access = 1, .box_control = 0x2000})) << "memory is no MSR";
}

// In domain 0, the kernel accesses the first 256 bytes of configuration space through I/O ports,
// and takes a lock to do so.
TEST(UncorePmonUnits, PciUnitsUseEcamExceptInFirst256BytesOfDomain0)
{
    const auto is_memory = [](u64 domain, u64 offset) {
        const u64 address = domain << 28 | 0xfe11000 | offset;
        const uncore_pmon_unit unit = unit_of({.access = 2, .box_control = address, .type = 7});
        return uncore_pmon_pci_is_memory(&unit);
    };
    EXPECT_FALSE(is_memory(0, 0x0));
    EXPECT_FALSE(is_memory(0, 0xfc));
    EXPECT_TRUE(is_memory(0, 0x100));
    EXPECT_TRUE(is_memory(0, 0x438));
    EXPECT_TRUE(is_memory(1, 0x0));
    EXPECT_TRUE(is_memory(7, 0xfc));
}

// Types 8 and 9 are UPI and M3UPI links, whose addresses in the table of Sapphire Rapids are wrong.
// Type 19 of Diamond Rapids is ignored by the driver.
TEST(UncorePmonUnits, TableAddressesOfUpiAndM3upiOnSprAndOfType19OnDmrAreNotUsed)
{
    for (u64 type = 0; type < 100; type++) {
        const uncore_pmon_unit unit =
            unit_of({.access = 2, .box_control = 0xfe11318, .type = type});
        EXPECT_EQ(uncore_pmon_is_misplaced(&unit, UNCORE_PMON_SPR), type == 8 || type == 9);
        EXPECT_FALSE(uncore_pmon_is_misplaced(&unit, UNCORE_PMON_GNR));
        EXPECT_FALSE(uncore_pmon_is_misplaced(&unit, UNCORE_PMON_UNKNOWN));
        EXPECT_EQ(uncore_pmon_is_misplaced(&unit, UNCORE_PMON_DMR), type == 19);
    }
}

// The expected PCI device IDs, first devices and registers are those of intel_uncore.
TEST(UncorePmonLinks, UpiAndM3upiUnitsHaveTheRegistersOfIntelUncore)
{
    const struct {
        u16 device, type;
        u8 devfn;
        u64 first_control;
    } kinds[] = {{0x3241, 8, 0x09, 0x1fe09318}, {0x3246, 9, 0x29, 0x1fe290a0}};
    for (const auto &kind : kinds) {
        std::array<uncore_pmon_entry, UNCORE_PMON_MAX_LINKS> links = {};
        ASSERT_TRUE(uncore_pmon_links(kind.device, 1, 0xfe, kind.devfn, links.data()));
        for (u16 i = 0; i < links.size(); i++) {
            const uncore_pmon_unit &unit = links[i].unit;
            EXPECT_TRUE(links[i].used);
            EXPECT_EQ(links[i].wrong, nullptr);
            EXPECT_EQ(unit.box_control, kind.first_control + i * 0x8000U) << "the next device";
            EXPECT_EQ(unit.type, kind.type);
            EXPECT_EQ(unit.id, i);
            EXPECT_EQ(unit.access, UNCORE_PMON_ACCESS_PCI);
            EXPECT_EQ(unit.counters, 4);
            EXPECT_EQ(unit.width_bits, 48);
            EXPECT_EQ(uncore_pmon_control_offset(&unit, 1), 0x40U);
            EXPECT_EQ(uncore_pmon_counter_offset(&unit, 1), 0x10U);
            EXPECT_TRUE(uncore_pmon_units_alike(&unit, &links[0].unit));
        }
    }
}

TEST(UncorePmonLinks, OnlyPciFunctionOfFirstLinkYieldsUnits)
{
    std::array<uncore_pmon_entry, UNCORE_PMON_MAX_LINKS> links = {};
    EXPECT_FALSE(uncore_pmon_links(0x3241, 0, 0xfe, 0x11, links.data())) << "the second";
    EXPECT_FALSE(uncore_pmon_links(0x3241, 0, 0xfe, 0x29, links.data())) << "the other kind's";
    EXPECT_FALSE(uncore_pmon_links(0x09a7, 0, 0xfe, 0x09, links.data()));
    EXPECT_FALSE(uncore_pmon_links(0, 0, 0xfe, 0, links.data()));
    EXPECT_TRUE(uncore_pmon_links(0x3241, 7, 0xfe, 0x09, links.data()));
    EXPECT_FALSE(uncore_pmon_links(0x3241, 8, 0xfe, 0x09, links.data())) << "no such domain";
}

TEST(UncorePmonUnits, SkipsEmptyEntries)
{
    const std::vector<uncore_pmon_entry> entries =
        decode({Entry{0, 0, 5}, entry_of({}), Entry{0, 1, 0}, Entry{1, 0, 0}});
    EXPECT_FALSE(entries[0].used);
    EXPECT_EQ(entries[0].wrong, nullptr);
    EXPECT_TRUE(entries[1].used);
    EXPECT_STREQ(entries[2].wrong, "no control address or no description");
    EXPECT_STREQ(entries[3].wrong, "no control address or no description");
}

// Counters that the table does not list

TEST(UncorePmonFixed, MmioImcUnitsHaveAFixedCounterUnlessOtherRegistersOverlapIt)
{
    const auto has_fixed = [](const UnitWords &words,
                              uncore_pmon_platform platform = UNCORE_PMON_SPR) {
        const uncore_pmon_unit unit = unit_of(words);
        return uncore_pmon_has_fixed(&unit, platform);
    };
    EXPECT_TRUE(has_fixed({}));
    EXPECT_TRUE(has_fixed({}, UNCORE_PMON_GNR));
    EXPECT_FALSE(has_fixed({}, UNCORE_PMON_DMR)) << "it is elsewhere";
    EXPECT_FALSE(has_fixed({}, UNCORE_PMON_UNKNOWN));
    EXPECT_FALSE(has_fixed({.type = 12}));
    EXPECT_FALSE(has_fixed({.type = 99}));
    EXPECT_FALSE(has_fixed({.access = 2, .box_control = 0xfe11318}));
    EXPECT_FALSE(has_fixed({.counters = 7, .control = 88})) << "over the counter";
    EXPECT_FALSE(has_fixed({.counters = 6})) << "over the control";
    EXPECT_TRUE(has_fixed({.counters = 5})) << "just below it";
    EXPECT_TRUE(has_fixed({.counters = 6, .control = 88})) << "just above it";
}

TEST(UncorePmonFree, OnlyFirstMemoryControllerOfAPairHasFreeRunningCounters)
{
    const auto has_free = [](const UnitWords &words, uncore_pmon_platform platform) {
        const uncore_pmon_unit unit = unit_of(words);
        return uncore_pmon_has_free(&unit, platform);
    };
    EXPECT_TRUE(has_free({.box_control = 0xc8aa2800}, UNCORE_PMON_SPR));
    EXPECT_FALSE(has_free({.box_control = 0xc8aaa800}, UNCORE_PMON_SPR));
    EXPECT_TRUE(has_free({.box_control = 0xc8b22800}, UNCORE_PMON_SPR));
    EXPECT_FALSE(has_free({.box_control = 0xc8aa2800}, UNCORE_PMON_GNR));
    EXPECT_FALSE(has_free({.box_control = 0xc8aa2800}, UNCORE_PMON_UNKNOWN));
    EXPECT_FALSE(has_free({.box_control = 0xc8aa2800, .type = 14}, UNCORE_PMON_SPR));
}

// Event terms

struct Parsed {
    std::string wrong;
    uncore_pmon_config cfg;
};

Parsed parse(const UnitWords &words, u64 config, u32 kinds = kFixed, u64 config1 = 0,
             u64 config2 = 0)
{
    const uncore_pmon_unit unit = unit_of(words);
    Parsed parsed;
    const char *wrong =
        uncore_pmon_config_parse(&unit, kinds, config, config1, config2, &parsed.cfg);
    parsed.wrong = wrong ? wrong : "";
    return parsed;
}

TEST(UncorePmonTerms, TermsAreWrittenToTheControlRegister)
{
    const Parsed parsed = parse({}, 0xff84cf05);
    EXPECT_EQ(parsed.wrong, "");
    EXPECT_EQ(parsed.cfg.kind, UNCORE_PMON_GENERAL);
    EXPECT_EQ(parsed.cfg.control, 0xff84cf05U);
    EXPECT_EQ(parsed.cfg.slots, 0xfU);
}

TEST(UncorePmonTerms, RejectsConfigBitsThatTheUnitDoesNotHave)
{
    const UnitWords pci = {.access = 2, .box_control = 0xfe11318, .type = 7};
    const UnitWords cha = {.access = 0, .box_control = 0x2000, .type = 0};
    const UnitWords iio = {.access = 0, .box_control = 0x2000, .type = 1};
    const UnitWords pcu = {.access = 0, .box_control = 0x2000, .type = 4};
    const UnitWords unknown = {.access = 2, .box_control = 0xfe11318, .type = 99};
    for (int bit = 0; bit < 64; bit++) {
        const bool plain = bit < 16 || bit == 18 || (bit >= 23 && bit < 32);
        const u64 config = u64{1} << bit;
        EXPECT_EQ(parse({}, config).wrong, plain ? "" : "unknown bits") << bit;
        EXPECT_EQ(parse(unknown, config).wrong, plain ? "" : "unknown bits") << bit;
        const bool wide = plain || (bit >= 32 && bit < 56);
        EXPECT_EQ(parse(pci, config).wrong, wide ? "" : "unknown bits") << bit;
        EXPECT_EQ(parse(pcu, config).wrong, wide ? "" : "unknown bits") << bit;
        EXPECT_EQ(parse(cha, config).wrong, plain || bit >= 32 ? "" : "unknown bits") << bit;
        const bool masks = plain || (bit >= 32 && bit <= 50);
        EXPECT_EQ(parse(iio, config).wrong, masks ? "" : "unknown bits") << bit;
    }
    EXPECT_EQ(parse({}, 5, kFixed, 1).wrong, "unknown bits");
    EXPECT_EQ(parse({}, 5, kFixed, 0, 1).wrong, "unknown bits");
}

// The expected constraints are those of uncore_snbep.c in Linux 6.12:
// skx_uncore_chabox_constraints, icx_uncore_iio_constraints and icx_uncore_m3upi_constraints.
TEST(UncorePmonTerms, EventsOfChaIioAndM3upiUseOnlyTheCountersThatLinuxAllows)
{
    struct Case {
        u64 type, event;
        u32 slots;
    };
    for (const Case &known : {Case{0, 0x11, 0x1},
                              {0, 0x36, 0x1},
                              {0, 0x35, 0xf},
                              {1, 0x02, 0x3},
                              {1, 0x03, 0x3},
                              {1, 0x83, 0x3},
                              {1, 0x88, 0xc},
                              {1, 0xc0, 0xc},
                              {1, 0xc5, 0xc},
                              {1, 0xd5, 0xc},
                              {1, 0x04, 0xf},
                              {9, 0x1c, 0x1},
                              {9, 0x1f, 0x1},
                              {9, 0x40, 0x7},
                              {9, 0x4e, 0x7},
                              {9, 0x50, 0x7},
                              {9, 0x20, 0xf}}) {
        const UnitWords unit = {.access = 0, .box_control = 0x2000, .type = known.type};
        EXPECT_EQ(parse(unit, known.event).cfg.slots, known.slots)
            << known.type << " " << known.event;
    }
}

TEST(UncorePmonTerms, EventsOfCxlcmAndM2pcieUseOnlyTheirAllowedCounters)
{
    const UnitWords cxlcm = {.counters = 8, .control = 72, .type = 12};
    for (u64 event = 0; event < 0xff; event++) {
        const bool low = event == 0x02 || event == 0x05;
        const bool high = (event >= 0x40 && event <= 0x43) || event == 0x4b || event == 0x52;
        EXPECT_EQ(parse(cxlcm, event).cfg.slots, low ? 0x0fU : high ? 0xf0U : 0xffU) << event;
    }
    const UnitWords small = {.counters = 4, .control = 72, .type = 12};
    EXPECT_EQ(parse(small, 0x41).wrong, "no counter of this unit can count the event");
    EXPECT_EQ(parse({.type = 3}, 0x14).cfg.slots, 3U);
    EXPECT_EQ(parse({.type = 3}, 0x2d).cfg.slots, 3U);
    EXPECT_EQ(parse({.type = 3}, 0x2e).cfg.slots, 15U);
}

TEST(UncorePmonTerms, Event0xffSelectsTheFixedCounter)
{
    const Parsed parsed = parse({}, 0xff);
    EXPECT_EQ(parsed.wrong, "");
    EXPECT_EQ(parsed.cfg.kind, UNCORE_PMON_FIXED);
    EXPECT_EQ(parsed.cfg.control, 1U << 22);
    EXPECT_EQ(parsed.cfg.slots, 0x100U);
    EXPECT_EQ(parse({}, 0xff, kFree).wrong, "there is no fixed counter");
    EXPECT_EQ(parse({}, 0xff | 1 << 18).wrong, "event 0xff takes no term but umask");
    EXPECT_EQ(parse({}, 0xff | 1 << 24).wrong, "event 0xff takes no term but umask");
}

TEST(UncorePmonTerms, UmaskOfEvent0xffSelectsFreeRunningCounters)
{
    const std::pair<u64, u16> counters[] = {{0x10, 0x22b0}, {0x20, 0x2318}, {0x21, 0x2320}};
    for (const auto &[umask, offset] : counters) {
        const Parsed parsed = parse({}, 0xff | umask << 8, kFree);
        EXPECT_EQ(parsed.wrong, "") << umask;
        EXPECT_EQ(parsed.cfg.kind, UNCORE_PMON_FREE);
        EXPECT_EQ(parsed.cfg.slots, 0U);
        ASSERT_NE(parsed.cfg.free, nullptr);
        EXPECT_EQ(parsed.cfg.free->offset, offset);
        EXPECT_NE(parse({}, 0xff | umask << 8).wrong, "") << "a unit without them";
    }
    EXPECT_NE(parse({}, 0xff | 0x11 << 8, kFree).wrong, "");
    EXPECT_NE(parse({}, 0xff | 1 << 8, kFree).wrong, "");
}

// Named events

std::span<const uncore_pmon_named_event> named_events()
{
    const uncore_pmon_named_event *end = uncore_pmon_named_events;
    while (end->name)
        end++;
    return {uncore_pmon_named_events, end};
}

TEST(UncorePmonNamed, AllNamedEventsAreValidForTheirUnits)
{
    for (const uncore_pmon_named_event &event : named_events()) {
        const bool pci = event.umask > 0xff;
        const UnitWords words = {.counters = event.type == 12 ? 8U : 4U,
                                 .control = event.type == 12 ? 72U : 64U,
                                 .access = pci ? 2U : 1U,
                                 .box_control = pci ? 0xfe11318U : 0xc8aa2800U,
                                 .type = event.type};
        const u64 config = event.event | (event.umask & 0xff) << 8 | event.umask >> 8 << 32;
        EXPECT_EQ(parse(words, config, kFixed | kFree).wrong, "") << event.name;
        EXPECT_TRUE(event.platforms) << event.name;
        EXPECT_FALSE(event.platforms & 1 << UNCORE_PMON_UNKNOWN) << event.name;
        ASSERT_NE(uncore_pmon_type_find(event.type), nullptr) << event.name;
        EXPECT_LT(std::string(event.name).size() + sizeof(".scale"), 48U);
    }
}

TEST(UncorePmonNamed, NamesAreUniquePerUnitType)
{
    for (uncore_pmon_platform platform : {UNCORE_PMON_SPR, UNCORE_PMON_GNR}) {
        std::set<std::pair<u16, std::string>> seen;
        for (const uncore_pmon_named_event &event : named_events()) {
            if (event.platforms & 1 << platform) {
                EXPECT_TRUE(seen.emplace(event.type, event.name).second) << event.name;
            }
        }
        EXPECT_TRUE(seen.count(
            {6, platform == UNCORE_PMON_SPR ? "cas_count_read" : "cas_count_read_sch1"}));
        EXPECT_TRUE(seen.count({12, "rxc_pack_buf_inserts_mem_data"}));
    }
}

TEST(UncorePmonNamed, NamedEventsHaveExpectedCodes)
{
    const struct {
        uncore_pmon_platform platform;
        u16 type;
        const char *name;
        u8 event;
        u64 umask;
    } rows[] = {
        {UNCORE_PMON_SPR, 0, "tor_inserts_ia_miss_drd_cxl_acc", 0x35, 0x10c8178201},
        {UNCORE_PMON_SPR, 6, "clockticks", 0x01, 0x00},
        {UNCORE_PMON_SPR, 6, "dclk", 0x01, 0x01},
        {UNCORE_PMON_SPR, 6, "cas_count_read", 0x05, 0xcf},
        {UNCORE_PMON_SPR, 6, "cas_count_write", 0x05, 0xf0},
        {UNCORE_PMON_SPR, 6, "wpq_inserts_pch1", 0x20, 0x02},
        {UNCORE_PMON_GNR, 6, "clockticks", 0x01, 0x00},
        {UNCORE_PMON_GNR, 6, "dclk", 0x01, 0x01},
        {UNCORE_PMON_GNR, 6, "cas_count_read_sch1", 0x06, 0xcf},
        {UNCORE_PMON_GNR, 6, "cas_count_write_sch0", 0x05, 0xf0},
        {UNCORE_PMON_GNR, 6, "rpq_inserts_sch0_pch0", 0x10, 0x10},
        {UNCORE_PMON_GNR, 6, "rpq_inserts_sch1_pch1", 0x10, 0x80},
        {UNCORE_PMON_GNR, 6, "wpq_inserts_sch0_pch1", 0x22, 0x20},
        {UNCORE_PMON_GNR, 6, "wpq_inserts_sch1_pch0", 0x22, 0x40},
        {UNCORE_PMON_GNR, 6, "rpq_occupancy_sch1_pch1", 0x83, 0x00},
        {UNCORE_PMON_GNR, 6, "wpq_occupancy_sch0_pch0", 0x84, 0x00},
        {UNCORE_PMON_SPR, 12, "rxc_flits_valid", 0x4b, 0x01},
        {UNCORE_PMON_SPR, 12, "txc_flits_valid", 0x05, 0x01},
        {UNCORE_PMON_SPR, 12, "rxc_agf_inserts_mem_data", 0x43, 0x20},
        {UNCORE_PMON_SPR, 13, "txc_agf_inserts_u2c_req", 0x02, 0x01},
        {UNCORE_PMON_SPR, 13, "txc_agf_inserts_u2c_data", 0x02, 0x08},
        {UNCORE_PMON_GNR, 5, "event_msg_int_prio", 0x42, 0x10},
        {UNCORE_PMON_GNR, 4, "power_state_occupancy_cores_c6", 0x37, 0x00},
        {UNCORE_PMON_SPR, 4, "pkg_residency_c2e_cycles", 0x2b, 0x00},
    };
    for (const auto &row : rows) {
        size_t found = 0;
        for (const uncore_pmon_named_event &event : named_events())
            found += event.type == row.type && (event.platforms & 1 << row.platform) != 0 &&
                     event.name == std::string(row.name) && event.event == row.event &&
                     event.umask == row.umask;
        EXPECT_EQ(found, 1U) << row.name;
    }
}

TEST(UncorePmonNamed, UnitHasOnlyNamedEventsThatItsCountersAndPlatformSupport)
{
    const uncore_pmon_unit first = unit_of({}), second = unit_of({.box_control = 0xc8aaa800});
    const uncore_pmon_unit crowded = unit_of({.counters = 6});
    const auto names = [](const uncore_pmon_unit &unit, uncore_pmon_platform platform) {
        std::set<std::string> found;
        for (const uncore_pmon_named_event &event : named_events())
            if (uncore_pmon_event_fits(&event, &unit, platform))
                found.insert(event.name);
        return found;
    };
    EXPECT_TRUE(names(first, UNCORE_PMON_SPR).count("cas_count_write"));
    EXPECT_TRUE(names(first, UNCORE_PMON_SPR).count("free_dclk"));
    EXPECT_FALSE(names(second, UNCORE_PMON_SPR).count("free_dclk"));
    EXPECT_TRUE(names(second, UNCORE_PMON_SPR).count("fixed_clockticks"));
    EXPECT_FALSE(names(crowded, UNCORE_PMON_SPR).count("fixed_clockticks"));
    EXPECT_FALSE(names(first, UNCORE_PMON_GNR).count("cas_count_write"));
    EXPECT_TRUE(names(first, UNCORE_PMON_GNR).count("cas_count_write_sch0"));
    EXPECT_TRUE(names(first, UNCORE_PMON_UNKNOWN).empty());
    EXPECT_TRUE(names(unit_of({.type = 99}), UNCORE_PMON_SPR).empty());
}

TEST(UncorePmonTypes, NamesMatchTypeNumbers)
{
    const std::pair<u16, const char *> types[] = {
        {0, "cha"},    {1, "iio"},    {2, "irp"},    {3, "m2pcie"},   {4, "pcu"},
        {5, "ubox"},   {6, "imc"},    {7, "m2m"},    {8, "upi"},      {9, "m3upi"},
        {11, "mdf"},   {12, "cxlcm"}, {13, "cxldp"}, {14, "hbm"},     {15, "b2hot"},
        {16, "b2cmi"}, {17, "b2cxl"}, {18, "b2upi"}, {20, "mdf_sbo"}, {21, "pciex16"},
        {22, "pciex8"}};
    size_t known = 0;
    for (u32 id = 0; id < 65536; id++)
        known += uncore_pmon_type_find(static_cast<u16>(id)) != nullptr;
    EXPECT_EQ(known, std::size(types));
    for (const auto &[id, name] : types)
        EXPECT_STREQ(uncore_pmon_type_find(id)->name, name);
}

// Counters

TEST(UncorePmonFold, IntervalBetweenCounterReadsIsAtMostHalfTheWrapTime)
{
    for (u32 width = 32; width <= 64; width++) {
        // The time in which a counter advances by half of its range at 2^40 counts per second,
        // limited to 1 ms .. 60 s.
        const double half_ns = std::min(
            6e10, std::max(1e6, 1e9 / (1ULL << 40) * static_cast<double>(1ULL << (width - 1))));
        EXPECT_LE(static_cast<double>(uncore_pmon_fold_ns(width)), half_ns) << width;
        EXPECT_GE(static_cast<double>(uncore_pmon_fold_ns(width)), half_ns / 2 - 1) << width;
    }
    EXPECT_EQ(uncore_pmon_fold_ns(64), 60000000000U);
    EXPECT_EQ(uncore_pmon_fold_ns(48), 60000000000U);
    EXPECT_EQ(uncore_pmon_fold_ns(41), 1000000000U);
    EXPECT_EQ(uncore_pmon_fold_ns(40), 500000000U);
    EXPECT_EQ(uncore_pmon_fold_ns(32), 1953125U);
    EXPECT_EQ(uncore_pmon_fold_ns(31), 1000000U);
    EXPECT_EQ(uncore_pmon_fold_ns(24), 1000000U);
}

TEST(UncorePmonDelta, ComputesDeltaForEveryCounterWidth)
{
    for (u32 width = 24; width <= 64; width++) {
        const u64 top = width == 64 ? ~u64{0} : (u64{1} << width) - 1;
        u64 delta = 0;
        EXPECT_TRUE(uncore_pmon_delta(top - 9, 5, width, &delta)) << width;
        EXPECT_EQ(delta, 15U);
        EXPECT_TRUE(uncore_pmon_delta(7, 7, width, &delta));
        EXPECT_EQ(delta, 0U);
        EXPECT_FALSE(uncore_pmon_delta(7, 6, width, &delta)) << "backwards, " << width;
        EXPECT_TRUE(uncore_pmon_delta(1, 1 + top / 2, width, &delta)) << width;
        EXPECT_EQ(delta, top / 2);
        EXPECT_FALSE(uncore_pmon_delta(1, 2 + top / 2, width, &delta)) << width;
        // The function ignores bits above the width.
        EXPECT_TRUE(uncore_pmon_delta(5, (~top) | 6, width, &delta));
        EXPECT_EQ(delta, 1U);
    }
}

// Assignment of counters to events

bool assigned_well(const std::vector<u32> &slots, const std::vector<s8> &slot)
{
    u32 taken = 0;
    for (size_t i = 0; i < slots.size(); i++) {
        if (!slots[i]) {
            if (slot[i] != UNCORE_PMON_NO_SLOT)
                return false;
            continue;
        }
        if (slot[i] < 0 || !(slots[i] & 1U << slot[i]) || taken & 1U << slot[i])
            return false;
        taken |= 1U << slot[i];
    }
    return true;
}

// Checks Hall's condition: for each set of events, the number of slots that the events can use is
// at least the number of events.
bool can_be_assigned(const std::vector<u32> &slots)
{
    for (u32 set = 0; set < 1U << slots.size(); set++) {
        u32 wanted = 0;
        int members = 0;
        for (size_t i = 0; i < slots.size(); i++)
            if (set & 1U << i && slots[i]) {
                wanted |= slots[i];
                members++;
            }
        if (members > __builtin_popcount(wanted))
            return false;
    }
    return true;
}

TEST(UncorePmonAssign, AssignsCountersToAllEventsIfThatIsPossible)
{
    std::mt19937 random(7);
    int possible = 0;
    for (int round = 0; round < 3000; round++) {
        std::vector<u32> slots(1 + random() % 10);
        for (u32 &mask : slots)
            mask = random() % 5 ? random() & random() & 0x1ff : 0;
        std::vector<s8> slot(slots.size(), UNCORE_PMON_NO_SLOT);
        const bool done =
            uncore_pmon_assign(slots.data(), slot.data(), static_cast<u32>(slots.size()));
        ASSERT_EQ(done, can_be_assigned(slots)) << round;
        if (!done)
            continue;
        possible++;
        EXPECT_TRUE(assigned_well(slots, slot)) << round;
    }
    EXPECT_GT(possible, 500);
    EXPECT_LT(possible, 2900);
}

TEST(UncorePmonAssign, MovesOnlyEventsThatBlockANewEvent)
{
    const std::vector<u32> slots = {0xff, 0xff, 0x0f, 0x03};
    std::vector<s8> slot = {0, 5, 1, UNCORE_PMON_NO_SLOT};
    ASSERT_TRUE(uncore_pmon_assign(slots.data(), slot.data(), 4));
    EXPECT_TRUE(assigned_well(slots, slot));
    EXPECT_EQ(slot[1], 5) << "not in the way";
    EXPECT_TRUE(slot[0] == 0 || slot[2] == 1) << "one of the two moves";

    slot = {0, 5, 2, UNCORE_PMON_NO_SLOT};
    ASSERT_TRUE(uncore_pmon_assign(slots.data(), slot.data(), 4));
    EXPECT_EQ(slot, (std::vector<s8>{0, 5, 2, 1}));
}

TEST(UncorePmonAssign, FailsIfEventsNeedMoreCountersThanExist)
{
    const std::vector<u32> slots(5, 0xf);
    std::vector<s8> slot(5, UNCORE_PMON_NO_SLOT);
    EXPECT_FALSE(uncore_pmon_assign(slots.data(), slot.data(), 5));
    slot.assign(5, UNCORE_PMON_NO_SLOT);
    EXPECT_TRUE(uncore_pmon_assign(slots.data(), slot.data(), 4));
}

}  // namespace
