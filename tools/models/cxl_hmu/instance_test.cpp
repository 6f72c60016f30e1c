// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests one CHMU instance. There is a test for each rule of the CHMU register sections of the
// specification. A test is named after the behavior of the device.
#include "models/cxl_hmu/instance.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "models/fake_machine.hpp"

namespace pmukit::models::cxl_hmu {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};
constexpr uint64_t kEpochNs = 100'000'000;
constexpr uint64_t kUnit = 4096;
constexpr unsigned kMessage = 3;

// Values that software programs. The initial values are the defaults of the tests.
struct Settings {
    uint64_t requests = 6;
    bool randomized = false;
    bool overflow_interrupt = true;
    bool level_interrupt = true;
    uint64_t threshold = 2;
    uint64_t unit_log2 = 12;
    uint64_t downsampling = 0;
    uint64_t mode = kModeEpoch;
    EpochLength epoch{4, 1};
    uint64_t notify_at = 0;
    uint64_t ranges = 1;
};

class Chmui : public testing::Test {
protected:
    explicit Chmui(InstanceParams params = {}) : params_(params) { build(); }

    // Most tests use a lenient device. StrictChmu tests a strict one.
    void build(bool lenient = true)
    {
        params_.lenient = lenient;
        unit_ = std::make_unique<Instance>(params_, "chmu0.0", kMessage, host_);
    }
    void build(const InstanceParams &params)
    {
        params_ = params;
        build();
    }

    uint64_t read(uint64_t offset, unsigned width = 8) { return unit_->read(offset, width); }
    void write(uint64_t offset, uint64_t value, unsigned width = 8)
    {
        unit_->write(offset, width, value);
    }
    uint64_t status(Field field) { return field.get(read(kStatus)); }
    unsigned head() { return static_cast<unsigned>(read(kHead, 2)); }
    unsigned tail() { return static_cast<unsigned>(read(kTail, 2)); }
    uint64_t entry(unsigned index) { return read(params_.hot_list_offset() + uint64_t{index} * 8); }

    void pass_ns(uint64_t ns)
    {
        host_.now += ns;
        unit_->advance(host_.now);
    }
    void settle() { pass_ns(params_.operation_ns); }

    void configure(const Settings &s)
    {
        config0_ = kConfig0Requests.put(s.requests) | kConfig0Randomized.put(s.randomized) |
                   kConfig0OverflowInterrupt.put(s.overflow_interrupt) |
                   kConfig0LevelInterrupt.put(s.level_interrupt) |
                   kConfig0Threshold.put(s.threshold);
        write(kConfig1, kConfig1UnitSize.put(s.unit_log2) |
                            kConfig1Downsampling.put(s.downsampling) | kConfig1Mode.put(s.mode) |
                            kConfig1EpochScale.put(s.epoch.scale) |
                            kConfig1EpochValue.put(s.epoch.value));
        write(kConfig2, kConfig2Notification.put(s.notify_at));
        write(params_.bitmap_offset(), s.ranges);
        write(kConfig0, config0_);
    }
    void control(uint64_t bits) { write(kConfig0, config0_ | bits); }
    void enable()
    {
        control(kConfig0Enable.mask());
        settle();
    }
    void disable()
    {
        control(0);
        settle();
    }
    // Configures, enables, and checks that the instance is enabled.
    void start(const Settings &s = {})
    {
        configure(s);
        enable();
        ASSERT_EQ(status(kStatusEnabled), 1u) << (host_.lines.empty() ? "" : host_.lines.back());
    }
    // Sets the enable bit. Expects that the instance does not track, and has logged the reason.
    void expect_refused(const Settings &s, std::string_view reason)
    {
        configure(s);
        enable();
        EXPECT_EQ(status(kStatusOperation), kOperationNone);
        EXPECT_EQ(status(kStatusEnabled), 0u);
        EXPECT_TRUE(host_.logged(reason)) << reason;
    }
    void touch(uint64_t unit, unsigned times = 1, bool is_write = false, bool tee = false)
    {
        for (unsigned i = 0; i < times; i++)
            unit_->request({unit * kUnit, is_write, tee});
    }
    void touch_units(unsigned number, unsigned times)
    {
        for (unsigned unit = 0; unit < number; unit++)
            touch(unit, times);
    }
    // Returns the counts of all entries between head and tail, by unit ID.
    std::map<uint64_t, uint64_t> entries()
    {
        std::map<uint64_t, uint64_t> found;
        const uint64_t width = status(kStatusCounterWidth);
        for (unsigned i = head(); i != tail(); i = (i + 1) % params_.hot_list_entries)
            found[entry(i) >> width] += entry(i) & ((uint64_t{1} << width) - 1);
        return found;
    }

    InstanceParams params_;
    FakeMachine host_;
    std::unique_ptr<Instance> unit_;
    uint64_t config0_ = 0;
};

// --- Capabilities

TEST_F(Chmui, CapabilitiesMatchTheParameters)
{
    const uint64_t cap0 = read(kCap0);
    EXPECT_EQ(kCap0Message.get(cap0), kMessage);
    EXPECT_EQ(kCap0OverflowInterrupt.get(cap0), 1u);
    EXPECT_EQ(kCap0LevelInterrupt.get(cap0), 1u);
    EXPECT_EQ(kCap0EpochType.get(cap0), 0u);
    EXPECT_EQ(kCap0Requests.get(cap0), 0x3fu);
    EXPECT_EQ(kCap0MaxEpochScale.get(cap0), 5u);
    EXPECT_EQ(kCap0MaxEpochValue.get(cap0), 100u);
    EXPECT_EQ(kCap0MinEpochScale.get(cap0), 1u);
    EXPECT_EQ(kCap0MinEpochValue.get(cap0), 1u);
    EXPECT_EQ(kCap0HotListSize.get(cap0), 1024u);
    const uint64_t cap1 = read(kCap1);
    EXPECT_EQ(kCap1UnitSizes.get(cap1), 0x3fffu);
    EXPECT_EQ(kCap1Downsampling.get(cap1), 0xffffu);
    EXPECT_EQ(kCap1EpochMode.get(cap1), 1u);
    EXPECT_EQ(kCap1AlwaysOnMode.get(cap1), 1u);
    EXPECT_EQ(kCap1Randomized.get(cap1), 1u);
    EXPECT_EQ(kCap1Overlap.get(cap1), 1u);
    EXPECT_EQ(kCap1Postponed.get(cap1), 0u);
    EXPECT_EQ(read(kCap2), 0x70u);
    EXPECT_EQ(read(kCap3), 0x70u + 16 * 8);
}

TEST_F(Chmui, CapabilitiesAreReadOnly)
{
    const uint64_t before = read(kCap0);
    write(kCap0, 0);
    EXPECT_EQ(read(kCap0), before);
    EXPECT_TRUE(host_.logged("read only"));
}

TEST_F(Chmui, ReservedWordsReadAsZero)
{
    for (uint64_t offset : {0x20, 0x28, 0x30, 0x38, 0x58})
        EXPECT_EQ(read(offset), 0u);
    EXPECT_EQ(read(0x6c, 4), 0u);
    EXPECT_TRUE(host_.lines.empty());
}

// --- Access widths

TEST_F(Chmui, AReadOfTheWrongWidthReturnsOnesAndIsLogged)
{
    const uint64_t list = params_.hot_list_offset();
    for (const Register &reg : kRegisters) {
        for (unsigned width : {1u, 2u, 4u, 8u}) {
            host_.lines.clear();
            const bool right = width == reg.bytes;
            EXPECT_EQ(read(reg.offset, width) == kAllOnes, !right) << reg.name << width;
            EXPECT_EQ(host_.lines.empty(), right) << reg.name << width;
        }
    }
    for (unsigned width : {1u, 2u, 4u}) {
        EXPECT_EQ(read(list, width), kAllOnes);
        EXPECT_EQ(read(params_.bitmap_offset(), width), kAllOnes);
    }
    EXPECT_EQ(read(list + 4), kAllOnes);
    EXPECT_EQ(read(params_.tables_end()), kAllOnes);
}

TEST_F(Chmui, AWriteOfTheWrongWidthIsDropped)
{
    start();
    touch_units(8, 4);
    pass_ns(kEpochNs);
    // This write has the width of head and tail together.
    write(kHead, 0x00020002, 4);
    EXPECT_EQ(head(), 0u);
    EXPECT_EQ(tail(), 8u);
    disable();
    write(kConfig0, 0, 4);
    EXPECT_EQ(kConfig0Requests.get(read(kConfig0)), 6u);
    write(params_.bitmap_offset(), 0, 4);
    EXPECT_EQ(read(params_.bitmap_offset()), 1u);
    write(params_.hot_list_offset(), 0);
    EXPECT_NE(entry(0), 0u);
    EXPECT_TRUE(host_.logged("ignored"));
}

// --- Configuration and its lock

TEST_F(Chmui, CounterWidthDependsOnTheUnitSize)
{
    EXPECT_EQ(status(kStatusCounterWidth), 0u);
    for (const auto &[unit_log2, width] : std::map<uint64_t, uint64_t>{
             {8, 12}, {12, 16}, {21, 25}, {7, 0}, {22, 0}, {0xffffffff, 0}}) {
        write(kConfig1, kConfig1UnitSize.put(unit_log2));
        EXPECT_EQ(status(kStatusCounterWidth), width) << unit_log2;
    }
}

TEST_F(Chmui, CounterWidthIsAtLeast1AndAtMost32Bits)
{
    params_.unit_sizes = 0xffffff;
    params_.counter_width_4k = 2;
    EXPECT_EQ(params_.counter_width(8), 1u);
    params_.counter_width_4k = 60;
    EXPECT_EQ(params_.counter_width(21), 32u) << "as wide as a threshold";
    EXPECT_TRUE(params_.supports_unit(kMaxUnitLog2));
    EXPECT_FALSE(params_.supports_unit(kMaxUnitLog2 + 1));
}

TEST_F(Chmui, OnlyControlBitsAreWritableWhileEnabled)
{
    start();
    const uint64_t config0 = read(kConfig0), config1 = read(kConfig1), config2 = read(kConfig2);
    write(kConfig0, kConfig0Enable.mask() | kConfig0Threshold.put(77));
    write(kConfig1, 0);
    write(kConfig2, 5);
    write(params_.bitmap_offset(), 0xff);
    write(kTail, 9, 2);
    EXPECT_EQ(read(kConfig0), config0);
    EXPECT_EQ(read(kConfig1), config1);
    EXPECT_EQ(read(kConfig2), config2);
    EXPECT_EQ(read(params_.bitmap_offset()), 1u);
    EXPECT_EQ(tail(), 0u);
    EXPECT_TRUE(host_.logged("locked bits of configuration 0"));
    EXPECT_TRUE(host_.logged("range bitmap"));

    disable();
    write(kConfig2, 5);
    EXPECT_EQ(read(kConfig2), 5u);
}

TEST_F(Chmui, ConfigurationIsLockedWhileEnabling)
{
    configure({});
    control(kConfig0Enable.mask());
    write(kConfig2, 5);
    EXPECT_EQ(read(kConfig2), 0u);
}

TEST_F(Chmui, BitsOfUnsupportedFeaturesStayZero)
{
    InstanceParams params;
    params.level_interrupt = params.overflow_interrupt = params.randomized = false;
    build(params);
    write(kConfig0, kAllOnes & ~kConfig0Enable.mask() & ~kConfig0ResetCounters.mask());
    const uint64_t config0 = read(kConfig0);
    EXPECT_EQ(kConfig0LevelInterrupt.get(config0), 0u);
    EXPECT_EQ(kConfig0OverflowInterrupt.get(config0), 0u);
    EXPECT_EQ(kConfig0Randomized.get(config0), 0u);
    EXPECT_EQ(kConfig0Threshold.get(config0), 0xffffffffu);
}

TEST_F(Chmui, AnUnsupportedModeInAWriteIsIgnoredButOtherFieldsApply)
{
    InstanceParams params;
    params.always_on_mode = false;
    build(params);
    write(kConfig1, kConfig1UnitSize.put(12) | kConfig1Mode.put(kModeAlwaysOn));
    EXPECT_EQ(kConfig1Mode.get(read(kConfig1)), kModeEpoch);
    EXPECT_EQ(kConfig1UnitSize.get(read(kConfig1)), 12u);
    write(kConfig1, kConfig1Mode.put(2));
    EXPECT_EQ(kConfig1Mode.get(read(kConfig1)), kModeEpoch);
}

TEST_F(Chmui, EnableRefusesUnsupportedConfigurations)
{
    InstanceParams params;
    params.unit_sizes = 0x10;
    params.downsampling = 0x1;
    params.requests = 0x20;
    build(params);
    Settings s;
    s.requests = 3;
    expect_refused(s, "requests to track");
    s = {};
    s.requests = 7;
    expect_refused(s, "requests to track");
    s = {};
    s.unit_log2 = 13;
    expect_refused(s, "unit size");
    s = {};
    s.downsampling = 5;
    expect_refused(s, "downsampling");
    s = {};
    s.threshold = 0x10000;
    expect_refused(s, "does not fit the counter");
    s = {};
    s.epoch = {5, 101};
    expect_refused(s, "epoch out of range");
    s.epoch = {1, 0};
    expect_refused(s, "epoch out of range");
    s.epoch = {6, 1};
    expect_refused(s, "epoch out of range");
    // Enabling with a supported configuration still succeeds.
    start();
}

TEST_F(Chmui, EnableRefusesAnUnsupportedMode)
{
    InstanceParams params;
    params.epoch_mode = false;
    build(params);
    expect_refused({}, "reporting mode");
    disable();
    Settings s;
    s.mode = kModeAlwaysOn;
    start(s);

    params.epoch_mode = true;
    params.always_on_mode = false;
    build(params);
    start();
}

TEST_F(Chmui, TheShortestAndTheLongestEpochAreAccepted)
{
    for (const EpochLength &epoch : {params_.epoch_min, params_.epoch_max}) {
        build();
        Settings s;
        s.epoch = epoch;
        start(s);
    }
}

TEST_F(Chmui, TheLargestThresholdThatFitsIsAccepted)
{
    Settings s;
    s.threshold = 0xffff;
    start(s);
}

TEST_F(Chmui, EnableRefusesAUnitLargerThanItsRange)
{
    InstanceParams params;
    params.unit_sizes = 0xffffff;
    build(params);
    Settings s;
    s.unit_log2 = 30;
    s.ranges = 0x1;
    expect_refused(s, "larger than its range");
    disable();
    s.ranges = 0xf0;
    start(s);
}

TEST_F(Chmui, EnableRefusesTheRangeOfAnotherInstanceIfOverlapIsUnsupported)
{
    InstanceParams params;
    params.overlap = false;
    build(params);
    Instance sibling(params, "chmu0.1", 4, host_);
    unit_->add_sibling(sibling);
    sibling.write(kConfig1, 8,
                  kConfig1UnitSize.put(12) | kConfig1EpochScale.put(4) | kConfig1EpochValue.put(1));
    sibling.write(params.bitmap_offset(), 8, 0x3);
    sibling.write(kConfig0, 8, kConfig0Requests.put(6) | kConfig0Enable.mask());
    host_.now += params.operation_ns;
    sibling.advance(host_.now);
    ASSERT_EQ(kStatusEnabled.get(sibling.read(kStatus, 8)), 1u);

    expect_refused({}, "another instance");
    disable();
    Settings elsewhere;
    elsewhere.ranges = 0x4;
    start(elsewhere);
}

// Bitmaps may differ in length, and only an enabled sibling counts.
TEST_F(Chmui, EnableAcceptsRangesOfNoOtherEnabledInstanceIfOverlapIsUnsupported)
{
    for (const auto &[ours, theirs] : {std::pair{16u, 8u}, std::pair{8u, 16u}}) {
        InstanceParams params;
        params.overlap = false;
        params.bitmap_qwords = ours;
        build(params);
        InstanceParams other = params;
        other.bitmap_qwords = theirs;
        Instance sibling(other, "chmu0.1", 4, host_);
        unit_->add_sibling(sibling);
        sibling.write(
            kConfig1, 8,
            kConfig1UnitSize.put(12) | kConfig1EpochScale.put(4) | kConfig1EpochValue.put(1));
        sibling.write(other.bitmap_offset(), 8, 0x1);
        // The sibling selects the same range but is not enabled, so enabling succeeds.
        start();
        disable();
        sibling.write(other.bitmap_offset(), 8, 0x2);
        sibling.write(kConfig0, 8, kConfig0Requests.put(6) | kConfig0Enable.mask());
        host_.now += params.operation_ns;
        sibling.advance(host_.now);
        ASSERT_EQ(kStatusEnabled.get(sibling.read(kStatus, 8)), 1u);
        start();
    }
}

// --- Operations

TEST_F(Chmui, EnableAndDisableAreInProgressUntilTheirTimeHasPassed)
{
    configure({});
    control(kConfig0Enable.mask());
    EXPECT_EQ(status(kStatusOperation), kOperationEnabling);
    EXPECT_EQ(status(kStatusEnabled), 0u);
    ASSERT_TRUE(unit_->next_deadline_ns());
    pass_ns(params_.operation_ns - 1);
    EXPECT_EQ(status(kStatusOperation), kOperationEnabling);
    pass_ns(1);
    EXPECT_EQ(status(kStatusOperation), kOperationNone);
    EXPECT_EQ(status(kStatusEnabled), 1u);

    control(0);
    EXPECT_EQ(status(kStatusOperation), kOperationDisabling);
    EXPECT_EQ(status(kStatusEnabled), 1u);
    settle();
    EXPECT_EQ(status(kStatusOperation), kOperationNone);
    EXPECT_EQ(status(kStatusEnabled), 0u);
}

TEST_F(Chmui, ControlWrittenDuringAnOperationIsDropped)
{
    configure({});
    control(kConfig0Enable.mask());
    control(0);
    EXPECT_TRUE(host_.logged("operation is in progress"));
    settle();
    EXPECT_EQ(status(kStatusEnabled), 1u);
}

TEST_F(Chmui, ResetOfTheCountersKeepsConfigurationAndHotList)
{
    start();
    touch_units(3, 5);
    pass_ns(kEpochNs);
    ASSERT_EQ(entries().size(), 3u);
    touch(9, 50);
    const uint64_t config1 = read(kConfig1);
    control(kConfig0Enable.mask() | kConfig0ResetCounters.mask());
    EXPECT_EQ(status(kStatusOperation), kOperationResetting);
    EXPECT_EQ(kConfig0ResetCounters.get(read(kConfig0)), 1u);
    settle();
    EXPECT_EQ(kConfig0ResetCounters.get(read(kConfig0)), 0u);
    EXPECT_EQ(status(kStatusEnabled), 1u);
    EXPECT_EQ(read(kConfig1), config1);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 3u);
    EXPECT_EQ(entries().count(9), 0u);
}

TEST_F(Chmui, CountersFreedByAResetAreNotReportedLater)
{
    start();
    touch(9, 50);
    pass_ns(kEpochNs - params_.operation_ns - 1);
    control(kConfig0Enable.mask() | kConfig0ResetCounters.mask());
    // The reset and then the epoch end in this step.
    pass_ns(kEpochNs);
    EXPECT_EQ(status(kStatusOperation), kOperationNone);
    EXPECT_EQ(head(), tail());
    touch(9, 50);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Chmui, EpochEndingBeforeAResetCompletesIsReported)
{
    start();
    touch(9, 50);
    pass_ns(kEpochNs - 1);
    control(kConfig0Enable.mask() | kConfig0ResetCounters.mask());
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Chmui, OneWriteCanResetAndEnable)
{
    configure({});
    control(kConfig0Enable.mask() | kConfig0ResetCounters.mask());
    settle();
    EXPECT_EQ(status(kStatusOperation), kOperationEnabling);
    settle();
    EXPECT_EQ(status(kStatusEnabled), 1u);
    EXPECT_EQ(kConfig0ResetCounters.get(read(kConfig0)), 0u);
}

TEST_F(Chmui, DeviceResetClearsAllState)
{
    start();
    touch_units(3, 5);
    pass_ns(kEpochNs);
    unit_->reset();
    EXPECT_EQ(read(kStatus), 0u);
    EXPECT_EQ(read(kConfig0), 0u);
    EXPECT_EQ(read(kConfig1), 0u);
    EXPECT_EQ(read(params_.bitmap_offset()), 0u);
    EXPECT_EQ(tail(), 0u);
    EXPECT_EQ(unit_->next_deadline_ns(), std::nullopt);
}

// --- Counted requests

TEST_F(Chmui, RequestTypesSelectReadsWritesAndTee)
{
    struct Case {
        uint64_t type;
        unsigned counted;  // of 1 read, 10 writes, 100 TEE reads and 1000 TEE writes
    };
    for (const Case &c :
         {Case{1, 1}, Case{2, 10}, Case{3, 11}, Case{4, 101}, Case{5, 1010}, Case{6, 1111}}) {
        build();
        Settings s;
        s.requests = c.type;
        s.threshold = 1;
        start(s);
        touch(5, 1, false, false);
        touch(5, 10, true, false);
        touch(5, 100, false, true);
        touch(5, 1000, true, true);
        pass_ns(kEpochNs);
        EXPECT_EQ(entries()[5], c.counted) << c.type;
    }
}

TEST_F(Chmui, OnlyRangesInTheBitmapAreTracked)
{
    Settings s;
    s.ranges = 0x2;
    s.threshold = 1;
    start(s);
    const uint64_t units_per_range = (uint64_t{1} << kRangeLog2) / kUnit;
    touch(units_per_range - 1);
    touch(units_per_range);
    touch(2 * units_per_range - 1);
    touch(2 * units_per_range);
    // This access is beyond the range that the bitmap covers.
    touch(uint64_t{1} << 51);
    pass_ns(kEpochNs);
    const auto found = entries();
    EXPECT_EQ(found.size(), 2u);
    EXPECT_EQ(found.count(units_per_range), 1u);
    EXPECT_EQ(found.count(2 * units_per_range - 1), 1u);
}

TEST_F(Chmui, BitmapCoversUpToOneTebibyte)
{
    InstanceParams params;
    params.bitmap_qwords = 64;
    build(params);
    Settings s;
    s.ranges = 0;
    s.threshold = 1;
    configure(s);
    write(params_.bitmap_offset() + 63 * 8, uint64_t{1} << 63);
    enable();
    const uint64_t last_unit = (uint64_t{1} << 40) / kUnit - 1;
    touch(last_unit, 3);
    // This access is beyond 1 TiB.
    touch(last_unit + 1, 5);
    touch((uint64_t{1} << (40 - 1)) / kUnit, 7);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries(), (std::map<uint64_t, uint64_t>{{last_unit, 3}}));
}

TEST_F(Chmui, AnEmptyBitmapTracksNothing)
{
    Settings s;
    s.ranges = 0;
    s.threshold = 0;
    start(s);
    touch(1, 10);
    pass_ns(kEpochNs);
    EXPECT_EQ(head(), tail());
}

TEST_F(Chmui, NothingIsCountedWhileDisabled)
{
    configure({});
    touch(1, 10);
    enable();
    pass_ns(kEpochNs);
    EXPECT_EQ(head(), tail());
}

TEST_F(Chmui, DownsamplingCountsEveryNthRequest)
{
    Settings s;
    s.downsampling = 5;
    start(s);
    touch(1, 32 * 10 + 31);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries()[1], 10u);
}

TEST_F(Chmui, RandomizedDownsamplingStaysCloseToTheFactor)
{
    Settings s;
    s.downsampling = 5;
    s.randomized = true;
    start(s);
    // Requests alternate between two units. If every n-th request were counted for a fixed even n,
    // only one of the units would be counted.
    for (int i = 0; i < 64'000; i++)
        touch(i % 2 == 0 ? 1 : 2);
    pass_ns(kEpochNs);
    auto found = entries();
    EXPECT_NEAR(static_cast<double>(found[1] + found[2]), 2000, 200);
    EXPECT_NEAR(static_cast<double>(found[1]), 1000, 200);
}

TEST_F(Chmui, CountsSaturateAtTheCounterWidth)
{
    InstanceParams params;
    params.counter_width_4k = 4;
    build(params);
    start();
    touch(1, 100);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries()[1], 15u);
}

TEST_F(Chmui, EntryHoldsUnitIdAboveTheCount)
{
    Settings s;
    s.unit_log2 = 13;
    s.threshold = 1;
    start(s);
    unit_->request({0x3456789, false, false});
    pass_ns(kEpochNs);
    EXPECT_EQ(status(kStatusCounterWidth), 17u);
    EXPECT_EQ(entry(0), (uint64_t{0x3456789} >> 13) << 17 | 1);
}

// --- Epochs

TEST_F(Chmui, UnitsAtTheThresholdAreReportedAtEpochEndWithTheirCount)
{
    start();  // the threshold is 2
    touch(1, 1);
    touch(2, 2);
    touch(3, 300);
    pass_ns(kEpochNs - 1);
    EXPECT_EQ(head(), tail());
    pass_ns(1);
    EXPECT_EQ(entries(), (std::map<uint64_t, uint64_t>{{2, 2}, {3, 300}}));
    EXPECT_EQ(unit_->entries_stored(), 2u);
}

TEST_F(Chmui, CountsStartAtZeroInEachEpoch)
{
    start();
    touch(1, 1);
    pass_ns(kEpochNs);
    touch(1, 1);
    pass_ns(kEpochNs);
    EXPECT_EQ(head(), tail());
}

TEST_F(Chmui, EpochsEndAtMultiplesOfTheirLengthEvenAfterIdleTime)
{
    start();
    pass_ns(10 * kEpochNs + kEpochNs / 2);
    touch(1, 2);
    ASSERT_TRUE(unit_->next_deadline_ns());
    EXPECT_EQ(*unit_->next_deadline_ns(), host_.now + kEpochNs / 2);
    pass_ns(kEpochNs / 2);
    EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Chmui, EnableStartsANewEpoch)
{
    start();
    touch(1, 10);
    disable();
    enable();
    pass_ns(kEpochNs);
    EXPECT_EQ(head(), tail());
}

TEST_F(Chmui, AnEpochThatWouldEndAfterADisableIsNotReported)
{
    start();
    touch(1, 10);
    pass_ns(kEpochNs - params_.operation_ns - 1);
    control(0);
    // The disable and then the epoch end in this step.
    pass_ns(kEpochNs);
    EXPECT_EQ(head(), tail());

    enable();
    touch(1, 10);
    pass_ns(kEpochNs - 1);
    control(0);
    // In this step, the epoch ends before the disable.
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Chmui, DisableInProgressDoesNotEndTheEpochEarly)
{
    start();
    touch(1, 10);
    pass_ns(kEpochNs - params_.operation_ns / 2);
    control(0);
    pass_ns(params_.operation_ns / 4);
    EXPECT_EQ(head(), tail());
    pass_ns(params_.operation_ns / 4);
    EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Chmui, PerCounterEpochStartsAtTheFirstAccess)
{
    InstanceParams params;
    params.per_counter_epochs = true;
    build(params);
    EXPECT_EQ(kCap0EpochType.get(read(kCap0)), 1u);
    start();
    touch(1, 2);
    pass_ns(kEpochNs / 2);
    touch(2, 2);
    pass_ns(kEpochNs / 2);
    EXPECT_EQ(entries(), (std::map<uint64_t, uint64_t>{{1, 2}}));
    pass_ns(kEpochNs / 2);
    EXPECT_EQ(entries(), (std::map<uint64_t, uint64_t>{{1, 2}, {2, 2}}));
}

// --- Always on

TEST_F(Chmui, AlwaysOnModeReportsAUnitAtTheThresholdAndFreesItsCounter)
{
    Settings s;
    s.mode = kModeAlwaysOn;
    s.threshold = 4;
    start(s);
    touch(1, 3);
    EXPECT_EQ(head(), tail());
    touch(1, 1);
    EXPECT_EQ(tail(), 1u);
    touch(1, 3);
    EXPECT_EQ(tail(), 1u);
    touch(1, 1);
    EXPECT_EQ(tail(), 2u);
}

TEST_F(Chmui, AlwaysOnModeFreesCountersBelowTheThresholdAtEpochEndWithoutReport)
{
    Settings s;
    s.mode = kModeAlwaysOn;
    s.threshold = 4;
    start(s);
    touch(1, 3);
    pass_ns(kEpochNs);
    touch(1, 3);
    EXPECT_EQ(head(), tail());
}

TEST_F(Chmui, AlwaysOnModeKeepsCountersAcrossDisableAndEnableUntilReset)
{
    Settings s;
    s.mode = kModeAlwaysOn;
    s.threshold = 4;
    start(s);
    touch(1, 3);
    disable();
    enable();
    touch(1, 1);
    EXPECT_EQ(tail(), 1u);
    touch(1, 3);
    disable();
    control(kConfig0ResetCounters.mask());
    settle();
    enable();
    touch(1, 1);
    EXPECT_EQ(tail(), 1u);
}

// --- Hot list, overflow, interrupts

TEST_F(Chmui, FullListDiscardsEntriesAndInterruptsOnceUntilOverflowIsCleared)
{
    InstanceParams params;
    params.hot_list_entries = 64;
    build(params);
    Settings s;
    s.threshold = 1;
    start(s);
    touch_units(100, 1);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 63u);
    EXPECT_EQ(unit_->entries_dropped(), 37u);
    EXPECT_EQ(status(kStatusOverflow), 1u);
    EXPECT_EQ(host_.raised, std::vector<unsigned>{kMessage});

    touch_units(100, 1);
    pass_ns(kEpochNs);
    // The overflow bit was still set, so there is no second interrupt.
    EXPECT_EQ(host_.raised.size(), 1u);

    write(kStatus, kStatusOverflow.mask());
    EXPECT_EQ(status(kStatusOverflow), 0u);
    touch_units(100, 1);
    pass_ns(kEpochNs);
    EXPECT_EQ(host_.raised.size(), 2u);
}

TEST_F(Chmui, TheListWrapsAsSoftwareDrainsIt)
{
    InstanceParams params;
    params.hot_list_entries = 64;
    build(params);
    Settings s;
    s.threshold = 1;
    start(s);
    for (uint64_t round = 0; round < 10; round++) {
        for (uint64_t unit = 0; unit < 50; unit++)
            touch(1000 * round + unit);
        pass_ns(kEpochNs);
        const auto found = entries();
        EXPECT_EQ(found.size(), 50u);
        EXPECT_GE(found.begin()->first, 1000 * round);
        write(kHead, tail(), 2);
    }
    EXPECT_EQ(tail(), 500 % 64);
    EXPECT_EQ(unit_->entries_dropped(), 0u);
}

TEST_F(Chmui, WriteOfHeadBeyondTheListIsDropped)
{
    start();
    write(kHead, 1024, 2);
    EXPECT_EQ(head(), 0u);
    EXPECT_TRUE(host_.logged("outside the hot list"));
}

TEST_F(Chmui, PostponedEntriesFillFreedSlotsAndAreDroppedAtDisable)
{
    InstanceParams params;
    params.hot_list_entries = 64;
    params.postponed = true;
    build(params);
    EXPECT_EQ(kCap1Postponed.get(read(kCap1)), 1u);
    Settings s;
    s.threshold = 1;
    start(s);
    touch_units(100, 1);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 63u);
    EXPECT_EQ(unit_->entries_dropped(), 0u);
    EXPECT_EQ(status(kStatusOverflow), 1u);
    write(kHead, 10, 2);
    EXPECT_EQ(entries().size(), 63u);
    EXPECT_EQ(unit_->entries_stored(), 73u);
    disable();
    EXPECT_EQ(unit_->entries_dropped(), 27u);
    write(kHead, tail(), 2);
    EXPECT_EQ(entries().size(), 0u);
}

TEST_F(Chmui, LevelBitIsSetAtOrAboveTheNotificationThreshold)
{
    Settings s;
    s.threshold = 1;
    s.notify_at = 8;
    start(s);
    touch_units(7, 1);
    pass_ns(kEpochNs);
    EXPECT_EQ(status(kStatusLevel), 0u);
    EXPECT_TRUE(host_.raised.empty());
    touch(50);
    pass_ns(kEpochNs);
    EXPECT_EQ(status(kStatusLevel), 1u);
    EXPECT_EQ(host_.raised, std::vector<unsigned>{kMessage});
    touch_units(7, 1);
    pass_ns(kEpochNs);
    // There is no further interrupt until software clears the level bit.
    EXPECT_EQ(host_.raised.size(), 1u);
}

TEST_F(Chmui, ClearingTheLevelBitInterruptsAgainIfTheListIsStillAboveTheThreshold)
{
    Settings s;
    s.threshold = 1;
    s.notify_at = 8;
    start(s);
    touch_units(20, 1);
    pass_ns(kEpochNs);
    ASSERT_EQ(host_.raised.size(), 1u);
    // 16 entries are left, which is above the threshold.
    write(kHead, 4, 2);
    write(kStatus, kStatusLevel.mask());
    EXPECT_EQ(status(kStatusLevel), 1u);
    EXPECT_EQ(host_.raised.size(), 2u);
    write(kHead, 20, 2);
    // The level bit stays set until software clears it.
    EXPECT_EQ(status(kStatusLevel), 1u);
    write(kStatus, kStatusLevel.mask());
    EXPECT_EQ(status(kStatusLevel), 0u);
    EXPECT_EQ(host_.raised.size(), 2u);
}

TEST_F(Chmui, LevelBitIsNotSetAgainWhileDisabled)
{
    Settings s;
    s.threshold = 1;
    s.notify_at = 8;
    start(s);
    touch_units(20, 1);
    pass_ns(kEpochNs);
    disable();
    write(kStatus, kStatusLevel.mask());
    EXPECT_EQ(status(kStatusLevel), 0u);
    EXPECT_EQ(host_.raised.size(), 1u);
    enable();
    EXPECT_EQ(status(kStatusLevel), 1u);
    EXPECT_EQ(host_.raised.size(), 2u);
}

TEST_F(Chmui, WritingZeroToStatusClearsNothing)
{
    Settings s;
    s.threshold = 1;
    s.notify_at = 1;
    start(s);
    touch(1);
    pass_ns(kEpochNs);
    write(kHead, tail(), 2);
    write(kStatus, 0);
    EXPECT_EQ(status(kStatusLevel), 1u);
    write(kStatus, kStatusOverflow.mask());
    EXPECT_EQ(status(kStatusLevel), 1u);
}

TEST_F(Chmui, NoMessageIsSentForADisabledInterrupt)
{
    InstanceParams params;
    params.hot_list_entries = 64;
    build(params);
    Settings s;
    s.threshold = 1;
    s.notify_at = 1;
    s.level_interrupt = s.overflow_interrupt = false;
    start(s);
    touch_units(100, 1);
    pass_ns(kEpochNs);
    EXPECT_EQ(status(kStatusLevel), 1u);
    EXPECT_EQ(status(kStatusOverflow), 1u);
    EXPECT_TRUE(host_.raised.empty());
}

TEST_F(Chmui, ANotificationThresholdBeyondTheListIsIgnored)
{
    for (unsigned notify_at : {0u, 65u, 0xffffu}) {
        InstanceParams params;
        params.hot_list_entries = 64;
        build(params);
        Settings s;
        s.threshold = 1;
        s.notify_at = notify_at;
        s.overflow_interrupt = false;
        start(s);
        touch_units(100, 1);
        pass_ns(kEpochNs);
        EXPECT_EQ(status(kStatusLevel), 0u);
        EXPECT_TRUE(host_.raised.empty());
    }
}

TEST_F(Chmui, HeadAndTailAreWritableWhileDisabled)
{
    start();
    touch_units(5, 2);
    pass_ns(kEpochNs);
    disable();
    EXPECT_EQ(entries().size(), 5u);
    write(kHead, tail(), 2);
    EXPECT_EQ(head(), 5u);
    write(kTail, 0, 2);
    write(kHead, 0, 2);
    EXPECT_EQ(tail(), 0u);
}

// --- Writes and accesses that the specification reserves

class StrictChmu : public Chmui {
protected:
    StrictChmu() { strict(); }
    void strict(const InstanceParams &params = {})
    {
        params_ = params;
        params_.capacity_bytes = uint64_t{3} << 28;
        build(false);
    }
    // Expects that `action` violates `rule` as many times as `times` says.
    template <typename Action>
    void expect_violation(const std::string &rule, Action action, unsigned times = 1)
    {
        const uint64_t before = unit_->violations();
        host_.lines.clear();
        action();
        EXPECT_EQ(unit_->violations() - before, times) << rule;
        EXPECT_TRUE(host_.logged("violation: " + rule + ":")) << rule;
    }
    static constexpr uint64_t kValid1 = 12 | uint64_t{4} << 48 | uint64_t{1} << 52;
};

TEST_F(StrictChmu, ValidRunHasNoViolations)
{
    start();
    touch_units(8, 4);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 8u);
    write(kHead, 3, 2);
    write(kHead, tail(), 2);
    write(kStatus, read(kStatus));
    disable();
    control(kConfig0ResetCounters.mask());
    settle();
    write(kTail, head(), 2);
    start();
    // Disables the instance with a write of all zeros.
    write(kConfig0, 0);
    EXPECT_EQ(unit_->violations(), 0u) << host_.lines.front();
}

TEST_F(StrictChmu, Configuration1RejectsPartialAndInvalidWrites)
{
    write(kConfig1, kValid1);
    EXPECT_EQ(unit_->violations(), 0u);
    for (const uint64_t wrong : {
             uint64_t{12},                        // epoch length with value 0 and scale 0
             kValid1 & ~(uint64_t{0xf} << 48),    // epoch scale 0, which is reserved
             kValid1 | uint64_t{6} << 48,         // epoch scale 6; 6 and above are reserved
             kValid1 & ~(uint64_t{0xfff} << 52),  // epoch value 0
             kValid1 | uint64_t{0xfff} << 52 | uint64_t{5} << 48,  // epoch longer than the maximum
             kValid1 | 0xff,                                       // unit size that does not exist
             kValid1 | uint64_t{2} << 40,                          // mode that does not exist
         }) {
        expect_violation("reserved-value", [&] { write(kConfig1, wrong); });
        EXPECT_EQ(read(kConfig1), kValid1) << wrong;
    }
    expect_violation("wrong-access", [&] { write(kConfig1, 12, 4); });
    EXPECT_EQ(read(kConfig1), kValid1);
}

TEST_F(StrictChmu, UnsupportedDownsamplingIsRejected)
{
    InstanceParams params;
    params.downsampling = 0x2;
    strict(params);
    expect_violation("reserved-value", [&] { write(kConfig1, kValid1); });
    write(kConfig1, kValid1 | uint64_t{1} << 32);
    EXPECT_EQ(kConfig1Downsampling.get(read(kConfig1)), 1u);
}

TEST_F(StrictChmu, ReservedBitsMustBeWrittenAsZero)
{
    expect_violation("reserved-bits", [&] { write(kConfig0, uint64_t{1} << 11); });
    expect_violation("reserved-bits", [&] { write(kConfig0, uint64_t{1} << 31); });
    expect_violation("reserved-bits", [&] { write(kConfig1, kValid1 | uint64_t{1} << 36); });
    expect_violation("reserved-bits", [&] { write(kConfig2, 1u << 16); });
    expect_violation("reserved-bits", [&] { write(kStatus, uint64_t{1} << 42); });
    expect_violation("reserved-value", [&] { write(kConfig0, 7); });
}

TEST_F(StrictChmu, BitmapBitsBeyondTheCapacityStayZero)
{
    write(params_.bitmap_offset(), 0x7);
    EXPECT_EQ(unit_->violations(), 0u);
    expect_violation("bitmap-beyond-capacity", [&] { write(params_.bitmap_offset(), 0xf); });
    EXPECT_EQ(read(params_.bitmap_offset()), 0x7u);
    expect_violation("bitmap-beyond-capacity", [&] { write(params_.bitmap_offset() + 8, 1); });
    EXPECT_EQ(read(params_.bitmap_offset() + 8), 0u);
    write(params_.bitmap_offset() + 8, 0);
}

TEST_F(StrictChmu, AccessesOfWrongWidthToListAndHeadAreViolations)
{
    expect_violation("wrong-access", [&] { read(params_.hot_list_offset(), 4); });
    expect_violation("wrong-access", [&] { read(kHead, 4); });
    expect_violation("wrong-access", [&] { write(kHead, 0, 4); });
}

TEST_F(StrictChmu, WritesOfLockedRegistersAreViolations)
{
    start();
    expect_violation("write-while-enabled", [&] { write(kConfig2, 5); });
    expect_violation("write-while-enabled", [&] { write(params_.bitmap_offset(), 1); });
    expect_violation("write-while-enabled", [&] { write(kTail, 1, 2); });
    expect_violation("write-while-enabled",
                     [&] { control(kConfig0Enable.mask() | kConfig0Threshold.put(8)); });
}

TEST_F(StrictChmu, WriteOfHeadToSlotWithoutEntryIsAViolation)
{
    start();
    touch_units(4, 4);
    pass_ns(kEpochNs);
    write(kHead, 2, 2);
    EXPECT_EQ(unit_->violations(), 0u);
    expect_violation("head", [&] { write(kHead, 1, 2); });
    expect_violation("head", [&] { write(kHead, 1024, 2); });
}

TEST_F(StrictChmu, ARefusedEnableIsAViolation)
{
    Settings s;
    s.threshold = 0x10000;
    configure(s);
    expect_violation("enable-refused", [&] { enable(); });
    s = {};
    s.requests = 0;
    configure(s);
    expect_violation("enable-refused", [&] { enable(); });
}

// --- Shapes

TEST_F(StrictChmu, ListCanBeSeparatedFromBitmapByPadding)
{
    InstanceParams params;
    params.padding_qwords = 48;
    strict(params);
    EXPECT_EQ(read(kCap3) - read(kCap2), (16 + 48) * 8u);
    start();
    touch_units(2, 4);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 2u);
    disable();
    write(params_.bitmap_offset() + 20 * 8, 0);
    EXPECT_EQ(unit_->violations(), 0u);
    expect_violation("bitmap-beyond-capacity", [&] { write(params_.bitmap_offset() + 20 * 8, 1); });
    EXPECT_EQ(read(params_.bitmap_offset() + 20 * 8), 0u);
}

TEST_F(StrictChmu, AListHasUpTo65535Entries)
{
    InstanceParams params;
    params.hot_list_entries = 65535;
    params.counters = {.number = 65536};
    strict(params);
    EXPECT_EQ(kCap0HotListSize.get(read(kCap0)), 65535u);
    Settings s;
    s.unit_log2 = 8;
    start(s);
    // The second round wraps around the end of the list.
    for (unsigned round = 0; round < 2; round++) {
        for (uint64_t unit = 0; unit < 40000; unit++)
            for (unsigned i = 0; i < 2; i++)
                unit_->request({unit << 8, false, false});
        pass_ns(kEpochNs);
        EXPECT_EQ((tail() + 65535 - head()) % 65535, 40000u);
        EXPECT_EQ(entries().size(), 40000u);
        write(kHead, tail(), 2);
    }
    EXPECT_EQ(head(), 80000u - 65535);
    EXPECT_EQ(unit_->violations(), 0u);
}

TEST_F(StrictChmu, DeviceWithOnlyAlwaysOnModeNeedsNoEpochLength)
{
    InstanceParams params;
    params.epoch_mode = false;
    params.epoch_min = params.epoch_max = {0, 0};
    strict(params);
    EXPECT_EQ(kCap0MaxEpochScale.get(read(kCap0)), 0u);
    Settings s;
    s.mode = kModeAlwaysOn;
    s.epoch = {0, 0};
    start(s);
    touch(1, 2);
    EXPECT_EQ(entries().size(), 1u);
    touch(2, 1);
    pass_ns(uint64_t{100} * 1'000'000'000);
    touch(2, 1);
    EXPECT_EQ(entries().size(), 2u);
    EXPECT_EQ(unit_->next_deadline_ns(), std::nullopt);
    EXPECT_EQ(unit_->violations(), 0u);
}

TEST_F(StrictChmu, PreviousKernelCanLeaveAnEnableInProgress)
{
    InstanceParams params;
    params.left_enabling_ns = 5000;
    strict(params);
    // The duration of enabling begins with the guest's first access, so this time does not count.
    host_.now += 1'000'000'000;
    EXPECT_EQ(status(kStatusOperation), kOperationEnabling);
    write(kConfig0, 0);  // dropped, because enabling is in progress
    EXPECT_EQ(unit_->next_deadline_ns(), host_.now + 5000);
    pass_ns(5000);
    EXPECT_EQ(status(kStatusOperation), kOperationNone);
    EXPECT_EQ(status(kStatusEnabled), 1u);
    write(kConfig0, 0);
    settle();
    EXPECT_EQ(status(kStatusEnabled), 0u);
    EXPECT_EQ(unit_->violations(), 0u);
    unit_->reset();
    EXPECT_EQ(status(kStatusOperation), kOperationEnabling);
}

// --- Other implementations

TEST_F(StrictChmu, QuirkListHalves_AllowsReadingHalfAnEntry)
{
    InstanceParams params;
    params.quirks.list_halves = true;
    strict(params);
    Settings s;
    s.ranges = 3;
    start(s);
    touch(0x12345, 3);
    pass_ns(kEpochNs);
    const uint64_t list = params_.hot_list_offset();
    EXPECT_EQ(read(list, 4), 0x23450003u);
    EXPECT_EQ(read(list + 4, 4), 0x1u);
    EXPECT_EQ(read(list), 0x123450003u);
    EXPECT_EQ(unit_->violations(), 0u);
    expect_violation("wrong-access", [&] { read(list + 2, 4); });
}

TEST_F(StrictChmu, QuirkJointHeadTail_MakesHeadAndTailOneRegister)
{
    InstanceParams params;
    params.quirks.joint_head_tail = true;
    strict(params);
    start();
    touch_units(3, 4);
    pass_ns(kEpochNs);
    EXPECT_EQ(read(kHead, 4), 0x00030000u);
    EXPECT_EQ(read(kTail, 2), 0u);
    EXPECT_EQ(read(kHead, 2), 0u);
    write(kHead, 0x00030003, 4);
    EXPECT_EQ(read(kHead, 4), 0x00030003u);
    disable();
    // This 2-byte write acts as a 4-byte write.
    write(kHead, 2, 2);
    EXPECT_EQ(read(kHead, 4), 0x00000002u);
}

TEST_F(StrictChmu, QuirkOverflowWhenFull_SetsOverflowWhenTheListIsFullButLostNothing)
{
    for (const bool quirk : {false, true}) {
        InstanceParams params;
        params.hot_list_entries = 64;
        params.quirks.overflow_when_full = quirk;
        strict(params);
        start();
        touch_units(62, 4);
        pass_ns(kEpochNs);
        EXPECT_EQ(status(kStatusOverflow), 0u);
        touch(1, 4);
        pass_ns(kEpochNs);
        EXPECT_EQ(status(kStatusOverflow), quirk) << "63 of 64 slots are full, nothing was lost";
    }
}

TEST_F(StrictChmu, QuirkLevelAbove_SetsLevelBitOnlyAboveTheThreshold)
{
    for (const bool quirk : {false, true}) {
        InstanceParams params;
        params.quirks.level_above = quirk;
        strict(params);
        Settings s;
        s.notify_at = 4;
        start(s);
        touch_units(4, 4);
        pass_ns(kEpochNs);
        EXPECT_EQ(status(kStatusLevel), !quirk);
        touch(1, 4);
        pass_ns(kEpochNs);
        EXPECT_EQ(status(kStatusLevel), 1u);
    }
}

TEST_F(StrictChmu, QuirkGarbageTail_MakesTheTailInvalidAfterAnIdleEpoch)
{
    InstanceParams params;
    params.quirks.garbage_tail = true;
    strict(params);
    start();
    EXPECT_EQ(tail(), 0u);
    pass_ns(kEpochNs);
    EXPECT_EQ(tail(), 0xffffu);
    touch_units(2, 4);
    EXPECT_EQ(tail(), 0u);
    pass_ns(kEpochNs);
    EXPECT_EQ(tail(), 2u);
    pass_ns(kEpochNs);
    EXPECT_EQ(tail(), 0xffffu);
}

TEST_F(StrictChmu, QuirkLateStatus_DelaysEnableAndDisable)
{
    InstanceParams params;
    params.quirks.late_status_ns = 3 * kEpochNs / 2;
    strict(params);
    configure({});
    control(kConfig0Enable.mask());
    EXPECT_EQ(status(kStatusOperation), kOperationNone);
    pass_ns(params.quirks.late_status_ns - 1);
    EXPECT_EQ(status(kStatusEnabled), 0u);
    pass_ns(1);
    EXPECT_EQ(status(kStatusEnabled), 1u);
    control(0);
    EXPECT_EQ(status(kStatusOperation), kOperationNone);
    EXPECT_EQ(status(kStatusEnabled), 1u);
    touch(7, 4);
    EXPECT_EQ(unit_->next_deadline_ns(), host_.now + kEpochNs);
    pass_ns(kEpochNs);
    EXPECT_EQ(entries().size(), 1u) << "it goes on filling its list";
    EXPECT_EQ(unit_->next_deadline_ns(), host_.now + kEpochNs / 2);
    pass_ns(kEpochNs / 2);
    EXPECT_EQ(status(kStatusEnabled), 0u);
    EXPECT_EQ(unit_->next_deadline_ns(), std::nullopt);
    EXPECT_EQ(unit_->violations(), 0u);
}

TEST_F(StrictChmu, QuirkLateStatus_AppliesTheLastWrittenEnableBit)
{
    InstanceParams params;
    params.quirks.late_status_ns = kEpochNs;
    strict(params);
    configure({});
    control(kConfig0Enable.mask());
    control(0);
    EXPECT_FALSE(host_.logged("operation is in progress"));
    pass_ns(kEpochNs);
    EXPECT_EQ(status(kStatusEnabled), 0u);
    control(kConfig0Enable.mask());
    pass_ns(kEpochNs);
    EXPECT_EQ(status(kStatusEnabled), 1u);
    control(0);
    control(kConfig0ResetCounters.mask());
    EXPECT_EQ(status(kStatusOperation), kOperationNone);
    pass_ns(kEpochNs);
    EXPECT_EQ(status(kStatusEnabled), 0u);
    EXPECT_EQ(status(kStatusOperation), kOperationResetting);
    settle();
    EXPECT_EQ(status(kStatusOperation), kOperationNone);
}

TEST_F(StrictChmu, QuirkStickyStatus_KeepsTheLevelBitAndInterruptsAgainOnAWriteToClearIt)
{
    InstanceParams params;
    params.quirks.sticky_status = true;
    strict(params);
    Settings s;
    s.notify_at = 4;
    start(s);
    write(kStatus, kStatusLevel.mask());
    EXPECT_TRUE(host_.raised.empty()) << "there is nothing to announce";
    touch_units(4, 4);
    pass_ns(kEpochNs);
    EXPECT_EQ(host_.raised.size(), 1u);
    write(kHead, tail(), 2);
    write(kStatus, kStatusOverflow.mask());
    EXPECT_EQ(host_.raised.size(), 1u) << "that bit is not set";
    write(kStatus, kStatusLevel.mask());
    EXPECT_EQ(status(kStatusLevel), 1u);
    EXPECT_EQ(host_.raised.size(), 2u);
    disable();
    write(kStatus, kStatusLevel.mask());
    EXPECT_EQ(status(kStatusLevel), 1u);
    EXPECT_EQ(host_.raised.size(), 2u);
    unit_->reset();
    EXPECT_EQ(status(kStatusLevel), 0u);
}

TEST_F(StrictChmu, QuirkResetEmptiesList_EmptiesTheListWhenCountersAreReset)
{
    for (const bool quirk : {false, true}) {
        InstanceParams params;
        params.quirks.reset_empties_list = quirk;
        strict(params);
        start();
        touch_units(4, 4);
        pass_ns(kEpochNs);
        write(kHead, 3, 2);
        disable();
        control(kConfig0ResetCounters.mask());
        settle();
        EXPECT_EQ(head(), quirk ? 0u : 3u);
        EXPECT_EQ(tail(), quirk ? 0u : 4u);
        EXPECT_EQ(unit_->violations(), 0u);
    }
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
