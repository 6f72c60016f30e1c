// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the arithmetic of the IMC engine against the documented rules: the facts (measured values)
// of threads and cores, trace records, published register values, and the catalog for the driver.
extern "C" {
#include "imc_engine/imc_engine_core.h"
}

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

namespace {

// Facts

struct Machine {
    imc_engine_core_state core{};
    imc_engine_thread_state threads[3]{};

    u64 fact(imc_engine_fact which) const { return core.facts.value[which]; }
    void busy(int thread, bool on, u64 now)
    {
        imc_engine_set_busy(&core, &threads[thread], on, now);
    }
    u64 thread_fact(int thread, imc_engine_fact which)
    {
        imc_engine_facts facts;
        imc_engine_thread_facts(&core, &threads[thread], &facts);
        return facts.value[which];
    }
};

TEST(ImcEngineFacts, TimeOfACoreIsCountedSeparatelyForEachNumberOfBusyThreads)
{
    Machine machine;
    // Thread 0 becomes busy at 100 ns; no thread is busy before.
    machine.busy(0, true, 100);
    machine.busy(1, true, 130);   // 100 to 130 ns: one busy thread
    machine.busy(2, true, 150);   // 130 to 150 ns: two busy threads
    machine.busy(1, false, 155);  // 150 to 155 ns: three busy threads
    machine.busy(2, false, 165);  // 155 to 165 ns: two busy threads
    machine.busy(0, false, 205);  // 165 to 205 ns: one busy thread
    imc_engine_account(&machine.core, 212);
    EXPECT_EQ(machine.fact(IMC_ENGINE_ELAPSED_NS), 212U);
    EXPECT_EQ(machine.fact(IMC_ENGINE_BUSY_0_NS), 107U);
    EXPECT_EQ(machine.fact(IMC_ENGINE_BUSY_1_NS), 70U);
    EXPECT_EQ(machine.fact(IMC_ENGINE_BUSY_2_NS), 35U);
    EXPECT_EQ(machine.fact(IMC_ENGINE_NON_IDLE_NS), 105U);
    EXPECT_EQ(machine.fact(IMC_ENGINE_TASK_NS), 30 + 2 * 20 + 3 * 5 + 2 * 10 + 40U);
    EXPECT_EQ(machine.thread_fact(0, IMC_ENGINE_TASK_NS), 105U);
    EXPECT_EQ(machine.thread_fact(1, IMC_ENGINE_TASK_NS), 25U);
    EXPECT_EQ(machine.thread_fact(2, IMC_ENGINE_NON_IDLE_NS), 15U);
}

TEST(ImcEngineFacts, ThreadTimesAddUpToCoreTime)
{
    std::mt19937 random(7);
    Machine machine;
    u64 now = 0;
    for (int i = 0; i < 2000; i++) {
        now += random() % 1000;
        machine.busy(static_cast<int>(random() % 3), random() % 2 != 0, now);
    }
    u64 sum = 0;
    for (imc_engine_thread_state &thread : machine.threads) {
        imc_engine_account_thread(&machine.core, &thread, now);
        sum += thread.task_ns;
    }
    EXPECT_EQ(sum, machine.fact(IMC_ENGINE_TASK_NS));
    EXPECT_EQ(machine.fact(IMC_ENGINE_BUSY_0_NS) + machine.fact(IMC_ENGINE_NON_IDLE_NS),
              machine.fact(IMC_ENGINE_ELAPSED_NS));
    EXPECT_EQ(machine.fact(IMC_ENGINE_ELAPSED_NS), now);
}

TEST(ImcEngineFacts, SettingTheSameBusyStateAgainChangesNothing)
{
    Machine machine;
    machine.busy(0, true, 10);
    machine.busy(0, true, 20);
    EXPECT_EQ(machine.core.busy, 1U);
    machine.busy(0, false, 30);
    machine.busy(0, false, 40);
    EXPECT_EQ(machine.core.busy, 0U);
    EXPECT_EQ(machine.fact(IMC_ENGINE_TASK_NS), 20U);
}

TEST(ImcEngineFacts, TimesDoNotChangeIfTheClockGoesBackwards)
{
    Machine machine;
    machine.busy(0, true, 100);
    machine.busy(0, true, 90);
    EXPECT_EQ(machine.fact(IMC_ENGINE_ELAPSED_NS), 100U);
    machine.busy(0, true, 110);
    EXPECT_EQ(machine.fact(IMC_ENGINE_ELAPSED_NS), 110U);
    EXPECT_EQ(machine.fact(IMC_ENGINE_TASK_NS), 10U);
    EXPECT_EQ(machine.thread_fact(0, IMC_ENGINE_TASK_NS), 10U);
}

TEST(ImcEngineFacts, ThreadHasItsOwnSwitchesAndFaultsButElapsedAndBusyTimesOfItsCore)
{
    Machine machine;
    machine.threads[0].switches = 3;
    machine.threads[0].faults = 4;
    machine.threads[0].user_ns = 5;
    machine.core.facts.value[IMC_ENGINE_SWITCHES] = 30;
    machine.core.facts.value[IMC_ENGINE_FAULTS] = 40;
    machine.core.facts.value[IMC_ENGINE_USER_NS] = 50;
    machine.busy(1, true, 0);
    imc_engine_account_thread(&machine.core, &machine.threads[0], 50);
    EXPECT_EQ(machine.thread_fact(0, IMC_ENGINE_SWITCHES), 3U);
    EXPECT_EQ(machine.thread_fact(0, IMC_ENGINE_FAULTS), 4U);
    EXPECT_EQ(machine.thread_fact(0, IMC_ENGINE_USER_NS), 5U);
    EXPECT_EQ(machine.thread_fact(0, IMC_ENGINE_ELAPSED_NS), 50U);
    EXPECT_EQ(machine.thread_fact(0, IMC_ENGINE_BUSY_1_NS), 50U);
    EXPECT_EQ(machine.thread_fact(0, IMC_ENGINE_NON_IDLE_NS), 0U);
}

// Counters

const imc_engine_slot &slot_named(const std::string &name)
{
    for (const imc_engine_slot &slot : imc_engine_slots)
        if (name == slot.name)
            return slot;
    ADD_FAILURE() << name;
    return imc_engine_slots[0];
}

TEST(ImcEngineSlots, SumOfRoundedDeltasEqualsRoundedSum)
{
    const imc_engine_slot &slot = slot_named("CPM_32MHZ_CYC");
    imc_engine_facts from{}, to{};
    u64 sum = 0;
    for (int i = 0; i < 1000; i++) {
        // The counter counts once per 512 cycles at 32 MHz, which take 16000 ns.
        to.value[IMC_ENGINE_ELAPSED_NS] += 17000;
        sum += imc_engine_slot_delta(&slot, &from, &to);
        from = to;
    }
    EXPECT_EQ(sum, 17000U * 1000 / 16000);
}

TEST(ImcEngineSlots, EachCoreEventHasTheExpectedCount)
{
    imc_engine_facts from{}, to{};
    for (u64 i = 0; i < IMC_ENGINE_NR_FACTS; i++) {
        from.value[i] = 5000 * 512;
        to.value[i] = (5000 + 1000 * (i + 1)) * 512;
    }
    const std::map<std::string, u64> expected = {
        {"CPM_CCYC", 1000},
        {"CPM_32MHZ_CYC", 32},
        {"CPM_NON_IDLE_PCYC", 2000},
        {"CPM_NON_IDLE_INST", 3000},
        {"CPM_0THRD_NON_IDLE_PCYC", 4000},
        {"CPM_1THRD_NON_IDLE_PCYC", 5000},
        {"CPM_2THRD_NON_IDLE_PCYC", 6000},
        {"CPM_1THRD_NON_IDLE_INST", 5000},
        {"CPM_ENGINE_CONTEXT_SWITCHES", 7000 * 512},
        {"CPM_ENGINE_PAGE_FAULTS", 8000 * 512},
        {"CPM_ENGINE_TASK_CLOCK", 3000 * 512},
        {"CPM_CS_PCYC_USER", 9000},
        {"CPM_CS_INST_USER", 9000},
        {"CPM_CS_32MHZ_CYC_USER", 288},
    };
    EXPECT_EQ(expected.size(), size_t{IMC_ENGINE_NR_SLOTS});
    for (const auto &[name, count] : expected)
        EXPECT_EQ(imc_engine_slot_delta(&slot_named(name), &from, &to), count) << name;
}

// Trace

TEST(ImcEngineScom, ScomValueOfATraceEventMatchesSkiboot)
{
    EXPECT_EQ(imc_engine_scom(0xffffff05), 0x7fffffc142020000U);
}

TEST(ImcEngineScom, ScomValueEncodesTheSamplingPeriod)
{
    // The counter starts at 0xffffff05 and overflows after 251 events of 31.25 ns each.
    EXPECT_EQ(imc_engine_period_ns(imc_engine_scom(0xffffff05)), 7843U);
    EXPECT_EQ(imc_engine_period_ns(imc_engine_scom(0xffff8300)), 1000000U);
    EXPECT_EQ(imc_engine_period_ns(imc_engine_scom(0xffffffff)), 31U);
    EXPECT_EQ(imc_engine_period_ns(imc_engine_scom(0)), 134217728000U);
}

TEST(ImcEngineScom, ScomValueEncodesTheBufferSize)
{
    EXPECT_EQ(imc_engine_buffer_records(imc_engine_scom(0)), 4096U);
    const u32 records[] = {4096, 8192, 16384, 32768, 65536, 65536, 65536, 65536};
    for (u64 size = 0; size < 8; size++)
        EXPECT_EQ(imc_engine_buffer_records(size << 13), records[size]);
}

TEST(ImcEngineTrace, WritesKernelModeRecord)
{
    imc_engine_trace trace{};
    u64 words[IMC_ENGINE_RECORD_WORDS];
    trace.records = 17;
    u32 at = imc_engine_trace_record(&trace, imc_engine_scom(0), 1000000000, 0xffffffff81000000,
                                     false, 99, words);
    EXPECT_EQ(at, 0U);
    const u64 expected[IMC_ENGINE_RECORD_WORDS] = {
        512000000, 0xffffffff81000000, u64{2} << 62, 1000000000, 32000000, 99, 17, 512000000};
    for (int i = 0; i < IMC_ENGINE_RECORD_WORDS; i++)
        EXPECT_EQ(words[i], expected[i]) << i;
    EXPECT_EQ(trace.records, 18U);
    EXPECT_EQ(trace.at, 1U);
}

TEST(ImcEngineTrace, RecordOfUserModeHasTheUserModeBits)
{
    imc_engine_trace trace{};
    u64 words[IMC_ENGINE_RECORD_WORDS];
    imc_engine_trace_record(&trace, 0, 1, 2, true, 0, words);
    EXPECT_EQ(words[IMC_ENGINE_RECORD_PIDR] >> 62, 3U);
}

TEST(ImcEngineTrace, TimebaseIncreasesEvenIfClockDoesNot)
{
    imc_engine_trace trace{};
    u64 words[IMC_ENGINE_RECORD_WORDS], before = 0;
    for (u64 now : {5000, 5000, 5001, 4000, 6000}) {
        imc_engine_trace_record(&trace, 0, now, 0, false, 0, words);
        EXPECT_GT(words[IMC_ENGINE_RECORD_TB1], before);
        before = words[IMC_ENGINE_RECORD_TB1];
    }
    EXPECT_EQ(before, imc_engine_timebase(6000));
}

TEST(ImcEngineTrace, SecondTimebaseHas42Bits)
{
    imc_engine_trace trace{};
    u64 words[IMC_ENGINE_RECORD_WORDS];
    trace.timebase = (u64{7} << 42) + 4;
    imc_engine_trace_record(&trace, 0, 0, 0, false, 0, words);
    EXPECT_EQ(words[IMC_ENGINE_RECORD_TB1], (u64{7} << 42) + 5);
    EXPECT_EQ(words[IMC_ENGINE_RECORD_TB2], 5U);
}

TEST(ImcEngineTrace, WrapsAtTheEndOfTheBuffer)
{
    imc_engine_trace trace{};
    u64 words[IMC_ENGINE_RECORD_WORDS];
    trace.at = 4095;
    EXPECT_EQ(imc_engine_trace_record(&trace, 0, 1, 0, false, 0, words), 4095U);
    EXPECT_EQ(imc_engine_trace_record(&trace, 0, 2, 0, false, 0, words), 0U);
    EXPECT_EQ(trace.at, 1U);
}

TEST(ImcEngineTrace, TicksAreAtMultiplesOfThePeriodAfterThePhase)
{
    EXPECT_EQ(imc_engine_next_tick(0, 100, 30), 30U);
    EXPECT_EQ(imc_engine_next_tick(29, 100, 30), 30U);
    EXPECT_EQ(imc_engine_next_tick(30, 100, 30), 130U) << "after now, not at it";
    EXPECT_EQ(imc_engine_next_tick(129, 100, 30), 130U);
    EXPECT_EQ(imc_engine_next_tick(1234, 100, 30), 1330U);
}

TEST(ImcEngineTrace, TickIntervalIsAMultipleOfThePeriod)
{
    EXPECT_EQ(imc_engine_tick_ns(999718), 999718U);
    EXPECT_EQ(imc_engine_tick_ns(100000), 100000U);
    EXPECT_EQ(imc_engine_tick_ns(99999), 199998U);
    EXPECT_EQ(imc_engine_tick_ns(7843), 101959U);
}

void expect_due(const imc_engine_due &due, u64 count, u64 first_ns, u64 late)
{
    EXPECT_EQ(due.count, count);
    EXPECT_EQ(due.first_ns, first_ns);
    EXPECT_EQ(due.late, late);
}

TEST(ImcEngineTrace, ARecordIsDueForEachSamplingTimeSinceTheLastTick)
{
    // The sampling times are 30 + n * 7843 ns. A record is due for each sampling time that is after
    // the first argument and not after the second one.
    expect_due(imc_engine_trace_due(30, 30 + 13 * 7843, 7843, 30), 13, 30 + 7843, 0);
    expect_due(imc_engine_trace_due(30, 29 + 13 * 7843, 7843, 30), 12, 30 + 7843, 0);
    expect_due(imc_engine_trace_due(31, 7800, 7843, 30), 0, 30 + 7843, 0);
    // Here the clock goes backwards.
    expect_due(imc_engine_trace_due(30 + 7843, 40, 7843, 30), 0, 30 + 7843, 0);
}

TEST(ImcEngineTrace, DropsRecordsDueMoreThan1MsAgoExceptTheNewest)
{
    // Only records of the last 1 ms are written, which are 127 records if the period is 7843 ns.
    // The newest of the due records is always written.
    expect_due(imc_engine_trace_due(0, 200 * 7843, 7843, 0), 127, 74 * 7843, 73);
    expect_due(imc_engine_trace_due(0, 3 * 999718, 999718, 0), 1, 3 * 999718, 2);
    expect_due(imc_engine_trace_due(0, 40000000, 30000000, 0), 1, 30000000, 0);
}

// Nest

TEST(ImcEngineNest, CommandsSetTheNestStatus)
{
    EXPECT_EQ(imc_engine_nest_status(2, 0), 2U);
    EXPECT_EQ(imc_engine_nest_status(1, 0), 1U);
    EXPECT_EQ(imc_engine_nest_status(2, 1), 1U);
    EXPECT_EQ(imc_engine_nest_status(1, 2), 2U);
    EXPECT_EQ(imc_engine_nest_status(2, 3), 1U);
    EXPECT_EQ(imc_engine_nest_status(2, 4), 2U);
    EXPECT_EQ(imc_engine_nest_status(1, ~u64{0}), 1U);
}

TEST(ImcEngineNest, EightSpeedsSelectIntervalsOf128MicrosecondsTo1Second)
{
    const u64 us[] = {128, 256, 1000, 4000, 16000, 64000, 256000, 1000000, 1000000};
    for (u64 speed = 0; speed < 9; speed++)
        EXPECT_EQ(imc_engine_nest_interval_ns(speed), us[speed] * 1000);
    EXPECT_EQ(imc_engine_nest_interval_ns(~u64{0}), 1000000000U);
}

TEST(ImcEngineNest, EachNestEventHasTheExpectedNumberOfLinesOrCycles)
{
    imc_engine_nest_facts from{}, to{};
    for (u64 i = 0; i < IMC_ENGINE_NR_NEST_FACTS; i++)
        to.value[i] = (i + 1) * 256;
    const std::map<std::string, u64> expected = {
        {"PM_MCS01_128B_RD_DISP_PORT01", 32},
        {"PM_MCS01_128B_WR_DISP_PORT01", 64},
        {"PM_MCS01_128B_RD_DISP_PORT23", 96},
        {"PM_MCS01_128B_WR_DISP_PORT23", 128},
        {"PM_PB_CYC", 10},
    };
    for (const imc_engine_nest_slot &slot : imc_engine_nest_slots)
        EXPECT_EQ(imc_engine_nest_delta(&slot, 4096, &from, &to), expected.at(slot.name))
            << slot.name;
}

TEST(ImcEngineNest, SumOfRoundedDeltasEqualsRoundedSum)
{
    const imc_engine_nest_slot &slot = imc_engine_nest_slots[0];
    imc_engine_nest_facts from{}, to{};
    u64 sum = 0;
    for (int i = 0; i < 1000; i++) {
        // Three pages. The counter counts once per 8 pages of 4 KiB.
        to.value[slot.fact] += 3;
        sum += imc_engine_nest_delta(&slot, 4096, &from, &to);
        from = to;
    }
    EXPECT_EQ(sum, 3000U / 8);
}

// In the catalog, a unit has a prefix, a base, and a reference to a list of events.

using Offsets = std::map<std::string, u64>;

std::string property(const std::string &node, const std::string &name)
{
    std::smatch found;
    std::regex line(R"(\b)" + name + R"( = (?:"([^"]*)\"|<([^>]*)>);)");
    if (!std::regex_search(node, found, line))
        return {};
    return found[1].matched ? found[1].str() : found[2].str();
}

// Returns the catalog as a map from "PMU/event" to the offset of the event's counter.
Offsets catalogue()
{
    std::ifstream file(PMUKIT_DRIVERS "/imc_engine/imc-power9.dts");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_FALSE(text.empty());
    std::map<std::string, std::vector<std::pair<std::string, u64>>> events;
    std::regex groups(R"((\w+): [\w-]+ \{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\})");
    std::regex event(R"(event@\w+ \{([^}]*)\})");
    for (std::sregex_iterator group(text.begin(), text.end(), groups), end; group != end; ++group) {
        std::string body = (*group)[2];
        for (std::sregex_iterator one(body.begin(), body.end(), event); one != end; ++one)
            events[(*group)[1]].emplace_back(property((*one)[1], "event-name"),
                                             std::stoull(property((*one)[1], "reg"), nullptr, 0));
    }
    Offsets offsets;
    std::regex units(R"((\w+)@\w+ \{([^}]*ibm,imc-counters[^}]*)\})");
    for (std::sregex_iterator unit(text.begin(), text.end(), units), end; unit != end; ++unit) {
        std::string body = (*unit)[2];
        u64 base = std::stoull(property(body, "reg"), nullptr, 0);
        for (const auto &[name, offset] : events[property(body, "events").substr(1)])
            offsets[(*unit)[1].str() + "/" + property(body, "events-prefix") + name] =
                base + offset;
    }
    return offsets;
}

TEST(ImcEngineCatalogue, CounterOffsetsInTheCatalogMatchTheEngine)
{
    Offsets expected = {{"trace/trace_cycles", 0x10200000}};
    for (const imc_engine_slot &slot : imc_engine_slots) {
        expected[std::string("core/") + slot.name] = slot.offset;
        expected[std::string("thread/") + slot.name] = slot.offset;
    }
    for (const imc_engine_nest_slot &slot : imc_engine_nest_slots) {
        std::string name = slot.name;
        expected[(name.starts_with("PM_MCS01") ? "mcs01/" : "powerbus0/") + name] = slot.offset;
    }
    EXPECT_EQ(catalogue(), expected);
}

}  // namespace
