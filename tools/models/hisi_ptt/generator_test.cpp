// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/generator.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "models/hisi_ptt/tlp_log.hpp"

namespace pmukit::models::hisi_ptt {
namespace {

using vfu::PacketDirection;
using vfu::PacketKind;

constexpr uint64_t kSecond = 1'000'000'000;
const std::vector<vfu::LinkPlace> kPlaces = {{0x0100, 0x0080}, {0x0208, 0x0088}};

GeneratorParams params_of(const std::string &text)
{
    Result<GeneratorParams> params = parse_generator(text);
    EXPECT_TRUE(params) << text;
    return params ? *params : GeneratorParams{};
}

std::vector<Tlp> run(Generator &generator, uint64_t start_ns, uint64_t end_ns)
{
    std::vector<Tlp> tlps;
    generator.start(start_ns);
    // A fast rate needs several calls, one burst each.
    for (uint64_t now = start_ns; now <= end_ns && generator.next_ns(); now += kSecond / 1000)
        generator.run_until(now, [&](const Tlp &tlp) { tlps.push_back(tlp); });
    return tlps;
}

std::vector<Tlp> made(const std::string &text)
{
    Generator generator(params_of(text), kPlaces);
    return run(generator, 0, kSecond);
}

TEST(Generator, TheSameSeedGivesTheSamePacketsInEveryTrace)
{
    Generator generator(params_of("rate=50000,seed=7,count=500,pasid=20,relaxed=20"), kPlaces);
    const std::vector<Tlp> first = run(generator, 0, kSecond), again = run(generator, 0, kSecond);
    ASSERT_EQ(first.size(), again.size());
    for (size_t i = 0; i < first.size(); i++)
        EXPECT_EQ(line_of(first[i]), line_of(again[i]));
    const std::vector<Tlp> other = made("rate=50000,seed=8,count=500,pasid=20,relaxed=20");
    EXPECT_NE(line_of(first[0]) + line_of(first[1]), line_of(other[0]) + line_of(other[1]));
}

TEST(Generator, EveryReadIsCompletedInFull)
{
    std::map<std::pair<uint16_t, uint16_t>, Tlp> asked;
    uint64_t requests = 0;
    for (const Tlp &tlp : made("rate=50000,count=1000,reads=70,peer=30")) {
        const std::pair key(tlp.packet.requester, tlp.packet.tag);
        if (tlp.packet.kind != PacketKind::kCompletion) {
            requests++;
            const bool read = tlp.packet.kind == PacketKind::kMemoryRead;
            EXPECT_TRUE(!read || asked.emplace(key, tlp).second) << "tag in flight twice";
            continue;
        }
        ASSERT_TRUE(asked.contains(key)) << line_of(tlp);
        vfu::Packet &request = asked.at(key).packet;
        EXPECT_NE(tlp.packet.direction, request.direction);
        EXPECT_EQ(tlp.packet.root_port, request.root_port);
        EXPECT_EQ(tlp.packet.address, request.address);
        EXPECT_EQ(tlp.packet.bytes_left, request.bytes);
        request.address += tlp.packet.bytes;
        request.bytes -= tlp.packet.bytes;
        if (request.bytes == 0)
            asked.erase(key);
    }
    EXPECT_EQ(requests, 1000u);
    EXPECT_TRUE(asked.empty());
}

TEST(Generator, NoRequestCrossesAPage)
{
    for (const Tlp &tlp : made("rate=50000,count=1000,peer=50")) {
        EXPECT_LE(tlp.packet.address % 4096 + tlp.packet.bytes, 4096u) << line_of(tlp);
        EXPECT_GT(tlp.packet.bytes, 0u);
    }
}

TEST(Generator, PacketMixMatchesTheParameters)
{
    for (const Tlp &tlp : made("rate=50000,count=300,reads=0,inbound=100,pasid=100,relaxed=100")) {
        EXPECT_EQ(tlp.packet.kind, PacketKind::kMemoryWrite);
        EXPECT_EQ(tlp.packet.direction, PacketDirection::kInbound);
        EXPECT_EQ(tlp.packet.requester, tlp.packet.function);
        EXPECT_TRUE(tlp.pasid && *tlp.pasid < 1u << 20);
        EXPECT_TRUE(tlp.relaxed_ordering);
    }
    std::set<uint16_t> requesters;
    for (const Tlp &tlp : made("rate=50000,count=300,reads=100,inbound=0,peer=100")) {
        requesters.insert(tlp.packet.requester);
        EXPECT_NE(tlp.packet.requester, tlp.packet.function);
        EXPECT_FALSE(tlp.pasid);
    }
    EXPECT_EQ(requesters, (std::set<uint16_t>{0, 0x0100, 0x0208}));
    for (const Tlp &tlp : made("rate=50000,count=300,reads=100,unsupported=100"))
        EXPECT_EQ(tlp.packet.kind == PacketKind::kCompletion,
                  tlp.packet.status == vfu::CompletionStatus::kUnsupportedRequest);
}

TEST(Generator, TimesFollowTheRateAndAreNotInTheFuture)
{
    Generator generator(params_of("rate=1000"), kPlaces);
    generator.start(5 * kSecond);
    std::vector<uint64_t> times;
    const auto note = [&](const Tlp &tlp) { times.push_back(tlp.packet.time_ns); };
    generator.run_until(5 * kSecond + kSecond / 100, note);
    ASSERT_EQ(times.size(), 11u);
    EXPECT_EQ(times[0], 5 * kSecond);
    EXPECT_EQ(times[10], 5 * kSecond + kSecond / 100);
    EXPECT_EQ(generator.next_ns(), 5 * kSecond + kSecond / 100 + kSecond / 1000);
}

TEST(Generator, PacketTimesStayExactAcrossSeveralSeconds)
{
    for (const uint64_t rate : {1u, 7u, 1000u, 30011u}) {
        constexpr uint64_t kStart = 12'345, kSeconds = 4;
        Generator generator(params_of("rate=" + std::to_string(rate)), kPlaces);
        const std::vector<Tlp> tlps = run(generator, kStart, kStart + kSeconds * kSecond);
        ASSERT_EQ(tlps.size(), kSeconds * rate + 1);
        for (uint64_t i = 0; i < tlps.size(); i++)
            ASSERT_EQ(tlps[i].packet.time_ns, kStart + i * kSecond / rate) << rate << ' ' << i;
        const uint64_t due_ns = (kSeconds * rate + 1) * kSecond / rate;
        EXPECT_EQ(generator.next_ns(), kStart + (due_ns + 999'999) / 1'000'000 * 1'000'000);
    }
}

TEST(Generator, LatePacketsBeyondABurstAreDelayed)
{
    Generator generator(params_of("rate=10000000"), kPlaces);
    generator.start(0);
    uint64_t last = 0;
    size_t packets = 0;
    const auto note = [&](const Tlp &tlp) {
        EXPECT_GE(tlp.packet.time_ns, last);
        last = tlp.packet.time_ns;
        packets++;
    };
    generator.run_until(kSecond, note);
    EXPECT_LT(packets, 10000u);
    const size_t before = packets;
    generator.run_until(kSecond, note);
    EXPECT_LE(packets - before, 1u);
    generator.run_until(2 * kSecond, note);
    EXPECT_GE(last, kSecond);
}

TEST(Generator, RunsOnlyDuringATrace)
{
    Generator generator(params_of("rate=1000,count=2,reads=0"), kPlaces);
    size_t packets = 0;
    const auto count = [&](const Tlp &) { packets++; };
    generator.run_until(kSecond, count);
    EXPECT_EQ(packets, 0u);
    EXPECT_FALSE(generator.next_ns());
    generator.start(kSecond);
    generator.stop();
    generator.run_until(2 * kSecond, count);
    EXPECT_EQ(packets, 0u);
    generator.start(kSecond);
    generator.run_until(3 * kSecond, count);
    EXPECT_EQ(packets, 2u);
    EXPECT_FALSE(generator.next_ns());
}

class WrongGenerator : public testing::TestWithParam<const char *> {};

TEST_P(WrongGenerator, IsRefusedWithAnErrorThatBeginsWithTheOption)
{
    const Result<GeneratorParams> params = parse_generator(GetParam());
    ASSERT_FALSE(params);
    EXPECT_EQ(params.error().code, Errc::kUsage);
    EXPECT_TRUE(params.error().message.starts_with("--generate: ")) << params.error().message;
}

INSTANTIATE_TEST_SUITE_P(Texts, WrongGenerator,
                         testing::Values("", "rate", "rate=", "rate=0", "rate=10000001",
                                         "reads=101", "speed=3", "seed=x", "rate=5,,seed=1",
                                         "rate=5,"));

TEST(Generator, WideTagsHave14BitsAndDoNotFitIn10Bits)
{
    Generator generator(params_of("rate=50000,count=20000,reads=0"), kPlaces, true);
    std::set<uint16_t> upper;
    for (const Tlp &tlp : run(generator, 0, kSecond)) {
        EXPECT_GE(tlp.packet.tag, 0x400);
        EXPECT_LT(tlp.packet.tag, 0x4000);
        upper.insert(tlp.packet.tag >> 10);
    }
    EXPECT_EQ(upper.size(), 15u);
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
