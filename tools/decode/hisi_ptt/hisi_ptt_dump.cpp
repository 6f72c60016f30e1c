// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A packet is some 400 characters, nearly all of them constant: those are copied in pieces whose
// size the compiler knows, and bytes become digits by table.
#include "decode/hisi_ptt/hisi_ptt_dump.hpp"

#include <array>
#include <cassert>
#include <cstring>

namespace pmukit::decode::hisi_ptt {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

// "xx " of each byte, and one more blank so that it is copied as a word.
constexpr auto kHex = [] {
    std::array<std::array<char, 4>, 256> table{};
    for (unsigned i = 0; i < table.size(); i++)
        table[i] = {kDigits[i >> 4], kDigits[i & 15], ' ', ' '};
    return table;
}();

// More than any packet takes: seven lines of less than 120 characters.
constexpr size_t kPacketChars = 7 * 120;

// What ends the line of a dword: perf has room for more bytes there, then the name.
template <size_t kSize>
constexpr std::array<char, 31 + kSize> line_end(const char (&name)[kSize])
{
    std::array<char, 31 + kSize> text{};
    text.fill(' ');
    for (size_t i = 0; i + 1 < kSize; i++)
        text[32 + i] = name[i];
    return text;
}

constexpr auto kPrefix = line_end("Prefix\n");
constexpr auto kHeader0 = line_end("Header DW0\n");
constexpr auto kHeader1 = line_end("Header DW1\n");
constexpr auto kHeader2 = line_end("Header DW2\n");
constexpr auto kHeader3 = line_end("Header DW3\n");
constexpr auto kTime = line_end("Time\n");
constexpr auto kFormat = line_end("Format ");

template <size_t kSize>
char *put(char *to, const std::array<char, kSize> &text)
{
    std::memcpy(to, text.data(), kSize);
    return to + kSize;
}

template <size_t kSize>
char *put(char *to, const char (&text)[kSize])
{
    std::memcpy(to, text, kSize - 1);
    return to + kSize - 1;
}

// ".  xxxxxxxx: xx xx xx xx "; three more characters behind it are overwritten by what follows.
char *put_dword(char *to, uint32_t offset, uint32_t value)
{
    to = put(to, ".  ");
    for (int shift = 24; shift >= 0; shift -= 8, to += 2)
        std::memcpy(to, kHex[offset >> shift & 0xff].data(), 2);
    to = put(to, ": ");
    for (int shift = 24; shift >= 0; shift -= 8, to += 3)
        std::memcpy(to, kHex[value >> shift & 0xff].data(), 4);
    return to;
}

template <size_t kSize>
char *put_line(char *to, uint32_t offset, uint32_t value, const std::array<char, kSize> &end)
{
    return put(put_dword(to, offset, value), end);
}

// As %x: no leading zeros. Fields have at most 12 bits.
char *put_field(char *to, uint32_t value)
{
    if (value > 0xff)
        *to++ = kDigits[value >> 8];
    if (value > 0xf)
        *to++ = kDigits[value >> 4 & 15];
    *to++ = kDigits[value & 15];
    return to;
}

char *put_fields_4dw(char *to, uint32_t dw0)
{
    to = put_field(put(to, kFormat), dw0 >> 30);
    to = put_field(put(to, " Type "), dw0 >> 25 & 0x1f);
    to = put_field(put(to, " T9 "), dw0 >> 24 & 1);
    to = put_field(put(to, " T8 "), dw0 >> 23 & 1);
    to = put_field(put(to, " TH "), dw0 >> 22 & 1);
    to = put_field(put(to, " SO "), dw0 >> 21 & 1);
    to = put_field(put(to, " Length "), dw0 >> 11 & 0x3ff);
    to = put_field(put(to, " Time "), dw0 & 0x7ff);
    return put(to, "\n");
}

uint32_t dword(const std::byte *at, size_t index)
{
    return load_le<uint32_t>(at + index * 4);
}

char *put_8dw(char *to, uint32_t offset, const std::byte *at)
{
    to = put_line(to, offset + 0x04, dword(at, 1), kPrefix);
    to = put_line(to, offset + 0x08, dword(at, 2), kHeader0);
    to = put_line(to, offset + 0x0c, dword(at, 3), kHeader1);
    to = put_line(to, offset + 0x10, dword(at, 4), kHeader2);
    to = put_line(to, offset + 0x14, dword(at, 5), kHeader3);
    return put_line(to, offset + 0x1c, dword(at, 7), kTime);
}

char *put_4dw(char *to, uint32_t offset, const std::byte *at)
{
    to = put_fields_4dw(put_dword(to, offset, dword(at, 0)), dword(at, 0));
    to = put_line(to, offset + 0x4, dword(at, 1), kHeader1);
    to = put_line(to, offset + 0x8, dword(at, 2), kHeader2);
    return put_line(to, offset + 0xc, dword(at, 3), kHeader3);
}

}  // namespace

DumpText::DumpText() : text_(kMaxPackets * kPacketChars) {}

std::string_view DumpText::lines(Format format, uint32_t offset, Bytes packets)
{
    const size_t size = packet_bytes(format);
    assert(packets.size() <= kMaxPackets * size && packets.size() % size == 0);
    char *to = text_.data();
    for (size_t at = 0; at < packets.size(); at += size) {
        const uint32_t here = offset + static_cast<uint32_t>(at);
        to = format == Format::k8dw ? put_8dw(to, here, packets.data() + at)
                                    : put_4dw(to, here, packets.data() + at);
    }
    return {text_.data(), static_cast<size_t>(to - text_.data())};
}

}  // namespace pmukit::decode::hisi_ptt
