// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the session with valid and invalid messages of a client.
#include "vfu/session.hpp"

#include <cstdio>
#include <random>
#include <sstream>
#include <string>

#include "vfu/bar_memory.hpp"
#include "vfu/test_support.hpp"

namespace pmukit::vfu {
namespace {

using namespace test;
using wire::Command;

constexpr uint32_t kConnect = wire::kIrqDataEventfd | wire::kIrqActionTrigger;

class SessionTest : public testing::Test {
protected:
    SessionTest()
    {
        session.bind(device);
        session.attach(client.connect());
    }

    // Sends a message, runs the session and returns the answer.
    std::optional<Reply> exchange(const std::vector<std::byte> &message,
                                  const std::vector<int> &fds = {})
    {
        client.send_raw(message, fds);
        session.on_ready();
        return client.receive();
    }
    std::optional<Reply> ask(Command command, const std::vector<std::byte> &body,
                             const std::vector<int> &fds = {})
    {
        return exchange(TestClient::message(command, body), fds);
    }
    void greet() { ASSERT_TRUE(ask(Command::kVersion, version_body())->good()); }

    std::vector<std::byte> read(uint32_t region, uint64_t offset, uint32_t count)
    {
        const auto reply = ask(Command::kRegionRead, access_body(region, offset, count));
        if (!reply || !reply->good() || reply->body.size() != sizeof(wire::RegionAccess) + count)
            return {};
        return {reply->body.begin() + sizeof(wire::RegionAccess), reply->body.end()};
    }
    template <typename T>
    bool write(uint32_t region, uint64_t offset, T value)
    {
        const auto reply =
            ask(Command::kRegionWrite, access_body(region, offset, sizeof value, bytes_of(value)));
        return reply && reply->good();
    }
    std::errc access_error(Command command, uint32_t region, uint64_t offset, uint32_t count)
    {
        std::vector<std::byte> data;
        if (command == Command::kRegionWrite)
            data.resize(std::max(count, 1u));
        return ask(command, access_body(region, offset, count, data))->error();
    }
    // Enables bus mastering and MSI-X, as a driver does.
    void open_interrupts()
    {
        ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, 0x04, 0x0006));
        ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, device.msix_offset + 2u, 0x8000));
    }

    FakeDevice device;
    Session session;
    TestClient client;
};

// Version message

TEST_F(SessionTest, AgreesOnVersionZero)
{
    const auto reply = ask(Command::kVersion, version_body());
    ASSERT_TRUE(reply && reply->good());
    EXPECT_EQ(wire::get<wire::Version>(reply->body)->major, 0);
    EXPECT_EQ(reply->body.back(), std::byte{0});
    const std::string_view json(reinterpret_cast<const char *>(reply->body.data()) +
                                sizeof(wire::Version));
    EXPECT_NE(json.find("\"max_msg_fds\":16"), json.npos);
    // QEMU accepts no answer longer than its own VERSION message of about 200 bytes.
    EXPECT_LT(json.size(), 150u);
}

TEST_F(SessionTest, RefusesAnotherMajorVersion)
{
    auto body = version_body();
    body[0] = std::byte{1};
    EXPECT_EQ(ask(Command::kVersion, body)->error(), std::errc::not_supported);
}

TEST_F(SessionTest, RefusesVersionMessageWithUnterminatedCapabilities)
{
    auto body = version_body();
    body.back() = std::byte{'}'};
    EXPECT_EQ(ask(Command::kVersion, body)->error(), std::errc::invalid_argument);
}

TEST_F(SessionTest, RejectsCommandsBeforeTheVersionMessage)
{
    EXPECT_EQ(ask(Command::kReset, {})->error(), std::errc::invalid_argument);
    EXPECT_EQ(access_error(Command::kRegionRead, 0, 0, 8), std::errc::invalid_argument);
    EXPECT_TRUE(device.calls.empty());
    EXPECT_EQ(device.resets, 1u);  // the reset by attach()
}

TEST_F(SessionTest, RejectsSecondVersionMessage)
{
    greet();
    EXPECT_EQ(ask(Command::kVersion, version_body())->error(), std::errc::invalid_argument);
}

// Messages

TEST_F(SessionTest, UnknownCommandIsAnsweredWithENOSYS)
{
    greet();
    for (const uint16_t command : {uint16_t{0}, uint16_t{15}, uint16_t{16}, uint16_t{0xffff}})
        EXPECT_EQ(exchange(TestClient::message(command, {}))->error(),
                  std::errc::function_not_supported);
}

TEST_F(SessionTest, CommandsNotOfferedAreAnsweredWithENOTSUP)
{
    greet();
    for (const Command command :
         {Command::kGetRegionIoFds, Command::kDmaRead, Command::kDmaWrite, Command::kDirtyPages})
        EXPECT_EQ(ask(command, std::vector<std::byte>(24))->error(), std::errc::not_supported);
}

TEST_F(SessionTest, AnswerCarriesIdAndCommand)
{
    greet();
    const auto reply = exchange(TestClient::message(Command::kReset, {}, 0, 0xbeef));
    EXPECT_EQ(reply->header.id, 0xbeef);
    EXPECT_EQ(reply->header.command, static_cast<uint16_t>(Command::kReset));
}

struct BodyCase {
    Command command;
    std::vector<std::byte> good;
};

std::vector<BodyCase> fixed_bodies()
{
    return {
        {Command::kDmaMap, bytes_of(wire::DmaMap{32, wire::kDmaReadable, 0, 0x1000, 0x1000})},
        {Command::kDmaUnmap, bytes_of(wire::DmaUnmap{24, 0, 0x1000, 0x1000})},
        {Command::kGetRegionInfo, bytes_of(wire::RegionInfo{32, 0, 0, 0, 0, 0})},
        {Command::kGetIrqInfo, bytes_of(wire::IrqInfo{16, 0, wire::kIrqMsix, 0})},
        {Command::kSetIrqs, irqs_body(wire::kIrqDataNone | wire::kIrqActionTrigger, 0, 0)},
        {Command::kRegionRead, access_body(0, 0, 8)},
        {Command::kRegionWrite, access_body(0, 0, 8, std::vector<std::byte>(8))},
        {Command::kReset, {}},
    };
}

TEST_F(SessionTest, EveryTruncatedBodyIsRefused)
{
    greet();
    for (const BodyCase &body_case : fixed_bodies()) {
        for (size_t size = 0; size < body_case.good.size(); size++) {
            const std::vector<std::byte> cut(body_case.good.begin(),
                                             body_case.good.begin() + static_cast<ptrdiff_t>(size));
            EXPECT_EQ(ask(body_case.command, cut)->error(), std::errc::invalid_argument)
                << "command " << static_cast<int>(body_case.command) << " size " << size;
        }
        EXPECT_TRUE(ask(body_case.command, body_case.good)->good())
            << "command " << static_cast<int>(body_case.command);
    }
}

TEST_F(SessionTest, BodyOneByteTooLongIsRefused)
{
    greet();
    for (const BodyCase &body_case : fixed_bodies())
        EXPECT_EQ(ask(body_case.command, body_case.good + std::vector<std::byte>(1))->error(),
                  std::errc::invalid_argument)
            << "command " << static_cast<int>(body_case.command);
}

TEST_F(SessionTest, UnexpectedDescriptorsAreRefused)
{
    greet();
    const Fd event = make_eventfd();
    for (const BodyCase &body_case : fixed_bodies()) {
        if (body_case.command == Command::kDmaMap)
            continue;
        EXPECT_EQ(ask(body_case.command, body_case.good, {event.get()})->error(),
                  std::errc::invalid_argument)
            << "command " << static_cast<int>(body_case.command);
    }
}

TEST_F(SessionTest, TooManyDescriptorsAreRefused)
{
    greet();
    const Fd event = make_eventfd();
    EXPECT_EQ(ask(Command::kSetIrqs, irqs_body(kConnect, 0, 4), std::vector<int>(17, event.get()))
                  ->error(),
              std::errc::invalid_argument);
    EXPECT_EQ(ask(Command::kDmaMap, bytes_of(wire::DmaMap{32, 1, 0, 0, 0x1000}),
                  {event.get(), event.get()})
                  ->error(),
              std::errc::invalid_argument);
}

TEST_F(SessionTest, TooSmallArgszIsRefused)
{
    greet();
    EXPECT_FALSE(ask(Command::kGetInfo, bytes_of(wire::DeviceInfo{15, 0, 0, 0}))->good());
    EXPECT_FALSE(
        ask(Command::kGetRegionInfo, bytes_of(wire::RegionInfo{31, 0, 0, 0, 0, 0}))->good());
    EXPECT_FALSE(ask(Command::kGetIrqInfo, bytes_of(wire::IrqInfo{15, 0, 0, 0}))->good());
    EXPECT_FALSE(ask(Command::kDmaMap, bytes_of(wire::DmaMap{31, 1, 0, 0, 0x1000}))->good());
    EXPECT_FALSE(ask(Command::kDmaUnmap, bytes_of(wire::DmaUnmap{23, 0, 0, 0x1000}))->good());
    EXPECT_FALSE(
        ask(Command::kSetIrqs, bytes_of(wire::IrqSet{19, 0x21, wire::kIrqMsix, 0, 0}))->good());
}

TEST_F(SessionTest, InvalidHeaderFlagsAreRefused)
{
    greet();
    for (const uint32_t flags : {2u, 15u, wire::kError, 0x40u, 0x80000000u})
        EXPECT_EQ(exchange(TestClient::message(Command::kReset, {}, flags))->error(),
                  std::errc::invalid_argument)
            << flags;
    EXPECT_EQ(device.resets, 1u);
}

TEST_F(SessionTest, UnsolicitedReplyIsNotAnswered)
{
    greet();
    EXPECT_FALSE(exchange(TestClient::message(Command::kReset, {}, wire::kTypeReply)));
    EXPECT_EQ(device.resets, 1u);
    EXPECT_TRUE(ask(Command::kReset, {})->good());
}

TEST_F(SessionTest, SeveralMessagesInOneSendAreAnsweredInOrder)
{
    greet();
    client.send_raw(TestClient::message(Command::kReset, {}, 0, 7) +
                    TestClient::message(Command::kRegionRead, access_body(0, 0, 4), 0, 8));
    session.on_ready();
    EXPECT_EQ(client.receive()->header.id, 7);
    EXPECT_EQ(client.receive()->header.id, 8);
}

TEST_F(SessionTest, MessagesOfAFloodingClientAreHandledInBatches)
{
    greet();
    std::vector<std::byte> burst;
    for (uint32_t i = 0; i < 2 * Session::kMessagesPerBatch + 1; i++)
        burst = burst + TestClient::message(Command::kRegionWrite,
                                            access_body(0, 0, 4, bytes_of(i)), wire::kNoReply);
    client.send_raw(burst);
    client.leave();  // messages that were sent before are still handled
    for (size_t batches = 1; batches <= 2; batches++) {
        ASSERT_TRUE(session.on_ready());
        EXPECT_EQ(device.calls.size(), batches * Session::kMessagesPerBatch);
        EXPECT_TRUE(session.has_more());
    }
    ASSERT_TRUE(session.on_ready());
    EXPECT_EQ(device.calls.size(), 2 * Session::kMessagesPerBatch + 1);
    EXPECT_FALSE(session.has_more());
    EXPECT_FALSE(session.on_ready());
}

TEST_F(SessionTest, AcceptsAMessageByteByByte)
{
    greet();
    const auto message = TestClient::message(Command::kRegionRead, access_body(0, 0x10, 4));
    for (size_t i = 0; i + 1 < message.size(); i++) {
        client.send_raw(Bytes(message).subspan(i, 1));
        ASSERT_TRUE(session.on_ready());
        ASSERT_FALSE(client.receive());
    }
    client.send_raw(Bytes(message).last(1));
    session.on_ready();
    EXPECT_TRUE(client.receive()->good());
}

TEST_F(SessionTest, EmptySocketDoesNotDetachTheClient)
{
    EXPECT_TRUE(session.on_ready());
    EXPECT_TRUE(session.attached());
    greet();
}

TEST_F(SessionTest, InvalidMessageSizeClosesTheConnection)
{
    for (const uint32_t size : {0u, 15u, wire::kMaxMessageBytes + 1, 0xffffffffu}) {
        TestClient next;
        session.attach(next.connect());
        next.send_raw(bytes_of(wire::Header{1, 1, size, 0, 0}));
        EXPECT_FALSE(session.on_ready()) << size;
        EXPECT_TRUE(next.closed_by_peer()) << size;
        EXPECT_FALSE(session.attached());
    }
}

TEST_F(SessionTest, SurvivesAClientThatLeavesMidMessage)
{
    greet();
    const auto message = TestClient::message(Command::kRegionRead, access_body(0, 0, 4));
    client.send_raw(Bytes(message).first(20));
    ASSERT_TRUE(session.on_ready());
    client.leave();
    EXPECT_FALSE(session.on_ready());
    EXPECT_TRUE(device.calls.empty());
}

// Valid messages with a few bytes changed. Sanitizers must report nothing, the client is kept or
// dropped cleanly, and a request with an intact header gets exactly one answer.
TEST_F(SessionTest, SurvivesDamagedMessages)
{
    std::mt19937 random(20261121);
    const auto below = [&random](size_t limit) { return random() % limit; };
    const Fd memory = make_memory(0x1000);
    const std::vector<BodyCase> cases = fixed_bodies();
    unsigned dropped = 0;
    unsigned answered = 0;

    testing::internal::CaptureStderr();
    greet();
    for (int round = 0; round < 20000; round++) {
        const BodyCase &body_case = cases[below(cases.size())];
        auto message = TestClient::message(body_case.command, body_case.good);
        const bool hits_header = round % 8 == 0;
        const size_t first = hits_header ? 0 : sizeof(wire::Header);
        for (size_t i = 0; i < 1 + below(3) && first < message.size(); i++)
            message[first + below(message.size() - first)] ^=
                static_cast<std::byte>(1u << below(8));
        client.send_raw(message,
                        below(4) == 0 ? std::vector<int>{memory.get()} : std::vector<int>{});
        const bool kept = session.on_ready();
        if (kept && !hits_header) {
            ASSERT_TRUE(client.receive()) << "round " << round;
            answered++;
        }
        if (hits_header) {  // its size may be wrong: the stream is out of sync
            dropped += !kept;
            session.attach(client.connect());
            greet();
        }
    }
    testing::internal::GetCapturedStderr();
    EXPECT_GT(dropped, 100u);
    EXPECT_EQ(answered, 17500u);
}

TEST_F(SessionTest, RefusalsAreLoggedInOneLineAndRateLimited)
{
    greet();
    testing::internal::CaptureStderr();
    access_error(Command::kRegionRead, 3, 0, 4);
    const std::string one = testing::internal::GetCapturedStderr();
    EXPECT_NE(one.find("REGION_READ"), one.npos);
    EXPECT_NE(one.find("the region is empty"), one.npos);
    EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1);

    testing::internal::CaptureStderr();
    for (int i = 0; i < 500; i++)
        access_error(Command::kRegionRead, 3, 0, 4);
    const std::string many = testing::internal::GetCapturedStderr();
    EXPECT_LT(std::count(many.begin(), many.end(), '\n'), 400);
}

TEST_F(SessionTest, LostDescriptorsAreReportedAndCloseTheConnection)
{
    greet();
    // The first message of the log opens a descriptor, so this access causes one now.
    access_error(Command::kRegionRead, 3, 0, 4);
    const Fd event = make_eventfd();
    client.send_raw(TestClient::message(Command::kSetIrqs, irqs_body(kConnect, 0, 1)),
                    {event.get()});
    testing::internal::CaptureStderr();
    bool kept = true;
    {
        const NoNewFiles none;
        kept = session.on_ready();
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(kept);
    EXPECT_NE(said.find("descriptors of the client were lost"), said.npos) << said;
    EXPECT_NE(said.find("ulimit -n"), said.npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
    EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(SessionTest, SuppressedLogLinesAreCountedWhenTheClientLeaves)
{
    constexpr unsigned kMany = 2 * LineLimiter::kLinesPerSecond + 3;
    greet();
    testing::internal::CaptureStderr();
    for (unsigned i = 0; i < kMany; i++)
        session.log("a line");
    client.leave();
    EXPECT_FALSE(session.on_ready());
    std::istringstream said(testing::internal::GetCapturedStderr());
    unsigned shown = 0, hidden = 0;
    for (std::string line; std::getline(said, line);) {
        unsigned lines = 0;
        if (std::sscanf(line.c_str(), "vfu: log lines suppressed: %u", &lines) == 1)
            hidden += lines;
        else
            shown++;
    }
    EXPECT_GT(hidden, 0u);
    EXPECT_EQ(shown + hidden, kMany);

    testing::internal::CaptureStderr();
    session.attach(client.connect());
    session.detach();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(LineLimiterTest, ShowsABurstAndCountsSuppressedLines)
{
    LineLimiter limiter;
    const uint64_t second_ns = 1'000'000'000;
    for (unsigned i = 0; i < LineLimiter::kLinesPerSecond; i++)
        EXPECT_TRUE(limiter.admit(5 * second_ns + i));
    EXPECT_FALSE(limiter.admit(5 * second_ns + 500));
    EXPECT_FALSE(limiter.admit(6 * second_ns - 1));
    EXPECT_EQ(limiter.take_suppressed(6 * second_ns - 1), 0u);
    EXPECT_EQ(limiter.take_suppressed(6 * second_ns), 2u);
    EXPECT_EQ(limiter.take_suppressed(6 * second_ns), 0u);
    EXPECT_TRUE(limiter.admit(6 * second_ns));
}

TEST(LineLimiterTest, ReportsSuppressedLinesAtTheEnd)
{
    LineLimiter limiter;
    for (unsigned i = 0; i < LineLimiter::kLinesPerSecond + 3; i++)
        limiter.admit(i);
    EXPECT_EQ(limiter.take_suppressed(500), 0u);
    EXPECT_EQ(limiter.take_rest(), 3u);
    EXPECT_EQ(limiter.take_rest(), 0u);
}

// Device description

TEST_F(SessionTest, DescribesAPciDevice)
{
    greet();
    const auto reply = ask(Command::kGetInfo, bytes_of(wire::DeviceInfo{16, 0, 0, 0}));
    const auto info = wire::get<wire::DeviceInfo>(reply->body);
    EXPECT_EQ(info->flags, 3u);
    EXPECT_EQ(info->regions, 9u);
    EXPECT_EQ(info->irqs, 5u);
}

TEST_F(SessionTest, DescribesTheRegionsOfTheDevice)
{
    greet();
    const uint64_t sizes[] = {kBar0Bytes, 0, kBar2Bytes, 0, 0, 0, 0, 4096, 0};
    for (uint32_t index = 0; index < 9; index++) {
        const auto reply =
            ask(Command::kGetRegionInfo, bytes_of(wire::RegionInfo{32, 9, index, 9, 9, 9}));
        const auto info = wire::get<wire::RegionInfo>(reply->body);
        EXPECT_EQ(info->size_bytes, sizes[index]) << index;
        EXPECT_EQ(info->flags, sizes[index] ? 3u : 0u) << index;
        EXPECT_EQ(info->capability_offset, 0u);
    }
    EXPECT_FALSE(
        ask(Command::kGetRegionInfo, bytes_of(wire::RegionInfo{32, 0, 9, 0, 0, 0}))->good());
}

TEST_F(SessionTest, DescribesTheInterruptsOfTheDevice)
{
    greet();
    const uint32_t counts[] = {0, 0, kVectors, 0, 0};
    for (uint32_t index = 0; index < 5; index++) {
        const auto info = wire::get<wire::IrqInfo>(
            ask(Command::kGetIrqInfo, bytes_of(wire::IrqInfo{16, 0, index, 0}))->body);
        EXPECT_EQ(info->count, counts[index]) << index;
        EXPECT_EQ(info->flags, counts[index] ? wire::kIrqTakesEventfd : 0u) << index;
    }
    EXPECT_FALSE(ask(Command::kGetIrqInfo, bytes_of(wire::IrqInfo{16, 0, 5, 0}))->good());
}

// Accesses

TEST_F(SessionTest, ReadsReachTheDeviceWithTheirWidth)
{
    greet();
    for (const unsigned width : {1u, 2u, 4u, 8u}) {
        device.calls.clear();
        const auto bytes = read(2, 0x40, width);
        ASSERT_EQ(bytes.size(), width);
        EXPECT_EQ(bytes[0], std::byte{0x88});
        EXPECT_EQ(device.calls, (std::vector<DeviceCall>{{false, 2, 0x40, width, 0}}));
    }
}

TEST_F(SessionTest, WritesReachTheDeviceWithTheirWidth)
{
    greet();
    ASSERT_TRUE(write<uint8_t>(2, 1, 0xab));
    ASSERT_TRUE(write<uint16_t>(2, 2, 0xabcd));
    ASSERT_TRUE(write<uint32_t>(2, 4, 0xabcdef01));
    ASSERT_TRUE(write<uint64_t>(2, 8, 0xabcdef0123456789));
    EXPECT_EQ(device.calls, (std::vector<DeviceCall>{{true, 2, 1, 1, 0xab},
                                                     {true, 2, 2, 2, 0xabcd},
                                                     {true, 2, 4, 4, 0xabcdef01},
                                                     {true, 2, 8, 8, 0xabcdef0123456789}}));
}

TEST_F(SessionTest, UnalignedAccessesAreNotSplit)
{
    greet();
    read(2, 3, 4);
    EXPECT_EQ(device.calls, (std::vector<DeviceCall>{{false, 2, 3, 4, 0}}));
}

TEST_F(SessionTest, AccessOfASizeOtherThan1_2_4Or8BytesIsSplit)
{
    greet();
    EXPECT_EQ(read(2, 0x10, 3).size(), 3u);
    EXPECT_EQ(device.calls,
              (std::vector<DeviceCall>{
                  {false, 2, 0x10, 1, 0}, {false, 2, 0x11, 1, 0}, {false, 2, 0x12, 1, 0}}));
    device.calls.clear();
    EXPECT_EQ(read(2, 0x20, 24).size(), 24u);
    EXPECT_EQ(device.calls,
              (std::vector<DeviceCall>{
                  {false, 2, 0x20, 8, 0}, {false, 2, 0x28, 8, 0}, {false, 2, 0x30, 8, 0}}));
}

TEST_F(SessionTest, AccessesOutsideARegionNeverReachTheDevice)
{
    greet();
    for (const Command command : {Command::kRegionRead, Command::kRegionWrite}) {
        EXPECT_EQ(access_error(command, 0, kBar0Bytes, 1), std::errc::invalid_argument);
        EXPECT_EQ(access_error(command, 0, kBar0Bytes - 4, 8), std::errc::invalid_argument);
        EXPECT_EQ(access_error(command, 0, ~uint64_t{0}, 8), std::errc::invalid_argument);
        EXPECT_EQ(access_error(command, 1, 0, 4), std::errc::invalid_argument);
        EXPECT_EQ(access_error(command, 6, 0, 4), std::errc::invalid_argument);
        EXPECT_EQ(access_error(command, 9, 0, 4), std::errc::invalid_argument);
        EXPECT_EQ(access_error(command, 0xffffffff, 0, 4), std::errc::invalid_argument);
        EXPECT_EQ(access_error(command, 0, 0, 0), std::errc::invalid_argument);
        EXPECT_EQ(access_error(command, wire::kRegionConfig, 4094, 4), std::errc::invalid_argument);
    }
    EXPECT_EQ(ask(Command::kRegionRead, access_body(2, 0, wire::kMaxTransferBytes + 1))->error(),
              std::errc::invalid_argument);
    EXPECT_EQ(ask(Command::kRegionRead, access_body(2, 0, 0xffffffff))->error(),
              std::errc::invalid_argument);
    EXPECT_TRUE(device.calls.empty());
}

// A guest can make QEMU send all these accesses. Checks only that each is answered, not the value.
TEST_F(SessionTest, AccessOfEverySizeAtEveryAlignmentIsAnswered)
{
    greet();
    const struct {
        uint32_t region;
        uint64_t size_bytes;
    } regions[] = {{0, kBar0Bytes}, {2, kBar2Bytes}, {wire::kRegionConfig, kConfigSpaceBytes}};
    for (const auto &[region, size_bytes] : regions)
        for (uint32_t count = 1; count <= 16; count++)
            for (uint64_t offset = size_bytes - 20; offset < size_bytes + 4; offset++) {
                const bool inside = offset + count <= size_bytes;
                const auto expected = inside ? std::errc{} : std::errc::invalid_argument;
                EXPECT_EQ(access_error(Command::kRegionRead, region, offset, count), expected);
                EXPECT_EQ(access_error(Command::kRegionWrite, region, offset, count), expected);
            }
    for (const DeviceCall &call : device.calls)
        EXPECT_LE(call.offset + call.width, call.bar == 0 ? kBar0Bytes : kBar2Bytes);
}

TEST_F(SessionTest, LastByteOfARegionIsAccessible)
{
    greet();
    EXPECT_EQ(read(0, kBar0Bytes - 1, 1).size(), 1u);
    EXPECT_EQ(read(2, kBar2Bytes - 8, 8).size(), 8u);
    EXPECT_EQ(read(2, 0, wire::kMaxTransferBytes).size(), wire::kMaxTransferBytes);
}

TEST_F(SessionTest, AWriteWithAWrongCountIsRefused)
{
    greet();
    for (const uint32_t count : {7u, 9u, 0x1000u})
        EXPECT_EQ(ask(Command::kRegionWrite, access_body(0, 0, count, std::vector<std::byte>(8)))
                      ->error(),
                  std::errc::invalid_argument);
    EXPECT_TRUE(device.calls.empty());
}

TEST_F(SessionTest, PostedWritesAreAppliedAndNeverAnswered)
{
    greet();
    const auto write = access_body(2, 8, 4, bytes_of(uint32_t{42}));
    EXPECT_FALSE(exchange(TestClient::message(Command::kRegionWrite, write, wire::kNoReply)));
    EXPECT_EQ(device.calls, (std::vector<DeviceCall>{{true, 2, 8, 4, 42}}));

    const auto wrong = access_body(2, kBar2Bytes, 4, bytes_of(uint32_t{42}));
    EXPECT_FALSE(exchange(TestClient::message(Command::kRegionWrite, wrong, wire::kNoReply)));
    EXPECT_EQ(device.calls.size(), 1u);
}

TEST_F(SessionTest, ConfigWritesAreAnswered)
{
    greet();
    EXPECT_TRUE(write<uint16_t>(wire::kRegionConfig, 0x04, 0xffff));
    EXPECT_EQ(device.config().read(0x04, 2), 0x0546u);
}

TEST_F(SessionTest, ReadsTheWholeConfigSpaceAtOnce)
{
    greet();
    const auto bytes = read(wire::kRegionConfig, 0, 4096);
    ASSERT_EQ(bytes.size(), 4096u);
    EXPECT_EQ(load_le<uint16_t>(bytes.data()), 0x1234);
    EXPECT_TRUE(device.calls.empty());
}

TEST_F(SessionTest, DeviceIsAdvancedBeforeEveryAccess)
{
    greet();
    read(0, 0, 4);
    write<uint32_t>(0, 0, 1);
    EXPECT_EQ(device.advances, 2u);
}

TEST_F(SessionTest, ADueDeadlineAdvancesTheDevice)
{
    device.deadline_ns = session.now_ns() + 3'600'000'000'000;
    EXPECT_EQ(session.run_device_until_now(), device.deadline_ns);
    EXPECT_EQ(device.advances, 0u);
    device.deadline_ns = session.now_ns();
    EXPECT_EQ(session.run_device_until_now(), std::nullopt);
    EXPECT_EQ(device.deadlines_met, 1u);
}

// MSI-X inside a BAR

TEST_F(SessionTest, MsixTableAccessesNeverReachTheDevice)
{
    greet();
    ASSERT_TRUE(write<uint32_t>(0, kMsixTableOffset + 8, 0x4321));
    EXPECT_EQ(load_le<uint32_t>(read(0, kMsixTableOffset + 8, 4).data()), 0x4321u);
    EXPECT_EQ(load_le<uint64_t>(read(0, kMsixPbaOffset, 8).data()), 0u);
    ASSERT_TRUE(write<uint64_t>(0, kMsixPbaOffset, ~uint64_t{0}));
    EXPECT_EQ(load_le<uint64_t>(read(0, kMsixPbaOffset, 8).data()), 0u);
    EXPECT_TRUE(device.calls.empty());

    // Accesses next to the structures, and at the same offsets in another BAR, reach the device.
    read(0, kMsixTableOffset - 4, 4);
    read(0, kMsixTableOffset + 16 * kVectors, 4);
    read(0, kMsixPbaOffset + 8, 4);
    read(2, kMsixTableOffset, 4);
    EXPECT_EQ(device.calls.size(), 4u);
}

TEST_F(SessionTest, AccessAcrossTheMsixTableEdgeIsSplitIntoBytes)
{
    greet();
    ASSERT_TRUE(write<uint32_t>(0, kMsixTableOffset - 2, 0xaabbccdd));
    EXPECT_EQ(device.calls, (std::vector<DeviceCall>{{true, 0, kMsixTableOffset - 2, 1, 0xdd},
                                                     {true, 0, kMsixTableOffset - 1, 1, 0xcc}}));
    // The address bits 1:0 of an entry do not exist: 0xbb becomes 0xb8.
    EXPECT_EQ(load_le<uint16_t>(read(0, kMsixTableOffset, 2).data()), 0xaab8);

    device.calls.clear();
    const uint64_t end = kMsixTableOffset + 16 * kVectors;
    EXPECT_EQ(read(0, end - 2, 4).size(), 4u);
    EXPECT_EQ(device.calls,
              (std::vector<DeviceCall>{{false, 0, end, 1, 0}, {false, 0, end + 1, 1, 0}}));
}

TEST_F(SessionTest, InterruptSignalsItsEventfd)
{
    greet();
    open_interrupts();
    const Fd events[] = {make_eventfd(), make_eventfd()};
    ASSERT_TRUE(
        ask(Command::kSetIrqs, irqs_body(kConnect, 1, 2), {events[0].get(), events[1].get()})
            ->good());
    session.raise(2);
    EXPECT_EQ(signals(events[0]), 0u);
    EXPECT_EQ(signals(events[1]), 1u);
    // This vector does not exist. The session only logs an error.
    session.raise(kVectors);
}

TEST_F(SessionTest, InterruptWaitsUntilMsixIsEnabledAndUnmaskedAndTheFunctionIsBusMaster)
{
    greet();
    const Fd event = make_eventfd();
    ASSERT_TRUE(ask(Command::kSetIrqs, irqs_body(kConnect, 0, 1), {event.get()})->good());
    session.raise(0);
    EXPECT_EQ(signals(event), 0u);
    EXPECT_EQ(read(0, kMsixPbaOffset, 1)[0], std::byte{1});
    // Mask all vectors.
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, device.msix_offset + 2u, 0xc000));
    EXPECT_EQ(signals(event), 0u);
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, device.msix_offset + 2u, 0x8000));
    EXPECT_EQ(signals(event), 0u);
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, 0x04, 0x0004));
    EXPECT_EQ(signals(event), 1u);
    EXPECT_EQ(read(0, kMsixPbaOffset, 1)[0], std::byte{0});
}

TEST_F(SessionTest, RemovingTheEventfdStopsTheInterrupt)
{
    greet();
    open_interrupts();
    const Fd event = make_eventfd();
    ASSERT_TRUE(ask(Command::kSetIrqs, irqs_body(kConnect, 0, 1), {event.get()})->good());
    ASSERT_TRUE(ask(Command::kSetIrqs, irqs_body(kConnect, 0, 1))->good());
    session.raise(0);
    EXPECT_EQ(signals(event), 0u);
    ASSERT_TRUE(ask(Command::kSetIrqs, irqs_body(kConnect, 0, 1), {event.get()})->good());
    EXPECT_EQ(signals(event), 1u);
    ASSERT_TRUE(
        ask(Command::kSetIrqs, irqs_body(wire::kIrqDataNone | wire::kIrqActionTrigger, 0, 0))
            ->good());
    session.raise(0);
    EXPECT_EQ(signals(event), 0u);
}

TEST_F(SessionTest, ClientCanTriggerVectors)
{
    greet();
    open_interrupts();
    const Fd event = make_eventfd();
    ASSERT_TRUE(ask(Command::kSetIrqs, irqs_body(kConnect, 3, 1), {event.get()})->good());
    ASSERT_TRUE(
        ask(Command::kSetIrqs, irqs_body(wire::kIrqDataNone | wire::kIrqActionTrigger, 3, 1))
            ->good());
    EXPECT_EQ(signals(event), 1u);
    const std::vector<std::byte> bools = {std::byte{0}, std::byte{1}};
    ASSERT_TRUE(ask(Command::kSetIrqs,
                    irqs_body(wire::kIrqDataBool | wire::kIrqActionTrigger, 2, 2) + bools)
                    ->good());
    EXPECT_EQ(signals(event), 1u);
}

TEST_F(SessionTest, InvalidSetIrqsIsRefused)
{
    greet();
    const Fd event = make_eventfd();
    const Fd file = make_memory(4096);
    const auto error = [this](const std::vector<std::byte> &body,
                              const std::vector<int> &fds = {}) {
        return ask(Command::kSetIrqs, body, fds)->error();
    };
    EXPECT_EQ(error(irqs_body(0, 0, 1)), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(kConnect | wire::kIrqDataNone, 0, 1)), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(kConnect | wire::kIrqActionMask, 0, 1)), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(kConnect | 0x40, 0, 1)), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(wire::kIrqDataNone | wire::kIrqActionMask, 0, 1)),
              std::errc::not_supported);
    EXPECT_EQ(error(irqs_body(kConnect, 0, 1, 5)), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(wire::kIrqDataNone | wire::kIrqActionTrigger, 0, 0, 5)),
              std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(kConnect, 0, 1, 0)), std::errc::invalid_argument);  // no INTx exists
    EXPECT_EQ(error(irqs_body(kConnect, kVectors, 1)), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(kConnect, kVectors + 1, 0)), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(kConnect, 1, 0xffffffff)), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(kConnect, 0, 2), {event.get()}), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(wire::kIrqDataNone | wire::kIrqActionTrigger, 0, 1), {event.get()}),
              std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(kConnect, 0, 1), {file.get()}), std::errc::invalid_argument);
    EXPECT_EQ(error(irqs_body(wire::kIrqDataBool | wire::kIrqActionTrigger, 0, 2) +
                    std::vector<std::byte>(1)),
              std::errc::invalid_argument);
}

// DMA

class SessionDmaTest : public SessionTest {
protected:
    SessionDmaTest()
    {
        greet();
        EXPECT_TRUE(write<uint16_t>(wire::kRegionConfig, 0x04, 0x0004));
    }
    std::optional<Reply> map(uint64_t address, uint64_t size, int fd, uint64_t offset = 0,
                             uint32_t flags = 3)
    {
        return ask(Command::kDmaMap, bytes_of(wire::DmaMap{32, flags, offset, address, size}),
                   fd < 0 ? std::vector<int>{} : std::vector<int>{fd});
    }
    std::optional<Reply> unmap(uint64_t address, uint64_t size, uint32_t flags = 0)
    {
        return ask(Command::kDmaUnmap, bytes_of(wire::DmaUnmap{24, flags, address, size}));
    }

    Fd memory = make_memory(0x4000);
};

TEST_F(SessionDmaTest, AccessesMappedMemoryAtItsOffset)
{
    ASSERT_TRUE(map(0x10000, 0x2000, memory.get(), 0x1000)->good());
    ASSERT_TRUE(session.dma_write(0x10008, bytes_of(uint32_t{0x12345678})));
    uint32_t stored = 0;
    ASSERT_EQ(pread(memory.get(), &stored, sizeof stored, 0x1008), 4);
    EXPECT_EQ(stored, 0x12345678u);
    std::array<std::byte, 4> back;
    ASSERT_TRUE(session.dma_read(0x10008, back));
    EXPECT_EQ(load<uint32_t>(back.data(), std::endian::native), 0x12345678u);
}

TEST_F(SessionDmaTest, UnmapReturnsTheBytesRemoved)
{
    ASSERT_TRUE(map(0x10000, 0x1000, memory.get())->good());
    ASSERT_TRUE(map(0x12000, 0x1000, memory.get())->good());
    const auto reply = unmap(0x10000, 0x3000);
    ASSERT_TRUE(reply->good());
    ASSERT_EQ(reply->body.size(), 24u);
    EXPECT_EQ(wire::get<wire::DmaUnmap>(reply->body)->size_bytes, 0x2000u);
    std::array<std::byte, 4> back;
    EXPECT_FALSE(session.dma_read(0x10000, back));
}

TEST_F(SessionDmaTest, UnmapAllRemovesEveryMapping)
{
    ASSERT_TRUE(map(0x10000, 0x1000, memory.get())->good());
    EXPECT_FALSE(unmap(0x10000, 0x1000, wire::kUnmapAll)->good());
    EXPECT_TRUE(unmap(0, 0, wire::kUnmapAll)->good());
    std::array<std::byte, 4> back;
    EXPECT_FALSE(session.dma_read(0x10000, back));
}

TEST_F(SessionDmaTest, InvalidMapsAreRefused)
{
    EXPECT_EQ(map(0, 0, memory.get())->error(), std::errc::invalid_argument);
    EXPECT_EQ(map(0, 0x5000, memory.get())->error(), std::errc::invalid_argument);
    EXPECT_EQ(map(~uint64_t{0xfff}, 0x2000, memory.get())->error(), std::errc::invalid_argument);
    EXPECT_EQ(map(0, 0x1000, memory.get(), 0, 4)->error(), std::errc::invalid_argument);
    ASSERT_TRUE(map(0, 0x2000, memory.get())->good());
    EXPECT_EQ(map(0x1000, 0x1000, memory.get())->error(), std::errc::file_exists);
    EXPECT_EQ(unmap(0x1000, 0x1000)->error(), std::errc::invalid_argument);
    EXPECT_EQ(unmap(0, 0x2000, 1)->error(), std::errc::not_supported);
}

TEST_F(SessionDmaTest, MemoryMappedWithoutADescriptorIsInaccessible)
{
    ASSERT_TRUE(map(0x10000, 0x1000, -1)->good());
    std::array<std::byte, 4> back;
    EXPECT_FALSE(session.dma_read(0x10000, back));
    EXPECT_TRUE(unmap(0x10000, 0x1000)->good());
}

// DMA of a device to its own registers would call the device recursively.
TEST_F(SessionDmaTest, DoesNotAccessTheFunctionsOwnBars)
{
    ASSERT_TRUE(write<uint64_t>(wire::kRegionConfig, 0x10, 0xfe000000));
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, 0x04, 0x0006));
    std::array<std::byte, 4> bytes{};
    EXPECT_FALSE(session.dma_read(0xfe000000, bytes));
    EXPECT_FALSE(session.dma_write(0xfe000000, bytes));
    EXPECT_TRUE(device.calls.empty());
}

TEST_F(SessionDmaTest, NeedsBusMastering)
{
    ASSERT_TRUE(map(0x10000, 0x1000, memory.get())->good());
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, 0x04, 0));
    std::array<std::byte, 4> back;
    EXPECT_FALSE(session.dma_read(0x10000, back));
    EXPECT_FALSE(session.dma_write(0x10000, back));
}

// Reset

TEST_F(SessionTest, ResetRestoresConfigAndDevice)
{
    greet();
    open_interrupts();
    session.raise(1);  // no eventfd: stays pending
    EXPECT_EQ(read(0, kMsixPbaOffset, 1)[0], std::byte{2});
    ASSERT_TRUE(ask(Command::kReset, {})->good());
    EXPECT_EQ(device.resets, 2u);
    EXPECT_EQ(device.config().read(0x04, 2), 0u);
    EXPECT_FALSE(device.config().msix_enabled());
    EXPECT_EQ(read(0, kMsixPbaOffset, 1)[0], std::byte{0});
}

TEST_F(SessionTest, DeviceControlTriggersFunctionLevelReset)
{
    greet();
    open_interrupts();
    const Fd event = make_eventfd();
    ASSERT_TRUE(ask(Command::kSetIrqs, irqs_body(kConnect, 0, 1), {event.get()})->good());
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, device.pcie_offset + 8u, 0x8000 | 0x2810));
    EXPECT_EQ(device.resets, 2u);
    EXPECT_FALSE(device.config().msix_enabled());

    // No interrupt is sent until the guest has set it up again; the eventfd is still connected.
    session.raise(0);
    EXPECT_EQ(signals(event), 0u);
    open_interrupts();
    EXPECT_EQ(signals(event), 1u);
}

TEST_F(SessionTest, FunctionLevelResetKeepsStickyRegisters)
{
    greet();
    const auto status = static_cast<uint16_t>(device.aer_offset + 4);
    device.config().set(status, 4, 0x00100000);
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, device.pcie_offset + 8u, 0x8000));
    EXPECT_EQ(load_le<uint32_t>(read(wire::kRegionConfig, status, 4).data()), 0x00100000u);
    ASSERT_TRUE(write<uint32_t>(wire::kRegionConfig, status, 0x00100000));
    EXPECT_EQ(load_le<uint32_t>(read(wire::kRegionConfig, status, 4).data()), 0u);

    device.config().set(status, 4, 0x00100000);
    session.attach(client.connect());  // a new client causes a power-on reset
    EXPECT_EQ(device.config().read(status, 4), 0u);
}

TEST_F(SessionTest, OtherDeviceControlBitsDoNotReset)
{
    greet();
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, device.pcie_offset + 8u, 0x7fff));
    ASSERT_TRUE(write<uint8_t>(wire::kRegionConfig, device.pcie_offset + 8u, 0x80));
    EXPECT_EQ(device.resets, 1u);
}

// Attach and detach

TEST_F(SessionTest, NewClientFindsPowerOnState)
{
    greet();
    open_interrupts();
    const Fd event = make_eventfd();
    const Fd memory = make_memory(0x1000);
    ASSERT_TRUE(ask(Command::kSetIrqs, irqs_body(kConnect, 0, 1), {event.get()})->good());
    ASSERT_TRUE(
        ask(Command::kDmaMap, bytes_of(wire::DmaMap{32, 3, 0, 0, 0x1000}), {memory.get()})->good());
    client.leave();
    ASSERT_FALSE(session.on_ready());

    session.attach(client.connect());
    EXPECT_EQ(device.resets, 2u);
    EXPECT_EQ(ask(Command::kReset, {})->error(), std::errc::invalid_argument);
    greet();
    open_interrupts();
    session.raise(0);
    EXPECT_EQ(signals(event), 0u);
    std::array<std::byte, 4> back;
    EXPECT_FALSE(session.dma_read(0, back));
}

// Packets on the function's link

class Watcher final : public TrafficObserver {
public:
    void on_packet(const Packet &packet) override { packets.push_back(packet); }
    std::vector<Packet> packets;
};

class SessionLinkTest : public SessionTest {
protected:
    SessionLinkTest()
    {
        session.set_link(Link(traffic, {0x0100, 0x0080}));
        greet();
        EXPECT_TRUE(write<uint64_t>(wire::kRegionConfig, 0x10, kBar0Address | 0x4));
        open_interrupts();
        traffic.add(watcher);
    }
    const Packet &last() const { return watcher.packets.back(); }

    static constexpr uint64_t kBar0Address = 0x123450000;
    Traffic traffic;
    Watcher watcher;
};

TEST_F(SessionLinkTest, PacketsOfRegisterAccessesHaveTheBarAddressThatTheGuestWrote)
{
    read(0, 0x10, 4);
    ASSERT_EQ(watcher.packets.size(), 2u);
    EXPECT_EQ(watcher.packets[0].address, kBar0Address + 0x10);
    EXPECT_EQ(watcher.packets[1].address, kBar0Address + 0x10);
    ASSERT_TRUE(write<uint32_t>(0, 0x20, 7));
    ASSERT_EQ(watcher.packets.size(), 3u);
    EXPECT_EQ(last().kind, PacketKind::kMemoryWrite);
    EXPECT_EQ(last().address, kBar0Address + 0x20);
    EXPECT_EQ(last().bytes, 4u);
}

TEST_F(SessionLinkTest, LongReadIsReportedAsOneRequestAndCompletionPer8Bytes)
{
    read(2, 0, 64);
    EXPECT_EQ(watcher.packets.size(), 2u * 8);
}

TEST_F(SessionLinkTest, CxlMemBarAccessesAreMarkedCxlMem)
{
    device.cxl_mem_bar = 2;
    read(2, 0x40, 8);
    ASSERT_EQ(watcher.packets.size(), 2u);
    EXPECT_EQ(watcher.packets[0].protocol, LinkProtocol::kCxlMem);
    EXPECT_EQ(watcher.packets[1].protocol, LinkProtocol::kCxlMem);
    ASSERT_TRUE(write<uint64_t>(2, 0x40, 7));
    EXPECT_EQ(last().protocol, LinkProtocol::kCxlMem);
    read(0, 0x10, 4);
    EXPECT_EQ(watcher.packets[3].protocol, LinkProtocol::kIo);
    EXPECT_EQ(last().protocol, LinkProtocol::kIo);
    ASSERT_TRUE(write<uint32_t>(0, 0x10, 7));
    EXPECT_EQ(last().protocol, LinkProtocol::kIo);
    read(wire::kRegionConfig, 0, 4);
    EXPECT_EQ(last().protocol, LinkProtocol::kIo);
}

TEST_F(SessionLinkTest, ConfigurationAccessesAreReportedAsPackets)
{
    read(wire::kRegionConfig, 0, 4);
    ASSERT_EQ(watcher.packets.size(), 2u);
    EXPECT_EQ(watcher.packets[0].kind, PacketKind::kConfigRead);
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, 0x04, 0x0006));
    ASSERT_EQ(watcher.packets.size(), 4u);
    EXPECT_EQ(watcher.packets[2].kind, PacketKind::kConfigWrite);
}

TEST_F(SessionLinkTest, DmaIsSplitAsDeviceControlSays)
{
    const Fd memory = make_memory(0x2000);
    ASSERT_TRUE(
        ask(Command::kDmaMap, bytes_of(wire::DmaMap{32, 3, 0, 0, 0x2000}), {memory.get()})->good());
    // The payload limit is 512 bytes, and the limit of read requests is 4096 bytes.
    ASSERT_TRUE(write<uint16_t>(wire::kRegionConfig, device.pcie_offset + 8u, 0x5040));
    watcher.packets.clear();
    std::vector<std::byte> bytes(0x1000);
    ASSERT_TRUE(session.dma_write(0x800, bytes));
    EXPECT_EQ(watcher.packets.size(), 0x1000u / 512);
    watcher.packets.clear();
    ASSERT_TRUE(session.dma_read(0x1000, bytes));
    EXPECT_EQ(watcher.packets.size(), 1u + 0x1000 / 512);
    watcher.packets.clear();
    EXPECT_FALSE(session.dma_read(0x100000, std::span(bytes).first(4)));
    EXPECT_EQ(last().status, CompletionStatus::kUnsupportedRequest);
}

TEST_F(SessionLinkTest, MsixMessageIsAWriteToTheAddressInItsTableEntry)
{
    const Fd event = make_eventfd();
    ASSERT_TRUE(ask(Command::kSetIrqs, irqs_body(kConnect, 0, 1), {event.get()})->good());
    ASSERT_TRUE(write<uint32_t>(0, kMsixTableOffset, 0xfee01000));
    session.raise(0);
    EXPECT_TRUE(last().interrupt);
    EXPECT_EQ(last().address, 0xfee01000u);
    EXPECT_EQ(last().requester, 0x0100);
}

// A BAR of memory that the guest maps

class MappedDevice final : public Device {
public:
    MappedDevice() : config_({.vendor = 1, .device = 2})
    {
        config_.add_bar(0, BarKind::kMemory64, 0x1000);
        config_.add_bar(2, BarKind::kMemory64Prefetchable, kBytes);
    }
    ConfigSpace &config() override { return config_; }
    BarMemory *bar_memory(unsigned bar) override { return bar == 2 ? &memory : nullptr; }
    uint64_t bar_read(unsigned bar, uint64_t, unsigned) override
    {
        EXPECT_EQ(bar, 0u);
        return 0x42;
    }
    void bar_write(unsigned bar, uint64_t, unsigned, uint64_t) override { EXPECT_EQ(bar, 0u); }
    void reset() override {}
    std::optional<uint64_t> next_deadline_ns() const override { return std::nullopt; }
    void advance(uint64_t) override {}

    static constexpr uint64_t kBytes = 0x4000;
    BarMemory memory = BarMemory::create(kBytes).value();

private:
    ConfigSpace config_;
};

class SessionMappedTest : public testing::Test {
protected:
    SessionMappedTest()
    {
        session.bind(device);
        session.attach(client.connect());
        ask(Command::kVersion, version_body());
    }
    Reply ask(Command command, const std::vector<std::byte> &body)
    {
        client.send_raw(TestClient::message(command, body));
        session.on_ready();
        return client.receive().value_or(Reply{});
    }
    wire::RegionInfo describe(uint32_t index)
    {
        const Reply reply =
            ask(Command::kGetRegionInfo, bytes_of(wire::RegionInfo{32, 0, index, 0, 0, 0}));
        return wire::get<wire::RegionInfo>(reply.body).value_or(wire::RegionInfo{});
    }

    MappedDevice device;
    Session session;
    TestClient client;
};

TEST_F(SessionMappedTest, OnlyTheMappableBarHasADescriptor)
{
    EXPECT_EQ(describe(0).flags, 3u);
    EXPECT_FALSE(client.take_fd());
    EXPECT_EQ(describe(2).flags, 7u);
    const Fd fd = client.take_fd();
    ASSERT_TRUE(fd);
    EXPECT_EQ(lseek(fd.get(), 0, SEEK_END), static_cast<off_t>(MappedDevice::kBytes));
    EXPECT_NE(ftruncate(fd.get(), 0), 0);  // sealed: the client cannot truncate it
}

TEST_F(SessionMappedTest, RegionMessagesAndTheClientsMappingAccessTheSameBytes)
{
    describe(2);
    const Fd fd = client.take_fd();
    const uint32_t value = 0x12345678;
    ASSERT_EQ(pwrite(fd.get(), &value, sizeof value, 0x1ffe), 4);
    Reply reply = ask(Command::kRegionRead, access_body(2, 0x1ffe, 4));
    ASSERT_TRUE(reply.good());
    EXPECT_EQ(load_le<uint32_t>(reply.body.data() + sizeof(wire::RegionAccess)), value);

    const uint64_t other = 0x1122334455667788;
    reply = ask(Command::kRegionWrite, access_body(2, 0x3ff8, 8, bytes_of(other)));
    ASSERT_TRUE(reply.good());
    EXPECT_EQ(load_le<uint64_t>(device.memory.bytes().data() + 0x3ff8), other);
    EXPECT_FALSE(ask(Command::kRegionRead, access_body(2, 0x3ff9, 8)).good());
}

// A function with MSI and without MSI-X
class MsiDevice final : public Device {
public:
    MsiDevice() : config_({.vendor = 1, .device = 2})
    {
        config_.add_bar(0, BarKind::kMemory32, 0x1000);
        msi = config_.add_msi({.vectors = 2, .masking = true});
    }
    ConfigSpace &config() override { return config_; }
    uint64_t bar_read(unsigned, uint64_t, unsigned) override { return 0x42; }
    void bar_write(unsigned, uint64_t, unsigned, uint64_t) override {}
    void reset() override {}
    std::optional<uint64_t> next_deadline_ns() const override { return std::nullopt; }
    void advance(uint64_t) override {}
    uint16_t msi = 0;

private:
    ConfigSpace config_;
};

class SessionMsiTest : public testing::Test {
protected:
    SessionMsiTest()
    {
        session.bind(device);
        join();
    }
    void join()
    {
        session.attach(client.connect());
        tell(TestClient::message(Command::kVersion, version_body()));
    }
    void tell(const std::vector<std::byte> &message, const std::vector<int> &fds = {})
    {
        client.send_raw(message, fds);
        session.on_ready();
        reply = client.receive();
        ASSERT_TRUE(reply && reply->good());
    }
    void write_config(unsigned offset, uint16_t value)
    {
        tell(TestClient::message(
            Command::kRegionWrite,
            access_body(wire::kRegionConfig, offset, sizeof value, bytes_of(value))));
    }
    void connect_vector_0()
    {
        tell(TestClient::message(Command::kSetIrqs, irqs_body(kConnect, 0, 1, wire::kIrqMsi)),
             {event.get()});
    }

    MsiDevice device;
    Session session;
    TestClient client;
    std::optional<Reply> reply;
    Fd event = make_eventfd();
};

TEST_F(SessionMsiTest, SendsMsiIfTheGuestEnabledMsi)
{
    connect_vector_0();
    session.raise(1);
    EXPECT_EQ(signals(event), 0u);
    // Enable only one vector, so that every interrupt uses vector 0.
    write_config(device.msi + 2u, 0x0001);
    session.raise(1);
    EXPECT_EQ(signals(event), 0u);  // the function is not bus master yet
    write_config(0x04, 0x0004);
    EXPECT_EQ(signals(event), 1u);
    session.raise(1);
    EXPECT_EQ(signals(event), 1u);
}

TEST_F(SessionMsiTest, MaskedVectorHasItsPendingBitAndIsSentWhenUnmasked)
{
    connect_vector_0();
    write_config(0x04, 0x0004);
    write_config(device.msi + 2u, 0x0001);
    write_config(device.msi + 0x10u, 0x0001);
    session.raise(0);
    EXPECT_EQ(signals(event), 0u);
    EXPECT_EQ(device.config().read(device.msi + 0x14u, 4), 1u);
    write_config(device.msi + 0x10u, 0);
    EXPECT_EQ(signals(event), 1u);
    EXPECT_EQ(device.config().read(device.msi + 0x14u, 4), 0u);
}

TEST_F(SessionMsiTest, TheNextClientDoesNotInheritEventfds)
{
    connect_vector_0();
    client.leave();
    ASSERT_FALSE(session.on_ready());
    join();
    write_config(device.msi + 2u, 0x0001);
    write_config(0x04, 0x0004);
    session.raise(0);
    EXPECT_EQ(signals(event), 0u);
}

TEST_F(SessionMsiTest, AccessesToBar0ReachTheDeviceIfItHasNoMsixTable)
{
    tell(TestClient::message(Command::kRegionRead, access_body(0, 0, 1)));
    EXPECT_EQ(reply->body.back(), std::byte{0x42});
}

}  // namespace
}  // namespace pmukit::vfu
