// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the driver's catalog parser with three kinds of blobs: blobs that libfdt writes, the
// shipped catalog as compiled by dtc, and malformed bytes that no tool would write.
extern "C" {
#include "imc/imc_core.h"
}

#include <gtest/gtest.h>
#include <libfdt.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

using Blob = std::vector<char>;

// Writes nodes and properties in sequence with libfdt.
class Tree {
public:
    Tree()
    {
        check(fdt_create(blob_.data(), static_cast<int>(blob_.size())));
        check(fdt_finish_reservemap(blob_.data()));
    }
    Tree &begin(const std::string &name)
    {
        return check(fdt_begin_node(blob_.data(), name.c_str()));
    }
    Tree &end() { return check(fdt_end_node(blob_.data())); }
    Tree &cell(const char *name, u32 value)
    {
        return check(fdt_property_u32(blob_.data(), name, value));
    }
    Tree &text(const char *name, const std::string &value)
    {
        return bytes(name, std::string(value.c_str(), value.size() + 1));
    }
    Tree &bytes(const char *name, const std::string &value)
    {
        return check(
            fdt_property(blob_.data(), name, value.data(), static_cast<int>(value.size())));
    }
    Blob finish()
    {
        check(fdt_finish(blob_.data()));
        blob_.resize(fdt_totalsize(blob_.data()));
        return blob_;
    }

private:
    Tree &check(int result)
    {
        EXPECT_EQ(result, 0) << fdt_strerror(result);
        return *this;
    }
    Blob blob_ = Blob(1U << 21);
};

struct Parsed {
    std::vector<imc_unit> units = std::vector<imc_unit>(IMC_MAX_UNITS);
    std::vector<imc_event_desc> events = std::vector<imc_event_desc>(IMC_MAX_EVENTS);
    Blob blob;
    imc_catalog catalog = {};
    std::string wrong;
};

std::unique_ptr<Parsed> parse(const Blob &blob)
{
    auto parsed = std::make_unique<Parsed>();
    parsed->blob = blob;
    parsed->catalog.units = parsed->units.data();
    parsed->catalog.events = parsed->events.data();
    const char *wrong =
        imc_catalog_parse(parsed->blob.data(), parsed->blob.size(), &parsed->catalog);
    parsed->wrong = wrong ? wrong : "";
    return parsed;
}

// Returns the path and the error of a blob that the parser rejects.
std::string refusal(const Blob &blob)
{
    const auto parsed = parse(blob);
    EXPECT_NE(parsed->wrong, "");
    return std::string(parsed->catalog.path) + ": " + parsed->wrong;
}

// Returns the path and the reason of the only unit that the parser skips.
std::string skipped(const Blob &blob)
{
    const auto parsed = parse(blob);
    EXPECT_EQ(parsed->catalog.nr_skipped, 1U);
    return std::string(parsed->catalog.skipped[0].path) + ": " + parsed->catalog.skipped[0].why;
}

using Edit = std::function<void(Tree &)>;
const Edit kNothing = [](Tree &) {};

constexpr u32 kEventsHandle = 7;

struct Recipe {
    std::string compatible = "ibm,opal-in-memory-counters";
    std::string node = "mcs01";
    Edit type = [](Tree &tree) { tree.cell("type", 0x10); };
    Edit size = [](Tree &tree) { tree.cell("size", 0x40000); };
    Edit offset = [](Tree &tree) { tree.cell("offset", 0x180000); };
    Edit handle = [](Tree &tree) { tree.cell("events", kEventsHandle); };
    Edit prefix = [](Tree &tree) { tree.text("events-prefix", "PM_MCS01_"); };
    Edit unit = [](Tree &tree) { tree.cell("reg", 0x100); };
    Edit name = [](Tree &tree) { tree.text("event-name", "64B_RD"); };
    Edit reg = [](Tree &tree) { tree.cell("reg", 0x18); };
    Edit event = kNothing;
    Edit more_events = kNothing;
    Edit more_units = kNothing;
};

Blob make(const Recipe &recipe)
{
    Tree tree;
    tree.begin("").begin("imc-counters").text("compatible", recipe.compatible);
    tree.begin("events@0").cell("phandle", kEventsHandle).begin("event@118");
    recipe.name(tree);
    recipe.reg(tree);
    recipe.event(tree);
    tree.end();
    recipe.more_events(tree);
    tree.end();
    tree.begin(recipe.node).text("compatible", "ibm,imc-counters");
    recipe.type(tree);
    recipe.size(tree);
    recipe.offset(tree);
    recipe.handle(tree);
    recipe.prefix(tree);
    recipe.unit(tree);
    tree.end();
    recipe.more_units(tree);
    tree.end().end();
    return tree.finish();
}

void add_unit(Tree &tree, const char *node, u32 type, u32 size)
{
    tree.begin(node).text("compatible", "ibm,imc-counters").cell("type", type).cell("size", size);
    if (type == 0x10)
        tree.cell("offset", 0x180000);
    tree.end();
}

void add_event(Tree &tree, const char *name, u32 reg)
{
    tree.begin(std::string("event@") + name).text("event-name", name).cell("reg", reg).end();
}

std::string text(const char *string)
{
    return string ? string : "none";
}

// Valid catalogs

TEST(ImcCatalog, ReadsUnitAndEvent)
{
    const auto parsed = parse(make({}));
    ASSERT_EQ(parsed->wrong, "") << parsed->catalog.path;
    ASSERT_EQ(parsed->catalog.nr_units, 1U);
    const imc_unit &unit = parsed->units[0];
    EXPECT_STREQ(unit.name, "mcs01");
    EXPECT_EQ(unit.type, static_cast<u32>(IMC_TYPE_CHIP));
    EXPECT_EQ(unit.bytes, 0x40000U);
    EXPECT_EQ(unit.offset, 0x180000U);
    EXPECT_EQ(unit.cb_offset, 0x3fc00U);
    ASSERT_EQ(unit.nr_events, 1U);
    const imc_event_desc &event = parsed->events[unit.first_event];
    EXPECT_STREQ(event.name, "pm_mcs01_64b_rd");
    EXPECT_EQ(event.value, 0x118U);
    EXPECT_EQ(text(event.scale), "none");
    EXPECT_EQ(text(event.unit), "none");
    EXPECT_EQ(parsed->catalog.nr_skipped, 0U);
}

TEST(ImcCatalog, EventWithoutScaleOrUnitTextInheritsItFromItsPmu)
{
    const auto parsed =
        parse(make({.unit = [](Tree &tree) { tree.text("scale", "2.5").text("unit", "MiB"); },
                    .event = [](Tree &tree) { tree.text("scale", "64"); },
                    .more_events =
                        [](Tree &tree) {
                            add_event(tree, "PLAIN", 8);
                            tree.begin("e").text("event-name", "OWN").cell("reg", 16);
                            tree.text("unit", "lines per s").end();
                        }}));
    ASSERT_EQ(parsed->wrong, "");
    ASSERT_EQ(parsed->units[0].nr_events, 3U);
    EXPECT_EQ(text(parsed->events[0].scale), "64");
    EXPECT_EQ(text(parsed->events[0].unit), "MiB");
    EXPECT_EQ(text(parsed->events[1].scale), "2.5");
    EXPECT_EQ(text(parsed->events[2].unit), "lines per s");
    EXPECT_EQ(parsed->events[0].value, 0x18U) << "no reg of the unit: nothing is added";
}

TEST(ImcCatalog, ReadsUnitsOfAllTypesAndUnitsWithoutEvents)
{
    const auto parsed = parse(make({.more_units = [](Tree &tree) {
        add_unit(tree, "mcs23", 0x10, 8);
        add_unit(tree, "core@0", 4, 0x2000);
        add_unit(tree, "thread", 1, 0x400000);
        add_unit(tree, "trace@0", 2, 0x40000);
    }}));
    ASSERT_EQ(parsed->wrong, "") << parsed->catalog.path;
    ASSERT_EQ(parsed->catalog.nr_units, 5U);
    EXPECT_STREQ(parsed->units[2].name, "core");
    EXPECT_EQ(parsed->units[2].nr_events, 0U);
    EXPECT_STREQ(parsed->units[4].name, "trace");
}

// These tests cover features of IBM's POWER9 and POWER10 catalogs
// (github.com/open-power/ima-catalog).

TEST(ImcCatalog, AcceptsEmptyPrefixOfEventNames)
{
    const auto parsed =
        parse(make({.node = "nvlink3@288",
                    .prefix = [](Tree &tree) { tree.text("events-prefix", ""); },
                    .name = [](Tree &tree) { tree.text("event-name", "PM_NVLINK3_A"); }}));
    ASSERT_EQ(parsed->wrong, "");
    EXPECT_STREQ(parsed->events[0].name, "pm_nvlink3_a");
    EXPECT_EQ(parsed->catalog.nr_skipped, 0U);
}

TEST(ImcCatalog, AcceptsDotsInEventNames)
{
    const auto parsed = parse(make({.more_events = [](Tree &tree) {
        add_event(tree, "DATA_FROM_L3.1", 8);
        add_event(tree, "a.scaled", 16);
        add_event(tree, "b.unit.c", 24);
    }}));
    ASSERT_EQ(parsed->wrong, "") << parsed->catalog.path;
    ASSERT_EQ(parsed->units[0].nr_events, 4U);
    EXPECT_STREQ(parsed->events[1].name, "pm_mcs01_data_from_l3.1");
}

// The perf test "PMU event names" requires that each file name in events/ is either all upper or
// all lower case. Names of scale files end with the lower-case suffix .scale, so the driver
// converts event names to lower case.
TEST(ImcCatalog, ConvertsEventNamesToLowerCase)
{
    const auto parsed =
        parse(make({.more_events = [](Tree &tree) { add_event(tree, "Mixed_CASE", 8); }}));
    ASSERT_EQ(parsed->wrong, "");
    EXPECT_STREQ(parsed->events[1].name, "pm_mcs01_mixed_case");
    EXPECT_EQ(skipped(make({.more_events = [](Tree &tree) { add_event(tree, "64b_rd", 8); }})),
              "/imc-counters/events@0/event@64b_rd: the unit has an event of that name already");
}

TEST(ImcCatalog, SkipsOnlySecondUnitOfSameName)
{
    const auto parsed = parse(make({.node = "pb@118", .more_units = [](Tree &tree) {
                                        add_unit(tree, "pb@198", 0x10, 8);
                                        add_unit(tree, "core@18", 4, 8);
                                    }}));
    ASSERT_EQ(parsed->wrong, "");
    ASSERT_EQ(parsed->catalog.nr_units, 2U);
    EXPECT_STREQ(parsed->units[0].name, "pb");
    EXPECT_EQ(parsed->units[0].nr_events, 1U);
    EXPECT_STREQ(parsed->units[1].name, "core");
    ASSERT_EQ(parsed->catalog.nr_skipped, 1U);
    EXPECT_STREQ(parsed->catalog.skipped[0].path, "/imc-counters/pb@198");
    EXPECT_STREQ(parsed->catalog.skipped[0].why, "there is such a unit already");
}

// The valid events of the skipped unit are dropped, too. The first event of the next unit then has
// the index of the first dropped event.
TEST(ImcCatalog, SkipsUnitWithInvalidEventAndDropsItsEvents)
{
    const auto parsed =
        parse(make({.more_events = [](Tree &tree) { add_event(tree, "bad/name", 8); },
                    .more_units =
                        [](Tree &tree) {
                            tree.begin("own").cell("phandle", 99);
                            add_event(tree, "GOOD", 0);
                            tree.end();
                            tree.begin("mcs23@48").text("compatible", "ibm,imc-counters");
                            tree.cell("type", 0x10).cell("size", 0x40000).cell("offset", 0);
                            tree.cell("events", 99).text("events-prefix", "P_").end();
                        }}));
    ASSERT_EQ(parsed->wrong, "");
    ASSERT_EQ(parsed->catalog.nr_units, 1U);
    EXPECT_STREQ(parsed->units[0].name, "mcs23");
    EXPECT_EQ(parsed->units[0].first_event, 0U);
    EXPECT_EQ(parsed->catalog.nr_events, 1U);
    EXPECT_STREQ(parsed->events[0].name, "p_good");
    EXPECT_EQ(parsed->catalog.nr_skipped, 1U);
}

TEST(ImcCatalog, CountsAllSkippedUnitsAndRecordsTheFirstOnes)
{
    const auto parsed = parse(make({.more_units = [](Tree &tree) {
        for (u32 i = 0; i < IMC_MAX_SKIPPED + 2; i++)
            add_unit(tree, ("new@" + std::to_string(i)).c_str(), 0x20, 8);
        add_unit(tree, "core", 4, 8);
    }}));
    ASSERT_EQ(parsed->wrong, "");
    EXPECT_EQ(parsed->catalog.nr_units, 2U);
    EXPECT_EQ(parsed->catalog.nr_skipped, IMC_MAX_SKIPPED + 2U);
    for (u32 i = 0; i < IMC_MAX_SKIPPED; i++) {
        EXPECT_EQ(parsed->catalog.skipped[i].path, "/imc-counters/new@" + std::to_string(i));
        EXPECT_STREQ(parsed->catalog.skipped[i].why, "unknown type");
    }
}

TEST(ImcCatalog, SkippedUnitsCountTowardTheUnitLimit)
{
    const auto parsed = parse(make({.more_units = [](Tree &tree) {
        for (u32 i = 1; i < IMC_MAX_UNITS; i++)
            add_unit(tree, "new", 0x20, 8);
        add_unit(tree, "core", 4, 8);
    }}));
    ASSERT_EQ(parsed->wrong, "");
    EXPECT_EQ(parsed->catalog.nr_units, 1U);
    EXPECT_EQ(parsed->catalog.nr_skipped, u32{IMC_MAX_UNITS});
}

TEST(ImcCatalog, AcceptsNestedUnitsAndCompatiblePropertiesWithSeveralStrings)
{
    Tree tree;
    tree.begin("").begin("a").bytes("compatible",
                                    std::string("x\0ibm,opal-in-memory-counters\0", 30));
    tree.begin("b").begin("core").bytes("compatible", std::string("ibm,imc-counters\0y\0", 19));
    tree.cell("type", 4).cell("size", 8).end().end().end().end();
    EXPECT_EQ(parse(tree.finish())->wrong, "");
}

TEST(ImcCatalog, ReadsLinuxPhandlePropertyAndCbOffset)
{
    Tree tree;
    tree.begin("").begin("imc").text("compatible", "ibm,opal-in-memory-counters");
    tree.begin("ev").cell("linux,phandle", 3);
    add_event(tree, "A", 0);
    tree.end();
    tree.begin("u").text("compatible", "ibm,imc-counters").cell("type", 0x10).cell("size", 64);
    tree.cell("offset", 0)
        .cell("cb_offset", 0x100)
        .cell("events", 3)
        .text("events-prefix", "P_")
        .end();
    tree.end().end();
    const auto parsed = parse(tree.finish());
    ASSERT_EQ(parsed->wrong, "");
    EXPECT_EQ(parsed->units[0].cb_offset, 0x100U);
    EXPECT_STREQ(parsed->events[0].name, "p_a");
}

TEST(ImcCatalog, TraceEventRegIsAValueNotAnOffset)
{
    const auto parsed =
        parse(make({.node = "trace@0",
                    .type = [](Tree &tree) { tree.cell("type", 2); },
                    .offset = kNothing,
                    .prefix = [](Tree &tree) { tree.text("events-prefix", "trace_"); },
                    .unit = kNothing,
                    .name = [](Tree &tree) { tree.text("event-name", "cycles"); },
                    .reg = [](Tree &tree) { tree.cell("reg", 0x10200001); }}));
    ASSERT_EQ(parsed->wrong, "");
    EXPECT_STREQ(parsed->events[0].name, "trace_cycles");
    const imc_unit &unit = parsed->units[0];
    EXPECT_TRUE(imc_unit_samples(&parsed->catalog, &unit, 0x10200001));
    EXPECT_FALSE(imc_unit_samples(&parsed->catalog, &unit, 0x10200000));
    EXPECT_FALSE(imc_unit_samples(&parsed->catalog, &unit, 0x10200001ULL | 1ULL << 32));
}

TEST(ImcCatalog, ReadsTheCatalogOfImcEngine)
{
    std::ifstream file(IMC_CATALOG, std::ios::binary);
    const Blob blob((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ASSERT_EQ(fdt_check_full(blob.data(), blob.size()), 0);
    const auto parsed = parse(blob);
    ASSERT_EQ(parsed->wrong, "") << parsed->catalog.path;
    u32 types = 0;
    for (u32 i = 0; i < parsed->catalog.nr_units; i++)
        types |= parsed->units[i].type;
    EXPECT_EQ(types, 0x17U);
    std::vector<std::string> names;
    for (u32 i = 0; i < parsed->catalog.nr_events; i++)
        names.push_back(parsed->events[i].name);
    EXPECT_EQ(parsed->catalog.nr_skipped, 0U);
    for (const char *name : {"pm_mcs01_128b_rd_disp_port01", "pm_mcs01_128b_wr_disp_port01",
                             "cpm_non_idle_inst", "cpm_non_idle_pcyc", "trace_cycles"})
        EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

// Rejected catalogs, and skipped units

TEST(ImcCatalog, RejectsCatalogWithoutCompatibleNode)
{
    EXPECT_EQ(refusal(make({.compatible = "other"})),
              "/: no node is compatible with ibm,opal-in-memory-counters");
}

TEST(ImcCatalog, RejectsCatalogWithoutUsableUnit)
{
    const Blob blob = make({.type = [](Tree &tree) { tree.cell("type", 8); }});
    EXPECT_EQ(refusal(blob), "/: no unit");
    EXPECT_EQ(skipped(blob), "/imc-counters/mcs01: unknown type");
}

struct Skipped {
    const char *name;
    Recipe recipe;
    const char *says;
};

class ImcCatalogSkipped : public testing::TestWithParam<Skipped> {};

TEST_P(ImcCatalogSkipped, ReportsPathAndReason)
{
    EXPECT_EQ(skipped(make(GetParam().recipe)), GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    Catalogues, ImcCatalogSkipped,
    testing::Values(
        Skipped{"no_type", {.type = kNothing}, "/imc-counters/mcs01: a unit without type"},
        Skipped{"short_type",
                {.type = [](Tree &tree) { tree.bytes("type", "abc"); }},
                "/imc-counters/mcs01: a unit without type"},
        Skipped{"no_size", {.size = kNothing}, "/imc-counters/mcs01: a unit without size"},
        Skipped{"size_too_small",
                {.size = [](Tree &tree) { tree.cell("size", 7); }},
                "/imc-counters/mcs01: size is not in 8 bytes .. 4 MiB"},
        Skipped{"size_too_large",
                {.size = [](Tree &tree) { tree.cell("size", 0x400001); }},
                "/imc-counters/mcs01: size is not in 8 bytes .. 4 MiB"},
        Skipped{"no_offset",
                {.offset = kNothing},
                "/imc-counters/mcs01: a unit of a chip without offset"},
        Skipped{"beyond_chip",
                {.offset = [](Tree &tree) { tree.cell("offset", 0x3c0008); }},
                "/imc-counters/mcs01: offset, size and cb_offset do not lie in a chip's 4 MiB"},
        Skipped{"offset_not_aligned",
                {.offset = [](Tree &tree) { tree.cell("offset", 4); }},
                "/imc-counters/mcs01: offset, size and cb_offset do not lie in a chip's 4 MiB"},
        Skipped{"control_block_beyond_chip",
                {.unit = [](Tree &tree) { tree.cell("cb_offset", 0x280000 - 0x20); }},
                "/imc-counters/mcs01: offset, size and cb_offset do not lie in a chip's 4 MiB"},
        Skipped{"control_block_not_aligned",
                {.unit = [](Tree &tree) { tree.cell("cb_offset", 0x3fc04); }},
                "/imc-counters/mcs01: offset, size and cb_offset do not lie in a chip's 4 MiB"},
        Skipped{"handle_too_short",
                {.handle = [](Tree &tree) { tree.bytes("events", "ab"); }},
                "/imc-counters/mcs01: events is not a phandle"},
        Skipped{"handle_of_no_node",
                {.handle = [](Tree &tree) { tree.cell("events", 99); }},
                "/imc-counters/mcs01: events points to no node"},
        Skipped{
            "no_prefix", {.prefix = kNothing}, "/imc-counters/mcs01: events without events-prefix"},
        Skipped{"empty_event_name",
                {.name = [](Tree &tree) { tree.text("event-name", ""); }},
                "/imc-counters/events@0/event@118: an event without event-name"},
        Skipped{"scale_without_end",
                {.unit = [](Tree &tree) { tree.bytes("scale", "1.5"); }},
                "/imc-counters/mcs01: scale or unit is not a line of text"},
        Skipped{"no_event_name",
                {.name = kNothing},
                "/imc-counters/events@0/event@118: an event without event-name"},
        Skipped{"no_event_reg",
                {.reg = kNothing},
                "/imc-counters/events@0/event@118: an event without reg"},
        Skipped{"event_scale_of_two_lines",
                {.event = [](Tree &tree) { tree.text("scale", "1\n2"); }},
                "/imc-counters/events@0/event@118: scale or unit is not a line of text"},
        Skipped{"counter_not_aligned",
                {.reg = [](Tree &tree) { tree.cell("reg", 4); }},
                "/imc-counters/events@0/event@118: the counter lies outside of the unit's memory, "
                "or is not aligned"},
        Skipped{"counter_beyond_size",
                {.reg = [](Tree &tree) { tree.cell("reg", 0x40000 - 0x100); }},
                "/imc-counters/events@0/event@118: the counter lies outside of the unit's memory, "
                "or is not aligned"},
        Skipped{"sum_wraps",
                {.reg = [](Tree &tree) { tree.cell("reg", 0xffffff00); }},
                "/imc-counters/events@0/event@118: reg of the unit and of the event are too much "
                "together"},
        Skipped{"name_is_a_path",
                {.name = [](Tree &tree) { tree.text("event-name", "../x"); }},
                "/imc-counters/events@0/event@118: the event's name is too long, or has other than "
                "letters, digits, _, - and ."},
        Skipped{"name_is_another_events_scale",
                {.name = [](Tree &tree) { tree.text("event-name", "A.scale"); }},
                "/imc-counters/events@0/event@118: the event's name is empty, begins with a dot or "
                "ends as files about an event do"},
        Skipped{"name_is_another_events_snapshot",
                {.name = [](Tree &tree) { tree.text("event-name", "A.B.SNAPSHOT"); }},
                "/imc-counters/events@0/event@118: the event's name is empty, begins with a dot or "
                "ends as files about an event do"},
        Skipped{"name_is_the_folder_above",
                {.prefix = [](Tree &tree) { tree.text("events-prefix", ""); },
                 .name = [](Tree &tree) { tree.text("event-name", ".."); }},
                "/imc-counters/events@0/event@118: the event's name is empty, begins with a dot or "
                "ends as files about an event do"},
        Skipped{"name_has_an_at",
                {.name = [](Tree &tree) { tree.text("event-name", "@1"); }},
                "/imc-counters/events@0/event@118: the event's name is too long, or has other than "
                "letters, digits, _, - and ."},
        Skipped{"name_too_long_with_prefix",
                {.name = [](Tree &tree) { tree.text("event-name", std::string(39, 'A')); }},
                "/imc-counters/events@0/event@118: the event's name is too long, or has other than "
                "letters, digits, _, - and ."},
        Skipped{"two_events_of_a_name",
                {.more_events = [](Tree &tree) { add_event(tree, "64B_RD", 8); }},
                "/imc-counters/events@0/event@64B_RD: the unit has an event of that name already"},
        Skipped{"two_units_of_a_name",
                {.more_units = [](Tree &tree) { add_unit(tree, "mcs01@2", 0x10, 8); }},
                "/imc-counters/mcs01@2: there is such a unit already"},
        Skipped{"two_core_units",
                {.more_units =
                     [](Tree &tree) {
                         add_unit(tree, "core", 4, 8);
                         add_unit(tree, "core2", 4, 8);
                     }},
                "/imc-counters/core2: there is such a unit already"},
        Skipped{"core_and_thread_of_a_name",
                {.more_units =
                     [](Tree &tree) {
                         add_unit(tree, "x@4", 4, 8);
                         add_unit(tree, "x@1", 1, 8);
                     }},
                "/imc-counters/x@1: there is a unit of that name already"},
        Skipped{"unit_name_is_hostile",
                {.node = "a b\x1b[2J"},
                "/imc-counters/a?b?[2J: the unit's name is too long, or has other than letters, "
                "digits, _ and -"},
        Skipped{"unit_without_name",
                {.node = "@4"},
                "/imc-counters/@4: the unit's name is too long, or has other than letters, digits, "
                "_ and -"},
        Skipped{"trace_of_another_size",
                {.more_units = [](Tree &tree) { add_unit(tree, "trace", 2, 0x80000); }},
                "/imc-counters/trace: the trace buffer is not of 256 KiB, as firmware sets it up"}),
    [](const auto &one) { return std::string(one.param.name); });

// Limits: values at each limit and just beyond it

TEST(ImcCatalog, AcceptsCounterAtTheEndOfTheUnitsMemory)
{
    const Recipe last = {.unit = kNothing,
                         .reg = [](Tree &tree) { tree.cell("reg", 0x40000 - 8); }};
    EXPECT_EQ(parse(make(last))->wrong, "");
    imc_unit unit = {};
    unit.bytes = 24;
    for (u64 at : {0, 8, 16})
        EXPECT_TRUE(imc_unit_has_counter(&unit, at)) << at;
    for (u64 at : {1ULL, 7ULL, 17ULL, 20ULL, 24ULL, 1ULL << 32, ~0ULL, ~7ULL})
        EXPECT_FALSE(imc_unit_has_counter(&unit, at)) << at;
}

// The chip that a back-end driver describes may have less memory than the parser allows.
TEST(ImcCatalog, UnitAndControlBlockMustFitChipMemory)
{
    imc_unit unit = {};
    unit.offset = 0x180000;
    unit.bytes = 0x40000;
    unit.cb_offset = 0x3fc00;
    EXPECT_TRUE(imc_unit_lies_in(&unit, 0x1c0000));
    for (u64 bytes : {0, 0x180000, 0x1bffff})
        EXPECT_FALSE(imc_unit_lies_in(&unit, bytes)) << bytes;
    unit.bytes = 8;
    EXPECT_TRUE(imc_unit_lies_in(&unit, 0x1bfc28));
    EXPECT_FALSE(imc_unit_lies_in(&unit, 0x1bfc27)) << "the end of the control block";
    unit.offset = unit.cb_offset = ~u32{0};
    EXPECT_FALSE(imc_unit_lies_in(&unit, IMC_HOMER_BYTES)) << "no sum of 32 bits";
}

TEST(ImcCatalog, AcceptsLongestNamesAndTexts)
{
    const Recipe recipe = {
        .name = [](Tree &tree) { tree.text("event-name", std::string(38, 'A')); },
        .event = [](Tree &tree) { tree.text("scale", std::string(IMC_TEXT_BYTES - 1, '1')); }};
    const auto parsed = parse(make(recipe));
    ASSERT_EQ(parsed->wrong, "") << parsed->catalog.path;
    EXPECT_EQ(std::string(parsed->events[0].name), "pm_mcs01_" + std::string(38, 'a'));
    Recipe longer = recipe;
    longer.event = [](Tree &tree) { tree.text("scale", std::string(IMC_TEXT_BYTES, '1')); };
    EXPECT_NE(parse(make(longer))->wrong, "");
}

TEST(ImcCatalog, AcceptsControlBlockAtEndOfChipMemory)
{
    EXPECT_EQ(
        parse(make({.unit = [](Tree &tree) { tree.cell("cb_offset", 0x280000 - 0x28); }}))->wrong,
        "");
}

Blob with_units(u32 count)
{
    return make({.more_units = [count](Tree &tree) {
        for (u32 i = 1; i < count; i++)
            add_unit(tree, ("u" + std::to_string(i)).c_str(), 0x10, 8);
    }});
}

TEST(ImcCatalog, AcceptsUpToMaxUnitsAndSkipsMore)
{
    EXPECT_EQ(parse(with_units(IMC_MAX_UNITS))->wrong, "");
    EXPECT_EQ(parse(with_units(IMC_MAX_UNITS))->catalog.nr_skipped, 0U);
    EXPECT_EQ(skipped(with_units(IMC_MAX_UNITS + 1)),
              "/imc-counters/u128: more units than a catalogue may have");
}

Blob with_events(u32 count)
{
    return make({.more_events = [count](Tree &tree) {
        for (u32 i = 1; i < count; i++)
            add_event(tree, ("E" + std::to_string(i)).c_str(), i * 8);
    }});
}

TEST(ImcCatalog, AcceptsUpToMaxEventsPerUnitAndSkipsMore)
{
    EXPECT_EQ(parse(with_events(IMC_MAX_UNIT_EVENTS))->wrong, "");
    EXPECT_EQ(skipped(with_events(IMC_MAX_UNIT_EVENTS + 1)),
              "/imc-counters/events@0/event@E1024: more events than a catalogue may have");
}

// Several units may refer to the same list of events. The events then count toward the limit once
// for each unit.
TEST(ImcCatalog, AcceptsUpToMaxEventsInTotalAndSkipsMore)
{
    const auto blob = [](u32 units) {
        return make({.more_events =
                         [](Tree &tree) {
                             for (u32 i = 1; i < IMC_MAX_UNIT_EVENTS; i++)
                                 add_event(tree, ("E" + std::to_string(i)).c_str(), i * 8);
                         },
                     .more_units =
                         [units](Tree &tree) {
                             for (u32 i = 1; i < units; i++)
                                 tree.begin("u" + std::to_string(i))
                                     .text("compatible", "ibm,imc-counters")
                                     .cell("type", 0x10)
                                     .cell("size", 0x4000)
                                     .cell("offset", 0)
                                     .cell("events", kEventsHandle)
                                     .text("events-prefix", "P_")
                                     .end();
                         }});
    };
    EXPECT_EQ(parse(blob(4))->wrong, "");
    EXPECT_EQ(parse(blob(5))->catalog.nr_units, 4U);
    EXPECT_EQ(skipped(blob(5)),
              "/imc-counters/events@0/event@118: more events than a catalogue may have");
}

TEST(ImcCatalog, AcceptsUpToMaxDepthAndRejectsDeeperNodes)
{
    const auto blob = [](u32 depth) {
        Tree tree;
        tree.begin("").begin("imc").text("compatible", "ibm,opal-in-memory-counters");
        for (u32 i = 3; i < depth; i++)
            tree.begin("n");
        add_unit(tree, "core", 4, 8);
        for (u32 i = 3; i < depth; i++)
            tree.end();
        tree.end().end();
        return tree.finish();
    };
    EXPECT_EQ(parse(blob(8))->wrong, "");
    EXPECT_EQ(refusal(blob(9)), "/imc/n/n/n/n/n/n: nodes nested deeper than 8");
}

// Malformed blobs

TEST(ImcCatalog, RejectsEveryTruncation)
{
    const Blob whole = make({});
    for (size_t bytes = 0; bytes < whole.size(); bytes++)
        EXPECT_NE(parse(Blob(whole.begin(), whole.begin() + static_cast<long>(bytes)))->wrong, "")
            << bytes;
}

// The header has a smaller size of the structure or strings block, so that tokens or strings end
// early.
TEST(ImcCatalog, RejectsHeaderWithTooSmallBlockSize)
{
    const Blob whole = make({});
    const u32 structs = fdt_size_dt_struct(whole.data()),
              strings = fdt_size_dt_strings(whole.data());
    for (u32 bytes = 0; bytes < structs; bytes++) {
        Blob blob = whole;
        fdt_set_size_dt_struct(blob.data(), bytes);
        EXPECT_NE(parse(blob)->wrong, "") << bytes;
    }
    for (u32 bytes = 0; bytes < strings; bytes++) {
        Blob blob = whole;
        fdt_set_size_dt_strings(blob.data(), bytes);
        EXPECT_NE(parse(blob)->wrong, "") << bytes;
    }
}

TEST(ImcCatalog, RejectsInvalidHeaders)
{
    const Blob whole = make({});
    const u32 end = static_cast<u32>(whole.size());
    const auto with = [&whole](auto set, u32 value) {
        Blob blob = whole;
        set(blob.data(), value);
        return refusal(blob);
    };
    EXPECT_EQ(with(fdt_set_magic, 0xd00dfeee), "/: not a flattened device tree");
    EXPECT_EQ(with(fdt_set_totalsize, end + 1), "/: cut short, or larger than 1 MiB");
    EXPECT_EQ(with(fdt_set_version, 16), "/: not of version 17");
    EXPECT_EQ(with(fdt_set_last_comp_version, 18), "/: not of version 17");
    const char *beyond = "/: a block reaches beyond the end";
    EXPECT_EQ(with(fdt_set_off_dt_struct, end), beyond);
    EXPECT_EQ(with(fdt_set_off_dt_struct, 0xfffffffc), beyond);
    EXPECT_EQ(with(fdt_set_off_dt_struct, fdt_off_dt_struct(whole.data()) + 1), beyond);
    EXPECT_EQ(with(fdt_set_size_dt_struct, end), beyond);
    EXPECT_EQ(with(fdt_set_off_dt_strings, end + 1), beyond);
    EXPECT_EQ(with(fdt_set_size_dt_strings, 0xffffffff), beyond);
}

TEST(ImcCatalog, RejectsMoreThanOneMebibyte)
{
    Blob blob = make({});
    const auto padded = [&blob](u32 bytes) {
        Blob larger = blob;
        larger.resize(bytes);
        fdt_set_totalsize(larger.data(), bytes);
        return parse(larger)->wrong;
    };
    EXPECT_EQ(padded(1U << 20), "");
    EXPECT_EQ(padded((1U << 20) + 1), "cut short, or larger than 1 MiB");
}

// Puts a valid header in front of hand-written tokens.
Blob of_tokens(const std::vector<u32> &tokens)
{
    Blob blob(40 + tokens.size() * 4 + 2);
    fdt_set_magic(blob.data(), FDT_MAGIC);
    fdt_set_totalsize(blob.data(), static_cast<u32>(blob.size()));
    fdt_set_off_dt_struct(blob.data(), 40);
    fdt_set_size_dt_struct(blob.data(), static_cast<u32>(tokens.size() * 4));
    fdt_set_off_dt_strings(blob.data(), static_cast<u32>(blob.size() - 2));
    fdt_set_size_dt_strings(blob.data(), 2);
    fdt_set_version(blob.data(), 17);
    fdt_set_last_comp_version(blob.data(), 16);
    for (size_t i = 0; i < tokens.size(); i++) {
        const fdt32_t token = cpu_to_fdt32(tokens[i]);
        std::memcpy(&blob[40 + i * 4], &token, 4);
    }
    blob[blob.size() - 2] = 'p';
    return blob;
}

TEST(ImcCatalog, AcceptsAStringsBlockOfSizeZeroAtTheEndOfTheBlob)
{
    Blob blob = of_tokens({9});
    fdt_set_off_dt_strings(blob.data(), static_cast<u32>(blob.size()));
    fdt_set_size_dt_strings(blob.data(), 0);
    EXPECT_EQ(refusal(blob), "/: no node is compatible with ibm,opal-in-memory-counters");
}

TEST(ImcCatalog, RejectsInvalidTokenSequences)
{
    const std::vector<std::pair<std::vector<u32>, std::string>> cases = {
        {{9}, "/: no node is compatible with ibm,opal-in-memory-counters"},
        {{1, 0, 4, 2, 9}, "/: no node is compatible with ibm,opal-in-memory-counters"},
        {{5}, "/: an unknown token"},
        {{1, 0, 2}, "/: the tokens end before the tree does"},
        {{2, 9}, "/: a node ends that did not begin"},
        {{1, 0, 9}, "/: the tree ends inside a node"},
        {{1, 0x61616161}, "/: the name of a node does not end"},
        {{3, 0, 0, 9}, "/: a property outside of the tree"},
        {{1, 0, 3}, "/: the tokens end in a property"},
        {{1, 0, 3, 0}, "/: the tokens end in a property"},
        {{1, 0, 3, 1, 0}, "/: a property reaches beyond the tokens"},
        {{1, 0, 3, 0xffffffff, 0, 2, 9}, "/: a property reaches beyond the tokens"},
        {{1, 0, 3, 0, 2, 2, 9}, "/: the name of a property is not among the strings"},
        {{1, 0, 3, 0, 0xffffffff, 2, 9}, "/: the name of a property is not among the strings"},
    };
    for (const auto &[tokens, says] : cases)
        EXPECT_EQ(refusal(of_tokens(tokens)), says);
}

// Whichever byte is changed, the parser accesses nothing outside the blob (checked by
// AddressSanitizer). If it accepts the blob, all counters are inside their unit.
TEST(ImcCatalog, AnyChangedByteIsRejectedOrLeavesAllCountersInsideTheirUnits)
{
    const Blob whole = make({});
    for (size_t at = 0; at < whole.size(); at++) {
        for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
            Blob blob = whole;
            blob[at] = static_cast<char>(value);
            const auto parsed = parse(blob);
            if (!parsed->wrong.empty())
                continue;
            for (u32 i = 0; i < parsed->catalog.nr_units; i++) {
                const imc_unit &unit = parsed->units[i];
                for (u32 event = 0; event < unit.nr_events && unit.type != IMC_TYPE_TRACE; event++)
                    EXPECT_LE(parsed->events[unit.first_event + event].value, unit.bytes - 8);
            }
        }
    }
}

}  // namespace
