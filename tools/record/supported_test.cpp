// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the comparison of the values that an event requests with the caps/ of its driver.
#include "record/supported.hpp"

#include <gtest/gtest.h>

#include "record/event_string.hpp"

namespace pmukit::record {
namespace {

Pmu pmu_of(const std::string &name, const std::map<std::string, std::string> &format,
           const std::map<std::string, std::string> &caps)
{
    Pmu pmu{name, 24, {}, {}, caps, std::vector<int>{0}};
    for (const auto &[term, text] : format)
        pmu.format[term] = *parse_format(text);
    return pmu;
}

Pmu cxl_hmu()
{
    return pmu_of("cxl_hmu_mem0.0.0",
                  {{"epoch_type", "config:0-1"},
                   {"access_type", "config:2-9"},
                   {"epoch_scale", "config:10-13"},
                   {"epoch_multiplier", "config:14-25"},
                   {"randomized_downsampling", "config:26"},
                   {"downsampling_factor", "config:27-42"},
                   {"hotness_threshold", "config1:0-31"},
                   {"hotness_granual", "config1:32-63"},
                   {"range_base", "config2:0-31"},
                   {"range_size", "config2:32-63"}},
                  {{"epoch_type", "0"},
                   {"access_type", "1 3 6"},
                   {"randomized_downsampling", "0"},
                   {"downsampling_factor", "1 2 4"},
                   {"hotness_granual", "8 12"},
                   {"counter_width_8", "16"},
                   {"counter_width_12", "20"},
                   {"epoch_min_us", "1000"},
                   {"epoch_max_us", "1000000"},
                   {"range_size", "64"}});
}

Pmu hisi_ptt()
{
    return pmu_of("hisi_ptt0_2",
                  {{"filter", "config:0-19"},
                   {"direction", "config:20-23"},
                   {"type", "config:24-31"},
                   {"format", "config:32-35"}},
                  {{"format", "0 1"},
                   {"type", "1 2 4"},
                   {"direction", "0=0,1,2,3 1=1,2,3"},
                   {"multitype_direction", "0=0 1=2,3"}});
}

Result<EventSettings> ask(const Pmu &pmu, const std::string &terms)
{
    return encode_event((*parse_event_strings(pmu.name + "/" + terms + "/"))[0], pmu);
}

TEST(Supported, AcceptsValuesListedInCaps)
{
    for (const char *terms :
         {"", "access_type=6", "downsampling_factor=4,hotness_granual=12",
          "hotness_threshold=65535", "hotness_threshold=1048575,hotness_granual=12",
          "epoch_scale=2,epoch_multiplier=1", "epoch_scale=4,epoch_multiplier=10",
          "epoch_scale=5,epoch_multiplier=1", "range_base=60,range_size=4", "range_size=64",
          "range_base=63,range_size=961", "range_size=1024"}) {
        const auto settings = ask(cxl_hmu(), terms);
        EXPECT_TRUE(settings) << terms << ": " << settings.error().message;
    }
    for (const char *terms : {"type=7,direction=0", "type=4,direction=3",
                              "type=3,direction=2,format=1", "type=1,direction=1,format=1"}) {
        const auto settings = ask(hisi_ptt(), terms);
        EXPECT_TRUE(settings) << terms << ": " << settings.error().message;
    }
}

TEST(Supported, RefusalNamesTheSupportedValuesAndTheOffsetOfTheTerm)
{
    const struct {
        Pmu pmu;
        const char *terms;
        size_t term_at;  // offset in `terms`
        const char *why;
    } refused[] = {
        {cxl_hmu(), "epoch_type=1", 0,
         "epoch_type=1 is not supported by cxl_hmu_mem0.0.0; "
         "supported: 0 (caps/epoch_type)"},
        {cxl_hmu(), "access_type=2", 0, "supported: 1, 3, 6 (caps/access_type)"},
        {cxl_hmu(), "randomized_downsampling", 0, "supported: 0 ("},
        {cxl_hmu(), "access_type=3,downsampling_factor=3", 14, "supported: 1, 2, 4 ("},
        {cxl_hmu(), "hotness_granual=9", 0, "supported: 8, 12 ("},
        {cxl_hmu(), "hotness_threshold=65536", 0,
         "with hotness_granual=8; supported: up to 65535 (caps/counter_width_8)"},
        {cxl_hmu(), "hotness_granual=12,hotness_threshold=1048576", 19, "up to 1048575"},
        {cxl_hmu(), "epoch_scale=1,epoch_multiplier=9", 0,
         "supported: 1000 us to 1000000 us, epoch_scale 1 is 100 us"},
        {cxl_hmu(), "epoch_scale=5,epoch_multiplier=2", 0, "epoch_multiplier=2; supported"},
        {cxl_hmu(), "epoch_scale=6,epoch_multiplier=1", 0, "epoch_scale=6 is not"},
        {cxl_hmu(), "epoch_scale=3", 0, "epoch_multiplier=0"},
        {cxl_hmu(), "hotness_granual=12,range_base=64,range_size=1", 19,
         "range_base=64 is not supported by cxl_hmu_mem0.0.0 with range_size=1; "
         "supported: less than 64 (caps/range_size)"},
        {cxl_hmu(), "range_base=1", 0, "with range_size=0"},
        {cxl_hmu(), "config=0x8", 0, "access_type=2 is not"},
        {hisi_ptt(), "format=2,type=1", 0, "supported: 0, 1 ("},
        {hisi_ptt(), "filter=1", 0, "type=0 is not supported by hisi_ptt0_2; supported: 1, 2, 4"},
        {hisi_ptt(), "type=8", 0, "1, 2, 4 and their sums"},
        {hisi_ptt(), "type=1,format=1", 0,
         "direction=0 is not supported by hisi_ptt0_2 with format=1; supported: 1, 2, 3"},
        {hisi_ptt(), "type=1,direction=4", 7, "with format=0; supported: 0, 1, 2, 3"},
        {hisi_ptt(), "type=3,direction=1", 7, "with type=3 and format=0; supported: 0 ("},
        {hisi_ptt(), "type=7,format=1,direction=1", 16, "supported: 2, 3 (caps/multitype"},
    };
    for (const auto &question : refused) {
        const auto settings = ask(question.pmu, question.terms);
        ASSERT_FALSE(settings) << question.terms;
        EXPECT_EQ(settings.error().code, Errc::kUsage) << question.terms;
        EXPECT_NE(settings.error().message.find(question.why), std::string::npos)
            << question.terms << ": " << settings.error().message;
        if (question.term_at) {
            EXPECT_EQ(settings.error().offset, question.pmu.name.size() + 1 + question.term_at)
                << question.terms;
        }
    }
}

TEST(Supported, NoValueIsRefusedIfCapsAreInvalidOrMissing)
{
    for (const char *text : {"", "many", "1 two", "0-3", "=", "1=", "99999999999999999999"}) {
        Pmu pmu = cxl_hmu();
        for (auto &[name, value] : pmu.caps)
            value = text;
        EXPECT_TRUE(ask(pmu,
                        "access_type=2,hotness_threshold=99999999,range_size=99,"
                        "epoch_scale=1,epoch_multiplier=1"))
            << text;
        pmu.caps.clear();
        EXPECT_TRUE(ask(pmu, "access_type=2,hotness_granual=9"));
    }
}

TEST(Supported, PmusOfOtherDriversAreNotChecked)
{
    Pmu pmu = cxl_hmu();
    pmu.name = "cpu";
    EXPECT_TRUE(ask(pmu, "access_type=2"));
}

}  // namespace
}  // namespace pmukit::record
