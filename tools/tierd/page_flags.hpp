// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Flags of page frames, from /proc/kpageflags (Documentation/admin-guide/mm/pagemap.rst of Linux).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::tierd {

// Base pages that the kernel moves together: a huge page, or a single page.
struct Folio {
    uint64_t first_frame = 0;
    uint64_t pages = 1;
    // True for pages that are locked in memory (mlock(2)) or otherwise unevictable, of hugetlbfs,
    // or faulty. These are not moved.
    bool stays = false;
};

class PageFlags {
public:
    // Error kDenied: reading needs CAP_SYS_ADMIN.
    static Result<PageFlags> open(const std::string &path);

    // Returns the folio of a frame. A folio is at most 512 pages: the part of a larger one that is
    // in the same aligned block of 512 frames. Keeps the flags of the last block until forget(), so
    // that frames in ascending order are fast.
    Result<Folio> folio_of(uint64_t frame);
    void forget() { flags_.clear(); }

private:
    PageFlags(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
    Result<void> read_block(uint64_t first);

    Fd file_;
    std::string path_;
    uint64_t first_ = 0;
    std::vector<uint64_t> flags_;  // of the frames from first_ on
};

}  // namespace pmukit::tierd
