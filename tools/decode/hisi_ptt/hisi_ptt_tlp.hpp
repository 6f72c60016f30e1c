// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes TLP headers. Layout: PCI Express Base Specification 5.0, sections 2.2.1 (first dword),
// 2.2.4.1 (addresses), 2.2.5 (byte enables), 2.2.6 (requester, tag), 2.2.8 (messages), 2.2.9
// (completions) and 6.20.2.1 (PASID prefix). What the specification calls byte 0 of a dword is bits
// 31:24 here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pmukit::decode::hisi_ptt {

enum class TlpType : uint8_t {
    kUnknown,
    kMRd,
    kMRdLk,
    kMWr,
    kIORd,
    kIOWr,
    kCfgRd0,
    kCfgWr0,
    kCfgRd1,
    kCfgWr1,
    kMsg,
    kMsgD,
    kCpl,
    kCplD,
    kCplLk,
    kCplDLk,
    kFetchAdd,
    kSwap,
    kCas,
    kDMWr,
    kCount
};
constexpr size_t kTlpTypes = static_cast<size_t>(TlpType::kCount);

// Queue class of a TLP; the device's `type` filter selects by it.
enum class TlpClass : uint8_t { kUnknown, kPosted, kNonPosted, kCompletion, kCount };

// Layout of the dwords after the first.
enum class TlpShape : uint8_t { kUnknown, kMemory, kIo, kConfig, kMessage, kCompletion };

// The properties that Fmt and Type determine.
struct TlpKind {
    TlpType type = TlpType::kUnknown;
    TlpClass queue = TlpClass::kUnknown;
    TlpShape shape = TlpShape::kUnknown;
    bool wide = false;  // header of four dwords: 64-bit address
    bool data = false;  // a payload follows the header
};

// fmt_type: bits 31:24 of the first dword, three bits of Fmt and five of Type.
const TlpKind &kind_of(uint8_t fmt_type);
std::string_view name_of(TlpType type);
std::string_view name_of(TlpClass queue);

enum class CompletionStatus : uint8_t {
    kSuccess = 0,
    kUnsupportedRequest = 1,
    kConfigRetry = 2,
    kAborted = 4,
};

// TLP prefix that names the address space of a request.
struct Pasid {
    uint32_t pasid;  // 20 bits
    bool execute, privileged;
};

using TlpHeader = std::array<uint32_t, 4>;

struct Tlp {
    TlpKind kind;
    uint16_t requester = 0;  // bus << 8 | device << 3 | function
    // 10 bits including T9 and T8, or 14 bits if wide_tag is true.
    uint16_t tag = 0;
    // True if the header has a valid bit for the upper four bits of the tag.
    bool wide_tag = false;
    // The requester's segment if wide_tag is true. In configuration requests: the target's segment.
    uint8_t segment = 0;
    uint16_t length_dw = 0;  // 1..1024; undefined in a message without data
    uint8_t traffic_class = 0;
    uint8_t address_type = 0;  // 0 untranslated, 1 translation request, 2 translated
    bool poisoned = false, digest = false, hint = false;  // the bits EP, TD, TH

    // Requests. If TH is set, a steering tag replaces the tag of a write, and the byte enables of
    // any other memory request. All bytes of such a request are enabled (section 2.2.7.1).
    uint8_t first_be = 0, last_be = 0;
    // The address in memory and I/O requests and in address-routed messages; the register number in
    // configuration requests.
    uint64_t address = 0;
    uint16_t target = 0;  // target function of configuration requests and of ID-routed messages

    // Messages
    uint8_t message_code = 0, routing = 0;

    // Completions
    uint16_t completer = 0;
    uint8_t status = 0;  // CompletionStatus, or a reserved value
    // 1..4096: the bytes that the request still expects, including those of this TLP.
    uint16_t byte_count = 0;
    uint8_t lower_address = 0;

    std::optional<Pasid> pasid;
};

// wide_tags: the header may have the upper four bits of a tag, and a segment, in bits that PCI
// Express 5.0 does not use. A valid bit marks them. A memory request with a 64-bit address has all
// of these bits in the upper half of dword 2, which leaves 48 bits of the address. A configuration
// request has them in the upper half of dword 3. A memory request with a 32-bit address, an I/O
// request and a completion have them in dword 3, which is not part of their headers. For messages
// no such bits are known.
Tlp parse_tlp(const TlpHeader &header, uint32_t prefix, bool wide_tags = false);

bool has_byte_enables(const Tlp &tlp);
// Number of enabled bytes in the payload. For a completion: the bytes that its request expects of
// it.
uint32_t data_bytes(const Tlp &tlp);
// Bytes that a request without payload reads; 0 for all other TLPs.
uint32_t requested_bytes(const Tlp &tlp);
// The TLP in one line: "MWr 01:00.0 tag 0x01e address 0x402810040 length 1 be 0xf/0x0"
std::string tlp_text(const Tlp &tlp);
// The ID as text: "01:00.1"
std::string bdf_text(uint16_t id);

}  // namespace pmukit::decode::hisi_ptt
