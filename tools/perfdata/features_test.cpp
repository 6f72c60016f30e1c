// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses valid content of every section; every prefix of the content must be refused.
#include "perfdata/features.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

class Content {
public:
    explicit Content(std::endian order) : order_(order) {}
    Content &u32(uint32_t value) { return put(value); }
    Content &u64(uint64_t value) { return put(value); }
    Content &text(std::string_view text)
    {
        u32(64);
        size_t at = bytes_.size();
        bytes_.resize(at + 64);
        for (size_t i = 0; i < text.size(); i++)
            bytes_[at + i] = static_cast<std::byte>(text[i]);
        return *this;
    }
    Content &zeros(size_t size)
    {
        bytes_.resize(bytes_.size() + size);
        return *this;
    }
    const std::vector<std::byte> &bytes() const { return bytes_; }

private:
    template <std::unsigned_integral T>
    Content &put(T value)
    {
        bytes_.resize(bytes_.size() + sizeof value);
        store(bytes_.data() + bytes_.size() - sizeof value, value, order_);
        return *this;
    }
    std::vector<std::byte> bytes_;
    std::endian order_;
};

class Features : public testing::TestWithParam<std::endian> {
protected:
    std::endian order() const { return GetParam(); }
    Content content() const { return Content(GetParam()); }
    // Returns the result of parse for the whole content; every prefix must be refused.
    template <typename Parse>
    auto parsed(const Content &content, Parse parse)
    {
        const Content &good = kept_.emplace_back(content);  // texts are borrowed from it
        for (size_t size = 0; size < good.bytes().size(); size++)
            EXPECT_FALSE(parse(Bytes(good.bytes()).first(size), order())) << size;
        auto result = parse(Bytes(good.bytes()), order());
        EXPECT_TRUE(result);
        return *result;
    }

private:
    std::deque<Content> kept_;
};
INSTANTIATE_TEST_SUITE_P(BothOrders, Features,
                         testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

TEST_P(Features, ParsesTexts)
{
    EXPECT_EQ(parsed(content().text("host"), parse_text_feature), "host");
    auto words = parsed(content().u32(2).text("perf").text("record"), parse_text_list);
    ASSERT_EQ(words.size(), 2U);
    EXPECT_EQ(words[1], "record");
}

TEST_P(Features, ParsesNumbers)
{
    EXPECT_EQ(parsed(content().u64(77), parse_word_feature), 77U);
    EXPECT_EQ(parsed(content().u32(8).u32(4), parse_cpu_counts).online, 4U);
    EXPECT_EQ(parsed(content().u64(5).u64(9), parse_sample_time).last_ns, 9U);
    EXPECT_EQ(parsed(content().u32(1).u32(1).u32(3).u32(5).u32(4096), parse_compression).level, 3U);
    auto clock = parsed(content().u32(1).u32(4).u64(1000).u64(10), parse_clock_data);
    EXPECT_EQ(clock.clock_id, 4U);
    EXPECT_EQ(clock.wall_ns, 1000U);
}

TEST_P(Features, ParsesEventDescriptions)
{
    Content good = content().u32(1).u32(64);
    good.u32(24).u32(64).zeros(56).u32(2).text("cxl_hmu/x/").u64(7).u64(8);
    auto events = parsed(good, parse_event_descriptions);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].attr.type, 24U);
    EXPECT_EQ(events[0].name, "cxl_hmu/x/");
    EXPECT_EQ(events[0].ids[1], 8U);
}

TEST_P(Features, RefusesAttributesOfFewerThan64Bytes)
{
    for (uint32_t bytes : {0U, 63U, 64U}) {
        Content one = content().u32(1).u32(bytes);
        one.zeros(bytes).u32(0).text("x");
        EXPECT_EQ(parse_event_descriptions(one.bytes(), order()).has_value(), bytes == 64) << bytes;
    }
}

TEST_P(Features, ParsesBuildIds)
{
    Content good = content();
    uint64_t header = order() == std::endian::little ? uint64_t{67} | uint64_t{44} << 48
                                                     : uint64_t{67} << 32 | 44;
    good.u64(header).u32(9).zeros(24).u64(0);
    for (size_t size = 1; size < good.bytes().size(); size++)
        EXPECT_FALSE(parse_build_ids(Bytes(good.bytes()).first(size), order())) << size;
    auto ids = parse_build_ids(good.bytes(), order());
    ASSERT_TRUE(ids);
    ASSERT_EQ(ids->size(), 1U);
    EXPECT_EQ((*ids)[0].pid, 9U);
    EXPECT_EQ((*ids)[0].build_id.size(), 20U);
}

TEST_P(Features, ParsesCpuTopologyWithAndWithoutCpus)
{
    Content names = content().u32(1).text("0-1").u32(2).text("0").text("1");
    auto parse = [](Bytes bytes, std::endian byte_order) {
        return parse_cpu_topology(bytes, 2, byte_order);
    };
    EXPECT_TRUE(parsed(names, parse).cpus.empty()) << "as old perf wrote it";
    names.u32(0).u32(0).u32(1).u32(5);
    auto topology = parse(names.bytes(), order());
    ASSERT_TRUE(topology);
    EXPECT_EQ(topology->sibling_threads[1], "1");
    ASSERT_EQ(topology->cpus.size(), 2U);
    EXPECT_EQ(topology->cpus[1].socket, 5U);
    EXPECT_TRUE(topology->sibling_dies.empty());
}

TEST_P(Features, ParsesCpuTopologyWithDies)
{
    Content good = content().u32(1).text("0-1").u32(1).text("0-1").u32(3).u32(4).u32(5).u32(6);
    const size_t before = good.bytes().size();
    good.u32(1).text("0-1").u32(7).u32(8);
    for (size_t size = before + 1; size < good.bytes().size(); size++)
        EXPECT_FALSE(parse_cpu_topology(Bytes(good.bytes()).first(size), 2, order())) << size;
    auto topology = parse_cpu_topology(good.bytes(), 2, order());
    ASSERT_TRUE(topology);
    EXPECT_EQ(topology->sibling_dies[0], "0-1");
    EXPECT_EQ(topology->cpus[1].core, 5U);
    EXPECT_EQ(topology->cpus[1].die, 8U);
}

// Before schedstat version 17, domains have no names.
TEST_P(Features, ParsesSchedulerDomainsWithoutNames)
{
    Content good = content().u32(15).u32(1).u32(3).u32(1).u32(0).text("f").text("0-3");
    const auto info = parse_domain_info(good.bytes(), order());
    ASSERT_TRUE(info);
    EXPECT_EQ(info->cpus[0].domains[0].name, "");
    EXPECT_EQ(info->cpus[0].domains[0].cpu_mask, "f");
    EXPECT_EQ(info->cpus[0].domains[0].cpus, "0-3");
}

TEST_P(Features, ParsesSchedulerDomains)
{
    Content good = content().u32(17).u32(1);
    const size_t none = good.bytes().size();
    good.u32(3).u32(1).u32(0).text("MC").text("f").text("0-3");
    for (size_t size = 0; size < good.bytes().size(); size++)
        EXPECT_EQ(!!parse_domain_info(Bytes(good.bytes()).first(size), order()), size == none);
    auto info = parse_domain_info(good.bytes(), order());
    ASSERT_TRUE(info);
    EXPECT_EQ(info->schedstat_version, 17U);
    ASSERT_EQ(info->cpus.size(), 1U);
    EXPECT_EQ(info->cpus[0].cpu, 3U);
    EXPECT_EQ(info->cpus[0].domains[0].name, "MC");
    EXPECT_EQ(info->cpus[0].domains[0].cpus, "0-3");
}

TEST_P(Features, ParsesMachineAndCacheLine)
{
    EXPECT_EQ(parsed(content().u32(62).u32(1), parse_elf_machine).flags, 1U);
    EXPECT_EQ(parsed(content().u32(64), parse_cache_line_bytes), 64U);
}

TEST_P(Features, ParsesSectionsWithLists)
{
    auto nodes = parsed(content().u32(1).u32(3).u64(100).u64(50).text("0-7"), parse_numa_topology);
    EXPECT_EQ(nodes[0].free_kib, 50U);
    EXPECT_EQ(nodes[0].cpus, "0-7");
    auto pmus = parsed(content().u32(1).u32(24).text("hisi_ptt0_2"), parse_pmu_mappings);
    EXPECT_EQ(pmus[0], PmuName(24, "hisi_ptt0_2"));
    auto groups = parsed(content().u32(1).text("g").u32(0).u32(2), parse_groups);
    EXPECT_EQ(groups[0].members, 2U);
    Content caches = content().u32(1).u32(1).u32(2).u32(64).u32(512).u32(8);
    caches.text("Unified").text("1024K").text("0-1");
    EXPECT_EQ(parsed(caches, parse_caches)[0].size, "1024K");
    auto hybrid = parsed(content().u32(1).text("cpu_core").text("0-3"), parse_hybrid_topology);
    EXPECT_EQ(hybrid[0].pmu, "cpu_core");
    auto index = parsed(content().u64(1).u64(4096).u64(64), parse_auxtrace_index);
    EXPECT_EQ(index[0].offset, 4096U);
}

TEST_P(Features, ParsesMemoryTopology)
{
    Content good = content().u64(1).u64(1 << 27).u64(1).u64(0).u64(128).u64(65).u64(3).u64(1);
    auto memory = parsed(good, parse_memory_topology);
    EXPECT_EQ(memory.block_bytes, uint64_t{1} << 27);
    ASSERT_EQ(memory.nodes[0].blocks.size(), 2U);
    EXPECT_EQ(memory.nodes[0].blocks[0], 3U);
}

TEST_P(Features, ParsesPmuCapabilities)
{
    auto cpu = parsed(content().u32(1).text("branches").text("32"), parse_cpu_pmu_caps);
    EXPECT_EQ(cpu.caps[0].second, "32");
    auto pmus = parsed(content().u32(1).u32(1).text("branches").text("32").text("cpu_atom"),
                       parse_pmu_caps);
    EXPECT_EQ(pmus[0].pmu, "cpu_atom");
    EXPECT_EQ(pmus[0].caps[0].first, "branches");
}

TEST_P(Features, ImpossibleCountsAreRefused)
{
    EXPECT_FALSE(parse_text_list(content().u32(UINT32_MAX).bytes(), order()));
    EXPECT_FALSE(parse_auxtrace_index(content().u64(UINT64_MAX).u64(1).bytes(), order()));
    EXPECT_FALSE(parse_memory_topology(
        content().u64(1).u64(1).u64(1).u64(0).u64(0).u64(UINT64_MAX).bytes(), order()));
    EXPECT_FALSE(parse_event_descriptions(content().u32(UINT32_MAX).u32(0).bytes(), order()));
    EXPECT_FALSE(parse_caches(content().u32(2).u32(0).bytes(), order())) << "another version";
}

TEST(FeatureName, IsKnownForEverySectionOfLinux7_2)
{
    for (unsigned feature = kFeatTracingData; feature <= kFeatClnSize; feature++)
        EXPECT_NE(feature_name(feature), "") << feature;
    EXPECT_EQ(feature_name(kFeatPmuMappings), "PMU_MAPPINGS");
    EXPECT_EQ(feature_name(kFeatClnSize), "CLN_SIZE");
    EXPECT_EQ(feature_name(35), "");
    EXPECT_EQ(feature_name(0), "");
}

}  // namespace
}  // namespace pmukit::perfdata
