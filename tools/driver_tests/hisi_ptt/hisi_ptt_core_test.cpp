// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the driver's arithmetic against each documented rule. Tests the driver's ring against a
// model of the device: the model writes its four buffers entry by entry, and never waits for the
// driver.
extern "C" {
#include "hisi_ptt/hisi_ptt_core.h"
}

#include <gtest/gtest.h>
#include <pmukit/hisi_ptt.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

// Event terms

struct Terms {
    u64 filter = 0x80001;
    u64 direction = 0;
    u64 type = 1;
    u64 format = 0;
};

u64 config_of(const Terms &terms)
{
    return terms.filter | terms.direction << 20 | terms.type << 24 | terms.format << 32;
}

std::string wrong(u64 config, u64 config1 = 0, u64 config2 = 0)
{
    hisi_ptt_config cfg;
    const char *reason = hisi_ptt_config_parse(config, config1, config2, &cfg);
    return reason ? reason : "";
}

TEST(HisiPttTerms, ParsesDocumentedExample)
{
    hisi_ptt_config cfg;
    ASSERT_EQ(hisi_ptt_config_parse(0x101180001, 0, 0, &cfg), nullptr)
        << "filter=0x80001,type=1,direction=1,format=1";
    EXPECT_EQ(cfg.target, 1);
    EXPECT_TRUE(cfg.by_port);
    EXPECT_EQ(cfg.direction, 1);
    EXPECT_EQ(cfg.types, 1);
    EXPECT_TRUE(cfg.wide);
    EXPECT_EQ(hisi_ptt_trace_ctrl(&cfg), 0x00014015U);
    EXPECT_EQ(hisi_ptt_entry_bytes(&cfg), 32U);
}

TEST(HisiPttTerms, EncodesTraceOfOneRequesterIn4dwFormat)
{
    hisi_ptt_config cfg;
    ASSERT_EQ(hisi_ptt_config_parse(config_of({.filter = 0x101, .type = 7}), 0, 0, &cfg), nullptr);
    EXPECT_FALSE(cfg.by_port);
    EXPECT_EQ(hisi_ptt_trace_ctrl(&cfg), 0x01018071U);
    EXPECT_EQ(hisi_ptt_entry_bytes(&cfg), 16U);
}

// Returns true if the documented rules allow this combination of terms.
bool allowed(u64 direction, u64 type, u64 format)
{
    if (direction > 3 || format > 1 || type == 0 || type > 7)
        return false;
    if (format == 1 && direction == 0)
        return false;
    const bool single = type == 1 || type == 2 || type == 4;
    const bool outbound = format == 0 ? direction >= 1 : direction == 1;
    return single || !outbound;
}

TEST(HisiPttTerms, AcceptsExactlyTheDocumentedCombinations)
{
    for (u64 direction = 0; direction < 16; direction++)
        for (u64 type = 0; type < 256; type++)
            for (u64 format = 0; format < 16; format++)
                ASSERT_EQ(wrong(config_of({0x80001, direction, type, format})).empty(),
                          allowed(direction, type, format))
                    << direction << ' ' << type << ' ' << format;
}

TEST(HisiPttTerms, Rejects8dwFormatWithDirection0)
{
    EXPECT_NE(wrong(config_of({.direction = 0, .format = 1})).find("reserved"), std::string::npos);
}

TEST(HisiPttTerms, RejectsSeveralTypesIfDirectionIncludesOutbound)
{
    EXPECT_NE(wrong(config_of({.direction = 1, .type = 3})), "");
    EXPECT_NE(wrong(config_of({.direction = 2, .type = 6})), "") << "4DW 2 carries outbound";
    EXPECT_EQ(wrong(config_of({.direction = 2, .type = 6, .format = 1})), "") << "8DW 2 does not";
}

TEST(HisiPttTerms, RejectsEmptyPortMask)
{
    EXPECT_NE(wrong(config_of({.filter = 0x80000})), "");
    EXPECT_EQ(wrong(config_of({.filter = 0})), "") << "requester 00:00.0 is a number like any";
}

TEST(HisiPttTerms, RejectsEveryReservedBit)
{
    for (int bit = 0; bit < 64; bit++) {
        if ((bit >= 16 && bit <= 18) || bit >= 36) {
            EXPECT_NE(wrong(config_of({}) | 1ULL << bit), "") << bit;
        }
        EXPECT_NE(wrong(config_of({}), 1ULL << bit), "") << "config1 " << bit;
        EXPECT_NE(wrong(config_of({}), 0, 1ULL << bit), "") << "config2 " << bit;
    }
}

// Location and filters

TEST(HisiPttPlace, RejectsLocationIfBothRegistersReadAllOnes)
{
    EXPECT_NE(hisi_ptt_place_check(~0U, ~0U), nullptr);
    EXPECT_EQ(hisi_ptt_place_check(0x00000002, 0x00880080), nullptr);
    EXPECT_EQ(hisi_ptt_place_check(0, 0x00800081), nullptr) << "without a port, to be tuned";
    EXPECT_EQ(hisi_ptt_place_check(0, 0x00800080), nullptr) << "one port";
    EXPECT_EQ(hisi_ptt_place_check(~0U, 0x00880080), nullptr) << "the last die and core there are";
    EXPECT_EQ(hisi_ptt_place_check(2, ~0U), nullptr) << "the last port there is";
}

TEST(HisiPttPlace, DeviceRangeIncludesBothEnds)
{
    EXPECT_FALSE(hisi_ptt_range_has(0x00880080, 0x7f));
    EXPECT_TRUE(hisi_ptt_range_has(0x00880080, 0x80));
    EXPECT_TRUE(hisi_ptt_range_has(0x00880080, 0x88));
    EXPECT_FALSE(hisi_ptt_range_has(0x00880080, 0x89));
    EXPECT_TRUE(hisi_ptt_range_has(0xffff0000, 0xffff));
    for (u32 devid = 0; devid <= 0xffff; devid++)
        ASSERT_FALSE(hisi_ptt_range_has(0x00800081, static_cast<u16>(devid)))
            << "upper below lower";
}

TEST(HisiPttFilter, FilterValuesOfPortsAndRequestersMatchDocumentation)
{
    EXPECT_EQ(hisi_ptt_filter_value(true, 0x10 << 3), 0x80001U) << "00:10.0";
    EXPECT_EQ(hisi_ptt_filter_value(true, 0x11 << 3), 0x80004U) << "00:11.0";
    EXPECT_EQ(hisi_ptt_filter_value(true, (0x17 << 3) | 5), 0x84000U) << "the function is ignored";
    EXPECT_EQ(hisi_ptt_filter_value(false, 0x0101), 0x00101U) << "01:00.1";
}

// Tune

TEST(HisiPttTune, ValuesAboveTheHighestLevelAreClampedToIt)
{
    EXPECT_EQ(hisi_ptt_tune_level(0), 0);
    EXPECT_EQ(hisi_ptt_tune_level(1), 1);
    EXPECT_EQ(hisi_ptt_tune_level(2), 2);
    EXPECT_EQ(hisi_ptt_tune_level(3), 2);
    EXPECT_EQ(hisi_ptt_tune_level(0x10000), 2) << "not 0, as 16 bits would have it";
    EXPECT_EQ(hisi_ptt_tune_level(~0ULL), 2);
}

TEST(HisiPttTune, TuneControlSelectsTheEventAndKeepsOtherBits)
{
    EXPECT_EQ(hisi_ptt_tune_ctrl(0, 4, 3), 0x00030004U);
    EXPECT_EQ(hisi_ptt_tune_ctrl(0xffffffff, 5, 7), 0xff070005U);
}

// Buffers

constexpr u32 kBytes = 128;  // 8 entries of 16 bytes per buffer
constexpr u32 kEntry = 16;

u32 wr_sts(u32 buffer, u32 bytes)
{
    return buffer << 28 | bytes;
}

hisi_ptt_ring started(u32 entry_bytes = kEntry)
{
    hisi_ptt_ring ring;
    hisi_ptt_ring_start(&ring, kBytes, entry_bytes);
    return ring;
}

TEST(HisiPttRing, StartsEmpty)
{
    hisi_ptt_ring ring = started();
    EXPECT_EQ(hisi_ptt_ring_report(&ring, 0), HISI_PTT_GOOD);
    EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), 0U);
    EXPECT_TRUE(hisi_ptt_ring_finish(&ring, 0));
    EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), 0U);
    EXPECT_EQ(hisi_ptt_ring_waiting(&ring), 0U);
}

TEST(HisiPttRing, RejectsWritePointerBeyondBuffer)
{
    for (u32 bytes : {kBytes + 1, kBytes + kEntry, 0x0fffffffU}) {
        hisi_ptt_ring ring = started();
        EXPECT_FALSE(hisi_ptt_ring_finish(&ring, wr_sts(0, bytes))) << bytes;
        EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), 0U) << bytes;
    }
    hisi_ptt_ring ring = started();
    EXPECT_TRUE(hisi_ptt_ring_finish(&ring, wr_sts(0, kBytes))) << "a full one is possible";
    EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), kBytes);
}

TEST(HisiPttRing, RejectsWritePointerOutsideTheBufferThatIsBeingFilled)
{
    for (u32 buffer : {0U, 2U, 3U}) {
        hisi_ptt_ring ring = started();
        ASSERT_EQ(hisi_ptt_ring_report(&ring, 1), HISI_PTT_GOOD);
        EXPECT_FALSE(hisi_ptt_ring_finish(&ring, wr_sts(buffer, 64))) << buffer;
        EXPECT_EQ(hisi_ptt_ring_waiting(&ring), kBytes) << "the full one is not in doubt";
    }
}

TEST(HisiPttRing, AcceptsWritePointerInThePreviousBufferOnlyAtItsEnd)
{
    hisi_ptt_ring ring = started();
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 3), HISI_PTT_GOOD);
    EXPECT_FALSE(hisi_ptt_ring_finish(&ring, wr_sts(0, kBytes)));
    EXPECT_FALSE(hisi_ptt_ring_finish(&ring, wr_sts(1, kBytes - kEntry)));
    EXPECT_TRUE(hisi_ptt_ring_finish(&ring, wr_sts(1, kBytes)));
    EXPECT_EQ(hisi_ptt_ring_waiting(&ring), 2 * kBytes);
}

TEST(HisiPttRing, FourFullBuffersLoseNothingIfWritePointerIsAtTheEndOfTheFourth)
{
    hisi_ptt_ring ring = started();
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 0xf), HISI_PTT_OVERRUN);
    EXPECT_EQ(hisi_ptt_ring_resync(&ring, wr_sts(3, kBytes)), 0U);
    EXPECT_EQ(ring.index, 0U);
    EXPECT_EQ(hisi_ptt_ring_waiting(&ring), 4 * kBytes);
}

TEST(HisiPttRing, ReadsOnlyWholeEntries)
{
    hisi_ptt_ring ring = started(32);
    ASSERT_TRUE(hisi_ptt_ring_finish(&ring, wr_sts(0, 95)));
    EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), 64U);
    EXPECT_EQ(hisi_ptt_ring_slice(&ring, 63), 32U) << "the limit may be anything";
    EXPECT_EQ(hisi_ptt_ring_slice(&ring, 31), 0U);
}

TEST(HisiPttRing, ReadsAllBuffersReportedByOneInterrupt)
{
    for (u32 count = 1; count <= 3; count++) {
        hisi_ptt_ring ring = started();
        EXPECT_EQ(hisi_ptt_ring_report(&ring, (1U << count) - 1), HISI_PTT_GOOD);
        EXPECT_EQ(hisi_ptt_ring_waiting(&ring), count * kBytes);
        EXPECT_TRUE(hisi_ptt_ring_finish(&ring, wr_sts(count, 32)));
        EXPECT_EQ(hisi_ptt_ring_waiting(&ring), count * kBytes + 32);
        for (u32 i = 0; i < count; i++) {
            EXPECT_EQ(ring.index, i);
            EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), kBytes);
            EXPECT_TRUE(hisi_ptt_ring_take(&ring, kBytes, false));
        }
        EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), 32U);
    }
}

TEST(HisiPttRing, DroppingUnreadDataReturnsItsNumberOfBytes)
{
    hisi_ptt_ring ring = started();
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 1), HISI_PTT_GOOD);
    EXPECT_TRUE(hisi_ptt_ring_take(&ring, 96, false));
    ASSERT_TRUE(hisi_ptt_ring_finish(&ring, wr_sts(1, 48)));
    EXPECT_EQ(hisi_ptt_ring_drop(&ring), kBytes - 96 + 48);
    EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), 0U);
    EXPECT_EQ(hisi_ptt_ring_waiting(&ring), 0U);
    EXPECT_EQ(hisi_ptt_ring_drop(&ring), 0U);
}

TEST(HisiPttRing, DetectsOverrunIfAllFourBuffersAreReportedFull)
{
    hisi_ptt_ring ring = started();
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 0xf), HISI_PTT_OVERRUN);
    EXPECT_EQ(hisi_ptt_ring_resync(&ring, wr_sts(0, 48)), 48U) << "at least what is over it";
    EXPECT_EQ(ring.index, 0U);
    EXPECT_EQ(ring.offset_bytes, 48U);
    EXPECT_EQ(hisi_ptt_ring_waiting(&ring), 4 * kBytes);
}

TEST(HisiPttRing, DetectsOverrunIfSeveralReportsAddUpToFourBuffers)
{
    hisi_ptt_ring ring = started();
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 3), HISI_PTT_GOOD);
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 4), HISI_PTT_GOOD);
    // The device wrapped between the driver's read of INT_STAT and its acknowledgment. So the
    // acknowledgment also cleared bits that the device set after the read.
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 8), HISI_PTT_OVERRUN);
    EXPECT_FALSE(hisi_ptt_ring_take(&ring, 32, false)) << "the device is in buffer 0";
    EXPECT_EQ(ring.offset_bytes, 0U);
    EXPECT_TRUE(hisi_ptt_ring_take(&ring, 32, true)) << "an idle device writes nothing";
    EXPECT_EQ(ring.offset_bytes, 32U);
}

TEST(HisiPttRing, DataReadBeforeOverrunIsNeitherCountedAsLostNorReadAgain)
{
    for (u32 bytes : {0U, 32U, 96U, 112U}) {
        hisi_ptt_ring ring = started();
        ASSERT_EQ(hisi_ptt_ring_report(&ring, 1), HISI_PTT_GOOD);
        EXPECT_TRUE(hisi_ptt_ring_take(&ring, 96, false));
        ASSERT_EQ(hisi_ptt_ring_report(&ring, 0xe), HISI_PTT_OVERRUN);
        EXPECT_EQ(hisi_ptt_ring_resync(&ring, wr_sts(0, bytes)), bytes > 96 ? bytes - 96 : 0);
        EXPECT_EQ(ring.offset_bytes, bytes > 96 ? bytes : 96);
    }
}

TEST(HisiPttRing, OverrunWithInvalidWritePointerDropsAllData)
{
    hisi_ptt_ring ring = started();
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 0xf), HISI_PTT_OVERRUN);
    EXPECT_EQ(hisi_ptt_ring_resync(&ring, wr_sts(1, kBytes + 1)), 4 * kBytes);
    EXPECT_EQ(hisi_ptt_ring_waiting(&ring), 0U);
}

TEST(HisiPttRing, RejectsBuffersReportedFullOutOfOrder)
{
    for (u32 status : {2U, 4U, 8U, 5U, 6U, 9U, 10U, 11U, 12U, 13U, 14U}) {
        hisi_ptt_ring ring = started();
        ASSERT_EQ(hisi_ptt_ring_report(&ring, status), HISI_PTT_DISORDER) << status;
        EXPECT_EQ(hisi_ptt_ring_slice(&ring, ~0U), 0U)
            << "nothing that may never have been written";
        EXPECT_EQ(hisi_ptt_ring_drop(&ring), 0U);
    }
}

TEST(HisiPttRing, RejectsBufferReportedFullTwice)
{
    hisi_ptt_ring ring = started();
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 1), HISI_PTT_GOOD);
    EXPECT_EQ(hisi_ptt_ring_report(&ring, 1), HISI_PTT_DISORDER);
    EXPECT_EQ(hisi_ptt_ring_drop(&ring), kBytes) << "the first time was true";
}

TEST(HisiPttRing, UnreadDataIsIntactWhileDeviceWritesAnotherBuffer)
{
    hisi_ptt_ring ring = started();
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 7), HISI_PTT_GOOD);
    EXPECT_TRUE(hisi_ptt_ring_take(&ring, kBytes, false)) << "it is in buffer 3";
    ASSERT_EQ(hisi_ptt_ring_report(&ring, 8), HISI_PTT_GOOD);
    EXPECT_TRUE(hisi_ptt_ring_take(&ring, kBytes, false)) << "it is in buffer 0, which is taken";
}

// Returns random numbers below a bound, with a fixed seed.
class Random {
public:
    explicit Random(u32 seed) : engine_(seed) {}
    u32 operator()(u32 below) { return static_cast<u32>(engine_() % below); }

private:
    std::mt19937 engine_;
};

// A model of the device that numbers its entries.
class Device {
public:
    void write(u32 entries)
    {
        for (u32 i = 0; i < entries; i++) {
            std::memcpy(&memory_[buffer_][bytes_], &next_, sizeof(next_));
            next_++;
            bytes_ += kEntry;
            if (bytes_ == kBytes) {
                status_ |= 1U << buffer_;
                buffer_ = (buffer_ + 1) % HISI_PTT_NR_BUFFERS;
                bytes_ = 0;
            }
        }
    }
    void reset() { buffer_ = bytes_ = status_ = 0; }
    u32 status() const { return status_; }
    void acknowledge(u32 status) { status_ &= ~status; }
    u32 pointer() const { return wr_sts(buffer_, bytes_); }
    u64 at(u32 buffer, u32 offset) const
    {
        u64 number;
        std::memcpy(&number, &memory_[buffer][offset], sizeof(number));
        return number;
    }
    u64 written() const { return next_; }

private:
    std::array<std::array<std::byte, kBytes>, HISI_PTT_NR_BUFFERS> memory_{};
    u64 next_ = 0;
    u32 buffer_ = 0, bytes_ = 0, status_ = 0;
};

// Runs the driver's loop on the ring. Between two steps of the loop, the device writes fewer than
// `most` entries.
class Driver {
public:
    Driver(Device &device, Random &random, u32 most) : device_(device), random_(random), most_(most)
    {
    }

    void look()
    {
        if (idle_)
            return;
        const u32 status = device_.status();
        meanwhile();
        device_.acknowledge(status);
        const hisi_ptt_verdict verdict = hisi_ptt_ring_report(&ring_, status);
        if (verdict == HISI_PTT_GOOD)
            return;
        EXPECT_EQ(verdict, HISI_PTT_OVERRUN) << "this device has order";
        meanwhile();
        idle_ = true;
        exact = false;
        lost += hisi_ptt_ring_resync(&ring_, device_.pointer()) / kEntry;
    }
    // Reads one piece of the ring, as hisi_ptt_move_piece() does.
    bool move(u32 limit)
    {
        const u32 bytes = hisi_ptt_ring_slice(&ring_, limit);
        std::vector<u64> copy;
        for (u32 at = 0; at < bytes; at += kEntry) {
            copy.push_back(device_.at(ring_.index, ring_.offset_bytes + at));
            if (!idle_ && random_(8) == 0)
                meanwhile();
        }
        const bool was_idle = idle_;
        look();
        if (!bytes || idle_ != was_idle || !hisi_ptt_ring_take(&ring_, bytes, was_idle))
            return false;
        taken.insert(taken.end(), copy.begin(), copy.end());
        return true;
    }
    void restart()
    {
        if (!idle_ || hisi_ptt_ring_waiting(&ring_))
            return;
        device_.reset();
        ring_ = started();
        idle_ = false;
    }
    // Stops the device. The device is idle from then on, so the last check sees its final state.
    void stop()
    {
        most_ = 0;
        look();
        if (!idle_) {
            EXPECT_TRUE(hisi_ptt_ring_finish(&ring_, device_.pointer()));
        }
        idle_ = true;
        while (move(kBytes))
            ;
        EXPECT_EQ(hisi_ptt_ring_waiting(&ring_), 0U);
    }

    bool idle() const { return idle_; }

    std::vector<u64> taken;
    u64 lost = 0;
    bool exact = true;

private:
    void meanwhile()
    {
        if (most_)
            device_.write(random_(most_));
    }

    Device &device_;
    Random &random_;
    u32 most_;
    hisi_ptt_ring ring_ = started();
    bool idle_ = false;
};

TEST(HisiPttRing, ReadsEveryEntryOnceInOrderWithoutOverrun)
{
    Random random(1);
    for (int round = 0; round < 200; round++) {
        Device device;
        Driver driver(device, random, 2);
        for (int step = 0; step < 200; step++) {
            device.write(random(20));
            driver.look();
            while (driver.move(random(100) + 64))
                ;
        }
        driver.stop();
        ASSERT_TRUE(driver.exact);
        ASSERT_EQ(driver.taken.size(), device.written());
        EXPECT_EQ(driver.lost, 0U);
        for (size_t i = 0; i < driver.taken.size(); i++)
            ASSERT_EQ(driver.taken[i], i);
    }
}

TEST(HisiPttRing, EntriesReadBeforeAndAfterOverrunsAreNotTornRepeatedOrReordered)
{
    // The maximum number of entries that the device writes between two steps. With 300 entries it
    // wraps up to nine times.
    constexpr u32 kMost[] = {2, 16, 300};
    Random random(2);
    u64 overruns = 0, exact = 0;
    for (int round = 0; round < 900; round++) {
        Device device;
        Driver driver(device, random, kMost[round % 3]);
        for (int step = 0; step < 60; step++) {
            if (!driver.idle())
                device.write(random(16));
            driver.look();
            for (u32 pieces = random(9); pieces && driver.move(kBytes); pieces--)
                ;
            driver.restart();
        }
        driver.stop();
        overruns += !driver.exact;
        exact += driver.exact;
        for (size_t i = 1; i < driver.taken.size(); i++)
            ASSERT_LT(driver.taken[i - 1], driver.taken[i]) << round;
        const u64 missing = device.written() - driver.taken.size();
        EXPECT_LE(driver.lost, missing) << "a lower bound";
        if (driver.exact) {
            EXPECT_EQ(missing, 0U);
        }
    }
    EXPECT_GT(overruns, 300U) << "or the test tests nothing";
    EXPECT_GT(exact, 10U);
}

// Records

TEST(HisiPttRecord, HeaderMatchesUapi)
{
    const hisi_ptt_header header = {
        .time_ns = 11, .flags = 22, .sequence = 33, .lost = 44, .entries = 96, .entry_bytes = 32};
    std::array<u64, HISI_PTT_HEADER_WORDS> words{};
    hisi_ptt_header_encode(&header, words.data());
    EXPECT_EQ(words,
              (std::array<u64, 6>{0x0400000000200060, PMUKIT_HISI_PTT_MARK, 11, 22, 33, 44}));
    const u64 mark = PMUKIT_HISI_PTT_MARK;
    EXPECT_EQ(std::memcmp(&mark, "HISI_PTT", 8), 0);
}

TEST(HisiPttRecord, DataSizeOfARecordIsAMultipleOfBothEntrySizes)
{
    EXPECT_EQ(PMUKIT_HISI_PTT_DATA_BYTES % HISI_PTT_ENTRY_BYTES_8DW, 0);
    EXPECT_EQ(HISI_PTT_RECORD_WORDS, 6 + 384);
}

}  // namespace
