// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/tlp_log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace pmukit::models::hisi_ptt {
namespace {

using vfu::PacketDirection;
using vfu::PacketKind;

Tlp some_tlp()
{
    Tlp tlp;
    tlp.packet = {.kind = PacketKind::kMemoryWrite,
                  .direction = PacketDirection::kInbound,
                  .root_port = 0x0088,
                  .function = 0x0301,
                  .requester = 0x0301,
                  .tag = 0x1e,
                  .address = 0x402810041,
                  .bytes = 128,
                  .time_ns = 123456789};
    return tlp;
}

TEST(TlpLog, RequestLineHasAddressAndBytes)
{
    Tlp tlp = some_tlp();
    EXPECT_EQ(line_of(tlp),
              "123456789 in P MWr port=00:11.0 req=03:00.1 tag=0x1e addr=0x402810041 bytes=128");
    tlp.packet.kind = PacketKind::kMemoryRead;
    tlp.pasid = 0xabc;
    tlp.relaxed_ordering = true;
    EXPECT_EQ(line_of(tlp),
              "123456789 in NP MRd port=00:11.0 req=03:00.1 tag=0x1e addr=0x402810041 bytes=128 "
              "pasid=0xabc ro");
}

TEST(TlpLog, MsiIsLoggedAsAWriteMarkedMsi)
{
    Tlp tlp = some_tlp();
    tlp.packet.interrupt = true;
    EXPECT_TRUE(line_of(tlp).ends_with(" bytes=128 msi"));
}

TEST(TlpLog, ConfigurationLineHasFunctionAndRegister)
{
    Tlp tlp;
    tlp.packet = {.kind = PacketKind::kConfigWrite,
                  .direction = PacketDirection::kOutbound,
                  .root_port = 0x0080,
                  .completer = 0x0100,
                  .address = 0x44,
                  .bytes = 2};
    EXPECT_EQ(line_of(tlp),
              "0 out NP CfgWr port=00:10.0 req=00:00.0 tag=0x0 target=01:00.0 reg=0x44 bytes=2");
}

TEST(TlpLog, CompletionLineHasCompleterStatusAndByteCount)
{
    Tlp tlp;
    tlp.packet = {.kind = PacketKind::kCompletion,
                  .direction = PacketDirection::kOutbound,
                  .root_port = 0x0080,
                  .requester = 0x0100,
                  .tag = 5,
                  .address = 0x1080,
                  .bytes = 64,
                  .bytes_left = 192};
    EXPECT_EQ(line_of(tlp),
              "0 out CPL CplD port=00:10.0 req=01:00.0 tag=0x5 cpl=00:00.0 status=SC left=192 "
              "bytes=64 addr=0x1080");
    tlp.packet.bytes = 0;
    tlp.packet.status = vfu::CompletionStatus::kUnsupportedRequest;
    EXPECT_EQ(line_of(tlp),
              "0 out CPL Cpl port=00:10.0 req=01:00.0 tag=0x5 cpl=00:00.0 status=UR left=192 "
              "bytes=0");
}

TEST(TlpLog, FileHasTitleNotesAndLostEntries)
{
    const std::string path = testing::TempDir() + "/tlp_log_" + std::to_string(::getpid());
    Result<TlpLog> log = TlpLog::create(path);
    ASSERT_TRUE(log);
    log->note("start");
    log->add(some_tlp(), true);
    ASSERT_TRUE(log->close());
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    ::unlink(path.c_str());
    EXPECT_EQ(text.str(), "# pmukit tlp log 1\n# start\n" + line_of(some_tlp()) + " lost\n");
}

TEST(TlpLog, MissingFolderIsAnError)
{
    EXPECT_FALSE(TlpLog::create("/nonexistent/log"));
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
