// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_pages.hpp"

#include <algorithm>
#include <bit>
#include <cctype>

#include "base/number.hpp"

namespace pmukit::cli {
namespace {

constexpr uint64_t kMaxPages = uint64_t{1} << 20;

// Parses "64" (pages) or "512K" (bytes). Rounds up to a power of two pages, like perf; 0 stays 0.
std::optional<size_t> pages_of(std::string_view text, size_t page_bytes, bool &rounded)
{
    constexpr std::string_view kUnits = "BKMG";
    const size_t unit =
        text.empty() ? kUnits.npos : kUnits.find(static_cast<char>(std::toupper(text.back())));
    if (unit != kUnits.npos)
        text.remove_suffix(1);
    const Result<uint64_t> number = parse_u64(text);
    if (!number || *number > kMaxPages * page_bytes)
        return std::nullopt;
    uint64_t pages = *number;
    if (unit != kUnits.npos) {
        if (unit > 1 && *number >> (64 - 10 * unit))
            return std::nullopt;
        pages = ((*number << (10 * unit)) + page_bytes - 1) / page_bytes;
    }
    if (pages > kMaxPages)
        return std::nullopt;
    rounded |= pages != 0 && !std::has_single_bit(pages);
    return pages == 0 ? 0 : std::bit_ceil(pages);
}

}  // namespace

size_t usual_pages(uint64_t mlock_kib, size_t page_bytes)
{
    const uint64_t pages = mlock_kib * 1024 / page_bytes;  // including the control page
    return pages < 2 ? 1 : std::bit_floor(pages - 1);
}

Result<bool> parse_pages(const std::string &text, size_t page_bytes, record::RecordOptions &options)
{
    if (text.empty())
        return false;
    const std::vector<std::string_view> parts = split(text, ',');
    bool rounded = false;
    const bool aux_alone = parts.size() == 2 && parts[0].empty();
    const std::optional<size_t> pages =
        aux_alone ? std::optional(options.pages) : pages_of(parts[0], page_bytes, rounded);
    const std::optional<size_t> aux_pages = parts.size() > 1
                                                ? pages_of(parts[1], page_bytes, rounded)
                                                : std::optional(options.aux_pages);
    if (parts.size() > 2 || !pages || *pages == 0 || !aux_pages)
        return Error{Errc::kUsage,
                     "-m " + text +
                         ": expected PAGES, PAGES,AUXPAGES or ,AUXPAGES, in pages or as sizes such "
                         "as 512K or 4M, at most " +
                         std::to_string(kMaxPages) + " pages (AUXPAGES 0: no AUX area)"};
    options.pages = *pages;
    options.aux_pages = *aux_pages;
    return rounded;
}

std::string size_text(uint64_t bytes)
{
    constexpr std::string_view kNames[] = {"bytes", "KiB", "MiB", "GiB"};
    size_t name = 0;
    for (; name + 1 < std::size(kNames) && bytes >= 1024 && bytes % 1024 == 0; name++)
        bytes /= 1024;
    return std::to_string(bytes) + " " + std::string(kNames[name]);
}

}  // namespace pmukit::cli
