// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses valid and invalid discovery tables.
#include "decode/uncore_pmon/uncore_pmon_decode.hpp"

#include <gtest/gtest.h>

#include "decode/uncore_pmon/uncore_pmon_test_table.hpp"

namespace pmukit::decode::uncore_pmon {
namespace {

using test::config_of;
using test::ConfigWords;
using test::Entry;
using test::GlobalWords;
using test::table_of;
using test::UnitWords;

// Finding the table

std::string place_text(const Result<std::optional<Place>> &place)
{
    if (!place)
        return place.error().message;
    return *place ? "BAR " + std::to_string((*place)->bir) : "none";
}

TEST(UncorePlace, TableIsFoundByTheDvsecWithEntryId1)
{
    const Result<std::optional<Place>> place = find_table(config_of({.bar_number = 2}));
    ASSERT_TRUE(place && *place);
    EXPECT_EQ((*place)->bir, 2U);
    EXPECT_EQ((*place)->capability, 0x140U);
    EXPECT_EQ((*place)->vendor, 0x8086);
    EXPECT_EQ((*place)->device, 0x09a7);
}

TEST(UncorePlace, TableIsFoundOnlyInAnIntelFunctionWithTheDiscoveryCapability)
{
    EXPECT_EQ(place_text(find_table(config_of({.vendor = 0x8087}))), "none");
    EXPECT_EQ(place_text(find_table(config_of({.status = 0}))), "none");
    EXPECT_EQ(place_text(find_table(config_of({.dvsec = 0x24}))), "none");
    EXPECT_EQ(place_text(find_table(config_of({.dvsec_vendor = 0x1e98}))), "none");
    EXPECT_EQ(place_text(find_table(config_of({.entry_id = 2}))), "none");
    EXPECT_EQ(place_text(find_table(config_of({.entry_id = 0x70001}))), "BAR 0");
}

TEST(UncorePlace, RefusesTableInAnInvalidBar)
{
    EXPECT_EQ(place_text(find_table(config_of({.bar_number = 6}))), "there is no BAR 6");
    EXPECT_EQ(place_text(find_table(config_of({.bar_number = 8}))),
              "the table is not at the beginning of its BAR");
    EXPECT_EQ(place_text(find_table(config_of({.bar_number = 1, .bar = 1}))),
              "BAR 1 is not plain memory");
    EXPECT_EQ(place_text(find_table(config_of({.bar = 8}))), "BAR 0 is not plain memory");
    EXPECT_EQ(place_text(find_table(config_of({.bar = 0xfe000004}))), "BAR 0");
}

TEST(UncorePlace, FindsAllTablesOfAFunction)
{
    std::vector<std::byte> config = config_of({.dvsec = 0x23 | 1 << 16 | 0x180U << 20});
    store_le<uint32_t>(config.data() + 0x14, 0xfd000000);
    store_le<uint32_t>(config.data() + 0x180, 0x23 | 1 << 16);
    store_le<uint32_t>(config.data() + 0x184, 0x8086);
    store_le<uint32_t>(config.data() + 0x188, 1);
    store_le<uint32_t>(config.data() + 0x18c, 1);
    const Result<std::optional<Place>> first = find_table(config);
    EXPECT_EQ(place_text(first), "BAR 0");
    const Result<std::optional<Place>> second = next_table(config, **first);
    EXPECT_EQ(place_text(second), "BAR 1");
    EXPECT_EQ(place_text(next_table(config, **second)), "none");
    const std::vector<std::byte> circle = config_of({.dvsec = 0x23 | 1 << 16 | 0x140U << 20});
    EXPECT_EQ(place_text(next_table(circle, **find_table(circle))), "none");
}

TEST(UncorePlace, CircularCapabilityListsTerminate)
{
    // The list leads back to its beginning.
    EXPECT_EQ(place_text(find_table(config_of({.dvsec = 0x24 | 0x100U << 20}))), "none");
    EXPECT_EQ(place_text(find_table(config_of({.dvsec = 0x24 | 0x040U << 20}))), "none");
}

TEST(UncorePlace, FindsTheTableExactlyIfTruncatedConfigSpaceHasTheWholeCapability)
{
    const std::vector<std::byte> config = config_of({});
    for (size_t size = 0; size < 0x160; size++) {
        const Result<std::optional<Place>> place = find_table(Bytes(config).first(size));
        EXPECT_EQ(place && *place, size >= 0x150) << size;
    }
    EXPECT_TRUE(is_cut_short(Bytes(config).first(64)));
    EXPECT_FALSE(is_cut_short(Bytes(config).first(4)));
    EXPECT_FALSE(is_cut_short(config));
}

// The global entry

std::string global_text(const GlobalWords &words, uint64_t bar_bytes)
{
    const std::vector<std::byte> bytes = table_of(words, {});
    const Result<Global> global = parse_global(bytes, bar_bytes);
    return global ? "good" : global.error().message;
}

TEST(UncoreGlobal, SizeOfTheTableIsComputedFromTheGlobalEntry)
{
    const std::vector<std::byte> bytes =
        table_of({.type = 7, .stride = 5, .max_units = 1023, .control = 9, .status = 0x123456}, {});
    const Result<Global> global = parse_global(bytes, 40960);
    ASSERT_TRUE(global);
    EXPECT_EQ(global->type, 7);
    EXPECT_EQ(global->stride_words, 5U);
    EXPECT_EQ(global->max_units, 1023U);
    EXPECT_EQ(global->bytes(), 40960U);
    EXPECT_EQ(global->control, 9U);
    EXPECT_EQ(global->status_offset, 0x56);
    EXPECT_EQ(global->status_registers, 0x1234);
}

TEST(UncoreGlobal, InvalidGlobalEntryIsRefusedWithAReason)
{
    EXPECT_EQ(global_text({.max_units = 1}, 48), "good");
    EXPECT_EQ(global_text({.max_units = 1}, 47), "1 units of 3 words reach beyond the BAR");
    EXPECT_EQ(global_text({.max_units = 1}, 23), "the BAR is too small for a table");
    EXPECT_EQ(global_text({.max_units = 0}, 48), "the table has no units");
    for (uint64_t stride = 0; stride < 3; stride++)
        EXPECT_EQ(global_text({.stride = stride, .max_units = 1}, 4096),
                  "stride " + std::to_string(stride) + " is below 3 words");
    EXPECT_EQ(global_text({.max_units = 1, .control = 0}, 4096), "the table begins with nothing");
    EXPECT_EQ(global_text({.max_units = 1, .control = ~uint64_t{0}}, 4096),
              "the table begins with all ones");
    EXPECT_EQ(global_text({.max_units = 1, .status = ~uint64_t{0}}, 4096),
              "the table begins with all ones");
}

// Units

Table parsed(const std::vector<Entry> &units)
{
    const std::vector<std::byte> bytes = table_of(units);
    const Result<Table> table = parse_table(bytes, bytes.size());
    EXPECT_TRUE(table);
    return table ? *table : Table{};
}

// Returns the reason why the only unit of a table is refused, or an empty text if it is valid.
std::string why(const UnitWords &words)
{
    const Table table = parsed({words.entry()});
    EXPECT_EQ(table.units.size() + table.refused.size(), 1U);
    return table.refused.empty() ? "" : table.refused[0].why;
}

TEST(UncoreUnits, DecodesTheEightMemoryControllersOfASocket)
{
    const Table table = parsed(test::eight_imcs());
    ASSERT_EQ(table.units.size(), 8U);
    EXPECT_TRUE(table.refused.empty());
    const Unit &last = table.units[7];
    EXPECT_EQ(last.entry, 8U);
    EXPECT_EQ(last.type, 6);
    EXPECT_EQ(last.id, 7);
    EXPECT_EQ(last.access, Access::kMmio);
    EXPECT_EQ(last.counters, 4);
    EXPECT_EQ(last.width_bits, 48);
    EXPECT_EQ(last.control_offset, 64);
    EXPECT_EQ(last.counter_offset, 8);
    EXPECT_EQ(last.box_control, 0xc8c2a800U);
    EXPECT_EQ(pmu_name(last), "uncore_imc_7");
}

TEST(UncoreUnits, RegisterAddressesDependOnTypeAndAccess)
{
    const Unit imc = parsed({UnitWords{}.entry()}).units.at(0);
    EXPECT_EQ(control_address(imc, 0), 0xc8aa2840U);
    EXPECT_EQ(control_address(imc, 3), 0xc8aa284cU);
    EXPECT_EQ(counter_address(imc, 0), 0xc8aa2808U);
    EXPECT_EQ(counter_address(imc, 3), 0xc8aa2820U);
    for (uint64_t type : {12, 13, 17})
        EXPECT_EQ(control_address(parsed({UnitWords{.type = type}.entry()}).units.at(0), 3),
                  0xc8aa2858U)
            << type;
    const Unit msr =
        parsed({UnitWords{.access = 0, .box_control = 0x2000, .type = 0}.entry()}).units.at(0);
    EXPECT_EQ(control_address(msr, 3), 0x2043U);
    EXPECT_EQ(counter_address(msr, 3), 0x200bU);
    const Unit pci =
        parsed({UnitWords{.access = 2, .box_control = 0xfe11318, .type = 8}.entry()}).units.at(0);
    EXPECT_EQ(control_address(pci, 3), 0xfe11370U);
    EXPECT_EQ(pci_text(pci.box_control), "fe:2.1@318");
}

TEST(UncoreUnits, UnknownTypesAreNamedByNumber)
{
    EXPECT_EQ(pmu_name(parsed({UnitWords{.type = 10, .id = 3}.entry()}).units.at(0)),
              "uncore_type_10_3");
    EXPECT_EQ(pmu_name(parsed({UnitWords{.type = 65535, .id = 65535}.entry()}).units.at(0)),
              "uncore_type_65535_65535");
}

TEST(UncoreUnits, InvalidUnitsAreRefusedWithAReason)
{
    EXPECT_EQ(why({}), "");
    EXPECT_EQ(why({.counters = 0}), "no counters");
    EXPECT_EQ(why({.counters = 8, .control_offset = 72}), "");
    EXPECT_EQ(why({.counters = 9}), "more than 8 counters");
    EXPECT_EQ(why({.width = 23}), "counter width not in 24..64");
    EXPECT_EQ(why({.width = 24}), "");
    EXPECT_EQ(why({.width = 64}), "");
    EXPECT_EQ(why({.width = 65}), "counter width not in 24..64");
    EXPECT_EQ(why({.control_offset = 0}), "control or counter offset 0");
    EXPECT_EQ(why({.counter_offset = 0}), "control or counter offset 0");
    EXPECT_EQ(why({.access = 3}), "unknown access type");
    EXPECT_EQ(why({.box_control = 0}), "no control address or no description");
    EXPECT_EQ(why({.box_control = ~uint64_t{0}}), "all ones");
    EXPECT_EQ(parsed({Entry{{~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}}}}).refused.at(0).why,
              "all ones");
    EXPECT_EQ(parsed({Entry{{0, 0x1000, 6}}}).refused.at(0).why,
              "no control address or no description");
}

TEST(UncoreUnits, UnitsWithOverlappingRegistersAreRefused)
{
    // The four counters are at bytes 8 to 39. There are four control registers of four bytes.
    EXPECT_EQ(why({.control_offset = 36}), "controls and counters overlap");
    EXPECT_EQ(why({.control_offset = 40}), "");
    EXPECT_EQ(why({.control_offset = 4, .counter_offset = 16}), "controls and counters overlap");
    EXPECT_EQ(why({.control_offset = 4, .counter_offset = 24}), "");
    EXPECT_EQ(why({.control_offset = 4, .counter_offset = 32, .type = 12}),
              "controls and counters overlap");
    EXPECT_EQ(why({.control_offset = 4, .counter_offset = 40, .type = 12}), "");
}

TEST(UncoreUnits, UnitsAtInvalidAddressesAreRefused)
{
    EXPECT_EQ(why({.box_control = 0xc8aa2804}), "registers not aligned");
    EXPECT_EQ(why({.control_offset = 66}), "registers not aligned");
    EXPECT_EQ(why({.counter_offset = 12}), "registers not aligned");
    EXPECT_EQ(why({.box_control = (uint64_t{1} << 52) - 88}), "");
    EXPECT_EQ(why({.box_control = (uint64_t{1} << 52) - 80}),
              "control address beyond physical addresses");
    EXPECT_EQ(why({.access = 0, .box_control = 0x3fffffbb}), "");
    for (uint64_t msr : {0x10U, 0x1fffU, 0x3fffffbcU, 0x40000000U, 0xc0000080U, 0xffffffffU})
        EXPECT_EQ(why({.access = 0, .box_control = msr}),
                  "control address is not an MSR of the uncore")
            << msr;
    EXPECT_EQ(why({.access = 0, .box_control = 0x2003}), "");
    EXPECT_EQ(why({.access = 2, .box_control = 0xfe11318}), "");
    EXPECT_EQ(why({.access = 2, .box_control = 0x7fffffa0}), "");
    EXPECT_EQ(why({.access = 2, .box_control = 0xfe11fa0}), "");
    EXPECT_EQ(why({.access = 2, .box_control = 0xfe11fa4}),
              "control address is not in a configuration space");
    EXPECT_EQ(why({.access = 2, .box_control = uint64_t{1} << 31}),
              "control address is not in a configuration space");
}

TEST(UncoreUnits, LimitIncludesCounterRegistersAboveTheControlRegisters)
{
    const auto at = [](uint64_t access, uint64_t box_control) {
        return why({.control_offset = 8,
                    .counter_offset = access ? 80U : 32U,
                    .access = access,
                    .box_control = box_control});
    };
    EXPECT_EQ(why({.control_offset = 8, .counter_offset = 24}), "");
    EXPECT_EQ(at(1, (uint64_t{1} << 52) - 120), "");
    EXPECT_EQ(at(1, (uint64_t{1} << 52) - 112), "control address beyond physical addresses");
    EXPECT_EQ(at(0, 0x3fffffdb), "");
    EXPECT_EQ(at(0, 0x3fffffdc), "control address is not an MSR of the uncore");
    EXPECT_EQ(at(2, 0xfe11f90), "");
    EXPECT_EQ(at(2, 0xfe11f94), "control address is not in a configuration space");
}

TEST(UncoreUnits, DuplicatesAndUnitsUnlikeTheFirstOfTheirTypeAreRefused)
{
    std::vector<Entry> units = test::eight_imcs();
    units[3] = units[2];
    units[5] = UnitWords{.counters = 2, .box_control = 0xc8baa800, .id = 5}.entry();
    units.push_back(UnitWords{.type = 7, .id = 2}.entry());
    const Table table = parsed(units);
    EXPECT_EQ(table.units.size(), 7U);
    ASSERT_EQ(table.refused.size(), 2U);
    EXPECT_EQ(table.refused[0].entry, 4U);
    EXPECT_EQ(table.refused[0].why, "type and id stand in the table twice");
    EXPECT_EQ(table.refused[1].entry, 6U);
    EXPECT_EQ(table.refused[1].why, "not as the first unit of its type");
    for (const UnitWords &other :
         {UnitWords{.control_offset = 72}, UnitWords{.width = 47}, UnitWords{.counter_offset = 16},
          UnitWords{.access = 0, .box_control = 64}}) {
        UnitWords second = other;
        second.id = 1;
        EXPECT_EQ(parsed({UnitWords{}.entry(), second.entry()}).refused.size(), 1U);
    }
}

TEST(UncoreUnits, UnusedEntriesAreSkippedWithoutWarning)
{
    std::vector<Entry> units = test::eight_imcs();
    units[4] = Entry{{0, 0, 77}};
    const Table table = parsed(units);
    EXPECT_EQ(table.units.size(), 7U);
    EXPECT_TRUE(table.refused.empty());
}

TEST(UncoreUnits, EntriesAreReadAtTheStrideOfTheTable)
{
    const std::vector<std::byte> bytes =
        table_of(GlobalWords{.stride = 9, .max_units = 8}, test::eight_imcs());
    const Result<Table> table = parse_table(bytes, bytes.size());
    ASSERT_TRUE(table);
    EXPECT_EQ(table->units.size(), 8U);
    EXPECT_EQ(table->units[6].box_control, 0xc8c22800U);
}

TEST(UncoreUnits, TruncatedTableIsRejected)
{
    const std::vector<std::byte> bytes = table_of(test::eight_imcs());
    for (size_t size = 0; size <= bytes.size(); size++) {
        const Result<Table> table = parse_table(Bytes(bytes).first(size), bytes.size());
        EXPECT_EQ(bool(table), size == bytes.size()) << size;
        EXPECT_EQ(bool(parse_table(bytes, size)), size == bytes.size()) << size;
    }
}

}  // namespace
}  // namespace pmukit::decode::uncore_pmon
