// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Uses the mailbox as a driver does, with literal offsets from the specification.
#include "vfu/doe.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pmukit::vfu {
namespace {

constexpr uint16_t kVendor = 0x1e98;
constexpr uint8_t kAdd = 2;
constexpr unsigned kVector = 5;

constexpr uint32_t kGo = 0x80000000;
constexpr uint32_t kAbort = 1;
constexpr uint32_t kBusy = 1;
constexpr uint32_t kInterrupt = 2;
constexpr uint32_t kError = 4;
constexpr uint32_t kReady = 0x80000000;

class QuietHost final : public Host {
public:
    bool dma_read(uint64_t, std::span<std::byte>) override { return false; }
    bool dma_write(uint64_t, Bytes) override { return false; }
    void raise(unsigned vector) override { raised.push_back(vector); }
    uint64_t now_ns() const override { return now; }
    void log(std::string_view) override { lines++; }

    uint64_t now = 1000;
    std::vector<unsigned> raised;
    unsigned lines = 0;
};

class DoeTest : public testing::Test {
protected:
    explicit DoeTest(const DoeOptions &options = {}) : doe(config, host, options)
    {
        doe.add_protocol(kVendor, kAdd,
                         [](std::span<const uint32_t> in) -> std::optional<std::vector<uint32_t>> {
                             if (in.size() != 2)
                                 return std::nullopt;
                             return std::vector<uint32_t>{in[0] + in[1], 0xabcdef01};
                         });
    }

    uint32_t read(unsigned reg) { return config.read(doe.offset() + uint64_t{reg}, 4); }
    void write(unsigned reg, uint32_t value)
    {
        config.write(doe.offset() + uint64_t{reg}, 4, value);
    }
    uint32_t status() { return read(0x0c); }

    void ask(const std::vector<uint32_t> &object)
    {
        for (const uint32_t dword : object)
            write(0x10, dword);
        write(0x08, kGo | interrupts);
    }
    std::vector<uint32_t> fetch()
    {
        std::vector<uint32_t> object;
        while (status() & kReady) {
            object.push_back(read(0x14));
            write(0x14, 0);
        }
        return object;
    }

    uint32_t interrupts = 0;  // the interrupt enable bit of Control
    QuietHost host;
    ConfigSpace config{PciIds{}};
    Doe doe;
};

TEST_F(DoeTest, CapabilityHasExpectedOffsetAndFields)
{
    EXPECT_EQ(config.read(0x100, 4), 0x0001002eu);
    EXPECT_EQ(read(0x04), 0u);  // the capability has no interrupt
    EXPECT_EQ(status(), 0u);
    write(0x08, 2);
    EXPECT_EQ(read(0x08), 0u);  // the enable bit is read-only without an interrupt
}

TEST_F(DoeTest, DiscoveryListsEveryProtocol)
{
    ask({0x00000001, 3, 0});
    EXPECT_EQ(fetch(), (std::vector<uint32_t>{0x00000001, 3, 0x01000001}));
    ask({0x00000001, 3, 1});
    EXPECT_EQ(fetch(), (std::vector<uint32_t>{0x00000001, 3, 0x00021e98}));
    ask({0x00000001, 3, 2});
    EXPECT_EQ(fetch(), (std::vector<uint32_t>{0x00000001, 3, 0x0000ffff}));
}

TEST_F(DoeTest, AnAnswerIsFetchedDwordByDword)
{
    ask({0x00021e98, 4, 40, 2});
    EXPECT_EQ(status(), kReady);
    EXPECT_EQ(read(0x14), 0x00021e98u);
    EXPECT_EQ(read(0x14), 0x00021e98u);  // a read does not advance
    EXPECT_EQ(fetch(), (std::vector<uint32_t>{0x00021e98, 4, 42, 0xabcdef01}));
    EXPECT_EQ(read(0x14), 0u);
    EXPECT_EQ(status(), 0u);
}

TEST_F(DoeTest, RequestWithWrongLengthIsSilentlyDiscarded)
{
    ask({0x00021e98, 5, 40, 2});
    EXPECT_EQ(status(), 0u);
    ask({0x00021e98});
    EXPECT_EQ(status(), 0u);
    ask({});
    EXPECT_EQ(status(), 0u);
    ask({0x00021e98, 4, 1, 1});
    EXPECT_EQ(fetch().size(), 4u);
}

TEST_F(DoeTest, UnsupportedRequestSetsTheErrorBitUntilAbort)
{
    for (const auto &object :
         {std::vector<uint32_t>{0x00031e98, 2},     // unknown type
          std::vector<uint32_t>{0x00021e98, 3, 1},  // the handler declines
          std::vector<uint32_t>{0x00000001, 2}}) {  // discovery without an index
        ask(object);
        EXPECT_EQ(status(), kError);
        ask({0x00021e98, 4, 1, 1});
        EXPECT_EQ(status(), kError);
        write(0x08, kAbort);
        EXPECT_EQ(status(), 0u);
    }
    ask({0x00021e98, 4, 1, 1});
    EXPECT_EQ(fetch().size(), 4u);
}

TEST_F(DoeTest, AbortDiscardsPartialRequestAndResponse)
{
    write(0x10, 0x00021e98);
    write(0x08, kAbort);
    ask({0x00021e98, 4, 1, 1});
    ASSERT_EQ(status(), kReady);
    write(0x14, 0);
    write(0x08, kAbort);
    EXPECT_EQ(status(), 0u);
    EXPECT_EQ(read(0x14), 0u);
    ask({0x00021e98, 4, 2, 2});
    EXPECT_EQ(fetch()[2], 4u);
}

TEST_F(DoeTest, RequestIsIgnoredUntilTheLastResponseIsRead)
{
    ask({0x00021e98, 4, 1, 1});
    ask({0x00021e98, 4, 5, 5});
    EXPECT_GT(host.lines, 0u);
    EXPECT_EQ(fetch()[2], 2u);
    EXPECT_EQ(status(), 0u);
}

TEST_F(DoeTest, TooLongRequestSetsTheErrorBit)
{
    for (size_t i = 0; i < Doe::kMaxDwords; i++)
        write(0x10, 0);
    EXPECT_EQ(status(), 0u);
    write(0x10, 0);
    EXPECT_EQ(status(), kError);
}

TEST_F(DoeTest, PartialDwordWriteIsIgnored)
{
    config.write(doe.offset() + 0x10u, 2, 0x1e98);
    EXPECT_EQ(host.lines, 1u);
    ask({0x00021e98, 4, 1, 1});
    EXPECT_EQ(fetch().size(), 4u);
}

TEST_F(DoeTest, ResetClearsRequestAndError)
{
    ask({0x00031e98, 2});
    config.reset();
    doe.reset();
    EXPECT_EQ(status(), 0u);
    ask({0x00021e98, 4, 1, 1});
    EXPECT_EQ(fetch().size(), 4u);
}

class SlowDoeTest : public DoeTest {
protected:
    SlowDoeTest() : DoeTest({.vector = kVector, .answer_ns = 500}) {}
};

TEST_F(SlowDoeTest, IsBusyUntilTheResponseIsReady)
{
    ask({0x00021e98, 4, 1, 1});
    EXPECT_EQ(status(), kBusy);
    EXPECT_EQ(doe.next_deadline_ns(), 1500u);
    doe.advance(1499);
    EXPECT_EQ(status(), kBusy);
    doe.advance(1500);
    EXPECT_EQ(status(), kReady);
    EXPECT_FALSE(doe.next_deadline_ns());
}

TEST_F(SlowDoeTest, AbortClearsTheBusyBitAndDropsTheResponse)
{
    ask({0x00021e98, 4, 1, 1});
    write(0x08, kAbort);
    EXPECT_EQ(status(), 0u);
    doe.advance(2000);
    EXPECT_EQ(status(), 0u);
}

TEST_F(SlowDoeTest, EndOfBusySendsAnInterruptAlsoWithoutAResponse)
{
    EXPECT_EQ(read(0x04), 1u | kVector << 1);
    interrupts = 2;
    ask({0x00021e98, 4, 1, 1});
    doe.advance(1500);
    EXPECT_EQ(status(), kReady | kInterrupt);
    EXPECT_EQ(host.raised, (std::vector<unsigned>{kVector}));
    fetch();
    write(0x0c, kInterrupt);
    EXPECT_EQ(status(), 0u);
    ask({0});
    doe.advance(5000);
    // The end of Busy sends an interrupt, although there is no response.
    EXPECT_EQ(host.raised.size(), 2u);
}

TEST_F(SlowDoeTest, SendsNoInterruptIfDisabled)
{
    ask({0x00021e98, 4, 1, 1});
    doe.advance(1500);
    EXPECT_TRUE(host.raised.empty());
    EXPECT_EQ(status(), kReady);
}

}  // namespace
}  // namespace pmukit::vfu
