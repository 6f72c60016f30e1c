// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests event strings as users write them, and their encoding.
#include "record/event_string.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "base/test_folder.hpp"

namespace pmukit::record {
namespace {

Pmu cxl_hmu()
{
    Pmu pmu{"cxl_hmu_mem0.0.0", 24, {}, {}, {}, {}};
    pmu.format["epoch_type"] = *parse_format("config:0-1");
    pmu.format["downsampling_factor"] = *parse_format("config:27-42");
    pmu.format["hotness_threshold"] = *parse_format("config1:0-31");
    pmu.events["hot"] = "epoch_type=1,hotness_threshold=0x10";
    pmu.events["one_of"] = "epoch_type=1,hotness_threshold=?";
    return pmu;
}

Result<EventSettings> settings_of(const std::string &text)
{
    Result<std::vector<EventString>> events = parse_event_strings(text);
    if (!events)
        return events.error();
    return encode_event(events->front(), cxl_hmu());
}

Result<ConfigWords> encode(const std::string &text)
{
    Result<EventSettings> settings = settings_of(text);
    if (!settings)
        return settings.error();
    return settings->words;
}

TEST(EventString, PutsTermsIntoTheirFields)
{
    Result<ConfigWords> words =
        encode("p/epoch_type=1,downsampling_factor=32,hotness_threshold=1024/");
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ((*words)[0], 1U | uint64_t{32} << 27);
    EXPECT_EQ((*words)[1], 1024U);
}

TEST(EventString, TermWithoutValueIsOneUnlessItIsAnAlias)
{
    EXPECT_EQ((*encode("p/epoch_type/"))[0], 1U);
    Result<ConfigWords> alias = encode("p/hot,epoch_type=2/");
    ASSERT_TRUE(alias);
    EXPECT_EQ((*alias)[0], 2U) << "a later term overrides";
    EXPECT_EQ((*alias)[1], 0x10U);
}

TEST(EventString, AliasCanRequireAValueFromTheUser)
{
    for (const char *text : {"p/one_of,hotness_threshold=9/", "p/hotness_threshold=9,one_of/"}) {
        Result<ConfigWords> words = encode(text);
        ASSERT_TRUE(words) << words.error().message;
        EXPECT_EQ((*words)[0], 1U);
        EXPECT_EQ((*words)[1], 9U);
    }
}

TEST(EventString, AcceptsTermsThatSetWholeConfigWords)
{
    Result<ConfigWords> words = encode("p/config=5,config4=0xffffffffffffffff/");
    ASSERT_TRUE(words);
    EXPECT_EQ((*words)[0], 5U);
    EXPECT_EQ((*words)[4], UINT64_MAX);
}

TEST(EventString, AcceptsAnEventWithoutTerms)
{
    EXPECT_EQ(*encode("p//"), ConfigWords{});
}

TEST(EventString, ParsesSeveralEvents)
{
    auto events = parse_event_strings("a/x=1,y/,b//");
    ASSERT_TRUE(events);
    ASSERT_EQ(events->size(), 2U);
    EXPECT_EQ((*events)[0].text, "a/x=1,y/");
    EXPECT_EQ((*events)[1].pmu, "b");
}

TEST(EventString, ParsesModifiersAfterTheTerms)
{
    auto events = parse_event_strings("a/x/D,b//uP , c/y,z/");
    ASSERT_TRUE(events) << events.error().message;
    ASSERT_EQ(events->size(), 3U);
    EXPECT_EQ((*events)[0].text, "a/x/D");
    EXPECT_TRUE((*events)[0].modifiers.pinned);
    EXPECT_EQ((*events)[1].text, "b//uP");
    EXPECT_TRUE((*events)[1].modifiers.exclude_kernel && (*events)[1].modifiers.most_precise);
    EXPECT_EQ((*events)[2].text, "c/y,z/");
    EXPECT_EQ((*events)[2].modifiers, Modifiers{});
}

TEST(EventString, AcceptsAnEventThatSpansSeveralLines)
{
    auto events = parse_event_strings(" p/epoch_type=1,\n   hotness_threshold = 7 /\n");
    ASSERT_TRUE(events) << events.error().message;
    ASSERT_EQ((*events)[0].terms.size(), 2U);
    EXPECT_EQ((*events)[0].terms[1].name, "hotness_threshold");
    EXPECT_EQ((*events)[0].terms[1].value, "7");
    EXPECT_EQ((*events)[0].text.substr((*events)[0].terms[1].at, 7), "hotness");
}

TEST(EventString, ParsesPeriodAndFrequency)
{
    EXPECT_EQ(settings_of("p/epoch_type=1,period=500/")->period, 500U);
    EXPECT_EQ(settings_of("p/freq=99/")->frequency_hz, 99U);
    EXPECT_FALSE(settings_of("p//")->period);
}

TEST(EventString, TermNameIsTheNameOfTheEventAndNotATermOfThePmu)
{
    const EventString named = parse_event_strings("p/epoch_type=2,name=my event/")->front();
    EXPECT_EQ(named.name, "my event");
    EXPECT_EQ(named.terms.size(), 1U);
    EXPECT_EQ((*encode("p/name=mine,epoch_type=2/"))[0], 2U);
    EXPECT_EQ(parse_event_strings("p/epoch_type=2/")->front().name, "p/epoch_type=2/");
    EXPECT_FALSE(encode("p/name=/")) << "an empty name is none";
}

TEST(EventString, TermsThatOnlyPerfHasAreRefusedWithAnAlternative)
{
    const Result<ConfigWords> refused = encode("p/epoch_type=1,call-graph=dwarf/");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "event 'p/epoch_type=1,call-graph=dwarf/': character 16: the term 'call-graph' is "
              "not supported; -g or --call-graph applies to all events");
}

TEST(EventString, EachErrorHasAReasonAndTheOffsetOfTheFault)
{
    const struct {
        const char *text;
        size_t at;  // 0: at the beginning, or the error has no offset
        const char *why;
    } cases[] = {
        {"", 0, "empty"},
        {" ", 0, "empty"},
        {"cylces", 0, "expected pmu/"},
        {"cylces", 0, "did you mean cycles?"},
        {"cylces", 0, "--pfm-events"},
        {"cycles,cylces", 7, "expected pmu/"},
        {"cycles:uq", 8, "'q' is not a modifier"},
        {"sched:sched_switch", 0, "trace events are not recorded here"},
        {"{cycles,faults}", 0, "--pfm-events '{A,B}'"},
        {"mem:0x10:w", 0, "breakpoints are not recorded here"},
        {"/x/", 0, "'' is not the name of a PMU; expected pmu/"},
        {"p/epoch_type=1", 1, "character 2: the '/' that closes this one is missing"},
        {"p/x/y", 4, "character 5: 'y' is not a modifier"},
        {"p/epoch_type/Uk", 13, "did you mean u?"},
        {"p/x/W", 4, "'W' (weak group)"},
        {"p//,q//b", 7, "'b' (BPF counters)"},
        {"p/x/,", 4, "an event must follow this comma"},
        {"p/x/,,q//", 5, "expected pmu/"},
        {"p/x/,q", 5, "expected pmu/"},
        {"../x/", 0, "not the name"},
        {"p/nope=1/", 2,
         "no term 'nope'; it has: downsampling_factor, epoch_type, hotness_threshold, hot, one_of"},
        {"p/epoch_type=1,epoch_tpye=1/", 15, "; did you mean epoch_type?"},
        {"p/one_of/", 2,
         "one_of needs a value of hotness_threshold: p/one_of,hotness_threshold=.../"},
        {"p/epoch_type,one_of,hotness_threshold/", 13, "one_of needs a value of"},
        {"p/one_of,hotness_threshold=?/", 9, "hotness_threshold: "},
        {"p/hotness/", 2, "no event or term 'hotness'"},
        {"p/hotness/", 2, "; did you mean hotness_threshold?"},
        {"p/epoch_type=4/", 2, "0..3"},
        {"p/epoch_type=one/", 2, "'one' is not a number"},
        {"p/epoch_type=/", 2, "'' is not a number"},
        {"p/,/", 2, "term ''"},
        {"p/period=0/", 2, "at least 1"},
        {"p/period=5,freq=5/", 0, "give one"},
        {"p//pp", 0, "pp is not supported by cxl_hmu_mem0.0.0"},
    };
    for (const auto &[text, at, why] : cases) {
        Result<ConfigWords> words = encode(text);
        ASSERT_FALSE(words) << text;
        EXPECT_EQ(words.error().code, Errc::kUsage) << text;
        EXPECT_EQ(words.error().offset.value_or(0), at) << text;
        EXPECT_NE(words.error().message.find(why), std::string::npos)
            << text << ": " << words.error().message;
    }
}

TEST(EventString, ParsesNamesOfGenericEvents)
{
    const auto events =
        parse_event_strings("cycles:u , faults,LLC-loads/period=7/k,p/config=1/,cs:");
    ASSERT_TRUE(events) << events.error().message;
    ASSERT_EQ(events->size(), 5U);
    EXPECT_EQ((*events)[0].text, "cycles:u");
    EXPECT_EQ((*events)[0].generic, (perfdata::GenericEvent{PERF_TYPE_HARDWARE, 0}));
    EXPECT_TRUE((*events)[0].modifiers.exclude_kernel);
    EXPECT_EQ((*events)[1].generic, (perfdata::GenericEvent{PERF_TYPE_SOFTWARE, 2}));
    EXPECT_FALSE((*events)[3].generic);
    EXPECT_EQ((*events)[4].generic, (perfdata::GenericEvent{PERF_TYPE_SOFTWARE, 3}));

    TestFolder root;
    root.put("cpu/type", "4");
    root.put("cpu/caps/max_precise", "2");
    const EventString &loads = (*events)[2];
    const Result<Pmu> pmu = pmu_of(root.dir(), loads);
    ASSERT_TRUE(pmu);
    EXPECT_EQ(pmu->type, uint32_t{PERF_TYPE_HW_CACHE});
    const Result<EventSettings> settings = encode_event(loads, *pmu);
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->words[0], 2U);
    EXPECT_EQ(settings->period, 7U);
    EXPECT_TRUE(settings->modifiers.exclude_user);
}

TEST(EventString, GenericEventWithModifierPGetsTheMaximumPrecisionOfTheCpu)
{
    TestFolder root;
    root.put("cpu/type", "4");
    root.put("cpu/caps/max_precise", "2");
    const auto encoded = [&root](const std::string &text) {
        const EventString event = parse_event_strings(text)->front();
        return encode_event(event, *pmu_of(root.dir(), event));
    };
    EXPECT_EQ(encoded("cycles:P")->modifiers.precise, 2U);
    EXPECT_FALSE(encoded("cycles:ppp"));
    EXPECT_EQ(encoded("cpu-clock:P")->modifiers.precise, 0U);
    EXPECT_EQ(encoded("cycles/umask=1/").error().message,
              "event 'cycles/umask=1/': character 8: cycles has no term 'umask'; it has: "
              "none");
}

TEST(EventString, EveryPrefixIsAcceptedOrRefusedAtAnOffsetInsideIt)
{
    const std::string good = "p/epoch_type=1,hot/ukpD, cxl/config=0x1f,freq=99/GH";
    for (size_t length = 0; length <= good.size(); length++) {
        const auto events = parse_event_strings(good.substr(0, length));
        if (!events) {
            EXPECT_EQ(events.error().code, Errc::kUsage);
            EXPECT_LE(events.error().offset.value_or(0), length);
        }
    }
}

}  // namespace
}  // namespace pmukit::record
