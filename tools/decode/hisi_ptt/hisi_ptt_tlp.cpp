// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_tlp.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace pmukit::decode::hisi_ptt {
namespace {

constexpr uint32_t bits(uint32_t word, unsigned high, unsigned low)
{
    return (word >> low) & ((uint32_t{2} << (high - low)) - 1);
}

// From table 2-3 of the specification, and the deferrable memory write of its later revisions.

// Bits of Fmt. Bit 2 of Fmt marks a TLP prefix.
constexpr uint8_t kFmtWide = 1, kFmtData = 2;
// Types 0x10 to 0x17 are messages; their low bits are the routing.
constexpr uint8_t kMessageTypes = 0x10;

struct Row {
    uint8_t type_bits;
    // Bit n is set if the type is defined for Fmt n.
    uint8_t fmts;
    TlpType without_data, with_data;
    TlpClass queue_without, queue_with;
    TlpShape shape;
};

constexpr auto kNone = TlpType::kUnknown;
constexpr auto kP = TlpClass::kPosted, kNP = TlpClass::kNonPosted, kC = TlpClass::kCompletion;
constexpr Row kRows[] = {
    {0x00, 0xf, TlpType::kMRd, TlpType::kMWr, kNP, kP, TlpShape::kMemory},
    {0x01, 0x3, TlpType::kMRdLk, kNone, kNP, kNP, TlpShape::kMemory},
    {0x02, 0x5, TlpType::kIORd, TlpType::kIOWr, kNP, kNP, TlpShape::kIo},
    {0x04, 0x5, TlpType::kCfgRd0, TlpType::kCfgWr0, kNP, kNP, TlpShape::kConfig},
    {0x05, 0x5, TlpType::kCfgRd1, TlpType::kCfgWr1, kNP, kNP, TlpShape::kConfig},
    {0x0a, 0x5, TlpType::kCpl, TlpType::kCplD, kC, kC, TlpShape::kCompletion},
    {0x0b, 0x5, TlpType::kCplLk, TlpType::kCplDLk, kC, kC, TlpShape::kCompletion},
    {0x0c, 0xc, kNone, TlpType::kFetchAdd, kNP, kNP, TlpShape::kMemory},
    {0x0d, 0xc, kNone, TlpType::kSwap, kNP, kNP, TlpShape::kMemory},
    {0x0e, 0xc, kNone, TlpType::kCas, kNP, kNP, TlpShape::kMemory},
    {0x1b, 0xc, kNone, TlpType::kDMWr, kNP, kNP, TlpShape::kMemory},
};

constexpr void add_row(std::array<TlpKind, 256> &table, const Row &row)
{
    for (unsigned fmt = 0; fmt < 4; fmt++) {
        if (!(row.fmts >> fmt & 1))
            continue;
        const bool data = fmt & kFmtData;
        table[fmt << 5 | row.type_bits] = {data ? row.with_data : row.without_data,
                                           data ? row.queue_with : row.queue_without, row.shape,
                                           (fmt & kFmtWide) != 0, data};
    }
}

constexpr std::array<TlpKind, 256> make_kinds()
{
    std::array<TlpKind, 256> table{};
    for (const Row &row : kRows)
        add_row(table, row);
    for (uint8_t routing = 0; routing < 8; routing++)
        add_row(table, {static_cast<uint8_t>(kMessageTypes | routing), 0xa, TlpType::kMsg,
                        TlpType::kMsgD, kP, kP, TlpShape::kMessage});
    return table;
}

constexpr std::array<TlpKind, 256> kKinds = make_kinds();

constexpr std::string_view kTypeNames[kTlpTypes] = {
    "unknown", "MRd",  "MRdLk", "MWr",  "IORd",  "IOWr",   "CfgRd0",   "CfgWr0", "CfgRd1", "CfgWr1",
    "Msg",     "MsgD", "Cpl",   "CplD", "CplLk", "CplDLk", "FetchAdd", "Swap",   "CAS",    "DMWr"};
constexpr std::string_view kClassNames[] = {"unknown", "posted", "non-posted", "completion"};

constexpr uint8_t kRoutedByAddress = 1, kRoutedById = 2;

// Bits 31:24 identify a PASID prefix: Fmt 100, Type 1 0001.
constexpr uint32_t kPasidMark = 0x91, kPasidMarkShift = 24;

// Fields

void read_address(const TlpHeader &header, Tlp &tlp)
{
    // The low two bits are a processing hint, not an address.
    const uint32_t low = header[tlp.kind.wide ? 3 : 2] & ~uint32_t{3};
    tlp.address = tlp.kind.wide ? uint64_t{header[2]} << 32 | low : low;
}

void read_request(const TlpHeader &header, Tlp &tlp)
{
    tlp.requester = static_cast<uint16_t>(bits(header[1], 31, 16));
    tlp.tag |= static_cast<uint16_t>(bits(header[1], 15, 8));
    tlp.first_be = static_cast<uint8_t>(bits(header[1], 3, 0));
    tlp.last_be = static_cast<uint8_t>(bits(header[1], 7, 4));
}

void read_config(const TlpHeader &header, Tlp &tlp)
{
    read_request(header, tlp);
    tlp.target = static_cast<uint16_t>(bits(header[2], 31, 16));
    tlp.address = header[2] & 0xffc;
}

void read_message(const TlpHeader &header, Tlp &tlp)
{
    read_request(header, tlp);
    tlp.first_be = tlp.last_be = 0;
    tlp.message_code = static_cast<uint8_t>(bits(header[1], 7, 0));
    tlp.routing = static_cast<uint8_t>(bits(header[0], 26, 24));
    if (tlp.routing == kRoutedByAddress)
        read_address(header, tlp);
    if (tlp.routing == kRoutedById)
        tlp.target = static_cast<uint16_t>(bits(header[2], 31, 16));
}

void read_completion(const TlpHeader &header, Tlp &tlp)
{
    tlp.completer = static_cast<uint16_t>(bits(header[1], 31, 16));
    tlp.status = static_cast<uint8_t>(bits(header[1], 15, 13));
    const uint32_t count = bits(header[1], 11, 0);
    tlp.byte_count = static_cast<uint16_t>(count ? count : 4096);
    tlp.requester = static_cast<uint16_t>(bits(header[2], 31, 16));
    tlp.tag |= static_cast<uint16_t>(bits(header[2], 15, 8));
    tlp.lower_address = static_cast<uint8_t>(bits(header[2], 6, 0));
}

std::optional<Pasid> read_pasid(uint32_t prefix)
{
    if (prefix >> kPasidMarkShift != kPasidMark)
        return std::nullopt;
    return Pasid{bits(prefix, 19, 0), bits(prefix, 20, 20) != 0, bits(prefix, 21, 21) != 0};
}

bool is_posted_hint(const Tlp &tlp)
{
    return tlp.hint && tlp.kind.type == TlpType::kMWr;
}

// Bytes from the first to the last enabled one; disabled bytes in between are transferred as well.
uint32_t enabled_bytes(const Tlp &tlp)
{
    const uint32_t all = uint32_t{tlp.length_dw} * 4;
    if (!has_byte_enables(tlp))
        return all;
    if (tlp.length_dw == 1)
        return static_cast<uint32_t>(std::popcount(tlp.first_be));
    if (!tlp.first_be || !tlp.last_be)
        return all;
    return all - static_cast<uint32_t>(std::countr_zero(tlp.first_be)) -
           static_cast<uint32_t>(std::countl_zero(static_cast<uint8_t>(tlp.last_be << 4)));
}

bool is_atomic(TlpType type)
{
    return type == TlpType::kFetchAdd || type == TlpType::kSwap || type == TlpType::kCas;
}

// Position of the upper bits of a tag: a dword of the header, and one half of it.
struct WidePlace {
    size_t dword;
    unsigned tag_bit, valid_bit, segment_bit;
};
constexpr WidePlace kIn64BitAddress = {2, 16, 21, 23}, kInConfig = {3, 16, 21, 23},
                    kBehindHeader = {3, 0, 5, 24};

std::optional<WidePlace> wide_place_of(const TlpKind &kind)
{
    switch (kind.shape) {
        case TlpShape::kMemory:
            return kind.wide ? kIn64BitAddress : kBehindHeader;
        case TlpShape::kConfig:
            return kInConfig;
        case TlpShape::kIo:
        case TlpShape::kCompletion:
            return kBehindHeader;
        case TlpShape::kMessage:
        case TlpShape::kUnknown:
            break;
    }
    return std::nullopt;
}

void read_wide_tag(const TlpHeader &header, Tlp &tlp)
{
    constexpr uint64_t kAddressLeft = 0xffff'ffff'ffff;
    const std::optional<WidePlace> place = wide_place_of(tlp.kind);
    if (!place || !(header[place->dword] >> place->valid_bit & 1))
        return;
    const uint32_t dword = header[place->dword];
    tlp.wide_tag = true;
    tlp.tag |= static_cast<uint16_t>((dword >> place->tag_bit & 0xf) << 10);
    tlp.segment = static_cast<uint8_t>(dword >> place->segment_bit);
    if (place->dword == kIn64BitAddress.dword)
        tlp.address &= kAddressLeft;
}

}  // namespace

const TlpKind &kind_of(uint8_t fmt_type)
{
    return kKinds[fmt_type];
}

std::string_view name_of(TlpType type)
{
    return kTypeNames[static_cast<size_t>(type)];
}

std::string_view name_of(TlpClass queue)
{
    return kClassNames[static_cast<size_t>(queue)];
}

Tlp parse_tlp(const TlpHeader &header, uint32_t prefix, bool wide_tags)
{
    Tlp tlp;
    const uint32_t dw0 = header[0];
    tlp.kind = kind_of(static_cast<uint8_t>(dw0 >> 24));
    tlp.tag = static_cast<uint16_t>(bits(dw0, 23, 23) << 9 | bits(dw0, 19, 19) << 8);
    tlp.traffic_class = static_cast<uint8_t>(bits(dw0, 22, 20));
    tlp.hint = bits(dw0, 16, 16) != 0;
    tlp.digest = bits(dw0, 15, 15) != 0;
    tlp.poisoned = bits(dw0, 14, 14) != 0;
    tlp.address_type = static_cast<uint8_t>(bits(dw0, 11, 10));
    const uint32_t length = bits(dw0, 9, 0);
    tlp.length_dw = static_cast<uint16_t>(length ? length : 1024);
    tlp.pasid = read_pasid(prefix);
    switch (tlp.kind.shape) {
        case TlpShape::kMemory:
        case TlpShape::kIo:
            read_request(header, tlp);
            read_address(header, tlp);
            break;
        case TlpShape::kConfig:
            read_config(header, tlp);
            break;
        case TlpShape::kMessage:
            read_message(header, tlp);
            break;
        case TlpShape::kCompletion:
            read_completion(header, tlp);
            break;
        case TlpShape::kUnknown:
            break;
    }
    if (wide_tags)
        read_wide_tag(header, tlp);
    return tlp;
}

bool has_byte_enables(const Tlp &tlp)
{
    return tlp.kind.shape != TlpShape::kMemory || !tlp.hint || is_posted_hint(tlp);
}

uint32_t data_bytes(const Tlp &tlp)
{
    if (!tlp.kind.data)
        return 0;
    const uint32_t all = uint32_t{tlp.length_dw} * 4;
    if (tlp.kind.shape == TlpShape::kCompletion)
        return std::min<uint32_t>(tlp.byte_count, all - (tlp.lower_address & 3U));
    const bool has_enables = tlp.kind.shape != TlpShape::kMessage && !is_atomic(tlp.kind.type);
    return has_enables ? enabled_bytes(tlp) : all;
}

uint32_t requested_bytes(const Tlp &tlp)
{
    const bool read = tlp.kind.queue == TlpClass::kNonPosted && !tlp.kind.data;
    return read ? enabled_bytes(tlp) : 0;
}

// Text

namespace {

std::string status_text(uint8_t status)
{
    constexpr std::string_view kNames[] = {"SC", "UR", "CRS", "", "CA"};
    if (status < std::size(kNames) && !kNames[status].empty())
        return std::string(kNames[status]);
    return fmt::format("{}", status);
}

std::string shape_text(const Tlp &tlp)
{
    switch (tlp.kind.shape) {
        case TlpShape::kMemory:
        case TlpShape::kIo:
            return fmt::format(" address {:#x} length {} be {:#x}/{:#x}", tlp.address,
                               tlp.length_dw, tlp.first_be, tlp.last_be);
        case TlpShape::kConfig:
            return fmt::format(" of {} register {:#x} be {:#x}", bdf_text(tlp.target), tlp.address,
                               tlp.first_be);
        case TlpShape::kMessage:
            return fmt::format(" code {:#04x} routing {}{}", tlp.message_code, tlp.routing,
                               tlp.kind.data ? fmt::format(" length {}", tlp.length_dw) : "");
        case TlpShape::kCompletion:
            return fmt::format(" by {} {} bytes {} lower {:#x}{}", bdf_text(tlp.completer),
                               status_text(tlp.status), tlp.byte_count, tlp.lower_address,
                               tlp.kind.data ? fmt::format(" length {}", tlp.length_dw) : "");
        case TlpShape::kUnknown:
            break;
    }
    return {};
}

}  // namespace

std::string tlp_text(const Tlp &tlp)
{
    if (tlp.kind.shape == TlpShape::kUnknown)
        return "unknown";
    std::string text =
        fmt::format("{} {} {} {:#x}", name_of(tlp.kind.type), bdf_text(tlp.requester),
                    is_posted_hint(tlp) ? "steering tag" : "tag", tlp.tag);
    text += shape_text(tlp);
    if (tlp.traffic_class)
        text += fmt::format(" tc {}", tlp.traffic_class);
    if (tlp.address_type)
        text += fmt::format(" at {}", tlp.address_type);
    if (tlp.segment)
        text += fmt::format(" segment {:#x}", tlp.segment);
    text += tlp.hint ? " th" : "";
    text += tlp.digest ? " td" : "";
    text += tlp.poisoned ? " ep" : "";
    if (tlp.pasid)
        text +=
            fmt::format(" pasid {:#x}{}{}", tlp.pasid->pasid, tlp.pasid->execute ? " execute" : "",
                        tlp.pasid->privileged ? " privileged" : "");
    return text;
}

std::string bdf_text(uint16_t id)
{
    constexpr char kDigits[] = "0123456789abcdef";
    const unsigned bus = id >> 8, device = id >> 3 & 0x1f, function = id & 7;
    return {kDigits[bus >> 4],    kDigits[bus & 15],    ':',
            kDigits[device >> 4], kDigits[device & 15], '.',
            kDigits[function]};
}

}  // namespace pmukit::decode::hisi_ptt
