// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "hisi_ptt_entries.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/number.hpp"

namespace pmukit::checker::hisi_ptt {

namespace {

// The header of an entry, in one form for both formats. A 4DW entry has the fields of DW0 at other
// positions: dwords[0] is rebuilt in the order of a TLP.
struct Header {
    uint32_t prefix = 0;
    std::array<uint32_t, 4> dwords{};
    uint32_t time = 0;
};

constexpr uint32_t bits(uint32_t value, unsigned first, unsigned last)
{
    return value >> first & static_cast<uint32_t>((uint64_t{1} << (last - first + 1)) - 1);
}

std::string bdf_of(uint32_t id)
{
    return fmt::format("{:02x}:{:02x}.{:x}", bits(id, 8, 15), bits(id, 3, 7), bits(id, 0, 2));
}

Error no_entry(std::string_view what, uint64_t at)
{
    return Error{Errc::kDamaged, fmt::format("{} at {:#x}", what, at)};
}

// Headers

// Names of packets by the Type field, without data (Fmt bit 1 is 0) and with data
struct Kind {
    uint32_t type;
    const char *plain;
    const char *with_data;
};
constexpr Kind kKinds[] = {{0x00, "MRd", "MWr"},
                           {0x04, "CfgRd", "CfgWr"},
                           {0x05, "CfgRd", "CfgWr"},
                           {0x0a, "Cpl", "CplD"}};
constexpr const char *kStatus[] = {"SC", "UR", "CRS", "3", "CA", "5", "6", "7"};

// Length 0 encodes the maximum, 1024 (PCI Express Base 6.0, section 2.2.2).
uint64_t length_of(const Header &header)
{
    const uint32_t length = bits(header.dwords[0], 0, 9);
    return length == 0 ? 1024 : length;
}

void fill_completion(const Header &header, Tlp &tlp)
{
    const uint32_t left = bits(header.dwords[1], 0, 11);
    tlp.other = bdf_of(header.dwords[1] >> 16);
    tlp.requester = bdf_of(header.dwords[2] >> 16);
    tlp.tag |= bits(header.dwords[2], 8, 15);
    tlp.status = kStatus[bits(header.dwords[1], 13, 15)];
    tlp.bytes = left == 0 ? 4096 : left;
    tlp.address = bits(header.dwords[2], 0, 6);
    tlp.dwords = tlp.kind == "CplD" ? length_of(header) : 0;
}

void fill_request(const Header &header, Tlp &tlp)
{
    const bool config = tlp.kind.starts_with("Cfg");
    const bool wide = bits(header.dwords[0], 29, 29) != 0;
    tlp.requester = bdf_of(header.dwords[1] >> 16);
    tlp.tag |= bits(header.dwords[1], 8, 15);
    if (config) {
        tlp.other = bdf_of(header.dwords[2] >> 16);
        tlp.address = header.dwords[2] & 0xffc;
    } else {
        tlp.address = wide ? uint64_t{header.dwords[2]} << 32 | header.dwords[3] : header.dwords[2];
        tlp.address &= ~uint64_t{3};
    }
    count_enabled(bits(header.dwords[1], 0, 3), bits(header.dwords[1], 4, 7), length_of(header),
                  tlp);
}

std::optional<Tlp> tlp_of(const Header &header)
{
    const uint32_t first = header.dwords[0], type = bits(first, 24, 28);
    const auto kind = std::ranges::find(kKinds, type, &Kind::type);
    if (kind == std::end(kKinds) || bits(first, 31, 31) != 0)
        return std::nullopt;
    Tlp tlp;
    tlp.kind = bits(first, 30, 30) != 0 ? kind->with_data : kind->plain;
    tlp.ticks = header.time;
    tlp.tag = bits(first, 23, 23) << 9 | bits(first, 19, 19) << 8;
    if (header.prefix != 0)
        tlp.pasid = fmt::format("{:#x}", bits(header.prefix, 0, 19));
    if (type == 0x0a)
        fill_completion(header, tlp);
    else
        fill_request(header, tlp);
    return tlp;
}

// Moves the fields of a 4DW entry's DW0 to their positions in a header.
Header header_of_4dw(const std::array<uint32_t, 4> &words)
{
    Header header;
    header.dwords = words;
    header.dwords[0] = bits(words[0], 30, 31) << 29 | bits(words[0], 25, 29) << 24 |
                       bits(words[0], 24, 24) << 23 | bits(words[0], 23, 23) << 19 |
                       bits(words[0], 11, 20);
    header.time = bits(words[0], 0, 10);
    return header;
}

// The text of perf: ".  <offset>: xx xx xx xx      <name>"

struct TextLine {
    uint32_t value = 0;
    std::string_view name;
};

std::optional<TextLine> text_line_of(std::string_view line, ByteOrder order)
{
    constexpr std::string_view kStart = ".  ";
    const size_t colon = line.find(": ");
    if (!line.starts_with(kStart) || colon == line.npos || line.size() < colon + 13)
        return std::nullopt;
    TextLine read;
    for (size_t i = 0; i < 4; i++) {
        const Result<uint64_t> byte =
            parse_u64("0x" + std::string(line.substr(colon + 2 + 3 * i, 2)));
        if (!byte)
            return std::nullopt;
        const size_t shift = 8 * (order == ByteOrder::kMemory ? i : 3 - i);
        read.value |= static_cast<uint32_t>(*byte) << shift;
    }
    read.name = trim(line.substr(colon + 14));
    return read;
}

// "flags: 0x101": the low byte has perf's flags, the bits above are for the driver.
bool says_gap(std::string_view line)
{
    if (line.find("PERF_RECORD_LOST") != line.npos)
        return true;
    constexpr std::string_view kFlags = "flags: ";
    const size_t at = line.find(kFlags);
    if (line.find("PERF_RECORD_AUX ") == line.npos || at == line.npos)
        return false;
    const std::string_view rest = line.substr(at + kFlags.size());
    const Result<uint64_t> flags = parse_u64(rest.substr(0, rest.find(' ')));
    return !flags || (*flags & 0xff) != 0;
}

// Assembles entries from the lines of perf's text.
class PerfReader {
public:
    explicit PerfReader(ByteOrder order) : order_(order) {}

    // Returns false if the line is an invalid part of an entry.
    bool take(std::string_view line)
    {
        if (says_gap(line))
            report_.gaps++;
        if (line.find("HISI PTT data") != line.npos) {
            inside_ = true;
            return next_ == 0;
        }
        inside_ = inside_ && line.starts_with(".");
        if (!inside_)
            return next_ == 0;
        const std::optional<TextLine> read = text_line_of(line, order_);
        return read && (next_ == 0 ? begin(*read) : go_on(*read));
    }
    bool complete() const { return next_ == 0; }
    PerfReport report() { return std::move(report_); }

private:
    static constexpr std::string_view kNames8[] = {"Prefix",     "Header DW0", "Header DW1",
                                                   "Header DW2", "Header DW3", "Time"};
    static constexpr std::string_view kNames4[] = {"Format", "Header DW1", "Header DW2",
                                                   "Header DW3"};

    bool begin(const TextLine &line)
    {
        wide_ = !line.name.starts_with(kNames4[0]);
        return go_on(line);
    }
    bool go_on(const TextLine &line)
    {
        const std::string_view wanted = wide_ ? kNames8[next_] : kNames4[next_];
        if (wide_ || next_ > 0 ? line.name != wanted : !line.name.starts_with(wanted))
            return false;
        words_[next_++] = line.value;
        if (next_ < (wide_ ? std::size(kNames8) : std::size(kNames4)))
            return true;
        next_ = 0;
        const std::optional<Tlp> tlp = tlp_of(
            wide_ ? Header{words_[0], {words_[1], words_[2], words_[3], words_[4]}, words_[5]}
                  : header_of_4dw({words_[0], words_[1], words_[2], words_[3]}));
        if (tlp)
            report_.tlps.push_back(*tlp);
        return tlp.has_value();
    }

    ByteOrder order_;
    PerfReport report_;
    std::array<uint32_t, 6> words_{};
    size_t next_ = 0;
    bool wide_ = false;
    bool inside_ = false;
};

// Entries in memory

uint32_t dword_at(std::string_view bytes, size_t at)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << 8 * i;
    return value;
}

std::optional<Header> header_at(std::string_view bytes, size_t at, unsigned format_dwords)
{
    if (format_dwords == 4)
        return header_of_4dw({dword_at(bytes, at), dword_at(bytes, at + 4), dword_at(bytes, at + 8),
                              dword_at(bytes, at + 12)});
    if (dword_at(bytes, at) != 0xffffffff || dword_at(bytes, at + 24) != 0)
        return std::nullopt;
    return Header{dword_at(bytes, at + 4),
                  {dword_at(bytes, at + 8), dword_at(bytes, at + 12), dword_at(bytes, at + 16),
                   dword_at(bytes, at + 20)},
                  dword_at(bytes, at + 28)};
}

}  // namespace

Result<PerfReport> read_perf_report(std::string_view text, ByteOrder order)
{
    PerfReader reader(order);
    for (const std::string_view line : split(text, '\n'))
        if (!reader.take(line))
            return Error{Errc::kDamaged, fmt::format("'{}' is no part of an entry", trim(line))};
    if (!reader.complete())
        return Error{Errc::kDamaged, "the last entry is not complete"};
    return reader.report();
}

Result<std::vector<Tlp>> read_entries(std::string_view bytes, unsigned format_dwords)
{
    const size_t entry_bytes = size_t{4} * format_dwords;
    std::vector<Tlp> tlps;
    if (bytes.size() % entry_bytes != 0)
        return no_entry("a piece of an entry", bytes.size() / entry_bytes * entry_bytes);
    for (size_t at = 0; at < bytes.size(); at += entry_bytes) {
        const std::optional<Header> header = header_at(bytes, at, format_dwords);
        const std::optional<Tlp> tlp = header ? tlp_of(*header) : std::nullopt;
        if (!tlp)
            return no_entry("no entry", at);
        tlps.push_back(*tlp);
    }
    return tlps;
}

}  // namespace pmukit::checker::hisi_ptt
