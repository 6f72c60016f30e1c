// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs libpfm4 with a forced processor (LIBPFM_FORCE_PMU), so that results are the same on every
// machine. An expected value is the event select register of Intel's and AMD's manuals: cmask in
// bits 31:24, umask in bits 15:8, event in bits 7:0.
#include "record/pfm_events.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include <algorithm>

namespace pmukit::record {
namespace {

class Pfm : public testing::Test {
protected:
    // Makes libpfm4 assume this processor. libpfm4 reads LIBPFM_FORCE_PMU when it is initialized,
    // and each tested function initializes it.
    void on(const char *pmu) { ::setenv("LIBPFM_FORCE_PMU", pmu, 1); }
    void TearDown() override { ::unsetenv("LIBPFM_FORCE_PMU"); }
};

TEST_F(Pfm, EncodesEventsOfASkylakeServer)
{
    on("skx");
    const auto events = encode_pfm_list(
        "MEM_LOAD_RETIRED:L3_MISS,{skx::MEM_LOAD_RETIRED:L3_MISS:c=2:u:freq=99,"
        "MEM_LOAD_RETIRED:L2_MISS:k:period=1000:precise=2}");
    ASSERT_TRUE(events) << events.error().message;
    ASSERT_EQ(events->size(), 3U);
    const CodedEvent &plain = (*events)[0], &user = (*events)[1], &kernel = (*events)[2];

    EXPECT_EQ(plain.type, uint32_t{PERF_TYPE_RAW});
    EXPECT_EQ(plain.settings.words, (ConfigWords{0x20d1}));
    EXPECT_FALSE(plain.settings.period || plain.settings.frequency_hz || plain.leader);
    EXPECT_FALSE(plain.settings.modifiers.exclude_user || plain.settings.modifiers.exclude_kernel);

    EXPECT_EQ(user.settings.words[0], 0x020020d1U);
    EXPECT_EQ(user.settings.frequency_hz, 99U);
    EXPECT_TRUE(user.settings.modifiers.exclude_kernel);
    EXPECT_FALSE(user.settings.modifiers.exclude_user);

    EXPECT_EQ(kernel.settings.words[0], 0x10d1U);
    EXPECT_EQ(kernel.settings.period, 1000U);
    EXPECT_EQ(kernel.settings.modifiers.precise, 2U);
    EXPECT_TRUE(kernel.settings.modifiers.exclude_user);
    EXPECT_EQ(kernel.leader, 1U);
}

TEST_F(Pfm, EncodesOffcoreMaskInTheSecondConfigWord)
{
    on("skx");
    const auto events = encode_pfm_list("OFFCORE_RESPONSE_0:ANY_DATA_RD");
    ASSERT_TRUE(events) << events.error().message;
    EXPECT_EQ((*events)[0].settings.words[0], 0x1b7U);
    EXPECT_NE((*events)[0].settings.words[1], 0U) << "MSR_OFFCORE_RSP_0";
}

TEST_F(Pfm, EncodesEventsOfAZen2)
{
    on("amd64_fam17h_zen2");
    const auto events = encode_pfm_list("RETIRED_INSTRUCTIONS");
    ASSERT_TRUE(events) << events.error().message;
    EXPECT_EQ((*events)[0].settings.words, (ConfigWords{0xc0}));
}

TEST_F(Pfm, ListsEventsWithDescriptions)
{
    on("skx");
    const auto listed = list_pfm_events();
    ASSERT_TRUE(listed);
    const auto found =
        std::ranges::find(*listed, "skx::MEM_LOAD_RETIRED:L3_MISS", &PfmListed::name);
    ASSERT_NE(found, listed->end());
    EXPECT_FALSE(found->description.empty());
}

TEST_F(Pfm, EncodesEveryListedEvent)
{
    on("amd64_fam17h_zen2");
    const auto listed = list_pfm_events();
    ASSERT_TRUE(listed);
    ASSERT_GT(listed->size(), 100U);
    for (const PfmListed &event : *listed) {
        // The list may also have events of a PMU that an earlier test forced.
        if (!event.name.starts_with("amd64_fam17h_zen2::"))
            continue;
        const auto encoded = encode_pfm_list(event.name);
        EXPECT_TRUE(encoded) << encoded.error().message;
    }
}

TEST_F(Pfm, ErrorsHaveReasonOffsetAndValidNames)
{
    on("skx");
    const struct {
        const char *list;
        size_t at;
        const char *why;
    } wrong[] = {
        {"LONGEST_LAT_CACHE:MISS,MEM_LOAD_RETIRD:L3_MISS", 23, "did you mean MEM_LOAD_RETIRED?"},
        {"longest_lat_cach:miss", 0, "did you mean LONGEST_LAT_CACHE?"},
        {"nothing_like_it_exists", 0, "pmukit list --pfm"},
        {"MEM_LOAD_RETIRED", 0, "unit masks: L1_HIT"},
        {"MEM_LOAD_RETIRED:NOPE", 0, "L3_MISS"},
        {"a,,b", 2, "a name is missing"},
    };
    for (const auto &expected : wrong) {
        const auto events = encode_pfm_list(expected.list);
        ASSERT_FALSE(events) << expected.list;
        EXPECT_EQ(events.error().code, Errc::kUsage);
        EXPECT_EQ(events.error().offset, expected.at) << expected.list;
        EXPECT_NE(events.error().message.find(expected.why), std::string::npos)
            << expected.list << ": " << events.error().message;
    }
}

}  // namespace
}  // namespace pmukit::record
