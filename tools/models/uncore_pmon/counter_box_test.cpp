// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Offsets, codes and results are literals from Documentation/devices/uncore_pmon-model.rst, not
// taken from the tables under test.
#include "models/uncore_pmon/counter_box.hpp"

#include <gtest/gtest.h>

#include <map>

namespace pmukit::models::uncore_pmon {
namespace {

constexpr uint32_t kFreeze = 1, kResetControls = 0x100, kResetCounters = 0x200;
constexpr uint32_t kReads = 0xcf05, kWrites = 0xf005;

uint64_t control_of(uint32_t type, unsigned i)
{
    return type == 6 ? 0x40 + 4 * i : 0x10 + 8 * i;
}
uint64_t counter_of(uint32_t type, unsigned i)
{
    return (type == 6 ? 0x08 : 0x50) + 8 * i;
}

class Box {
public:
    explicit Box(const UnitType &unit = kImc, const BoxParams &params = {})
        : type(unit.id), box(unit, params)
    {
    }
    void write(uint64_t offset, unsigned width, uint64_t value)
    {
        EXPECT_TRUE(box.write(static_cast<uint32_t>(offset), width, value))
            << offset << ' ' << width;
    }
    void program(unsigned i, uint64_t control) { write(control_of(type, i), 4, control); }
    uint64_t counter(unsigned i) const
    {
        return box.read(static_cast<uint32_t>(counter_of(type, i)), 8);
    }
    void happen(Signal signal, unsigned lane = 0, uint64_t count = 1)
    {
        box.happened({.signal = signal, .lane = lane, .count = count});
    }

    uint32_t type;
    CounterBox box;
};

TEST(UncoreBox, RegistersAreAtTheOffsetsOfTheUnitType)
{
    Box imc;
    for (unsigned i = 0; i < 4; i++) {
        imc.write(0x40 + 4 * i, 4, 0x100 + i);
        imc.write(0x08 + 8 * i, 8, 0x200 + i);
    }
    imc.write(0x54, 4, 0x400000);
    imc.write(0x38, 8, 0x300);
    for (unsigned i = 0; i < 4; i++) {
        EXPECT_EQ(imc.box.read(0x40 + 4 * i, 4), 0x100 + i);
        EXPECT_EQ(imc.box.read(0x08 + 8 * i, 8), 0x200 + i);
    }
    EXPECT_EQ(imc.box.read(0x54, 4), 0x400000u);
    EXPECT_EQ(imc.box.read(0x38, 8), 0x300u);
    EXPECT_FALSE(imc.box.write(0x50, 4, 1));  // a fifth control
    EXPECT_FALSE(imc.box.write(0x28, 8, 1));  // a fifth counter
    EXPECT_EQ(imc.box.bytes(), 0x58u);

    Box cxl(kCxlcm);
    for (unsigned i = 0; i < 8; i++) {
        cxl.write(0x10 + 8 * i, 8, 0x1'0000'0000 + i);
        cxl.write(0x50 + 8 * i, 8, 0x200 + i);
    }
    for (unsigned i = 0; i < 8; i++) {
        EXPECT_EQ(cxl.box.read(0x10 + 8 * i, 8), 0x1'0000'0000 + i);
        EXPECT_EQ(cxl.box.read(0x50 + 8 * i, 8), 0x200 + i);
    }
    EXPECT_FALSE(cxl.box.write(0x90, 8, 1));
    EXPECT_EQ(cxl.box.bytes(), 0x90u);
}

TEST(UncoreBox, IdentifiesCounterOffsets)
{
    Box imc;
    for (const uint32_t counter : {0x08u, 0x0cu, 0x20u, 0x38u})
        EXPECT_TRUE(imc.box.is_counter(counter)) << counter;
    for (const uint32_t other : {0x00u, 0x28u, 0x40u, 0x54u, 0x5cu, 0x1000u})
        EXPECT_FALSE(imc.box.is_counter(other)) << other;
}

TEST(UncoreBox, ReadsAnyWidthAtAnyOffset)
{
    Box imc;
    imc.write(0x08, 8, 0x0000'1122'3344'5566);
    imc.write(0x40, 4, 0xaab8ccdd);
    EXPECT_EQ(imc.box.read(0x08, 1), 0x66u);
    EXPECT_EQ(imc.box.read(0x09, 2), 0x4455u);
    EXPECT_EQ(imc.box.read(0x0a, 4), 0x11223344u);
    EXPECT_EQ(imc.box.read(0x0c, 4), 0x00001122u);
    // The first four bytes are the upper half of the fixed counter.
    EXPECT_EQ(imc.box.read(0x3c, 8), 0xaab8ccdd'00000000u);
    EXPECT_EQ(imc.box.read(0x5c, 8), 0u);  // the status register
}

TEST(UncoreBox, AcceptsOnlyFullWidthWritesAnd4ByteHalvesOf8ByteRegisters)
{
    Box imc;
    imc.write(0x08, 4, 0x89abcdef);
    imc.write(0x0c, 4, 0xffff4567);
    EXPECT_EQ(imc.counter(0), 0x456789abcdefu);
    for (const auto &[offset, width] : std::multimap<uint32_t, unsigned>{{0x00, 8},
                                                                         {0x00, 2},
                                                                         {0x02, 4},
                                                                         {0x40, 8},
                                                                         {0x40, 1},
                                                                         {0x42, 4},
                                                                         {0x0a, 4},
                                                                         {0x0c, 8}})
        EXPECT_FALSE(imc.box.write(offset, width, ~uint64_t{0})) << offset << ' ' << width;
    EXPECT_EQ(imc.counter(0), 0x456789abcdefu);
    EXPECT_EQ(imc.box.read(0x40, 4), 0u);

    Box cxl(kCxldp);
    cxl.write(0x14, 4, 5);
    cxl.write(0x10, 4, 6);
    EXPECT_EQ(cxl.box.read(0x10, 8), 0x5'0000'0006u);
}

TEST(UncoreBox, ResetBitsClearCountersOrControlsAndReadAsZero)
{
    Box imc;
    imc.program(0, kReads);
    imc.write(0x54, 4, 0x400000);
    imc.happen(Signal::kReadCas, 0, 7);
    imc.happen(Signal::kDclk, 0, 9);

    imc.write(0, 4, kResetCounters);
    EXPECT_EQ(imc.counter(0), 0u);
    EXPECT_EQ(imc.box.read(0x38, 8), 0u);
    EXPECT_EQ(imc.box.read(0x40, 4), kReads);
    EXPECT_EQ(imc.box.read(0x54, 4), 0x400000u);
    EXPECT_EQ(imc.box.read(0, 4), 0u);

    imc.happen(Signal::kReadCas, 0, 7);
    imc.write(0, 4, kResetControls | kFreeze);
    EXPECT_EQ(imc.counter(0), 7u);
    EXPECT_EQ(imc.box.read(0x40, 4), 0u);
    EXPECT_EQ(imc.box.read(0x54, 4), 0u);
    EXPECT_EQ(imc.box.read(0, 4), kFreeze);

    imc.write(0, 4, ~0u);
    EXPECT_EQ(imc.box.read(0, 4), kFreeze);
    EXPECT_EQ(imc.counter(0), 0u);
}

TEST(UncoreBox, FreezeStopsCountersAndKeepsCounts)
{
    Box imc;
    imc.program(0, kReads);
    imc.write(0x54, 4, 0x400000);
    imc.happen(Signal::kReadCas);
    imc.happen(Signal::kDclk);
    imc.write(0, 4, kFreeze);
    imc.happen(Signal::kReadCas);
    imc.happen(Signal::kDclk);
    EXPECT_EQ(imc.counter(0), 1u);
    EXPECT_EQ(imc.box.read(0x38, 8), 1u);
    imc.write(0, 4, 0);
    imc.happen(Signal::kReadCas);
    EXPECT_EQ(imc.counter(0), 2u);
    imc.box.freeze_from_outside(true);
    imc.happen(Signal::kReadCas);
    EXPECT_EQ(imc.counter(0), 2u);
    imc.box.freeze_from_outside(false);
    imc.happen(Signal::kReadCas);
    EXPECT_EQ(imc.counter(0), 3u);
}

TEST(UncoreBox, AControlOfZeroCountsNothing)
{
    Box imc;
    for (const Signal signal : {Signal::kReadCas, Signal::kWriteCas, Signal::kDclk, Signal::kHclk})
        imc.happen(signal);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(imc.counter(i), 0u);
}

TEST(UncoreBox, ControlRegistersKeepUnusedBits)
{
    Box imc;
    const uint32_t stored = 0xff000000 | 1u << 23 | 1u << 18 | 1u << 16 | kReads;
    imc.program(0, stored);
    EXPECT_EQ(imc.box.read(0x40, 4), stored);
    imc.happen(Signal::kReadCas);
    EXPECT_EQ(imc.counter(0), 1u);
}

TEST(UncoreBox, ControlResetBitClearsOnlyItsCounter)
{
    Box imc;
    imc.program(0, kReads);
    imc.program(1, kReads);
    imc.happen(Signal::kReadCas);
    imc.program(0, kReads | 1u << 17);
    EXPECT_EQ(imc.counter(0), 0u);
    EXPECT_EQ(imc.counter(1), 1u);
    EXPECT_EQ(imc.box.read(0x40, 4), kReads);
}

TEST(UncoreBox, CounterWrapsAtTheConfiguredWidth)
{
    for (const unsigned width : {24u, 32u, 47u, 48u, 63u, 64u}) {
        const uint64_t all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
        Box imc(kImc, {.width = width, .below_wrap = 2});
        imc.program(0, kReads);
        EXPECT_EQ(imc.counter(0), all - 1) << width;
        imc.happen(Signal::kReadCas);
        EXPECT_EQ(imc.counter(0), all) << width;
        imc.happen(Signal::kReadCas, 0, 3);
        EXPECT_EQ(imc.counter(0), 2u) << width;
        imc.write(0, 4, kResetCounters);
        EXPECT_EQ(imc.counter(0), all - 1) << width;
        imc.write(0x08, 8, ~uint64_t{0});
        EXPECT_EQ(imc.counter(0), all) << width;
        EXPECT_EQ(imc.box.read(0x38, 8), 0xfffffffffffeu) << width;  // always 48 bits
    }
}

TEST(UncoreBox, FixedCounterNeedsItsEnableBit)
{
    Box imc(kImc, {.below_wrap = 1});
    imc.happen(Signal::kDclk);
    EXPECT_EQ(imc.box.read(0x38, 8), 0xffffffffffffu);
    imc.write(0x54, 4, 1u << 22);
    imc.happen(Signal::kDclk, 0, 5);
    imc.happen(Signal::kHclk, 0, 7);
    EXPECT_EQ(imc.box.read(0x38, 8), 4u);
    imc.write(0x38, 8, ~uint64_t{0});
    EXPECT_EQ(imc.box.read(0x38, 8), 0xffffffffffffu);
    EXPECT_FALSE(Box(kCxlcm).box.write(0x38 + 0x60, 8, 1));
}

// Every documented event code, and how much one occurrence of each signal on each lane adds to the
// counter of that event.
struct Code {
    const UnitType *type;
    Platform platform;
    uint32_t control;
    std::map<Signal, std::array<int, 4>> adds;
};

using Lanes = std::array<int, 4>;
constexpr Lanes kAll = {1, 1, 1, 1}, kEven = {1, 0, 1, 0}, kOdd = {0, 1, 0, 1};
constexpr Lanes kFirst = {1, 0, 0, 0}, kThird = {0, 0, 1, 0}, kFirstTwo = {1, 1, 0, 0};

std::vector<Code> documented_codes()
{
    using S = Signal;
    constexpr Platform spr = Platform::kSpr, gnr = Platform::kGnr;
    return {
        {&kImc, spr, 0x0001, {{S::kHclk, kAll}}},
        {&kImc, spr, 0x0101, {{S::kDclk, kAll}}},
        {&kImc, spr, 0xcf05, {{S::kReadCas, kAll}, {S::kUnderfillCas, kAll}}},
        {&kImc, spr, 0xc105, {{S::kReadCas, kAll}}},
        {&kImc, spr, 0xc405, {{S::kUnderfillCas, kAll}}},
        {&kImc, spr, 0xf005, {{S::kWriteCas, kAll}}},
        {&kImc, spr, 0xd005, {{S::kWriteCas, kAll}}},
        {&kImc, spr, 0xe005, {}},  // no write needs a precharge
        {&kImc, spr, 0x4f05, {{S::kReadCas, kEven}, {S::kUnderfillCas, kEven}}},
        {&kImc, spr, 0xb005, {{S::kWriteCas, kOdd}}},
        {&kImc, spr, 0xff05, {{S::kReadCas, kAll}, {S::kUnderfillCas, kAll}, {S::kWriteCas, kAll}}},
        {&kImc, spr, 0x0105, {}},  // no pseudo channel selected
        {&kImc, spr, 0xc005, {}},  // no kind of access selected
        {&kImc, spr, 0xcf06, {}},
        {&kImc, spr, 0x0110, {{S::kReadQueued, kEven}}},
        {&kImc, spr, 0x0210, {{S::kReadQueued, kOdd}}},
        {&kImc, spr, 0x0320, {{S::kWriteQueued, kAll}}},
        {&kImc, gnr, 0xcf05, {{S::kReadCas, kEven}, {S::kUnderfillCas, kEven}}},
        {&kImc, gnr, 0xf005, {{S::kWriteCas, kEven}}},
        {&kImc, gnr, 0xcf06, {{S::kReadCas, kOdd}, {S::kUnderfillCas, kOdd}}},
        {&kImc, gnr, 0xf006, {{S::kWriteCas, kOdd}}},
        {&kImc, gnr, 0x4f05, {{S::kReadCas, kFirst}, {S::kUnderfillCas, kFirst}}},
        {&kImc, gnr, 0x3010, {{S::kReadQueued, kEven}}},
        {&kImc, gnr, 0x5010, {{S::kReadQueued, kFirstTwo}}},
        {&kImc, gnr, 0x2010, {{S::kReadQueued, kThird}}},
        {&kImc, gnr, 0xc022, {{S::kWriteQueued, kOdd}}},
        {&kImc, gnr, 0x0101, {{S::kDclk, kAll}}},
        {&kCxlcm, spr, 0x0201, {{S::kLinkClk, kAll}}},
        {&kCxlcm, spr, 0x0802, {{S::kM2sRequest, kAll}}},
        {&kCxlcm, spr, 0x1002, {{S::kM2sData, kAll}}},
        {&kCxldp, spr, 0x0101, {{S::kUclk, kAll}}},
        {&kCxldp, spr, 0x1002, {{S::kM2sRequest, kAll}}},
        {&kCxldp, spr, 0x2002, {{S::kM2sData, kAll}}},
        {&kCxldp, spr, 0x0f02, {}},
        {&kB2cxl, gnr, 0x0001, {{S::kUclk, kAll}}},
        {&kB2cxl, gnr, 0x0424, {{S::kM2sRequest, kAll}}},
        {&kB2cxl, gnr, 0x1025, {{S::kM2sData, kAll}}},
        {&kUnknown, spr, 0x0001, {{S::kUclk, kAll}}},
    };
}

constexpr Signal kEverySignal[] = {
    Signal::kDclk,        Signal::kHclk,         Signal::kLinkClk,  Signal::kUclk,
    Signal::kReadCas,     Signal::kUnderfillCas, Signal::kWriteCas, Signal::kReadQueued,
    Signal::kWriteQueued, Signal::kM2sRequest,   Signal::kM2sData,  Signal::kS2mData,
    Signal::kS2mResponse,
};

TEST(UncoreBox, EveryCodeCountsOnlyItsDocumentedSignals)
{
    for (const Code &code : documented_codes()) {
        Box unit(*code.type, {.platform = code.platform});
        unit.program(0, code.control);
        const uint32_t at =
            code.type == &kUnknown ? 0x20 : static_cast<uint32_t>(counter_of(unit.type, 0));
        for (const Signal signal : kEverySignal)
            for (unsigned lane = 0; lane < 4; lane++) {
                const uint64_t before = unit.box.read(at, 8);
                unit.happen(signal, lane, 3);
                const auto found = code.adds.find(signal);
                const int adds = found == code.adds.end() ? 0 : found->second[lane];
                EXPECT_EQ(unit.box.read(at, 8) - before, 3u * static_cast<unsigned>(adds))
                    << code.type->name << std::hex << " 0x" << code.control << " signal "
                    << static_cast<int>(signal) << " lane " << lane;
            }
    }
}

TEST(UncoreBox, CxlcmEventsCountOnlyOnAllowedCounters)
{
    struct Case {
        uint32_t control;
        Signal signal;
        unsigned first;
        unsigned last;
    };
    for (const Case &one :
         {Case{0x0802, Signal::kM2sRequest, 0, 3}, Case{0x1002, Signal::kM2sData, 0, 3},
          Case{0x0841, Signal::kS2mResponse, 4, 7}, Case{0x1041, Signal::kS2mData, 4, 7},
          Case{0x0201, Signal::kLinkClk, 0, 7}}) {
        Box unit(kCxlcm);
        for (unsigned i = 0; i < 8; i++)
            unit.program(i, one.control);
        unit.happen(one.signal);
        for (unsigned i = 0; i < 8; i++)
            EXPECT_EQ(unit.counter(i), i >= one.first && i <= one.last ? 1u : 0u)
                << one.control << ' ' << i;
    }
}

TEST(UncoreBox, ClockEventsFollowTimeAndStopDuringAFreeze)
{
    Box imc;
    imc.box.advance(5'000'000'000);
    imc.program(0, 0x0101);
    imc.program(1, 0x0001);
    imc.box.advance(5'000'000'010);
    EXPECT_EQ(imc.counter(0), 12u);
    EXPECT_EQ(imc.counter(1), 6u);
    imc.write(0, 4, kFreeze);
    imc.box.advance(6'000'000'000);
    imc.write(0, 4, 0);
    imc.box.advance(6'000'001'000);
    EXPECT_EQ(imc.counter(0), 12u + 1200);
    EXPECT_EQ(imc.counter(1), 6u + 600);
}

// Many short intervals give the same ticks as a long one, and a year of ticks does not overflow.
TEST(UncoreBox, ManyShortIntervalsGiveAsManyClockTicksAsOneLongInterval)
{
    Box imc;
    const uint64_t start = uint64_t{400} * 86400 * 1'000'000'000;
    imc.box.advance(start);
    imc.program(0, 0x0101);
    for (uint64_t now = start; now <= start + 7000; now += 7)
        imc.box.advance(now);
    EXPECT_EQ(imc.counter(0), 7000u * 1200 / 1000);
}

TEST(UncoreBox, PowerOnClearsAllState)
{
    Box imc(kImc, {.below_wrap = 5});
    imc.program(0, kReads);
    imc.write(0x54, 4, 1u << 22);
    imc.happen(Signal::kReadCas, 0, 100);
    imc.write(0, 4, kFreeze);
    imc.box.freeze_from_outside(true);
    imc.box.power_on();
    EXPECT_EQ(imc.box.read(0, 4), 0u);
    EXPECT_EQ(imc.box.read(0x40, 4), 0u);
    EXPECT_EQ(imc.box.read(0x54, 4), 0u);
    EXPECT_EQ(imc.counter(0), 0xfffffffffffbu);
    imc.program(0, kWrites);
    imc.happen(Signal::kWriteCas);
    EXPECT_EQ(imc.counter(0), 0xfffffffffffcu);
}

}  // namespace
}  // namespace pmukit::models::uncore_pmon
