// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record_pages.hpp"

#include <bit>

#include "base/number.hpp"

namespace pmukit::cli {

Result<void> parse_pages(const std::string &text, record::RecordOptions &options)
{
    constexpr uint64_t kMaxPages = uint64_t{1} << 20;
    if (text.empty())
        return {};
    const std::vector<std::string_view> parts = split(text, ',');
    const bool aux_alone = parts.size() == 2 && parts[0].empty();
    const Result<uint64_t> pages =
        aux_alone ? Result<uint64_t>(options.pages) : parse_u64(parts[0]);
    const Result<uint64_t> aux_pages =
        parts.size() > 1 ? parse_u64(parts[1]) : Result<uint64_t>(options.aux_pages);
    const bool good = parts.size() <= 2 && pages && aux_pages && std::has_single_bit(*pages) &&
                      *pages <= kMaxPages && (*aux_pages == 0 || std::has_single_bit(*aux_pages)) &&
                      *aux_pages <= kMaxPages;
    if (!good)
        return Error{Errc::kUsage,
                     "-m " + text +
                         ": expected PAGES, PAGES,AUXPAGES or ,AUXPAGES, each a power of two "
                         "(AUXPAGES 0: no AUX area)"};
    options.pages = *pages;
    options.aux_pages = *aux_pages;
    return {};
}

}  // namespace pmukit::cli
