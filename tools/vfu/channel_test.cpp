// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/channel.hpp"

#include "vfu/test_support.hpp"

namespace pmukit::vfu {
namespace {

using namespace test;

class ChannelTest : public testing::Test {
protected:
    ChannelTest() : channel(client.connect()) {}

    TestClient client;
    Channel channel;
    Message message;
};

std::vector<std::byte> numbered(uint16_t id, size_t body_bytes = 0)
{
    return TestClient::message(uint16_t{1}, std::vector<std::byte>(body_bytes), 0, id);
}

TEST_F(ChannelTest, EmptySocketIsNotTheEndOfTheStream)
{
    EXPECT_EQ(channel.fill(), Channel::Fill::kNothing);
    EXPECT_EQ(channel.next(message), Channel::Next::kIncomplete);
    client.leave();
    EXPECT_EQ(channel.fill(), Channel::Fill::kClosed);
}

TEST(ChannelEndTest, ClosingWithUnreadDataDoesNotResetTheConnection)
{
    const Fd event = make_eventfd();
    TestClient client;
    {
        const Channel unread(client.connect());
        client.send_raw(numbered(1, 4096), {event.get()});
        client.send_raw(numbered(2));
    }
    std::byte byte{};
    EXPECT_EQ(recv(client.fd(), &byte, 1, MSG_DONTWAIT), 0) << std::strerror(errno);
    EXPECT_EQ(send(client.fd(), &byte, 1, MSG_NOSIGNAL), -1);
    EXPECT_EQ(errno, EPIPE);
}

TEST_F(ChannelTest, DescriptorsGoToTheMessageThatCarriedThem)
{
    const Fd event = make_eventfd();
    client.send_raw(numbered(1));
    client.send_raw(numbered(2), {event.get(), event.get()});
    client.send_raw(numbered(3));

    const size_t expected[] = {0, 2, 0};
    size_t seen = 0;
    while (seen < 3 && channel.fill() == Channel::Fill::kData) {
        while (channel.next(message) == Channel::Next::kMessage) {
            ASSERT_LT(seen, 3u);
            EXPECT_EQ(message.header.id, seen + 1);
            EXPECT_EQ(message.fds.size(), expected[seen]) << seen;
            seen++;
        }
    }
    EXPECT_EQ(seen, 3u);
}

TEST_F(ChannelTest, DescriptorsArriveWithAMessageSentInTwoParts)
{
    const Fd event = make_eventfd();
    const auto whole = numbered(1, 100);
    client.send_raw(Bytes(whole).first(50), {event.get()});
    ASSERT_EQ(channel.fill(), Channel::Fill::kData);
    ASSERT_EQ(channel.next(message), Channel::Next::kIncomplete);
    client.send_raw(Bytes(whole).subspan(50));
    ASSERT_EQ(channel.fill(), Channel::Fill::kData);
    ASSERT_EQ(channel.next(message), Channel::Next::kMessage);
    EXPECT_EQ(message.fds.size(), 1u);
}

TEST_F(ChannelTest, UnclaimedDescriptorsAreClosed)
{
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const Fd read_end(ends[0]);
    Fd write_end(ends[1]);
    client.send_raw(numbered(1), {write_end.get()});
    write_end.reset();
    ASSERT_EQ(channel.fill(), Channel::Fill::kData);
    ASSERT_EQ(channel.next(message), Channel::Next::kMessage);
    char byte;
    EXPECT_EQ(::read(read_end.get(), &byte, 1), -1);  // the message still holds the write end
    ASSERT_EQ(channel.next(message), Channel::Next::kIncomplete);
    EXPECT_EQ(::read(read_end.get(), &byte, 1), 0);  // end of file: the last writer is gone
}

TEST_F(ChannelTest, LostDescriptorsAreReportedAndTheStreamContinues)
{
    const Fd event = make_eventfd();
    client.send_raw(numbered(1), {event.get()});
    Channel::Fill filled = Channel::Fill::kNothing;
    {
        const NoNewFiles none;
        filled = channel.fill();
    }
    EXPECT_EQ(filled, Channel::Fill::kFdsLost);
    client.send_raw(numbered(2));
    EXPECT_EQ(channel.fill(), Channel::Fill::kData);
}

TEST_F(ChannelTest, TheLargestMessageFitsAndOneMoreByteDoesNot)
{
    const size_t largest = wire::kMaxMessageBytes - sizeof(wire::Header);
    const auto whole = numbered(1, largest);
    client.send_raw(whole);
    Channel::Next next = Channel::Next::kIncomplete;
    while (next == Channel::Next::kIncomplete && channel.fill() == Channel::Fill::kData)
        next = channel.next(message);
    ASSERT_EQ(next, Channel::Next::kMessage);
    EXPECT_EQ(message.body.size(), largest);

    client.send_raw(Bytes(numbered(1, largest + 1)).first(sizeof(wire::Header)));
    ASSERT_EQ(channel.fill(), Channel::Fill::kData);
    EXPECT_EQ(channel.next(message), Channel::Next::kMalformed);
}

TEST_F(ChannelTest, ManyMessagesOfManySizesArriveWhole)
{
    uint16_t sent = 0;
    uint16_t seen = 0;
    for (size_t size = 0; size < 3000; size += 7) {
        client.send_raw(numbered(sent++, size));
        if (size % 5 == 0)
            continue;
        ASSERT_EQ(channel.fill(), Channel::Fill::kData);
        while (channel.next(message) == Channel::Next::kMessage)
            EXPECT_EQ(message.header.id, seen++);
    }
    EXPECT_EQ(seen, sent);
    EXPECT_EQ(channel.buffered_bytes(), 0u);
}

TEST_F(ChannelTest, SendToAClosedSocketFailsWithoutSigpipe)
{
    client.leave();
    const auto whole = numbered(1);
    EXPECT_FALSE(channel.send(whole));
}

}  // namespace
}  // namespace pmukit::vfu
