// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A packet prints as some 400 characters, nearly all constant. For speed, constant text is copied
// in pieces of compile-time size, and bytes are converted with a table.
#include "decode/hisi_ptt/hisi_ptt_dump.hpp"

#include <array>
#include <cassert>
#include <cstring>
#include <vector>

namespace pmukit::decode::hisi_ptt {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

// "xx " for each byte, and one more blank so that it can be copied as a word.
constexpr auto kHex = [] {
    std::array<std::array<char, 4>, 256> table{};
    for (unsigned i = 0; i < table.size(); i++)
        table[i] = {kDigits[i >> 4], kDigits[i & 15], ' ', ' '};
    return table;
}();

// Upper bound for the text of a packet: seven lines of less than 120 characters.
constexpr size_t kPacketChars = 7 * 120;

// The end of the line of a dword. A full line of perf's dump has more bytes, so blanks take their
// place. Then comes the name of the dword.
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

// Writes ".  xxxxxxxx: xx xx xx xx ", and one more character, which the next text overwrites.
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

// Prints like %x: no leading zeros. Fields have at most 12 bits.
char *put_field(char *to, uint32_t value)
{
    if (value > 0xff)
        *to++ = kDigits[value >> 8];
    if (value > 0xf)
        *to++ = kDigits[value >> 4 & 15];
    *to++ = kDigits[value & 15];
    return to;
}

// Lowest bit of each field in the first dword of a 4DW entry.
struct Fields {
    unsigned format, type, t9, t8, th, so, length, time;
};
constexpr Fields kFields6_12 = {0, 2, 7, 8, 9, 10, 11, 21},
                 kFields7_2 = {30, 25, 24, 23, 22, 21, 11, 0};

char *put_fields_4dw(char *to, uint32_t dw0, const Fields &at)
{
    to = put_field(put(to, kFormat), dw0 >> at.format & 3);
    to = put_field(put(to, " Type "), dw0 >> at.type & 0x1f);
    to = put_field(put(to, " T9 "), dw0 >> at.t9 & 1);
    to = put_field(put(to, " T8 "), dw0 >> at.t8 & 1);
    to = put_field(put(to, " TH "), dw0 >> at.th & 1);
    to = put_field(put(to, " SO "), dw0 >> at.so & 1);
    to = put_field(put(to, " Length "), dw0 >> at.length & 0x3ff);
    to = put_field(put(to, " Time "), dw0 >> at.time & 0x7ff);
    return put(to, "\n");
}

// Prints an entry like one version of perf.
template <PerfText kPerf>
class Lines {
public:
    static char *put_8dw(char *to, uint32_t offset, const std::byte *at)
    {
        to = put_line(to, offset + 0x04, dword(at, 1), kPrefix);
        to = put_line(to, offset + 0x08, dword(at, 2), kHeader0);
        to = put_line(to, offset + 0x0c, dword(at, 3), kHeader1);
        to = put_line(to, offset + 0x10, dword(at, 4), kHeader2);
        to = put_line(to, offset + 0x14, dword(at, 5), kHeader3);
        return put_line(to, offset + 0x1c, dword(at, 7), kTime);
    }
    static char *put_4dw(char *to, uint32_t offset, const std::byte *at)
    {
        to = put_fields_4dw(put_dword(to, offset, dword(at, 0)), load_le<uint32_t>(at),
                            kPerf == PerfText::kLinux7_2 ? kFields7_2 : kFields6_12);
        to = put_line(to, offset + 0x4, dword(at, 1), kHeader1);
        to = put_line(to, offset + 0x8, dword(at, 2), kHeader2);
        return put_line(to, offset + 0xc, dword(at, 3), kHeader3);
    }

private:
    // The most significant byte of the result is printed first.
    static uint32_t dword(const std::byte *at, size_t index)
    {
        const auto value = load_le<uint32_t>(at + index * 4);
        return kPerf == PerfText::kLinux7_2 ? value : __builtin_bswap32(value);
    }
    template <size_t kSize>
    static char *put_line(char *to, uint32_t offset, uint32_t value,
                          const std::array<char, kSize> &end)
    {
        return put(put_dword(to, offset, value), end);
    }
};

template <PerfText kPerf>
char *put_packets(char *to, Format format, uint32_t offset, Bytes packets)
{
    const size_t size = packet_bytes(format);
    for (size_t at = 0; at < packets.size(); at += size) {
        const uint32_t here = offset + static_cast<uint32_t>(at);
        to = format == Format::k8dw ? Lines<kPerf>::put_8dw(to, here, packets.data() + at)
                                    : Lines<kPerf>::put_4dw(to, here, packets.data() + at);
    }
    return to;
}

}  // namespace

struct __attribute__((visibility("hidden"))) DumpText::State {
    PerfText perf_;
    std::vector<char> text_;
};

DumpText::DumpText(PerfText perf)
    : state_(std::make_unique<State>(State{perf, std::vector<char>(kMaxPackets * kPacketChars)}))
{
}
DumpText::DumpText(DumpText &&) noexcept = default;
DumpText &DumpText::operator=(DumpText &&) noexcept = default;
DumpText::~DumpText() = default;

std::string_view DumpText::lines(Format format, uint32_t offset, Bytes packets)
{
    assert(packets.size() <= kMaxPackets * packet_bytes(format) &&
           packets.size() % packet_bytes(format) == 0);
    char *const to = state_->text_.data();
    const char *const end = state_->perf_ == PerfText::kLinux7_2
                                ? put_packets<PerfText::kLinux7_2>(to, format, offset, packets)
                                : put_packets<PerfText::kLinux6_12>(to, format, offset, packets);
    return {to, static_cast<size_t>(end - to)};
}

}  // namespace pmukit::decode::hisi_ptt
