// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

#include <algorithm>

namespace pmukit::decode::hisi_ptt {
namespace {

constexpr size_t kDword = 4;
constexpr size_t kRunBytes = 8192;

uint32_t dword(const std::byte *at, size_t index)
{
    return load_le<uint32_t>(at + index * kDword);
}

// 4DW: the first dword, from its top: Fmt 2, Type 5, T9, T8, TH, SO, Length 10, Time 11.
uint32_t header_dword0_of_4dw(uint32_t dw0)
{
    return (dw0 >> 25) << 24 | (dw0 >> 24 & 1) << 23 | (dw0 >> 23 & 1) << 19 |
           (dw0 >> 22 & 1) << 16 | (dw0 >> 11 & 0x3ff);
}

// Of whole 8DW entries: bytes of those that these begin with and that have their mark, or have not.
size_t bytes_with_mark(Bytes entries, bool wanted)
{
    size_t at = 0;
    while (at < entries.size() && is_8dw(entries.data() + at) == wanted)
        at += k8dwBytes;
    return at;
}

}  // namespace

// Framing

void Framer::start(uint64_t offset)
{
    position_ = Position(offset);
    carry_.clear();
}

// Returns how many bytes were used; 0: there is no whole entry.
size_t Framer::take(Bytes bytes)
{
    const size_t size = packet_bytes(format_), inside = position_.offset() % size;
    if (inside && !bytes.empty()) {
        const size_t rest = std::min(size - inside, bytes.size());
        position_.skip(rest);
        return rest;
    }
    Bytes entries = bytes.first(std::min(kRunBytes, bytes.size() / size * size));
    if (format_ == Format::k8dw) {
        if (const size_t damaged = bytes_with_mark(entries, false)) {
            position_.skip(damaged);
            return damaged;
        }
        entries = entries.first(bytes_with_mark(entries, true));
    }
    if (entries.empty())
        return 0;
    position_.tell_skipped(sink_);
    sink_.run(format_, position_.offset(), entries);
    position_.move(entries.size());
    return entries.size();
}

size_t Framer::consume(Bytes bytes)
{
    size_t used = 0;
    while (const size_t took = take(bytes.subspan(used)))
        used += took;
    return used;
}

void Framer::data(Bytes bytes)
{
    carry_.data(bytes, [this](Bytes there) { return consume(there); });
}

// Nothing follows what is carried: it is no entry.
void Framer::end()
{
    position_.skip(carry_.size());
    carry_.clear();
    position_.tell_skipped(sink_);
}

void Framer::loss(uint64_t bytes)
{
    end();
    sink_.lost(position_.offset(), bytes);
    position_.move(bytes);
}

// Taking apart

Packet unpack(const Layout &layout, uint64_t offset, const std::byte *at, Clock &clock)
{
    Packet packet;
    packet.offset = offset;
    packet.format = layout.format;
    packet.wide_tags = layout.wide_tags;
    if (layout.format == Format::k8dw) {
        packet.prefix = dword(at, 1);
        packet.header = {dword(at, 2), dword(at, 3), dword(at, 4), dword(at, 5)};
        packet.stamp = dword(at, 7);
    } else {
        const uint32_t dw0 = dword(at, 0);
        packet.header = {header_dword0_of_4dw(dw0), dword(at, 1), dword(at, 2), dword(at, 3)};
        packet.strongly_ordered = dw0 >> 21 & 1;
        packet.stamp = dw0 & 0x7ff;
    }
    packet.time = clock.unwrap(layout.format, packet.stamp);
    return packet;
}

void StreamDecoder::start(uint64_t offset)
{
    clock_ = {};
    entries_offset_ = offset;
    framer_.start(offset);
}

void StreamDecoder::entries(Format format, Bytes entries)
{
    run(format, entries_offset_, entries);
    entries_offset_ += entries.size();
}

void StreamDecoder::run(Format format, uint64_t offset, Bytes packets)
{
    const Layout layout{format, layout_.wide_tags};
    const size_t size = packet_bytes(format);
    for (size_t at = 0; at < packets.size(); at += size)
        sink_.packet(unpack(layout, offset + at, packets.data() + at, clock_));
}

bool looks_like_entries(Bytes bytes)
{
    return bytes.size() >= 2 * k8dwBytes && is_8dw(bytes.data()) &&
           is_8dw(bytes.data() + k8dwBytes);
}

}  // namespace pmukit::decode::hisi_ptt
