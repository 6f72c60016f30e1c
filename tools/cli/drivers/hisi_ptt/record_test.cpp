// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Filters by PCI address, from a fake sysfs tree.
#include <gtest/gtest.h>

#include "base/test_folder.hpp"
#include "cli/record/record_events.hpp"

namespace pmukit::cli {
namespace {

class HisiPttFilter : public testing::Test {
protected:
    void SetUp() override
    {
        tree_.put("hisi_ptt0_2/root_port_filters/multiselect", "1\n");
        tree_.put("hisi_ptt0_2/root_port_filters/0000:00:10.0", "0x80001\n");
        tree_.put("hisi_ptt0_2/root_port_filters/0000:00:11.0", "0x80004\n");
        tree_.put("hisi_ptt0_2/requester_filters/multiselect", "0\n");
        tree_.put("hisi_ptt0_2/requester_filters/0000:01:00.1", "0x00101\n");
        tree_.put("hisi_ptt0_2/requester_filters/0001:01:00.1", "0x00102\n");
    }

    // Returns the value of the filter term, or the error message.
    std::string resolved(const std::string &filter, const std::string &pmu = "hisi_ptt0_2")
    {
        std::string text = pmu;
        text.append("/filter=").append(filter).append(",type=1/");
        Result<std::vector<record::EventString>> events = record::parse_event_strings(text);
        EXPECT_TRUE(events);
        record::EventString &event = events->front();
        const Result<void> done = resolve_names(event, tree_.dir());
        EXPECT_EQ(*event.terms[1].value, "1");
        return done ? *event.terms[0].value : done.error().message;
    }
    static bool holds(const std::string &text, const std::string &part)
    {
        return text.find(part) != std::string::npos;
    }

    TestFolder tree_;
};

TEST_F(HisiPttFilter, ResolvesARootPortOrARequester)
{
    EXPECT_EQ(resolved("0000:00:10.0"), "0x80001");
    EXPECT_EQ(resolved("0000:01:00.1"), "0x101");
    EXPECT_EQ(resolved("0001:01:00.1"), "0x102");
}

TEST_F(HisiPttFilter, PciDomainZeroMayBeOmitted)
{
    EXPECT_EQ(resolved("00:11.0"), "0x80004");
}

TEST_F(HisiPttFilter, CombinesRootPortsJoinedByAPlusSign)
{
    EXPECT_EQ(resolved("0000:00:10.0+0000:00:11.0"), "0x80005");
}

TEST_F(HisiPttFilter, LeavesNumbersAndEventsOfOtherDriversUnchanged)
{
    EXPECT_EQ(resolved("0x80001"), "0x80001");
    EXPECT_EQ(resolved("0000:00:10.0", "cxl_hmu_mem0.0.0"), "0000:00:10.0");
}

TEST_F(HisiPttFilter, LeavesTheFilterOfAMissingPmuUnchanged)
{
    EXPECT_EQ(resolved("0000:00:10.0", "hisi_ptt" + std::string(300, '0')), "0000:00:10.0");
}

TEST_F(HisiPttFilter, ErrorForAnUnknownPciFunctionListsTheValidFilters)
{
    const std::string message = resolved("0000:00:1f.0");
    EXPECT_TRUE(holds(message, "hisi_ptt0_2 has no 0000:00:1f.0")) << message;
    EXPECT_TRUE(holds(message, "root ports: 0000:00:10.0, 0000:00:11.0;")) << message;
    EXPECT_TRUE(holds(message, "requesters: 0000:01:00.1, 0001:01:00.1")) << message;
}

TEST_F(HisiPttFilter, RejectsTwoRequestersOrAPortCombinedWithARequester)
{
    EXPECT_TRUE(holds(resolved("0000:00:10.0+0000:01:00.1"), "not both"));
    EXPECT_TRUE(holds(resolved("0000:01:00.1+0001:01:00.1"), "one requester at a time"));
}

TEST_F(HisiPttFilter, RejectsNamesThatAreNotPciAddresses)
{
    for (const char *bad :
         {"0:multiselect", "00:10", ":.", "0000:00:10.0+", "0:0:0:0.0", "0:.0.0", "00:1G.0"})
        EXPECT_TRUE(holds(resolved(bad), "is not a function")) << bad << ": " << resolved(bad);
}

TEST(AuxtraceInfo, HasTheTypeAndFieldsThatStockPerfExpects)
{
    using Words = std::vector<uint64_t>;
    const std::optional<AuxtraceInfo> info = auxtrace_info_of({{"hisi_ptt0_2", 24, 0x101180001}});
    ASSERT_TRUE(info);
    EXPECT_EQ(info->type, 6U);
    EXPECT_EQ(info->words, (Words{24, 1}));
    EXPECT_EQ(auxtrace_info_of({{"hisi_ptt0_2", 24}, {"hisi_ptt0_3", 25}})->words, (Words{24, 1}));
    EXPECT_EQ(auxtrace_info_of({{"hisi_ptt0_2", 24, 0x101180001, true}})->words, Words{24});
    EXPECT_EQ(auxtrace_info_of({{"hisi_ptt0_2", 24, 0x1101180001, true}})->words, (Words{24, 1}));
}

TEST(AuxtraceInfo, IsOmittedIfStockPerfWouldMisreadIt)
{
    EXPECT_FALSE(auxtrace_info_of({}));
    EXPECT_FALSE(auxtrace_info_of({{"cxl_hmu_mem0.0.0", 24}}));
    EXPECT_FALSE(auxtrace_info_of({{"hisi_ptt0_2", 24}, {"cxl_hmu_mem0.0.0", 25}}));
    EXPECT_FALSE(auxtrace_info_of({{"cxl_hmu_mem0.0.0", 25}, {"hisi_ptt0_2", 24}}));
}

TEST(HisiPttRecord, DefaultAuxAreaIs16MiBForEveryPageSize)
{
    const auto events = [](const char *text) { return *record::parse_event_strings(text); };
    EXPECT_EQ(usual_aux_pages(events("hisi_ptt0_2/type=1/"), 4096), 4096U);
    EXPECT_EQ(usual_aux_pages(events("hisi_ptt0_2/type=1/"), 65536), 256U);
    EXPECT_EQ(usual_aux_pages(events("cxl_hmu_mem0.0.0/a=1/,hisi_ptt1_0/type=1/"), 4096), 4096U);
    EXPECT_EQ(usual_aux_pages(events("cxl_hmu_mem0.0.0/a=1/"), 4096), std::nullopt);
}

}  // namespace
}  // namespace pmukit::cli
