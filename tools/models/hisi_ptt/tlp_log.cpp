// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/tlp_log.hpp"

#include <fmt/core.h>

#include <utility>

namespace pmukit::models::hisi_ptt {

namespace {

using vfu::Packet;
using vfu::PacketKind;

struct Words {
    std::string_view flow;  // flow control type
    std::string_view kind;
};

Words words_of(const Packet &packet)
{
    switch (packet.kind) {
        case PacketKind::kMemoryRead:
            return {"NP", "MRd"};
        case PacketKind::kMemoryWrite:
            return {"P", "MWr"};
        case PacketKind::kConfigRead:
            return {"NP", "CfgRd"};
        case PacketKind::kConfigWrite:
            return {"NP", "CfgWr"};
        case PacketKind::kCompletion:
            break;
    }
    return {"CPL", packet.bytes > 0 ? "CplD" : "Cpl"};
}

std::string_view status_word(vfu::CompletionStatus status)
{
    return status == vfu::CompletionStatus::kSuccessful ? "SC" : "UR";
}

std::string what_of(const Packet &packet)
{
    switch (packet.kind) {
        case PacketKind::kMemoryRead:
        case PacketKind::kMemoryWrite:
            return fmt::format("addr={:#x} bytes={}{}", packet.address, packet.bytes,
                               packet.interrupt ? " msi" : "");
        case PacketKind::kConfigRead:
        case PacketKind::kConfigWrite:
            return fmt::format("target={} reg={:#x} bytes={}", bdf_text(packet.completer),
                               packet.address, packet.bytes);
        case PacketKind::kCompletion:
            break;
    }
    std::string what = fmt::format("cpl={} status={} left={} bytes={}", bdf_text(packet.completer),
                                   status_word(packet.status), packet.bytes_left, packet.bytes);
    if (packet.bytes > 0)
        what += fmt::format(" addr={:#x}", packet.address);
    return what;
}

}  // namespace

std::string bdf_text(uint16_t bdf)
{
    return fmt::format("{:02x}:{:02x}.{:x}", bdf >> 8, bdf >> 3 & 0x1f, bdf & 7);
}

std::string line_of(const Tlp &tlp)
{
    const Packet &packet = tlp.packet;
    const Words words = words_of(packet);
    std::string line = fmt::format(
        "{} {} {} {} port={} req={} tag={:#x} {}", packet.time_ns,
        packet.direction == vfu::PacketDirection::kInbound ? "in" : "out", words.flow, words.kind,
        bdf_text(packet.root_port), bdf_text(packet.requester), packet.tag, what_of(packet));
    if (tlp.pasid)
        line += fmt::format(" pasid={:#x}", *tlp.pasid);
    if (tlp.relaxed_ordering)
        line += " ro";
    return line;
}

Result<TlpLog> TlpLog::create(const std::string &path)
{
    Result<LineFile> file = LineFile::create("tlp log", path);
    if (!file)
        return file.error();
    TlpLog log;
    log.file_ = std::move(file).value();
    log.note("pmukit tlp log 1");
    return log;
}

void TlpLog::add(const Tlp &tlp, bool lost)
{
    if (file_.is_open())
        file_.append(line_of(tlp) + (lost ? " lost\n" : "\n"));
}

void TlpLog::note(std::string_view text)
{
    if (file_.is_open())
        file_.append(fmt::format("# {}\n", text));
}

}  // namespace pmukit::models::hisi_ptt
