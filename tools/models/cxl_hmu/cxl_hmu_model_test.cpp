// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the PCI function as a guest uses it: the guest discovers it through configuration space,
// programs it through BAR 0, and accesses its memory in BAR 2. Faults are tested in the same way.
#include "models/cxl_hmu/cxl_hmu_model.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "models/fake_machine.hpp"

namespace pmukit::models::cxl_hmu {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};
constexpr uint64_t kEpochNs = 100'000'000;

class Function : public testing::Test {
protected:
    void build(const Options &options = {})
    {
        ASSERT_TRUE(check(options));
        options_ = options;
        model_ = std::make_unique<CxlHmuModel>(options, log_, host_);
        blocks_.clear();
        read_locator();
    }
    void build_with(std::string_view fault)
    {
        Options options;
        options.fault = find_fault(fault);
        ASSERT_NE(options.fault, nullptr);
        build(options);
    }

    uint32_t config(uint64_t offset, unsigned width = 4)
    {
        return model_->config().read(offset, width);
    }
    // Returns the offset of a capability; 0: there is none.
    uint64_t capability(uint8_t id)
    {
        uint64_t at = config(0x34, 1);
        while (at != 0 && config(at, 1) != id)
            at = config(at + 1, 1);
        return at;
    }
    // Returns the offset of a CXL DVSEC; 0: there is none.
    uint64_t dvsec(uint16_t id)
    {
        for (uint64_t at = 0x100; at != 0; at = config(at) >> 20) {
            if ((config(at) & 0xffff) == 0x23 && (config(at + 4) & 0xffff) == 0x1e98 &&
                config(at + 8, 2) == id)
                return at;
        }
        return 0;
    }
    void read_locator()
    {
        const uint64_t at = dvsec(8);
        ASSERT_NE(at, 0u);
        for (uint64_t entry = 0x0c; entry < config(at + 4) >> 20; entry += 8) {
            const uint32_t low = config(at + entry);
            ASSERT_EQ(low & 7, 0u);
            blocks_[low >> 8 & 0xff].push_back(uint64_t{config(at + entry + 4)} << 32 |
                                               (low & 0xffff0000));
        }
    }

    uint64_t read(uint64_t offset, unsigned width = 8)
    {
        return model_->bar_read(0, offset, width);
    }
    void write(uint64_t offset, uint64_t value, unsigned width = 8)
    {
        model_->bar_write(0, offset, width, value);
    }
    uint64_t instance(unsigned chmu, unsigned i)
    {
        const uint64_t block = blocks_[kLocatorChmu].at(chmu);
        return block + 0x10 + i * kCommon1InstanceLength.get(read(block + 8));
    }
    void pass_ns(uint64_t ns)
    {
        host_.now += ns;
        model_->advance(host_.now);
    }
    void start(uint64_t at, uint64_t threshold = 1, uint64_t notify_at = 0)
    {
        write(at + kConfig1,
              kConfig1UnitSize.put(12) | kConfig1EpochScale.put(4) | kConfig1EpochValue.put(1));
        write(at + kConfig2, notify_at);
        write(at + read(at + kCap2), 1);
        write(at + kConfig0, kConfig0Requests.put(6) | kConfig0Threshold.put(threshold) |
                                 kConfig0LevelInterrupt.mask() | kConfig0Enable.mask());
        pass_ns(options_.instance.operation_ns);
    }
    // Drains the hot list. Returns the count of each unit.
    std::map<uint64_t, uint64_t> drain(uint64_t at)
    {
        std::map<uint64_t, uint64_t> found;
        const uint64_t width = kStatusCounterWidth.get(read(at + kStatus));
        const uint64_t list = at + read(at + kCap3);
        const uint64_t size = kCap0HotListSize.get(read(at + kCap0));
        uint64_t head = read(at + kHead, 2);
        const uint64_t tail = read(at + kTail, 2);
        for (; head != tail; head = (head + 1) % size) {
            const uint64_t entry = read(list + 8 * head);
            found[entry >> width] += entry & ((uint64_t{1} << width) - 1);
        }
        write(at + kHead, head, 2);
        return found;
    }

    FakeMachine host_;
    AccessLog log_;
    Options options_;
    std::unique_ptr<CxlHmuModel> model_;
    std::map<uint32_t, std::vector<uint64_t>> blocks_;
};

TEST_F(Function, IsACxlMemoryDevice)
{
    build();
    EXPECT_EQ(config(0x08) >> 8, 0x050210u);
    const uint64_t device = dvsec(0);
    ASSERT_NE(device, 0u);
    // The device is mem capable and has one range.
    EXPECT_EQ(config(device + 0x0a, 2) & 0x34, 0x14u);
    // The range is valid and active.
    EXPECT_EQ(config(device + 0x1c) & 0x3, 0x3u);
    EXPECT_EQ(config(device + 0x1c) & 0xf0000000, 0x10000000u);
    model_->config().write(device + 0x0c, 2, 0x4);
    EXPECT_EQ(config(device + 0x0c, 2) & 0x4, 0x4u);
}

TEST_F(Function, BarSizesMatchTheOptions)
{
    Options options;
    options.memory_bytes = uint64_t{1} << 30;
    options.chmus = options.instances = 8;
    build(options);
    EXPECT_EQ(model_->config().bar(2)->size_bytes, options.memory_bytes);
    const uint64_t registers = model_->config().bar(0)->size_bytes;
    const vfu::MsixLayout msix = *model_->config().msix();
    EXPECT_EQ(msix.vectors, 16u);
    EXPECT_LE(msix.pba_offset + msix.pba_bytes(), registers);
    ASSERT_EQ(blocks_[kLocatorChmu].size(), 8u);
    EXPECT_EQ(blocks_[kLocatorComponent].size(), 1u);
    EXPECT_EQ(blocks_[kLocatorDevice].size(), 1u);
    uint64_t end = 0;
    for (uint64_t block : blocks_[kLocatorChmu]) {
        EXPECT_EQ(block % 0x10000, 0u);
        EXPECT_GE(block, end);
        const uint64_t length = kCommon1InstanceLength.get(read(block + 8));
        EXPECT_EQ(kCommon0Instances.get(read(block)), 8u);
        end = block + 0x10 + 8 * length;
        // A block has the length that it reports, so there is no register after it.
        EXPECT_EQ(read(end), kAllOnes);
        EXPECT_NE(read(end - 8), kAllOnes);
    }
    EXPECT_LE(end, msix.table_offset);
}

struct Shape {
    unsigned chmus;
    unsigned instances;
};

class AnyShape : public Function, public testing::WithParamInterface<Shape> {};

// The register locator must list every CHMU. Each instance must count independently and report to
// its own hot list.
TEST_P(AnyShape, RegisterLocatorListsEveryChmuAndEveryInstanceCountsAccesses)
{
    Options options;
    options.chmus = GetParam().chmus;
    options.instances = GetParam().instances;
    build(options);
    ASSERT_EQ(blocks_[kLocatorChmu].size(), options.chmus);
    for (unsigned chmu = 0; chmu < options.chmus; chmu++) {
        EXPECT_EQ(kCommon0Instances.get(read(blocks_[kLocatorChmu][chmu])), options.instances);
        for (unsigned i = 0; i < options.instances; i++) {
            EXPECT_LT(kCap0Message.get(read(instance(chmu, i) + kCap0)), 16u);
            start(instance(chmu, i));
        }
    }
    const unsigned last = options.chmus * options.instances;
    for (unsigned access = 0; access < last; access++)
        model_->bar_read(2, 0x3000, 8);
    pass_ns(kEpochNs);
    for (unsigned chmu = 0; chmu < options.chmus; chmu++)
        for (unsigned i = 0; i < options.instances; i++)
            EXPECT_EQ(drain(instance(chmu, i)), (std::map<uint64_t, uint64_t>{{3, last}}));
}

std::vector<Shape> every_shape()
{
    std::vector<Shape> shapes;
    for (unsigned chmus = 1; chmus <= 8; chmus++)
        for (unsigned instances = 1; instances <= 8; instances++)
            shapes.push_back({chmus, instances});
    return shapes;
}

INSTANTIATE_TEST_SUITE_P(Shapes, AnyShape, testing::ValuesIn(every_shape()), [](const auto &shape) {
    return std::to_string(shape.param.chmus) + "x" + std::to_string(shape.param.instances);
});

TEST_F(Function, HasTheConfiguredSerialNumber)
{
    Options options;
    options.serial = 0x1122334455667788;
    build(options);
    uint64_t at = 0x100;
    while (at != 0 && (config(at) & 0xffff) != 0x0003)
        at = config(at) >> 20;
    ASSERT_NE(at, 0u);
    EXPECT_EQ(config(at + 4), 0x55667788u);
    EXPECT_EQ(config(at + 8), 0x11223344u);
}

TEST_F(Function, DoeMailboxAnswersDiscovery)
{
    Options options;
    options.doe = true;
    build(options);
    uint64_t at = 0x100;
    while (at != 0 && (config(at) & 0xffff) != 0x002e)
        at = config(at) >> 20;
    ASSERT_NE(at, 0u);
    for (const uint32_t dword : {0x00000001u, 3u, 0u})
        model_->config().write(at + 0x10, 4, dword);
    model_->config().write(at + 0x08, 4, 0x80000000);
    EXPECT_EQ(config(at + 0x0c), 0x80000000u);
    model_->config().reset();
    model_->reset();
    EXPECT_EQ(config(at + 0x0c), 0u);
}

TEST_F(Function, CxlPmuBlockFollowsTheChmuBlocks)
{
    build();
    EXPECT_TRUE(blocks_[kLocatorCpmu].empty());
    Options options;
    options.chmus = 2;
    options.cpmu = true;
    build(options);
    ASSERT_EQ(blocks_[kLocatorCpmu].size(), 1u);
    ASSERT_EQ(blocks_[kLocatorChmu].size(), 2u);
    const uint64_t at = blocks_[kLocatorCpmu][0];
    EXPECT_GT(at, blocks_[kLocatorChmu][1]);
    EXPECT_LT(at + 0xe00, model_->config().bar(0)->size_bytes);
    EXPECT_EQ(read(at) & 0x3f, CpmuRegisters::kCounters - 1);
    write(at + 0xc00, 5);
    model_->reset();
    EXPECT_EQ(read(at + 0xc00), 0u);
}

TEST_F(Function, OnlyAccessesToTheMemoryBarAreCxlMem)
{
    build();
    EXPECT_TRUE(model_->is_cxl_mem(2));
    EXPECT_FALSE(model_->is_cxl_mem(0));
}

TEST_F(Function, OnlyTheMemoryBarCanBeMapped)
{
    vfu::BarMemory memory = vfu::BarMemory::create(16 << 20).value();
    Options options;
    options.mapped = &memory;
    build(options);
    EXPECT_EQ(model_->bar_memory(2), &memory);
    EXPECT_EQ(model_->bar_memory(0), nullptr);
}

TEST_F(Function, InstancesHaveSeparateVectors)
{
    Options options;
    options.chmus = 2;
    options.instances = 4;
    build(options);
    std::set<uint64_t> messages;
    for (unsigned chmu = 0; chmu < 2; chmu++) {
        for (unsigned i = 0; i < 4; i++)
            messages.insert(kCap0Message.get(read(instance(chmu, i) + kCap0)));
    }
    EXPECT_EQ(messages.size(), 8u);
    EXPECT_EQ(messages.count(0), 0u);
}

TEST_F(Function, MemoryReturnsWhatWasStored)
{
    build();
    EXPECT_EQ(model_->bar_read(2, 0x1000, 8), 0u);
    // This write crosses the boundary of two pages of SparseMemory.
    model_->bar_write(2, 0xfffc, 8, 0x1122334455667788);
    EXPECT_EQ(model_->bar_read(2, 0xfffc, 8), 0x1122334455667788u);
    EXPECT_EQ(model_->bar_read(2, 0x10000, 4), 0x11223344u);
    EXPECT_EQ(model_->bar_read(2, 0xffff, 1), 0x55u);
    model_->bar_write(2, options_.memory_bytes - 2, 2, 0xabcd);
    EXPECT_EQ(model_->bar_read(2, options_.memory_bytes - 2, 2), 0xabcdu);
    EXPECT_EQ(log_.reads(), 5u);
    EXPECT_EQ(log_.writes(), 2u);
}

TEST_F(Function, AccessesByAnotherFunctionAreNotCounted)
{
    build();
    const uint64_t at = instance(0, 0);
    start(at);
    model_->peer_write(2, 0x5000, 8, 0x1122334455667788);
    EXPECT_EQ(model_->peer_read(2, 0x5004, 4), 0x11223344u);
    pass_ns(kEpochNs);
    EXPECT_TRUE(drain(at).empty());
    EXPECT_EQ(log_.reads() + log_.writes(), 0u);
    EXPECT_EQ(model_->bar_read(2, 0x5000, 8), 0x1122334455667788u);
    EXPECT_EQ(model_->peer_read(0, at + kConfig1, 8), read(at + kConfig1));
}

TEST_F(Function, AccessesBetweenBlocksReadAsOnesAndAreLogged)
{
    build();
    EXPECT_EQ(read(0x18000), kAllOnes);
    write(0x18000, 1);
    EXPECT_EQ(host_.lines.size(), 2u);
    EXPECT_TRUE(host_.logged("nothing there"));
}

TEST_F(Function, InstancesCountTheSameAccessIndependently)
{
    build();
    start(instance(0, 0), 1);
    start(instance(0, 1), 3);
    for (int i = 0; i < 3; i++)
        model_->bar_read(2, 0x5008, 8);
    model_->bar_write(2, 0x7000, 4, 1);
    pass_ns(kEpochNs);
    EXPECT_EQ(drain(instance(0, 0)), (std::map<uint64_t, uint64_t>{{5, 3}, {7, 1}}));
    EXPECT_EQ(drain(instance(0, 1)), (std::map<uint64_t, uint64_t>{{5, 3}}));
    EXPECT_EQ(model_->entries_stored(), 3u);
}

TEST_F(Function, ResetClearsRegistersButKeepsMemory)
{
    build();
    const uint64_t at = instance(0, 0);
    start(at);
    model_->bar_write(2, 0, 8, 7);
    model_->reset();
    EXPECT_EQ(read(at + kStatus), 0u);
    EXPECT_EQ(model_->next_deadline_ns(), std::nullopt);
    EXPECT_EQ(model_->bar_read(2, 0, 8), 7u);
}

TEST_F(Function, ZipfWorkloadLosesNoEntryIfEachLevelInterruptDrainsTheList)
{
    build();
    const uint64_t at = instance(0, 0);
    start(at, 2, 64);
    std::vector<double> weights;
    for (unsigned rank = 1; rank <= 4096; rank++)
        weights.push_back(1.0 / rank);
    std::mt19937 random(11);
    std::discrete_distribution<uint64_t> zipf(weights.begin(), weights.end());
    std::map<uint64_t, uint64_t> exact, reported;
    for (unsigned i = 0; i < 60'000; i++) {
        const uint64_t unit = zipf(random) * 2654435761u % 4096;
        exact[unit]++;
        pass_ns(20'000);
        const uint64_t dpa = unit * 4096 + uint64_t{i % 512} * 8;
        if (i % 3 == 0)
            model_->bar_write(2, dpa, 8, i);
        else
            model_->bar_read(2, dpa, 8);
        if (host_.raised.empty())
            continue;
        for (const auto &[hot, count] : drain(at))
            reported[hot] += count;
        host_.raised.clear();
        write(at + kStatus, kStatusLevel.mask());
    }
    pass_ns(kEpochNs);
    for (const auto &[hot, count] : drain(at))
        reported[hot] += count;

    const auto top = [](const std::map<uint64_t, uint64_t> &tally) {
        std::vector<std::pair<uint64_t, uint64_t>> order;
        order.reserve(tally.size());
        for (const auto &[unit, count] : tally)
            order.emplace_back(count, unit);
        std::sort(order.rbegin(), order.rend());
        std::set<uint64_t> units;
        for (size_t i = 0; i < 32; i++)
            units.insert(order.at(i).second);
        return units;
    };
    const std::set<uint64_t> truth = top(exact);
    size_t found = 0;
    for (uint64_t unit : top(reported))
        found += truth.count(unit);
    EXPECT_GE(found, 31u);
    EXPECT_EQ(model_->entries_dropped(), 0u);
    EXPECT_EQ(log_.reads() + log_.writes(), 60'000u);
}

// --- Options

TEST_F(Function, EntriesWithoutAFreeSlotAreCountedAsDroppedAfterTheGuestEnds)
{
    Options options;
    options.instance.hot_list_entries = 64;
    options.instance.postponed = true;
    build(options);
    start(instance(0, 0));
    start(instance(0, 1));
    for (uint64_t unit = 0; unit < 100; unit++)
        model_->bar_read(2, unit * 4096, 8);
    pass_ns(kEpochNs);
    EXPECT_EQ(model_->entries_stored(), 2u * 63);
    EXPECT_EQ(model_->entries_dropped(), 0u);
    model_->drop_outstanding();
    EXPECT_EQ(model_->entries_stored(), 2u * 63);
    EXPECT_EQ(model_->entries_dropped(), 2u * 37);
}

TEST(CxlHmuOptions, OptionsAreCheckedAgainstTheirLimits)
{
    const auto refused = [](auto change) {
        Options options;
        change(options);
        const Result<void> result = check(options);
        return !result && result.error().code == Errc::kUsage &&
               result.error().message.find('\n') == std::string::npos;
    };
    EXPECT_TRUE(check(Options{}));
    EXPECT_TRUE(refused([](Options &o) { o.memory_bytes = 0; }));
    EXPECT_TRUE(refused([](Options &o) { o.memory_bytes = 3 << 20; }));
    EXPECT_TRUE(refused([](Options &o) { o.memory_bytes = uint64_t{2} << 40; }));
    EXPECT_TRUE(refused([](Options &o) { o.chmus = 0; }));
    EXPECT_TRUE(refused([](Options &o) { o.chmus = 9; }));
    EXPECT_TRUE(refused([](Options &o) { o.instances = 0; }));
    EXPECT_TRUE(refused([](Options &o) { o.instances = 9; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.counters.number = 0; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.counters.number = 17; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.counters.ways = 0; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.counters.ways = 3; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.hot_list_entries = 63; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.hot_list_entries = 65535; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.bitmap_qwords = 0; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.unit_sizes = 0; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.counter_width_4k = 0; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.epoch_min = {0, 1}; }));
    EXPECT_TRUE(refused([](Options &o) { o.instance.epoch_min = {5, 200}; }));
    EXPECT_TRUE(
        refused([](Options &o) { o.instance.epoch_mode = o.instance.always_on_mode = false; }));
}

// --- Faults

TEST(CxlHmuFaults, FaultsHaveUniqueNamesAndAreFoundByName)
{
    std::set<std::string_view> names;
    for (const Fault &fault : faults()) {
        EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
        EXPECT_EQ(find_fault(fault.name), &fault);
        EXPECT_FALSE(fault.effect.empty());
    }
    EXPECT_EQ(find_fault("no-such-fault"), nullptr);
}

struct ReadFault {
    const char *name;
    uint64_t offset;  // from the start of the instance
    unsigned width;
    uint64_t seen;
    Field field;
};

class FaultyRead : public Function, public testing::WithParamInterface<ReadFault> {};

TEST_P(FaultyRead, FaultMakesEveryInstanceReturnTheWrongValue)
{
    const ReadFault &fault = GetParam();
    build();
    EXPECT_NE(fault.field.get(read(instance(0, 0) + fault.offset, fault.width)), fault.seen);
    build_with(fault.name);
    for (unsigned i : {0u, 1u})
        EXPECT_EQ(fault.field.get(read(instance(0, i) + fault.offset, fault.width)), fault.seen);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyRead,
    testing::Values(ReadFault{"never-idle", kStatus, 8, 1, kStatusOperation},
                    ReadFault{"tail-out-of-range", kTail, 2, 0xffff, {0, 15}},
                    ReadFault{"width-64", kStatus, 8, 64, kStatusCounterWidth},
                    ReadFault{"offsets-outside", kCap2, 8, 0xfffffffffffff000, {0, 63}},
                    ReadFault{"offsets-outside", kCap3, 8, 0xfffffffffffff800, {0, 63}},
                    ReadFault{"hot-list-size-0", kCap0, 8, 0, kCap0HotListSize},
                    ReadFault{"hot-list-size-1", kCap0, 8, 1, kCap0HotListSize}),
    [](const auto &instance_of) {
        std::string name = instance_of.param.name + std::to_string(instance_of.param.offset);
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

TEST_F(Function, FaultWidth0_ShowsCounterWidth0WhileEnabled)
{
    build_with("width-0");
    start(instance(0, 0));
    EXPECT_EQ(kStatusCounterWidth.get(read(instance(0, 0) + kStatus)), 0u);
}

TEST_F(Function, FaultZeroInstances_ShowsNoInstance)
{
    build_with("zero-instances");
    EXPECT_EQ(kCommon0Instances.get(read(blocks_[kLocatorChmu][0])), 0u);
}

TEST_F(Function, FaultInstanceLengthBeyondBar_ShowsInstancesThatEndBeyondTheBar)
{
    build_with("instance-length-beyond-bar");
    const uint64_t block = blocks_[kLocatorChmu][0];
    const uint64_t end =
        block + 0x10 +
        kCommon0Instances.get(read(block)) * kCommon1InstanceLength.get(read(block + 8));
    EXPECT_GT(end, model_->config().bar(0)->size_bytes);
}

TEST_F(Function, FaultEnableFails_LeavesInstanceIdleAndDisabledAfterAnEnable)
{
    build_with("enable-fails");
    start(instance(0, 0));
    EXPECT_EQ(read(instance(0, 0) + kStatus) & (kStatusEnabled.mask() | kStatusOperation.mask()),
              0u);
}

TEST_F(Function, FaultHeadIgnored_DropsWritesOfTheHead)
{
    build_with("head-ignored");
    write(instance(0, 0) + kHead, 5, 2);
    EXPECT_EQ(read(instance(0, 0) + kHead, 2), 0u);
}

TEST_F(Function, InterruptFaultsLoseInterruptsRepeatThemOrAddSpuriousOnes)
{
    struct Case {
        const char *name;
        size_t with_cause;  // number of interrupts after a level crossing
        bool keeps_coming;
    };
    for (const Case &c : {Case{"irq-lost", 0, false}, Case{"irq-storm", 1, true}}) {
        host_.raised.clear();
        build_with(c.name);
        start(instance(0, 0), 1, 1);
        model_->bar_read(2, 0, 8);
        pass_ns(kEpochNs);
        EXPECT_EQ(host_.raised.size(), c.with_cause) << c.name;
        read(0x20000);
        EXPECT_EQ(host_.raised.size() > c.with_cause, c.keeps_coming) << c.name;
    }
    host_.raised.clear();
    build_with("irq-spurious");
    for (int i = 0; i < 1000; i++)
        model_->bar_read(2, 0, 8);
    EXPECT_GT(host_.raised.size(), 10u);
}

TEST_F(Function, ResetEndsAnInterruptStorm)
{
    build_with("irq-storm");
    start(instance(0, 0), 1, 1);
    model_->bar_read(2, 0, 8);
    pass_ns(kEpochNs);
    model_->reset();
    host_.raised.clear();
    read(0x20000);
    EXPECT_TRUE(host_.raised.empty());
}

TEST_F(Function, FaultResetMidRun_ClearsConfigurationAfter1000Requests)
{
    build_with("reset-mid-run");
    const uint64_t at = instance(0, 0);
    start(at);
    for (int i = 0; i < 999; i++)
        model_->bar_read(2, 0, 8);
    EXPECT_EQ(kStatusEnabled.get(read(at + kStatus)), 1u);
    model_->bar_read(2, 0, 8);
    EXPECT_EQ(read(at + kStatus), 0u);
    EXPECT_EQ(read(at + kConfig1), 0u);
}

TEST_F(Function, FaultResetMidRun_AlsoCountsRequestsOfTheSource)
{
    const Source source = Source::create(parse_source("uniform:accesses=600").value()).value();
    Options options;
    options.fault = find_fault("reset-mid-run");
    options.instance.source = &source;
    build(options);
    const uint64_t at = instance(0, 0);
    start(at);
    pass_ns(kEpochNs);
    EXPECT_EQ(kStatusEnabled.get(read(at + kStatus)), 1u);
    EXPECT_NE(read(at + kTail, 2), 0u);
    pass_ns(kEpochNs);
    EXPECT_EQ(read(at + kStatus), 0u);
    EXPECT_EQ(read(at + kTail, 2), 0u);
    // Without a reset by the guest, the fault does not occur again.
    start(at);
    pass_ns(2 * kEpochNs);
    EXPECT_EQ(kStatusEnabled.get(read(at + kStatus)), 1u);
}

TEST_F(Function, FaultAllOnes_AppliesAlwaysAndAllOnesOnceEnabled_AfterAnEnable)
{
    build_with("all-ones");
    EXPECT_EQ(read(blocks_[kLocatorChmu][0]), kAllOnes);
    build_with("all-ones-once-enabled");
    const uint64_t at = instance(0, 0);
    EXPECT_NE(read(at + kStatus), kAllOnes);
    start(at);
    EXPECT_EQ(read(at + kStatus), kAllOnes);
    EXPECT_EQ(read(at + kTail, 2), kAllOnes);
}

TEST_F(Function, FaultListAllOnes_MakesThirdEntryOfEachDrainReadAsOnes)
{
    build_with("list-all-ones");
    const uint64_t at = instance(0, 0);
    const uint64_t list = at + read(at + kCap3);
    start(at);
    for (uint64_t unit = 0; unit < 4; unit++)
        model_->bar_read(2, unit << 12, 8);
    pass_ns(kEpochNs);
    for (int drain = 0; drain < 2; drain++) {
        for (uint64_t entry = 0; entry < 4; entry++)
            EXPECT_EQ(read(list + 8 * entry) == kAllOnes, entry == 2) << drain << entry;
        EXPECT_NE(read(at + kStatus), kAllOnes);
        write(at + kHead, 0, 2);
    }
}

TEST_F(Function, FaultDiesInList_MakesAllReadsOnesFromTheThirdEntryOfADrainOn)
{
    build_with("dies-in-list");
    const uint64_t at = instance(0, 0);
    const uint64_t list = at + read(at + kCap3);
    start(at);
    read(list);
    read(list);
    write(at + kHead, 0, 2);
    EXPECT_NE(read(list), kAllOnes);
    EXPECT_NE(read(list), kAllOnes);
    EXPECT_NE(read(at + kStatus), kAllOnes);
    EXPECT_EQ(read(list), kAllOnes);
    EXPECT_EQ(read(at + kStatus), kAllOnes);
    EXPECT_EQ(read(blocks_[kLocatorChmu][0]), kAllOnes);
    model_->reset();
    EXPECT_NE(read(at + kStatus), kAllOnes);
}

TEST_F(Function, StatsLogOfADeadDeviceHasTheNumberOfReadsSinceTheFirstEntryOfTheDrain)
{
    const std::string path = testing::TempDir() + "dead." + std::to_string(getpid());
    RunLogs logs;
    ASSERT_TRUE(logs.open_stats(path));
    Options options;
    options.fault = find_fault("dies-in-list");
    options.instance.logs = &logs;
    build(options);
    const uint64_t at = instance(0, 0);
    const uint64_t list = at + read(at + kCap3);
    for (int entry = 0; entry < 3; entry++)
        read(list + 8 * entry);
    read(at + kStatus);
    write(at + kHead, 0, 2);
    read(at + kStatus);
    ASSERT_TRUE(logs.close());
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::remove(path.c_str());
    // The log has a line for each read since the device died: "chmu0 dead 0 N 0", where N is the
    // number of reads since the drain read its first entry.
    EXPECT_NE(text.find("chmu0 dead 0 3 0\nchmu0 dead 0 4 0\n"), text.npos) << text;
    EXPECT_TRUE(text.ends_with("\nchmu0 dead 0 5 0\n")) << text;
}

TEST_F(Function, FaultStartsAnewAfterAReset)
{
    build_with("all-ones-once-enabled");
    const uint64_t common = blocks_[kLocatorChmu][0];
    start(instance(0, 0));
    EXPECT_EQ(read(common), kAllOnes);
    model_->reset();
    EXPECT_NE(read(common), kAllOnes);

    build_with("values-change-between-reads");
    const uint64_t first = read(common);
    model_->reset();
    EXPECT_EQ(read(common), first);
}

TEST_F(Function, FaultResetMidRun_OccursAgainAfterAReset)
{
    build_with("reset-mid-run");
    const uint64_t at = instance(0, 0);
    for (int machine = 0; machine < 2; machine++) {
        start(at);
        for (int i = 0; i < 999; i++)
            model_->bar_read(2, 0, 8);
        EXPECT_EQ(kStatusEnabled.get(read(at + kStatus)), 1u) << machine;
        model_->bar_read(2, 0, 8);
        EXPECT_EQ(kStatusEnabled.get(read(at + kStatus)), 0u) << machine;
        start(at);
        for (int i = 0; i < 2000; i++)
            model_->bar_read(2, 0, 8);
        EXPECT_EQ(kStatusEnabled.get(read(at + kStatus)), 1u) << machine;
        model_->reset();
    }
}

TEST_F(Function, FaultSlowOperations_MakesEnableTake50Ms)
{
    build_with("slow-operations");
    const uint64_t at = instance(0, 0);
    start(at);
    pass_ns(49'000'000);
    EXPECT_EQ(kStatusOperation.get(read(at + kStatus)), kOperationEnabling);
    pass_ns(1'000'000);
    EXPECT_EQ(kStatusEnabled.get(read(at + kStatus)), 1u);
}

TEST_F(Function, FaultValuesChangeBetweenReads_AlternatesBetweenTwoValues)
{
    build_with("values-change-between-reads");
    const uint64_t at = blocks_[kLocatorChmu][0];
    const uint64_t first = read(at);
    EXPECT_NE(read(at), first);
    EXPECT_EQ(read(at), first);
}

// --- A guest that makes random accesses

class AnyFault : public Function, public testing::WithParamInterface<const Fault *> {};

// Checks (with sanitizers) that the model answers each access with a limited amount of work. The
// returned values are not checked.
TEST_P(AnyFault, SurvivesRandomGuestAccesses)
{
    const Source source = Source::create(parse_source("zipf:accesses=50").value()).value();
    Options options;
    options.fault = GetParam();
    options.doe = true;
    options.instance.postponed = true;
    options.instance.per_counter_epochs = true;
    options.instance.source = &source;
    build(options);
    std::mt19937_64 random(1);
    const uint64_t registers = model_->config().bar(0)->size_bytes;
    const uint64_t near[] = {0, blocks_[kLocatorDevice][0], blocks_[kLocatorChmu][0],
                             blocks_[kLocatorChmu][0] + 0x10 + kConfig0};
    for (int i = 0; i < 20'000; i++) {
        const unsigned width = 1u << random() % 4;
        const uint64_t anywhere = random() % (registers - 8);
        const uint64_t offset = i % 4 == 0 ? anywhere : near[random() % 4] + random() % 0x40;
        const uint64_t value = i % 3 == 0 ? random() : random() & random() & random();
        switch (random() % 6) {
            case 0:
                model_->bar_read(0, offset, width);
                break;
            case 1:
                model_->config().write(random() % 0x400, 4, static_cast<uint32_t>(value));
                break;
            case 2:
                model_->bar_read(2, random() % (options.memory_bytes - 8), width);
                break;
            case 3:
                pass_ns(random() % kEpochNs);
                break;
            default:
                model_->bar_write(0, offset, width, value);
                break;
        }
    }
    model_->reset();
    // The log has at most one line per access, plus the reasons of refused enables.
    EXPECT_LT(host_.lines.size(), 40'000u);
}

std::vector<const Fault *> every_fault()
{
    std::vector<const Fault *> all = {nullptr};
    for (const Fault &fault : faults())
        all.push_back(&fault);
    return all;
}

INSTANTIATE_TEST_SUITE_P(Faults, AnyFault, testing::ValuesIn(every_fault()), [](const auto &fault) {
    std::string name(fault.param ? fault.param->name : "none");
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

// A feed of the accesses that the test supplies.
class FeedOfTest final : public RequestFeed {
public:
    size_t take(std::span<FedAccess> into) override
    {
        calls++;
        if (endless) {
            std::fill(into.begin(), into.end(), FedAccess{0x1000, 8, false});
            return into.size();
        }
        const size_t some = std::min(into.size(), accesses.size());
        std::copy_n(accesses.begin(), some, into.begin());
        accesses.erase(accesses.begin(), accesses.begin() + static_cast<std::ptrdiff_t>(some));
        return some;
    }
    void close() override { endless = false; }

    std::vector<FedAccess> accesses;
    bool endless = false;  // the feed has more accesses until it is closed
    unsigned calls = 0;
};

class Fed : public Function {
protected:
    Fed()
    {
        Options options;
        options.feed = &feed;
        options.instances = 1;
        build(options);
    }

    FeedOfTest feed;
};

TEST_F(Fed, CountsAccessesFromTheFeed)
{
    const uint64_t at = instance(0, 0);
    start(at);
    feed.accesses = {{0x5000, 8, false}, {0x5008, 4, true}, {0x9000, 8, false}};
    pass_ns(kEpochNs);
    EXPECT_EQ(drain(at), (std::map<uint64_t, uint64_t>{{5, 2}, {9, 1}}));
    EXPECT_EQ(log_.reads(), 2u);
    EXPECT_EQ(log_.writes(), 1u);
}

TEST_F(Fed, AccessFedBeforeAnEpochEndsIsCountedInThatEpoch)
{
    const uint64_t at = instance(0, 0);
    start(at);
    pass_ns(kEpochNs - 1);
    feed.accesses = {{0x3000, 8, false}};
    pass_ns(1);
    EXPECT_EQ(drain(at), (std::map<uint64_t, uint64_t>{{3, 1}}));
}

TEST_F(Fed, PollsFeedEveryMillisecondOrAtOnceIfItHasMoreAccesses)
{
    ASSERT_TRUE(model_->next_deadline_ns());
    pass_ns(1);
    EXPECT_EQ(*model_->next_deadline_ns(), host_.now + 1'000'000);
    feed.accesses.assign(10'000, {0x1000, 8, false});
    pass_ns(1'000'000);
    EXPECT_EQ(*model_->next_deadline_ns(), host_.now);
    EXPECT_EQ(log_.reads(), 4096u);
    pass_ns(0);
    pass_ns(0);
    EXPECT_EQ(log_.reads(), 10'000u);
    EXPECT_EQ(*model_->next_deadline_ns(), host_.now + 1'000'000);
}

TEST_F(Fed, ReadsRestOfTheFeedAtTheEnd)
{
    feed.accesses.assign(10'000, {0x1000, 8, true});
    model_->take_rest_of_feed();
    EXPECT_EQ(log_.writes(), 10'000u);
    EXPECT_TRUE(feed.accesses.empty());
}

TEST_F(Fed, TakeRestClosesAnEndlessFeedAndReadsWhatIsLeft)
{
    feed.endless = true;
    feed.accesses.assign(3, {0x1000, 8, true});
    model_->take_rest_of_feed();
    EXPECT_EQ(log_.writes(), 3u);
    EXPECT_EQ(log_.reads(), 0u);
}

TEST_F(Function, WithoutAFeedThereIsNoDeadlineAndNoRestToRead)
{
    build();
    EXPECT_FALSE(model_->next_deadline_ns());
    model_->take_rest_of_feed();
    EXPECT_EQ(log_.reads() + log_.writes(), 0u);
}

// --- Shapes

TEST_F(Function, OptionFarTables_PutsSeparateBitmapsAndListsBehindAllInstances)
{
    Options options;
    options.shape.far_tables = true;
    options.chmus = 2;
    options.instances = 3;
    options.instance.hot_list_entries = 65535;
    build(options);
    uint64_t last_end = 0;
    for (unsigned chmu = 0; chmu < 2; chmu++) {
        const uint64_t block = blocks_[kLocatorChmu].at(chmu);
        EXPECT_EQ(kCommon1InstanceLength.get(read(block + 8)), 0x70u);
        for (unsigned i = 0; i < 3; i++) {
            const uint64_t at = instance(chmu, i);
            const uint64_t bitmap = at + read(at + kCap2), list = at + read(at + kCap3);
            EXPECT_GE(bitmap, block + 0x10 + 3 * 0x70);
            EXPECT_GE(bitmap, last_end);
            EXPECT_EQ(bitmap % 0x1000, 0u);
            EXPECT_GT(list, bitmap);
            last_end = list + 65535 * 8;
        }
    }
    EXPECT_LE(last_end, model_->config().bar(0)->size_bytes);
    // Each instance has separate tables.
    const uint64_t first = instance(0, 0), last = instance(1, 2);
    start(last);
    model_->bar_read(2, 0x5000, 8);
    pass_ns(100'000'000);
    EXPECT_EQ(drain(last), (std::map<uint64_t, uint64_t>{{5, 1}}));
    EXPECT_EQ(read(first + read(first + kCap2)), 0u);
    EXPECT_EQ(read(first + read(first + kCap3)), 0u);
    EXPECT_EQ(model_->violations(), 0u);
    // This read is between the registers and the tables.
    read(first + 0x1000 - 0x10 - 8);
    EXPECT_EQ(model_->violations(), 1u);
}

TEST_F(Function, FaultAllOnes_AlsoAppliesToRegistersBehindTheInstances)
{
    Options options;
    options.shape.far_tables = true;
    options.fault = find_fault("all-ones");
    ASSERT_NE(options.fault, nullptr);
    build(options);
    EXPECT_EQ(read(blocks_[kLocatorChmu][0] + 0x1000), ~uint64_t{0});
}

TEST_F(Function, TheBlockCanHaveANewerVersion)
{
    Options options;
    options.shape.version = 2;
    build(options);
    EXPECT_EQ(kCommon0Version.get(read(blocks_[kLocatorChmu][0])), 2u);
}

TEST_F(Function, OptionVectorsNone_GivesNeitherMsixNorMsi)
{
    Options options;
    options.vectors = Vectors::kNone;
    build(options);
    EXPECT_FALSE(model_->config().msix());
    EXPECT_EQ(model_->config().msi_vectors(), 0u);
}

// With MSI, an interrupt message number must be one of the vectors that the guest has enabled.
TEST_F(Function, MessageNumbersDependOnEnabledMsiVectors)
{
    Options options;
    options.instances = 5;
    options.vectors = Vectors::kMsi;
    build(options);
    EXPECT_FALSE(model_->config().msix());
    EXPECT_EQ(model_->config().msi_vectors(), 16u);
    const uint64_t cap0 = instance(0, 4) + kCap0;
    EXPECT_EQ(kCap0Message.get(read(cap0)), 5u);
    const uint64_t msi = capability(0x05);
    ASSERT_NE(msi, 0u);
    model_->config().write(msi + 2, 2, 0x0001);  // the guest enables one vector
    EXPECT_EQ(kCap0Message.get(read(cap0)), 0u);
    model_->config().write(msi + 2, 2, 0x0021);  // the guest enables four vectors
    EXPECT_EQ(kCap0Message.get(read(cap0)), 1u);
    model_->config().write(msi + 2, 2, 0x0041);  // the guest enables sixteen vectors
    EXPECT_EQ(kCap0Message.get(read(cap0)), 5u);
}

TEST_F(Function, BitmapBitsBeyondTheCapacityAreAViolation)
{
    Options options;
    options.memory_bytes = uint64_t{1} << 30;
    build(options);
    const uint64_t at = instance(0, 0);
    write(at + 0x70, 0xf);
    EXPECT_EQ(model_->violations(), 0u);
    write(at + 0x70, ~uint64_t{0});
    EXPECT_EQ(model_->violations(), 1u);
    EXPECT_EQ(read(at + 0x70), 0xfu);
    options.instance.lenient = true;
    build(options);
    write(instance(0, 0) + 0x70, ~uint64_t{0});
    EXPECT_EQ(model_->violations(), 0u);
    EXPECT_EQ(read(instance(0, 0) + 0x70), ~uint64_t{0});
}

TEST(CxlHmuOptions, LayoutOptionsAreCheckedAgainstTheirLimits)
{
    const auto with = [](auto change) {
        Options options;
        change(options);
        return static_cast<bool>(check(options));
    };
    EXPECT_FALSE(with([](Options &o) { o.instance.hot_list_entries = 65535; }));
    EXPECT_TRUE(with([](Options &o) {
        o.instance.hot_list_entries = 65535;
        o.shape.far_tables = true;
    }));
    EXPECT_FALSE(with([](Options &o) { o.shape.version = 0; }));
    EXPECT_FALSE(with([](Options &o) { o.shape.version = 16; }));
    EXPECT_FALSE(with([](Options &o) { o.instance.epoch_min = o.instance.epoch_max = {0, 0}; }));
    EXPECT_TRUE(with([](Options &o) {
        o.instance.epoch_min = o.instance.epoch_max = {0, 0};
        o.instance.epoch_mode = false;
    }));
    EXPECT_FALSE(with([](Options &o) { o.instance.padding_qwords = 4097; }));
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
