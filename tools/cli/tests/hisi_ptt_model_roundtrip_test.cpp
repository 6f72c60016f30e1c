// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The decoder must find in the trace data the same packets that the model of the trace device
// encoded. The encoder of the model and the decoder share no code.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "models/fake_machine.hpp"
#include "models/hisi_ptt/generator.hpp"
#include "models/hisi_ptt/tlp_encoder.hpp"
#include "models/hisi_ptt/tlp_log.hpp"

namespace pmukit {
namespace {

namespace model = models::hisi_ptt;
namespace decoder = decode::hisi_ptt;

constexpr uint64_t kTickNs = 10;
constexpr uint64_t kSecond = 1'000'000'000;

std::vector<model::Tlp> some_traffic(bool wide_tags)
{
    const Result<model::GeneratorParams> params = model::parse_generator(
        "rate=100000,seed=11,count=4000,peer=30,unsupported=10,pasid=20,relaxed=30");
    model::Generator generator(*params, {{0x0100, 0x0080}, {0x0401, 0x0088}}, wide_tags);
    std::vector<model::Tlp> tlps;
    generator.start(0);
    for (uint64_t now = 0; generator.next_ns(); now += kSecond / 1000)
        generator.run_until(now, [&](const model::Tlp &tlp) { tlps.push_back(tlp); });
    return tlps;
}

template <size_t kDwords>
void append_entry(std::vector<std::byte> &bytes, const std::array<uint32_t, kDwords> &entry)
{
    for (const uint32_t dword : entry) {
        bytes.resize(bytes.size() + 4);
        store_le(bytes.data() + bytes.size() - 4, dword);
    }
}

class Collector final : public decoder::Sink {
public:
    void packet(const decoder::Packet &packet) override { packets.push_back(packet); }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        ADD_FAILURE() << bytes << " bytes skipped at " << offset;
    }
    void lost(uint64_t, uint64_t) override { ADD_FAILURE(); }
    std::vector<decoder::Packet> packets;
};

std::vector<decoder::Packet> decoded(Bytes bytes, const decoder::Layout &layout)
{
    Collector collector;
    decoder::StreamDecoder stream(collector, layout);
    stream.start(0);
    stream.data(bytes);
    stream.end();
    return collector.packets;
}

decoder::TlpType type_of(const vfu::Packet &packet)
{
    switch (packet.kind) {
        case vfu::PacketKind::kMemoryRead:
            return decoder::TlpType::kMRd;
        case vfu::PacketKind::kMemoryWrite:
            return decoder::TlpType::kMWr;
        case vfu::PacketKind::kConfigRead:
            return decoder::TlpType::kCfgRd0;
        case vfu::PacketKind::kConfigWrite:
            return decoder::TlpType::kCfgWr0;
        case vfu::PacketKind::kCompletion:
            break;
    }
    return packet.bytes > 0 ? decoder::TlpType::kCplD : decoder::TlpType::kCpl;
}

void expect_completion(const decoder::Tlp &tlp, const vfu::Packet &truth)
{
    EXPECT_EQ(tlp.completer, truth.completer);
    EXPECT_EQ(tlp.status, static_cast<uint8_t>(truth.status));
    EXPECT_EQ(tlp.byte_count, truth.bytes_left);
    EXPECT_EQ(tlp.lower_address, truth.bytes > 0 ? truth.address & 0x7f : 0);
}

// Compares memory requests. The decoder gives the address of the first dword and the byte enables,
// the model the address of the first byte.
void expect_request(const decoder::Tlp &tlp, const vfu::Packet &truth)
{
    unsigned skipped = 0;
    while (skipped < 3 && (tlp.first_be >> skipped & 1) == 0)
        skipped++;
    EXPECT_EQ(tlp.address + skipped, truth.address);
    EXPECT_EQ(decoder::data_bytes(tlp) + decoder::requested_bytes(tlp), truth.bytes);
}

void expect_same(const decoder::Tlp &tlp, const model::Tlp &truth, bool has_prefix)
{
    SCOPED_TRACE(model::line_of(truth));
    EXPECT_EQ(tlp.kind.type, type_of(truth.packet));
    EXPECT_EQ(tlp.requester, truth.packet.requester);
    EXPECT_EQ(tlp.tag, truth.packet.tag);
    if (truth.packet.kind == vfu::PacketKind::kCompletion)
        expect_completion(tlp, truth.packet);
    else
        expect_request(tlp, truth.packet);
    const std::optional<uint32_t> pasid = has_prefix ? truth.pasid : std::nullopt;
    ASSERT_EQ(tlp.pasid.has_value(), pasid.has_value());
    EXPECT_EQ(tlp.pasid ? tlp.pasid->pasid : 0, pasid.value_or(0));
}

// The test parameter is true for tags of 14 bits, and false for tags of 10 bits.
class HisiPttModelRoundtrip : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(WideTags, HisiPttModelRoundtrip, ::testing::Bool());

TEST_P(HisiPttModelRoundtrip, DecodesEightDwordEntriesOfTheModel)
{
    const std::vector<model::Tlp> traffic = some_traffic(GetParam());
    std::vector<std::byte> bytes;
    for (const model::Tlp &tlp : traffic)
        append_entry(bytes, model::encode_8dw(tlp, tlp.packet.time_ns / kTickNs, GetParam()));
    const std::vector<decoder::Packet> packets =
        decoded(bytes, {decoder::Format::k8dw, GetParam()});
    ASSERT_EQ(packets.size(), traffic.size());
    for (size_t i = 0; i < packets.size(); i++) {
        expect_same(parse_tlp(packets[i]), traffic[i], true);
        EXPECT_EQ(parse_tlp(packets[i]).wide_tag, GetParam());
        EXPECT_EQ(packets[i].time, traffic[i].packet.time_ns / kTickNs);
    }
    EXPECT_EQ(std::ranges::any_of(traffic, [](const auto &tlp) { return tlp.packet.tag >= 1024; }),
              GetParam());
}

TEST_P(HisiPttModelRoundtrip, DecodesFourDwordEntriesOfTheModelExceptPrefixes)
{
    const std::vector<model::Tlp> traffic = some_traffic(GetParam());
    std::vector<std::byte> bytes;
    for (const model::Tlp &tlp : traffic)
        append_entry(bytes, model::encode_4dw(tlp, tlp.packet.time_ns / kTickNs, GetParam()));
    const std::vector<decoder::Packet> packets =
        decoded(bytes, {decoder::Format::k4dw, GetParam()});
    ASSERT_EQ(packets.size(), traffic.size());
    for (size_t i = 0; i < packets.size(); i++) {
        expect_same(parse_tlp(packets[i]), traffic[i], false);
        EXPECT_EQ(packets[i].strongly_ordered, !traffic[i].relaxed_ordering);
        EXPECT_EQ(packets[i].time, traffic[i].packet.time_ns / kTickNs);
    }
}

TEST(HisiPttModel, DecodesConfigurationRequestsOfTheModel)
{
    model::Tlp tlp;
    tlp.packet.kind = vfu::PacketKind::kConfigWrite;
    tlp.packet.direction = vfu::PacketDirection::kOutbound;
    tlp.packet.completer = 0x0401;
    tlp.packet.tag = 9;
    tlp.packet.address = 0x106;
    tlp.packet.bytes = 2;
    std::vector<std::byte> bytes;
    append_entry(bytes, model::encode_8dw(tlp, 0));
    const std::vector<decoder::Packet> packets = decoded(bytes, {decoder::Format::k8dw});
    ASSERT_EQ(packets.size(), 1u);
    const decoder::Tlp parsed = parse_tlp(packets[0]);
    expect_same(parsed, tlp, true);
    EXPECT_EQ(parsed.target, 0x0401);
}

}  // namespace
}  // namespace pmukit
