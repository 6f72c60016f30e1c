// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/cedt.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <string_view>

#include "base/file.hpp"
#include "topology/interleave.hpp"

namespace pmukit::topology {
namespace {

// ACPI table header, 36 bytes: signature, length (of the whole table), revision, checksum, ...
constexpr size_t kLengthOffset = 4;
constexpr size_t kHeaderBytes = 36;
// Every structure of the table begins with: type, reserved, length (of the whole structure).
constexpr size_t kStructureBytes = 4;
enum StructureType : uint8_t { kCfmws = 1, kCxims = 2 };
constexpr uint8_t kArithmeticXor = 1;

Error damaged(const char *what)
{
    return Error{Errc::kDamaged, what};
}

std::optional<unsigned> decode_ways(uint8_t encoded)
{
    if (encoded <= 4)
        return 1U << encoded;
    if (encoded >= 8 && encoded <= 10)
        return 3U << (encoded - 8);
    return std::nullopt;
}

std::optional<uint64_t> decode_granularity(uint32_t encoded)
{
    if (encoded > 6)
        return std::nullopt;
    return uint64_t{256} << encoded;
}

Arithmetic decode_arithmetic(uint8_t encoded)
{
    if (encoded == 0)
        return Arithmetic::kModulo;
    return encoded == kArithmeticXor ? Arithmetic::kXor : Arithmetic::kUnknown;
}

// Parses a CFMWS after its header. Fields with their size in bytes: reserved 4, base 8, size 8,
// ways 1, arithmetic 1, reserved 2, granularity 4, restrictions 2, QTG 2, targets 4 each.
Result<FixedWindow> parse_cfmws(ByteReader body)
{
    body.skip(4);
    auto start = body.u64(), bytes = body.u64();
    auto ways = body.u8(), arithmetic = body.u8();
    body.skip(2);
    auto granularity = body.u32();
    if (!granularity || !body.skip(4))
        return damaged("a CFMWS is too short");
    auto decoded_ways = decode_ways(*ways);
    auto decoded_granularity = decode_granularity(*granularity);
    if (!decoded_ways || !decoded_granularity)
        return damaged("a CFMWS has interleave ways or a granularity that do not exist");
    if (*bytes == 0 || *start > UINT64_MAX - (*bytes - 1))
        return damaged("a CFMWS is empty or ends beyond 64 bits");
    if (body.left() / 4 < *decoded_ways)
        return damaged("a CFMWS has fewer targets than interleave ways");
    return FixedWindow{*start, *bytes, *decoded_ways, *decoded_granularity,
                       decode_arithmetic(*arithmetic)};
}

// Parses a CXIMS after its header. Fields with their size in bytes: reserved 2, granularity 1,
// count 1, maps 8 each.
Result<XorMaps> parse_cxims(ByteReader body)
{
    body.skip(2);
    auto granularity = body.u8(), count = body.u8();
    if (!count)
        return damaged("a CXIMS is too short");
    auto decoded = decode_granularity(*granularity);
    if (!decoded)
        return damaged("a CXIMS has a granularity that does not exist");
    if (body.left() / 8 < *count)
        return damaged("a CXIMS has fewer maps than its count");
    XorMaps maps{*decoded, {}};
    for (unsigned i = 0; i < *count; i++)
        maps.maps.push_back(*body.u64());
    return maps;
}

// Reports a part of the table that is not used. `at` is its offset in the table.
void skip(Cedt &cedt, std::string_view why, size_t at, std::string_view what)
{
    cedt.skipped.push_back(fmt::format("CEDT: {} (at {:#x}): {}", why, at, what));
}

// Parses a CFMWS or CXIMS; ignores structures of other types.
void parse_structure(uint8_t type, ByteReader body, size_t at, Cedt &cedt)
{
    const auto keep = [&](auto parsed, auto &all) {
        if (parsed)
            all.push_back(std::move(*parsed));
        else
            skip(cedt, parsed.error().message, at, "skipped");
    };
    if (type == kCfmws)
        keep(parse_cfmws(body), cedt.windows);
    else if (type == kCxims)
        keep(parse_cxims(body), cedt.xor_maps);
}

// Checks the header. Returns the table without the bytes after the length in its header.
Result<Bytes> check_header(Bytes table)
{
    if (table.size() < kHeaderBytes)
        return Error{Errc::kTruncated, "shorter than the header of an ACPI table"};
    if (std::memcmp(table.data(), "CEDT", 4) != 0)
        return damaged("the signature is not CEDT");
    const size_t length = load_le<uint32_t>(table.data() + kLengthOffset);
    if (length < kHeaderBytes)
        return damaged("its length is shorter than its header");
    if (length > table.size())
        return Error{Errc::kTruncated, "shorter than its length field"};
    return table.first(length);
}

bool sums_to_zero(Bytes table)
{
    uint8_t sum = 0;
    for (std::byte byte : table)
        sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(byte));
    return sum == 0;
}

}  // namespace

Result<Cedt> parse_cedt(Bytes table)
{
    Result<Bytes> whole = check_header(table);
    if (!whole)
        return whole.error();
    Cedt cedt;
    // Like Linux, report a wrong checksum and use the table.
    if (!sums_to_zero(*whole))
        cedt.skipped.emplace_back("CEDT: wrong checksum, used anyway");
    for (ByteReader in(whole->subspan(kHeaderBytes)); in.left();) {
        const size_t at = whole->size() - in.left();
        auto type = in.u8();
        in.skip(1);
        auto length = in.u16();
        if (!length || *length < kStructureBytes) {
            skip(cedt, "a structure is shorter than its header", at,
                 "skipped with everything after it");
            break;
        }
        auto body = in.take(*length - kStructureBytes);
        if (!body) {
            skip(cedt, "a structure ends beyond the table", at, "skipped with everything after it");
            break;
        }
        parse_structure(*type, ByteReader(*body), at, cedt);
    }
    return cedt;
}

std::optional<Cedt> read_cedt(const std::string &dir)
{
    const auto unreadable = [](std::string why) { return Cedt{{}, {}, {std::move(why)}}; };
    for (const char *name : {"/CEDT", "/firmware/acpi/tables/CEDT"}) {
        const std::string path = dir + name;
        struct stat status {};
        if (::stat(path.c_str(), &status) != 0) {
            if (errno == ENOENT || errno == ENOTDIR)
                continue;
            return unreadable(system_error(path, errno).message);
        }
        if (!S_ISREG(status.st_mode))
            return unreadable(path + ": not a regular file");
        Result<std::string> text = read_small_file(path);
        if (!text)
            return unreadable(text.error().message);
        Result<Cedt> cedt = parse_cedt(as_bytes(*text));
        return cedt ? *cedt : unreadable(path + ": " + cedt.error().message);
    }
    return std::nullopt;
}

}  // namespace pmukit::topology
