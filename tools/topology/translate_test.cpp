// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Translates regions of each kind in whole sysfs trees, and tests the reports for regions that
// cannot be translated. interleave_test.cpp tests the arithmetic.
#include "topology/translate.hpp"

#include <gtest/gtest.h>

#include "base/test_folder.hpp"
#include "topology/test_tree.hpp"

namespace pmukit::topology {
namespace {

constexpr uint64_t kBlock = uint64_t{256} << 20;
const std::string kDevices = "bus/cxl/devices/";

Translator translator_of(const TestFolder &tree)
{
    Result<CxlDevices> devices = read_cxl_devices(tree.dir());
    EXPECT_TRUE(devices) << devices.error().message;
    return Translator(std::move(*devices), read_cedt(tree.dir()));
}

// Translates every granule of every device in both directions. Checks that no host address occurs
// twice.
void expect_whole(const TestFolder &tree, const TreeRegion &region)
{
    const Translator translator = translator_of(tree);
    std::vector<bool> seen(region.dpa_bytes * region.ways / region.granularity);
    for (unsigned device = 0; device < region.ways; device++)
        for (uint64_t offset = 0; offset < region.dpa_bytes; offset += region.granularity) {
            const std::string memdev = "mem" + std::to_string(device);
            Result<HpaRange> range =
                translator.hpa_of(memdev, region.dpa + offset, region.granularity);
            ASSERT_TRUE(range) << range.error().message;
            EXPECT_EQ(range->bytes, region.granularity);
            EXPECT_EQ(range->pieces, 1U);
            const uint64_t chunk =
                (range->start - region.start - region.cache_bytes) / region.granularity;
            ASSERT_LT(chunk, seen.size());
            EXPECT_FALSE(seen[chunk]);
            seen[chunk] = true;
            Result<DpaPlace> place = translator.dpa_of(range->start + 17);
            ASSERT_TRUE(place) << place.error().message;
            EXPECT_EQ(place->memdev, memdev);
            EXPECT_EQ(place->dpa, region.dpa + offset + 17);
        }
}

TEST(Translate, TranslatesRegionsOfEveryNumberOfInterleaveWays)
{
    for (unsigned ways : {1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U})
        for (unsigned root_ways : {1U, ways})
            for (uint64_t start : {48 * kBlock, 49 * kBlock}) {
                const TreeRegion region = {
                    .ways = ways,
                    .root_ways = root_ways,
                    .start = start,
                    .dpa = kBlock,
                    .cache_bytes = start == 48 * kBlock ? 0 : uint64_t{16384} * ways};
                SCOPED_TRACE(testing::Message()
                             << ways << " of " << root_ways << std::hex << " at " << start);
                TestFolder tree;
                put_region(tree, region);
                expect_whole(tree, region);
            }
}

std::string xor_table(const TreeRegion &region, uint8_t encoded_ways,
                      const std::vector<uint64_t> &maps, uint8_t arithmetic = 1)
{
    std::vector<std::byte> structures;
    append_cfmws(structures, region.start, region.dpa_bytes * region.ways, encoded_ways,
                 region.ways, 0, arithmetic);
    append_cxims(structures, 1, {0x200, 0x400, 0x800, 0x1000});  // maps for another granularity
    if (!maps.empty())
        append_cxims(structures, 0, maps);
    return text_of(cedt_of(structures));
}

TEST(Translate, AppliesXorMapsOfTheCedt)
{
    const TreeRegion region = {.ways = 4, .root_ways = 4};
    TestFolder tree;
    put_region(tree, region);
    // The table may have more XOR maps than the window of this region needs.
    tree.put("CEDT", xor_table(region, 2, {0x2100, 0x1200, 0x400}));
    expect_whole(tree, region);
    const Translator translator = translator_of(tree);
    EXPECT_TRUE(translator.assumptions().empty());
    // In row 4, where offset 0x400 of device 0 is, address bit 12 is set, which flips select bit 9.
    EXPECT_EQ(translator.hpa_of("mem0", 0x400, 64)->start, region.start + 0x1200);
    EXPECT_EQ(translator.hpa_of("mem0", 0x800, 64)->start, region.start + 0x2100);
}

// An invalid window in the CEDT affects only the regions of that window.
TEST(Translate, UsesValidCedtWindowsDespiteAnInvalidOne)
{
    const TreeRegion region = {.ways = 4, .root_ways = 4};
    TestFolder tree;
    put_region(tree, region);
    const auto table = [&region](uint64_t bytes) {
        std::vector<std::byte> structures;
        append_cfmws(structures, region.start, bytes, 2, 4, 0, 1);
        append_cfmws(structures, 0x900000000, bytes ? 0 : 0x10000000, 0, 1, 0, 0);
        append_cxims(structures, 0, {0x2100, 0x1200});
        return text_of(cedt_of(structures));
    };
    tree.put("CEDT", table(region.dpa_bytes * region.ways));
    expect_whole(tree, region);
    EXPECT_EQ(translator_of(tree).assumptions().size(), 1U) << "what was ignored";
    tree.put("CEDT", table(0));
    Result<HpaRange> range = translator_of(tree).hpa_of("mem0", 0, 64);
    ASSERT_FALSE(range) << "not assumed to be modulo";
    EXPECT_NE(range.error().message.find("no valid window of decoder0.0"), std::string::npos)
        << range.error().message;
}

TEST(Translate, ReportsThatModuloArithmeticIsAssumedWithoutACedt)
{
    const TreeRegion region = {.ways = 2, .root_ways = 2};
    TestFolder tree;
    put_region(tree, region);
    ASSERT_EQ(translator_of(tree).assumptions().size(), 1U);
    tree.put("CEDT", xor_table(region, 1, {}, 0));
    EXPECT_TRUE(translator_of(tree).assumptions().empty());
    EXPECT_TRUE(translator_of(tree).hpa_of("mem1", 0, 64)) << "modulo needs no maps";
}

// A root decoder with one way needs nothing from the CEDT.
TEST(Translate, UnreadableCedtAffectsOnlyRegionsThatNeedTheCedt)
{
    TestFolder tree;
    put_region(tree, {});
    put_region(tree, {.ways = 2, .root_ways = 2, .start = uint64_t{1} << 33, .number = 1});
    tree.put("CEDT", "CEDT");
    const Translator translator = translator_of(tree);
    const std::string why = tree.path("CEDT") + ": shorter than the header of an ACPI table";
    EXPECT_TRUE(translator.hpa_of("mem0", 0, 64));
    Result<HpaRange> range = translator.hpa_of("mem16", 0, 64);
    ASSERT_FALSE(range);
    EXPECT_EQ(
        range.error().message,
        "region1: no translation possible: the CEDT has no valid window of decoder0.1: " + why);
    EXPECT_EQ(translator.assumptions(), std::vector<std::string>{why});
}

TEST(Translate, WrongValueAffectsOnlyTheRegionThatUsesTheValue)
{
    const std::pair<const char *, const char *> damages[] = {
        {"region0/size",
         "mem0: region0 does not exist; region0 was ignored: FILE: 'odd' is not a number of 64 "
         "bits"},
        {"decoder4.0/dpa_size",
         "mem0: no decoder has DPA 0x0; decoder4.0 was ignored: FILE: 'odd' is not a number of 64 "
         "bits"},
        {"decoder0.0/size",
         "region0: no translation possible: no root decoder holds the region; decoder0.0 was "
         "ignored: FILE: 'odd' is not a number of 64 bits"},
    };
    for (const auto &[file, message] : damages) {
        TestFolder tree;
        put_region(tree, {});
        put_region(tree, {.start = uint64_t{1} << 33, .number = 1});
        tree.put(kDevices + file, "odd\n");
        const Translator translator = translator_of(tree);
        Result<HpaRange> range = translator.hpa_of("mem0", 0, 64);
        ASSERT_FALSE(range) << file;
        std::string expected = message;
        expected.replace(expected.find("FILE"), 4, tree.path(kDevices + file));
        EXPECT_EQ(range.error().message, expected);
        EXPECT_FALSE(translator.dpa_of(uint64_t{1} << 32)) << file;
        EXPECT_TRUE(translator.hpa_of("mem16", 0, 64)) << file;
        EXPECT_TRUE(translator.dpa_of(uint64_t{1} << 33)) << file;
        ASSERT_EQ(translator.assumptions().size(), 1U);
        EXPECT_NE(translator.assumptions()[0].find(" ignored: " + tree.path(kDevices + file)),
                  std::string::npos)
            << translator.assumptions()[0];
    }
}

TEST(Translate, RejectsUnsupportedXorTables)
{
    const TreeRegion region = {.ways = 2, .root_ways = 2};
    TestFolder tree;
    put_region(tree, region);
    for (const std::string &table :
         {xor_table(region, 1, {}), xor_table(region, 1, {0x100}, 2),
          xor_table(region, 1, {0x1000}), xor_table(region, 0, {0x100})}) {
        tree.put("CEDT", table);
        Result<HpaRange> range = translator_of(tree).hpa_of("mem0", 0, 64);
        ASSERT_FALSE(range);
        EXPECT_NE(range.error().message.find("region0: no translation possible"),
                  std::string::npos);
    }
}

TEST(Translate, HpaRangeOfAUnitAboveTheGranularityCoversWholeInterleaveRows)
{
    TestFolder tree;
    put_region(tree, {.ways = 2, .root_ways = 2, .dpa = kBlock});
    const Translator translator = translator_of(tree);
    const uint64_t start = uint64_t{1} << 32;
    for (const char *memdev : {"mem0", "mem1"}) {
        Result<HpaRange> range = translator.hpa_of(memdev, kBlock + 4096, 4096);
        ASSERT_TRUE(range);
        EXPECT_EQ(range->start, start + 8192);
        EXPECT_EQ(range->bytes, 8192U);
        EXPECT_EQ(range->pieces, 16U);
        EXPECT_EQ(range->region, "region0");
    }
}

TEST(Translate, HpaRangeIsOnePieceWithoutInterleave)
{
    TestFolder tree;
    put_region(tree, {});
    Result<HpaRange> range = translator_of(tree).hpa_of("mem0", 4096, 8192);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->start, (uint64_t{1} << 32) + 4096);
    EXPECT_EQ(range->bytes, 8192U);
    EXPECT_EQ(range->pieces, 1U);
}

TEST(Translate, RejectsRangesOutsideTheDevice)
{
    TestFolder tree;
    put_region(tree, {.dpa = kBlock, .cache_bytes = 16384});
    const Translator translator = translator_of(tree);
    const uint64_t start = uint64_t{1} << 32;
    EXPECT_TRUE(translator.hpa_of("mem0", kBlock + 12288, 4096));
    EXPECT_FALSE(translator.hpa_of("mem0", kBlock + 12288, 4097));
    EXPECT_FALSE(translator.hpa_of("mem0", kBlock + 12288, 0));
    EXPECT_FALSE(translator.hpa_of("mem0", kBlock + 12288, UINT64_MAX));
    EXPECT_FALSE(translator.hpa_of("mem0", kBlock - 1, 1));
    EXPECT_FALSE(translator.hpa_of("mem0", kBlock + 16384, 1));
    EXPECT_FALSE(translator.hpa_of("mem1", kBlock, 1));
    const Result<DpaPlace> cached = translator.dpa_of(start + 16383);
    ASSERT_FALSE(cached);
    EXPECT_EQ(cached.error().message,
              "region0: HPA 0x100003fff is in its extended linear cache, an alias of 0x100007fff");
    EXPECT_EQ(translator.hpa_of("mem0", kBlock, 64)->alias, start);
    EXPECT_TRUE(translator.dpa_of(start + 16384));
    EXPECT_TRUE(translator.dpa_of(start + 32767));
    EXPECT_FALSE(translator.dpa_of(start + 32768));
    EXPECT_FALSE(translator.dpa_of(start - 1));
}

// The test uses the window of a platform with MMIO from 2 GiB on. 12 endpoint decoders of 256 MiB
// decode 3 GiB (Documentation/driver-api/cxl/conventions/cxl-lmh.rst of Linux).
TEST(Translate, RefusesRegionCutByTheLowMemoryHole)
{
    TestFolder tree;
    put_region(tree, {.ways = 12, .root_ways = 12, .start = 0, .dpa_bytes = kBlock});
    tree.put(kDevices + "region0/size", "0x80000000\n");
    tree.put(kDevices + "decoder0.0/size", "0x80000000\n");
    Result<HpaRange> range = translator_of(tree).hpa_of("mem0", 0, 64);
    ASSERT_FALSE(range);
    EXPECT_EQ(range.error().message,
              "region0: no translation possible: decoder4.0 decodes 0xc0000000 bytes, the region "
              "ends at 0x80000000 (low memory hole)");
}

// Half of the region is the cache: 256 GiB of system memory, then two interleaved devices of 128
// GiB.
TEST(Translate, ReturnsTheAliasInAnExtendedLinearCache)
{
    const uint64_t half = uint64_t{256} << 30;
    TestFolder tree;
    put_region(tree, {.ways = 2,
                      .root_ways = 2,
                      .start = 277025390592,
                      .dpa_bytes = half / 2,
                      .cache_bytes = half});
    const Translator translator = translator_of(tree);
    Result<HpaRange> range = translator.hpa_of("mem0", 0, 64);
    ASSERT_TRUE(range) << range.error().message;
    EXPECT_EQ(range->start, 0x8080000000U);
    EXPECT_EQ(range->alias, 0x4080000000U);
    TestFolder plain;
    put_region(plain, {});
    EXPECT_FALSE(translator_of(plain).hpa_of("mem0", 0, 64)->alias);
}

TEST(Translate, RefusesNormalizedAddressing)
{
    TestFolder tree;
    put_region(tree, {.ways = 2, .root_ways = 2});
    tree.put(kDevices + "decoder4.0/start", "0x0\n");
    tree.put(kDevices + "decoder4.0/size", "0x4000\n");
    tree.put(kDevices + "region0/interleave_granularity", "1048576\n");  // the value Linux reports
    Result<HpaRange> range = translator_of(tree).hpa_of("mem0", 0, 64);
    ASSERT_FALSE(range);
    EXPECT_NE(range.error().message.find("no translation possible"), std::string::npos)
        << range.error().message;
    EXPECT_NE(range.error().message.find("normalized addressing"), std::string::npos)
        << range.error().message;
    EXPECT_FALSE(translator_of(tree).dpa_of(uint64_t{1} << 32));
}

// The trees have valid files that contradict each other.
TEST(Translate, RefusesFilesThatContradictEachOther)
{
    const std::pair<const char *, const char *> contradictions[] = {
        {"region0/commit", "0"},
        {"region0/target1", "decoder4.0"},
        {"region0/target1", ""},
        {"region0/target1", "decoder9.0"},
        {"decoder5.0/region", "region7"},
        {"decoder5.0/dpa_size", "0x2000"},
        {"region0/size", "0x4000"},
        {"region0/size", "0x10000000000"},
        {"decoder0.0/start", "0x200000000"},
        {"decoder0.0/size", "0x100"},
        {"decoder0.0/interleave_ways", "3"},
        {"region0/interleave_granularity", "0"},
    };
    for (const auto &[file, text] : contradictions) {
        TestFolder tree;
        put_region(tree, {.ways = 2, .root_ways = 2});
        tree.put(kDevices + file, text);
        const Translator translator = translator_of(tree);
        EXPECT_FALSE(translator.hpa_of("mem0", 0, 64)) << file << " " << text;
        EXPECT_FALSE(translator.dpa_of(uint64_t{1} << 32)) << file << " " << text;
    }
    TestFolder tree;
    put_region(tree, {});
    tree.put(kDevices + "decoder4.0/region", "\n");
    const Error error = translator_of(tree).hpa_of("mem0", 0, 64).error();
    EXPECT_EQ(error.code, Errc::kNotFound);
    EXPECT_EQ(error.message, "mem0: decoder4.0 is in no region");
    tree.put(kDevices + "decoder4.0/region", "region9\n");
    EXPECT_FALSE(translator_of(tree).hpa_of("mem0", 0, 64));
}

TEST(Translate, RefusesDevicesWhoseSizeDoesNotFitTheRegion)
{
    TestFolder broken;
    put_region(broken, {});
    broken.put(kDevices + "decoder4.0/dpa_size", "0x3f80\n");
    EXPECT_FALSE(translator_of(broken).hpa_of("mem0", 0, 64));
    // The range of the decoder may be unknown, but the device must not be larger than the region.
    TestFolder large;
    put_region(large, {});
    large.remove(kDevices + "decoder4.0/start");
    large.remove(kDevices + "decoder4.0/size");
    EXPECT_TRUE(translator_of(large).hpa_of("mem0", 0, 64));
    large.put(kDevices + "region0/size", "0x2000\n");
    EXPECT_FALSE(translator_of(large).hpa_of("mem0", 0, 64));
}

TEST(Translate, TranslatesSavedSysfsTrees)
{
    const std::string dir = TOPOLOGY_TESTDATA;
    Result<CxlDevices> single = read_cxl_devices(dir + "/single");
    ASSERT_TRUE(single) << single.error().message;
    EXPECT_EQ(Translator(std::move(*single), std::nullopt).hpa_of("mem0", 0x3000, 4096)->start,
              0x490003000U);
    Result<CxlDevices> three = read_cxl_devices(dir + "/three-unaligned");
    ASSERT_TRUE(three) << three.error().message;
    const Translator translator(std::move(*three), std::nullopt);
    // The region starts at 0x410000000 = 65 * 256 MiB. Its first granule has the number 65 * 2^20,
    // which is 2 modulo 3, so bridge 2 is first.
    EXPECT_EQ(translator.hpa_of("mem2", 0, 256)->start, 0x410000000U);
    EXPECT_EQ(translator.hpa_of("mem0", 0, 256)->start, 0x410000100U);
    EXPECT_EQ(translator.hpa_of("mem1", 256, 256)->start, 0x410000500U);
    EXPECT_EQ(translator.dpa_of(0x410000100)->memdev, "mem0");
}

}  // namespace
}  // namespace pmukit::topology
