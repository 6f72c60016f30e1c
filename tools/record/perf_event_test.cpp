// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests that perf_event_attr has the smallest size that holds the values, and that errors of
// perf_event_open() are explained.
#include "record/perf_event.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"
#include "perfdata/attr.hpp"
#include "perfdata/sample.hpp"

namespace pmukit::record {
namespace {

uint32_t size_of(const std::vector<std::byte> &attr)
{
    return load<uint32_t>(attr.data() + offsetof(perf_event_attr, size), std::endian::native);
}

// Copies the attributes into the struct of this build's header. The struct may lack the last config
// words, which these tests do not read.
perf_event_attr attr_of(const Pmu &pmu, const EventSettings &settings,
                        Start start = Start::kWhenEnabled, bool inherit = false)
{
    const std::vector<std::byte> bytes = make_attr(pmu, settings, start, inherit);
    perf_event_attr attr{};
    std::memcpy(&attr, bytes.data(), std::min(sizeof attr, bytes.size()));
    return attr;
}

const Pmu kCore{"cpu", 4, {}, {}, {}, {}};
const Pmu kUncore{"p", 24, {}, {}, {}, std::vector<int>{0}};

TEST(MakeAttr, SizeDependsOnTheLastConfigWordInUse)
{
    const auto make = [](const ConfigWords &words) {
        return make_attr(kUncore, {words, {}, {}, {}}, Start::kWhenEnabled, false);
    };
    EXPECT_EQ(size_of(make({1, 2, 3, 0, 0})), 128U);
    std::vector<std::byte> third = make({0, 0, 0, 4, 0});
    EXPECT_EQ(size_of(third), 136U);
    EXPECT_EQ(load<uint64_t>(third.data() + 128, std::endian::native), 4U);
    std::vector<std::byte> fourth = make({0, 0, 0, 0, 5});
    EXPECT_EQ(size_of(fourth), 144U);
    EXPECT_EQ(load<uint64_t>(fourth.data() + 136, std::endian::native), 5U);
}

TEST(MakeAttr, SystemWidePmuDefaultsToPeriodOneAndOthersToAFrequency)
{
    EXPECT_FALSE(attr_of(kUncore, {}).freq);
    EXPECT_EQ(attr_of(kUncore, {}).sample_period, 1U);
    EXPECT_TRUE(attr_of(kCore, {}).freq);
    EXPECT_EQ(attr_of(kCore, {}).sample_freq, 4000U);
    EXPECT_TRUE(attr_of(kCore, {}).sample_type & PERF_SAMPLE_PERIOD);
    EXPECT_EQ(attr_of(kCore, {{}, {}, 500, {}}).sample_period, 500U);
    EXPECT_FALSE(attr_of(kCore, {{}, {}, 500, {}}).freq);
    EXPECT_EQ(attr_of(kUncore, {{}, {}, {}, 99}).sample_freq, 99U);
    EXPECT_TRUE(attr_of(kUncore, {{}, {}, {}, 99}).freq);
}

TEST(MakeAttr, EventModifiersSetTheirAttrBits)
{
    Modifiers modifiers;
    ASSERT_FALSE(parse_modifiers("kGIppDeS", modifiers));
    const perf_event_attr attr = attr_of(kCore, {{}, modifiers, {}, {}}, Start::kOnExec, true);
    EXPECT_TRUE(attr.exclude_user && attr.exclude_hv && attr.exclude_host && attr.exclude_idle);
    EXPECT_FALSE(attr.exclude_kernel || attr.exclude_guest);
    EXPECT_EQ(attr.precise_ip, 2U);
    EXPECT_TRUE(attr.pinned && attr.exclusive);
    EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_READ);
    EXPECT_EQ(attr.read_format, uint64_t{PERF_FORMAT_ID});
    EXPECT_FALSE(attr.inherit) << "goes with no PERF_SAMPLE_READ before Linux 6.12";

    const perf_event_attr plain = attr_of(kCore, {});
    EXPECT_FALSE(plain.exclude_user || plain.exclude_kernel || plain.exclude_hv ||
                 plain.exclude_host || plain.exclude_guest || plain.exclude_idle || plain.pinned ||
                 plain.exclusive || plain.precise_ip);
    EXPECT_FALSE(plain.sample_type & PERF_SAMPLE_READ);
}

TEST(MakeAttr, StartModeDeterminesTheDisabledAndEnableOnExecBits)
{
    EXPECT_TRUE(attr_of(kCore, {}).disabled);
    EXPECT_FALSE(attr_of(kCore, {}).enable_on_exec);
    EXPECT_TRUE(attr_of(kCore, {}, Start::kOnExec, true).enable_on_exec);
    EXPECT_TRUE(attr_of(kCore, {}, Start::kOnExec, true).inherit);
    const perf_event_attr member = attr_of(kCore, {}, Start::kWithLeader, true);
    EXPECT_FALSE(member.disabled || member.enable_on_exec);
}

TEST(WithClock, ChangesOnlyTheClock)
{
    const std::vector<std::byte> wide =
        make_attr(kUncore, {{1, 2, 3, 4, 5}, {}, {}, {}}, Start::kWhenEnabled, false);
    for (const std::vector<std::byte> &before : {wide, make_tracking_attr({})}) {
        const std::vector<std::byte> after = with_clock(before, CLOCK_TAI);
        const auto parsed = perfdata::parse_attr(after, std::endian::native);
        ASSERT_TRUE(parsed);
        EXPECT_TRUE(parsed->use_clockid);
        EXPECT_EQ(parsed->clock_id, CLOCK_TAI);
        ASSERT_EQ(after.size(), before.size());
        // The clock changes one byte of the flags and one byte of the clock id.
        size_t differ = 0;
        for (size_t i = 0; i < after.size(); i++)
            differ += after[i] != before[i];
        EXPECT_EQ(differ, 2U);
    }
}

TEST(WithLostCount, ChangesOnlyTheReadFormat)
{
    const std::vector<std::byte> before =
        make_attr(kUncore, {{1, 2, 3, 4, 5}, {}, {}, {}}, Start::kWhenEnabled, false);
    const std::vector<std::byte> after = with_lost_count(before);
    perf_event_attr attr{};
    std::memcpy(&attr, after.data(), std::min(sizeof attr, after.size()));
    EXPECT_EQ(attr.read_format, uint64_t{PERF_FORMAT_LOST});
    ASSERT_EQ(after.size(), before.size());
    size_t differ = 0;
    for (size_t i = 0; i < after.size(); i++)
        differ += after[i] != before[i];
    EXPECT_EQ(differ, 1U);
}

// On Linux, read() of an event whose PMU was unregistered returns no bytes.
TEST(LostCounter, KeepsTheLastCountOfARemovedPmu)
{
    const Fd fd(::memfd_create("counts", MFD_CLOEXEC));
    const auto give = [&fd](const std::vector<uint64_t> &words) {
        ASSERT_EQ(::ftruncate(fd.get(), 0), 0);
        ASSERT_TRUE(write_all(fd.get(), std::as_bytes(std::span(words)), "counts"));
        ASSERT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);
    };
    LostCounter counter;
    give({100, 7});
    counter.read(fd.get());
    EXPECT_EQ(counter.count(), 7U);
    EXPECT_FALSE(counter.is_gone());
    give({});
    counter.read(fd.get());
    EXPECT_EQ(counter.count(), 7U);
    EXPECT_TRUE(counter.is_gone());
}

TEST(LostSamplesRecord, HasEventIdCpuAndZeroTime)
{
    const std::vector<std::byte> record = lost_samples_record(9, 77, 3);
    EXPECT_EQ(load<uint32_t>(record.data(), std::endian::native),
              uint32_t{PERF_RECORD_LOST_SAMPLES});
    EXPECT_EQ(load<uint16_t>(record.data() + 6, std::endian::native), record.size());
    const Bytes body = Bytes(record).subspan(sizeof(perf_event_header));
    EXPECT_EQ(perfdata::parse_lost_samples(body, std::endian::native), 9U);
    const auto attr = perfdata::parse_attr(make_attr(kUncore, {}, Start::kWhenEnabled, false),
                                           std::endian::native);
    ASSERT_TRUE(attr);
    const auto sample_id = perfdata::parse_sample_id(body, *attr, std::endian::native);
    ASSERT_TRUE(sample_id);
    EXPECT_EQ(sample_id->id, 77U);
    EXPECT_EQ(sample_id->cpu, 3U);
    EXPECT_EQ(sample_id->time_ns, 0U);
}

TEST(ExplainOpenError, NamesTheEventTheReasonAndTheSupportedValues)
{
    Pmu pmu{"p", 24, {}, {}, {{"counter_width", "16"}, {"unit_sizes", "12 13"}}, {}};
    Error error = explain_open_error(EINVAL, pmu, "p/x=1/", {-1, 3});
    EXPECT_EQ(error.code, Errc::kUsage);
    EXPECT_EQ(error.message,
              "p/x=1/ on CPU 3: the PMU refuses these values (Invalid argument); "
              "supported: counter_width=16, unit_sizes=12 13");
}

TEST(ExplainOpenError, ErrorCodeDependsOnTheErrno)
{
    Pmu pmu{"p", 24, {}, {}, {{"counter_width", "16"}}, {}};
    EXPECT_EQ(explain_open_error(EACCES, pmu, "e", {}).code, Errc::kDenied);
    EXPECT_EQ(explain_open_error(EBUSY, pmu, "e", {}).code, Errc::kBusy);
    EXPECT_EQ(explain_open_error(EBUSY, pmu, "e", {}).message.find("supported"), std::string::npos);
    EXPECT_EQ(explain_open_error(EXDEV, pmu, "e", {}).code, Errc::kIo);
}

TEST(ExplainOpenError, SaysThatAnotherChmuInstanceMayTrackTheRangeIfErrnoIsEBUSY)
{
    const Pmu pmu{"p", 24, {}, {}, {{"range_overlap", "0"}}, {}};
    EXPECT_EQ(explain_open_error(EBUSY, pmu, "e", {}).message,
              "e: another event holds this PMU; end that recording first, or another instance of "
              "its CHMU tracks part of this range (range_base, range_size) (Device or resource "
              "busy)");
    EXPECT_EQ(
        explain_open_error(EBUSY, {}, "e", {}).message,
        "e: another event holds this PMU; end that recording first (Device or resource busy)");
    EXPECT_EQ(explain_open_error(EINVAL, pmu, "e", {}).message.find("instance"), std::string::npos);
}

TEST(ExplainOpenError, SaysThatTheCpuMayBeOfflineIfErrnoIsENODEV)
{
    const Error error = explain_open_error(ENODEV, {}, "e", {-1, 3});
    EXPECT_EQ(error.code, Errc::kNotFound);
    EXPECT_EQ(error.message,
              "e on CPU 3: the device is gone, or CPU 3 is offline (No such device)");
    EXPECT_EQ(explain_open_error(ENODEV, {}, "e", {}).message,
              "e: the device is gone (No such device)");
    EXPECT_EQ(explain_open_error(EBUSY, {}, "e", {-1, 3}).message.find("offline"),
              std::string::npos);
}

TEST(ExplainOpenError, ExplainsWhyTheUserIsDenied)
{
    const auto denied = [](const Attempt &attempt) {
        return explain_open_error(EACCES, {}, "e", attempt).message;
    };
    const struct {
        Attempt attempt;
        const char *why;
    } cases[] = {
        {{5, 0, 3}, "kernel.perf_event_paranoid is 3, which restricts events to CAP_PERFMON"},
        {{5, 0, 2, true, true}, "process 5 is another user's"},
        {{-1, 0, 1}, "kernel.perf_event_paranoid is 1: the whole machine (-a, -C, -G) needs 0"},
        {{7, 0, 1, true, false, true}, "the whole machine (-a, -C, -G) needs 0"},
        {{5, 0, 2},
         "kernel.perf_event_paranoid is 2: kernel mode needs 1 or less; give the event :u"},
        {{5, 0, 2, false}, "this needs CAP_PERFMON"},
    };
    for (const auto &[attempt, why] : cases)
        EXPECT_NE(denied(attempt).find(why), std::string::npos) << denied(attempt);
    Pmu device{"p", 24, {}, {}, {}, std::vector<int>{0}};
    EXPECT_NE(
        explain_open_error(EPERM, device, "e", {-1, 0, 3}).message.find("set that capability"),
        std::string::npos)
        << "no sysctl gives a device's PMU to users";
}

// A kernel that takes only what `is_right` accepts.
std::string remedy_for(const std::function<bool(const perf_event_attr &, pid_t)> &is_right)
{
    Sampling sampling;
    sampling.chains = Chains::kBranches;
    const std::vector<std::byte> attr = make_attr({}, {}, Start::kWhenEnabled, false, sampling);
    return remedy_of(attr, {7, 0}, [&](const std::vector<std::byte> &bytes, const Attempt &other) {
        perf_event_attr changed{};
        std::memcpy(&changed, bytes.data(), std::min(sizeof changed, bytes.size()));
        return is_right(changed, other.pid);
    });
}

TEST(RemedyOf, IsTheSmallestChangeThatTheKernelTakes)
{
    const auto samples = [](const perf_event_attr &attr) { return attr.sample_period != 0; };
    EXPECT_EQ(remedy_for([](const perf_event_attr &attr, pid_t) {
                  return (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) == 0;
              }),
              "it has no branch stacks; use --call-graph fp or dwarf instead of lbr");
    EXPECT_EQ(remedy_for([](const perf_event_attr &, pid_t pid) { return pid == -1; }),
              "it counts CPUs, not tasks; record with -a");
    EXPECT_EQ(remedy_for([&](const perf_event_attr &attr, pid_t) { return !samples(attr); }),
              "it cannot be sampled; count it with perf stat");
    EXPECT_EQ(remedy_for([&](const perf_event_attr &attr, pid_t pid) {
                  return !samples(attr) && pid == -1;
              }),
              "it cannot be sampled and counts CPUs, not tasks; count it with perf stat -a");
    EXPECT_EQ(remedy_for([](const perf_event_attr &, pid_t) { return false; }), "");
}

TEST(RingAdvice, NamesTheLimitsThatRefuseTheRing)
{
    EXPECT_EQ(ring_advice(Errc::kDenied, 516, 65536),
              "without CAP_IPC_LOCK, rings are limited by kernel.perf_event_mlock_kb (516 KiB for "
              "each CPU) and ulimit -l (64 KiB): use smaller -m, or raise one of them");
    EXPECT_EQ(ring_advice(Errc::kIo, 516, 65536), "try smaller -m");
    EXPECT_EQ(ring_advice(Errc::kDenied, std::nullopt, 65536), "try smaller -m");
}

TEST(MakeAttr, DefersCallChainsInTheBitsOfTheKernel)
{
    constexpr size_t kFlagsAt = 40;
    constexpr uint64_t kDeferCallchain = uint64_t{1} << 38, kDeferOutput = uint64_t{1} << 39;
    const auto flags = [](const std::vector<std::byte> &attr) {
        return load<uint64_t>(attr.data() + kFlagsAt, std::endian::native);
    };
    Sampling deferred;
    deferred.chains = Chains::kFramePointers;
    deferred.defers_chains = true;
    const Pmu device{"p", 24, {}, {}, {}, std::vector<int>{0}};
    const auto made = [&](const Pmu &pmu, const Sampling &sampling) {
        return flags(make_attr(pmu, {}, Start::kWhenEnabled, false, sampling));
    };
    EXPECT_EQ(made({}, deferred) ^ made({}, {}), kDeferCallchain);
    EXPECT_EQ(made(device, deferred), made(device, {}));
    EXPECT_EQ(flags(make_tracking_attr({.deferred_chains = true})) ^ flags(make_tracking_attr({})),
              kDeferOutput);
}

TEST(TermAtFault, IsTheTermWithoutWhichTheEventIsAccepted)
{
    Pmu pmu{"p", 24, {}, {}, {}, {}};
    pmu.format["a"] = *parse_format("config:0-7");
    pmu.format["b"] = *parse_format("config:8-15");
    const EventString event = parse_event_strings("p/a=1,b=2/")->front();
    const auto blame = [&](uint64_t refused) {
        return term_at_fault(event, pmu, [refused](const EventSettings &settings) {
            return (settings.words[0] & refused) == 0;
        });
    };
    EXPECT_EQ(blame(0xff), "a=1");
    EXPECT_EQ(blame(0xff00), "b=2");
    EXPECT_EQ(blame(0xffff), "") << "each of both is refused";
}

perf_event_attr sampled(const Pmu &pmu, const EventSettings &settings, const Sampling &sampling)
{
    const auto bytes = make_attr(pmu, settings, Start::kWhenEnabled, false, sampling);
    perf_event_attr attr{};
    std::memcpy(&attr, bytes.data(), std::min(sizeof attr, bytes.size()));
    return attr;
}

TEST(MakeAttr, UsesTheRateOfTheRecordingIfTheEventHasNone)
{
    Sampling often;
    often.frequency_hz = 99;
    EXPECT_EQ(sampled(kCore, {}, often).sample_freq, 99U);
    EventSettings own;
    own.period = 5;
    EXPECT_FALSE(sampled(kCore, own, often).freq);
    EXPECT_EQ(sampled(kCore, own, often).sample_period, 5U);
    EXPECT_EQ(sampled(kUncore, {}, often).sample_period, 1U) << "every record";
    often.period = 1000;
    EXPECT_EQ(sampled(kCore, {}, often).sample_period, 1000U) << "-c goes before -F";
    EventSettings rate;
    rate.frequency_hz = 7;
    EXPECT_EQ(sampled(kCore, rate, often).sample_freq, 7U) << "the event's own goes first";
    EXPECT_FALSE(sampled(kCore, {}, often).sample_type & PERF_SAMPLE_PERIOD);
    often.weight = true;
    EXPECT_TRUE(sampled(kCore, {}, often).sample_type & PERF_SAMPLE_PERIOD);
}

TEST(MakeAttr, RequestsCallChainsOnlyIfThePmuSamplesTasks)
{
    Sampling chains;
    chains.chains = Chains::kFramePointers;
    EXPECT_TRUE(sampled(kCore, {}, chains).sample_type & PERF_SAMPLE_CALLCHAIN);
    EXPECT_FALSE(sampled(kCore, {}, chains).exclude_callchain_user);
    EXPECT_FALSE(sampled(kUncore, {}, chains).sample_type & PERF_SAMPLE_CALLCHAIN);
    chains.chains = Chains::kStack;
    chains.stack_bytes = 16384;
    EXPECT_EQ(sampled(kCore, {}, chains).sample_stack_user, 16384U);
    EXPECT_TRUE(sampled(kCore, {}, chains).sample_type & PERF_SAMPLE_REGS_USER);
    EXPECT_TRUE(sampled(kCore, {}, chains).exclude_callchain_user);
    chains.chains = Chains::kBranches;
    EXPECT_TRUE(sampled(kCore, {}, chains).branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
}

TEST(MakeAttr, WakesTheRecorderAtEachSampleOnRequest)
{
    EXPECT_EQ(sampled(kCore, {}, {}).wakeup_events, 0U);
    EXPECT_EQ(sampled(kCore, {}, {.wakes_at_once = true}).wakeup_events, 1U);
}

TEST(MakeTrackingAttr, TrackingEventIsADummyEventWithTheSameSampleIdFieldsAsOtherEvents)
{
    const std::vector<std::byte> bytes = make_tracking_attr({});
    perf_event_attr attr{};
    std::memcpy(&attr, bytes.data(), std::min(sizeof attr, bytes.size()));
    EXPECT_EQ(attr.type, uint32_t{PERF_TYPE_SOFTWARE});
    EXPECT_EQ(attr.config, uint64_t{PERF_COUNT_SW_DUMMY});
    EXPECT_TRUE(attr.mmap && attr.mmap2 && attr.build_id && attr.comm && attr.comm_exec &&
                attr.task && attr.inherit && attr.exclude_kernel);
    EXPECT_FALSE(attr.disabled || attr.enable_on_exec || attr.mmap_data);
    EXPECT_EQ(attr.sample_type, attr_of(kUncore, {}).sample_type);
    const std::vector<std::byte> of_stacks =
        make_tracking_attr({.inherit = true, .build_ids = true, .data_maps = true});
    std::memcpy(&attr, of_stacks.data(), std::min(sizeof attr, of_stacks.size()));
    EXPECT_TRUE(attr.mmap_data);
    for (const std::vector<std::byte> &of : {bytes, make_attr(kCore, {}, Start::kOnExec, true)}) {
        const auto parsed = perfdata::parse_attr(of, std::endian::native);
        ASSERT_TRUE(parsed);
        EXPECT_EQ(perfdata::trailer_bytes(*parsed), kTrailerBytes);
    }
}

}  // namespace
}  // namespace pmukit::record
