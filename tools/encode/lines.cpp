// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "encode/lines.hpp"

#include <pmukit/cache_qos.h>
#include <pmukit/cxl_hmu.h>
#include <pmukit/imc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/bytes.hpp"

namespace pmukit::encode {
namespace {

template <std::unsigned_integral T>
void put(std::vector<std::byte> &bytes, T value)
{
    bytes.resize(bytes.size() + sizeof value);
    store_le(bytes.data() + bytes.size() - sizeof value, value);
}

// Appends hexadecimal numbers of one size in little-endian order, as devices write them.
template <std::unsigned_integral T>
Result<void> put_numbers(Words words, std::vector<std::byte> &bytes)
{
    for (std::string_view word : words) {
        Result<uint64_t> value = number_of(word, 16);
        if (!value)
            return value.error();
        if (*value > T(-1))
            return Error{Errc::kUsage, std::string(word) + " does not fit"};
        put<T>(bytes, static_cast<T>(*value));
    }
    return {};
}

// hisi_ptt, PCIe trace: Documentation/devices/hisi_ptt.rst

// 8dw TIME DW0 DW1 DW2 DW3 [PREFIX]: an 8DW entry, which consists of the mark, the prefix, the four
// dwords of the TLP header, zero and the time
Result<void> put_8dw(Words words, std::vector<std::byte> &bytes)
{
    if (words.size() != 5 && words.size() != 6)
        return Error{Errc::kUsage, "8dw TIME DW0 DW1 DW2 DW3 [PREFIX]"};
    Result<uint64_t> time = number_of(words[0]);
    if (!time)
        return time.error();
    put<uint32_t>(bytes, UINT32_MAX);
    constexpr std::string_view kNoPrefix = "0";
    const std::string_view prefix = words.size() == 6 ? words[5] : kNoPrefix;
    if (Result<void> done = put_numbers<uint32_t>(Words(&prefix, 1), bytes); !done)
        return done;
    if (Result<void> done = put_numbers<uint32_t>(words.subspan(1, 4), bytes); !done)
        return done;
    put<uint32_t>(bytes, 0);
    put<uint32_t>(bytes, static_cast<uint32_t>(*time));
    return {};
}

// 4dw DW0 DW1 DW2 DW3: a 4DW entry, as in the format of the device
Result<void> put_4dw(Words words, std::vector<std::byte> &bytes)
{
    if (words.size() != 4)
        return Error{Errc::kUsage, "4dw DW0 DW1 DW2 DW3"};
    return put_numbers<uint32_t>(words, bytes);
}

// cxl_hmu, hot lists: include/uapi/pmukit/cxl_hmu.h

struct HotList {
    uint64_t width = 16, extra[PMUKIT_CXL_HMU_EXTRA_WORDS] = {};
    std::vector<uint64_t> entries;
};

constexpr std::pair<std::string_view, size_t> kHotExtras[] = {
    {"time", PMUKIT_CXL_HMU_X_TIME},   {"unit", PMUKIT_CXL_HMU_X_UNIT},
    {"flags", PMUKIT_CXL_HMU_X_FLAGS}, {"sequence", PMUKIT_CXL_HMU_X_SEQUENCE},
    {"lost", PMUKIT_CXL_HMU_X_LOST},
};

// UNIT:COUNT
Result<uint64_t> hot_entry(std::string_view word, uint64_t width)
{
    const size_t colon = word.find(':');
    if (colon == std::string_view::npos)
        return Error{Errc::kUsage, std::string(word) + ": an entry is UNIT:COUNT"};
    Result<uint64_t> unit = number_of(word.substr(0, colon)),
                     count = number_of(word.substr(colon + 1));
    if (!unit || !count)
        return Error{Errc::kUsage, std::string(word) + ": an entry is UNIT:COUNT"};
    if (*count >> width != 0 || *unit >> (64 - width) != 0)
        return Error{Errc::kUsage, std::string(word) + " does not fit"};
    return *unit << width | *count;
}

Result<HotList> parse_hot(Words words)
{
    HotList hot;
    for (size_t i = 0; i < words.size(); i++) {
        if (words[i].find(':') != std::string_view::npos) {
            Result<uint64_t> entry = hot_entry(words[i], hot.width);
            if (!entry)
                return entry.error();
            hot.entries.push_back(*entry);
            continue;
        }
        if (i + 1 == words.size())
            return Error{Errc::kUsage, std::string(words[i]) + ": its number is missing"};
        Result<uint64_t> value = number_of(words[i + 1]);
        if (!value)
            return value.error();
        const auto *extra = std::find_if(std::begin(kHotExtras), std::end(kHotExtras),
                                         [&](const auto &row) { return row.first == words[i]; });
        if (extra != std::end(kHotExtras))
            hot.extra[extra->second] = *value;
        else if (words[i] == "width" && *value >= 1 && *value <= 63)
            hot.width = *value;
        else
            return Error{Errc::kUsage, "hot has no term '" + std::string(words[i]) + "'"};
        i++;
    }
    return hot;
}

// hot [width BITS] [time NS] [unit LOG2] [flags BITS] [sequence N] [lost N] UNIT:COUNT ...
Result<void> put_hot(Words words, std::vector<std::byte> &bytes)
{
    Result<HotList> hot = parse_hot(words);
    if (!hot)
        return hot.error();
    if (hot->entries.size() > PMUKIT_CXL_HMU_RECORD_ENTRIES_MAX)
        return Error{Errc::kUsage, "a record holds at most " +
                                       std::to_string(PMUKIT_CXL_HMU_RECORD_ENTRIES_MAX) +
                                       " entries; write further ones in a second line"};
    put<uint64_t>(bytes, PMUKIT_CXL_HMU_W0(hot->entries.size(), hot->width));
    put<uint64_t>(bytes, PMUKIT_CXL_HMU_MARK);
    for (uint64_t word : hot->extra)
        put<uint64_t>(bytes, word);
    for (uint64_t entry : hot->entries)
        put<uint64_t>(bytes, entry);
    return {};
}

// trace_imc, records of the IMC: Documentation/devices/imc-decode.rst

constexpr std::string_view kHvPr[] = {"guest-kernel", "guest-user", "kernel", "user"};
constexpr size_t kCpmcs = 4;

void put_big(std::vector<std::byte> &bytes, uint64_t value)
{
    bytes.resize(bytes.size() + sizeof value);
    store(bytes.data() + bytes.size() - sizeof value, value, std::endian::big);
}

// imc TIMEBASE MODE IP [CPMC1 CPMC2 CPMC3 CPMC4] [torn]: a record. If it is torn (not completely
// written), its tb2 is 0.
Result<void> put_imc(Words words, std::vector<std::byte> &bytes)
{
    constexpr const char *kHelp = "imc TIMEBASE MODE IP [CPMC1 CPMC2 CPMC3 CPMC4] [torn]";
    constexpr uint64_t kLow42 = (uint64_t{1} << 42) - 1;
    const bool torn = !words.empty() && words.back() == "torn";
    words = words.first(words.size() - torn);
    if (words.size() != 3 && words.size() != 3 + kCpmcs)
        return Error{Errc::kUsage, kHelp};
    const auto *mode = std::find(std::begin(kHvPr), std::end(kHvPr), words[1]);
    Result<uint64_t> timebase = number_of(words[0]), ip = number_of(words[2]);
    if (!timebase || !ip || mode == std::end(kHvPr))
        return Error{Errc::kUsage, kHelp};
    put_big(bytes, *timebase);
    put_big(bytes, *ip);
    put_big(bytes, static_cast<uint64_t>(mode - std::begin(kHvPr)) << 62);
    for (size_t i = 0; i < kCpmcs; i++) {
        Result<uint64_t> count = words.size() > 3 ? number_of(words[3 + i]) : uint64_t{0};
        if (!count)
            return count.error();
        put_big(bytes, *count);
    }
    put_big(bytes, torn ? 0 : *timebase & kLow42);
    return {};
}

// imc-numbers SEQUENCE LOST: the header before the record in the raw payload of a sample
Result<void> put_imc_numbers(Words words, std::vector<std::byte> &bytes)
{
    Result<uint64_t> sequence = words.size() == 2 ? number_of(words[0]) : Error{Errc::kUsage, ""};
    Result<uint64_t> lost = words.size() == 2 ? number_of(words[1]) : Error{Errc::kUsage, ""};
    if (!sequence || !lost)
        return Error{Errc::kUsage, "imc-numbers SEQUENCE LOST"};
    bytes.resize(bytes.size() + offsetof(pmukit_raw_header, tag));
    put<uint32_t>(bytes, PMUKIT_RAW_TAG_IMC);
    put<uint64_t>(bytes, *sequence);
    put<uint64_t>(bytes, *lost);
    return {};
}

// cache_qos_aux, snapshots: include/uapi/pmukit/cache_qos.h

// Parses N decimal or hexadecimal numbers, of which the last `optional` may be omitted.
template <size_t N>
Result<std::array<uint64_t, N>> numbers_of(Words words, const char *help, size_t optional = 0)
{
    if (words.size() > N || words.size() + optional < N)
        return Error{Errc::kUsage, help};
    std::array<uint64_t, N> numbers{};
    for (size_t i = 0; i < words.size(); i++) {
        Result<uint64_t> number = number_of(words[i]);
        if (!number)
            return number.error();
        numbers[i] = *number;
    }
    return numbers;
}

// cq-header SEQUENCE DOMAIN CACHE_BYTES SCALE [LOST [BACKEND]]: a header with 256 RMIDs and 32-bit
// counters, from the simulated back-end or from the one with this number
Result<void> put_cq_header(Words words, std::vector<std::byte> &bytes)
{
    auto n =
        numbers_of<6>(words, "cq-header SEQUENCE DOMAIN CACHE_BYTES SCALE [LOST [BACKEND]]", 2);
    if (!n)
        return n.error();
    const auto [sequence, domain, cache_bytes, scale, lost, number] = *n;
    const uint64_t backend = words.size() < 6 ? uint64_t{PMUKIT_CACHE_QOS_BACKEND_SIM} : number;
    for (uint64_t word :
         {uint64_t{PMUKIT_CACHE_QOS_MARK}, sequence,
          uint64_t{PMUKIT_CACHE_QOS_VERSION} |
              uint64_t{PMUKIT_CACHE_QOS_RECORD_BYTES} << PMUKIT_CACHE_QOS_FORMAT_BYTES_SHIFT |
              domain << PMUKIT_CACHE_QOS_FORMAT_DOMAIN_SHIFT |
              backend << PMUKIT_CACHE_QOS_FORMAT_BACKEND_SHIFT,
          scale, uint64_t{0}, uint64_t{256} | uint64_t{32} << PMUKIT_CACHE_QOS_HARDWARE_WIDTH_SHIFT,
          cache_bytes, lost})
        put<uint64_t>(bytes, word);
    return {};
}

// cq SEQUENCE TIME MONITOR KIND DOMAIN EVENT BYTES BOUND [STATUS]: the value of a monitor. KIND,
// EVENT and STATUS are given as numbers.
Result<void> put_cq(Words words, std::vector<std::byte> &bytes)
{
    auto n =
        numbers_of<9>(words, "cq SEQUENCE TIME MONITOR KIND DOMAIN EVENT BYTES BOUND [STATUS]", 1);
    if (!n)
        return n.error();
    const auto [sequence, time, monitor, kind, domain, event, value, bound, status] = *n;
    for (uint64_t word :
         {time, sequence,
          monitor | domain << PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT |
              event << PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT | kind << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT,
          1 | status << PMUKIT_CACHE_QOS_STATE_STATUS_SHIFT, value / 65536, value, bound,
          uint64_t{1000}})
        put<uint64_t>(bytes, word);
    return {};
}

// cq-name SEQUENCE MONITOR KIND DOMAIN LIFE ID [TEXT]: the name of a monitor, in one part
Result<void> put_cq_name(Words words, std::vector<std::byte> &bytes)
{
    constexpr const char *kHelp = "cq-name SEQUENCE MONITOR KIND DOMAIN LIFE ID [TEXT]";
    const std::string_view text = words.size() == 7 ? words.back() : std::string_view();
    if (words.size() < 6 || words.size() > 7 || text.size() > PMUKIT_CACHE_QOS_NAME_PART_BYTES)
        return Error{Errc::kUsage, kHelp};
    auto n = numbers_of<6>(words.first(6), kHelp);
    if (!n)
        return n.error();
    const auto [sequence, monitor, kind, domain, life, id] = *n;
    for (uint64_t word : {uint64_t{PMUKIT_CACHE_QOS_NAME_MARK}, sequence,
                          monitor | domain << PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT |
                              kind << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT,
                          id, life | uint64_t{1} << PMUKIT_CACHE_QOS_LIFE_PARTS_SHIFT})
        put<uint64_t>(bytes, word);
    const size_t end = bytes.size() + PMUKIT_CACHE_QOS_NAME_PART_BYTES;
    for (const char c : text)
        bytes.push_back(static_cast<std::byte>(c));
    bytes.resize(end);
    return {};
}

// cq-tag: the header before the record in the raw payload of a sample
Result<void> put_cq_tag(Words words, std::vector<std::byte> &bytes)
{
    if (!words.empty())
        return Error{Errc::kUsage, "cq-tag"};
    bytes.resize(bytes.size() + offsetof(pmukit_raw_header, tag));
    put<uint32_t>(bytes, PMUKIT_RAW_TAG_CACHE_QOS);
    return {};
}

constexpr Line kLines[] = {
    {"bytes", put_numbers<uint8_t>},
    {"dwords", put_numbers<uint32_t>},
    {"words", put_numbers<uint64_t>},
    {"8dw", put_8dw},
    {"4dw", put_4dw},
    {"hot", put_hot},
    {"imc", put_imc},
    {"imc-numbers", put_imc_numbers},
    {"cq-header", put_cq_header},
    {"cq", put_cq},
    {"cq-name", put_cq_name},
    {"cq-tag", put_cq_tag},
};

}  // namespace

const Line *line_of(std::string_view first)
{
    const Line *found = std::find_if(std::begin(kLines), std::end(kLines),
                                     [first](const Line &line) { return line.first == first; });
    return found == std::end(kLines) ? nullptr : found;
}

// base 0: the number is decimal or, after 0x, hexadecimal
Result<uint64_t> number_of(std::string_view word, int base)
{
    std::string_view digits = word;
    if (base != 10 && digits.starts_with("0x"))
        digits.remove_prefix(2), base = 16;
    if (base == 0)
        base = 10;
    uint64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || end != digits.data() + digits.size())
        return Error{Errc::kUsage, "'" + std::string(word) + "' is not a number"};
    return value;
}

}  // namespace pmukit::encode
