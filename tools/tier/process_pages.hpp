// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the pages of a process from /proc/PID/maps and /proc/PID/pagemap
// (Documentation/admin-guide/mm/pagemap.rst of Linux).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::tier {

// A process, identified by an open folder of /proc. The folder of a process that has ended is
// empty, even if another process has the same pid. So if is_there() is true, data read by pid after
// open() and before that call belongs to the process.
class HeldProcess {
public:
    // proc_dir: path /proc/PID
    static Result<HeldProcess> open(const std::string &proc_dir);
    bool is_there() const;

private:
    explicit HeldProcess(Fd folder) : folder_(std::move(folder)) {}

    Fd folder_;
};

struct Mapping {
    uint64_t start = 0, end = 0;
};

// Returns the mappings that can have movable pages. Mappings without access and mappings of the
// kernel ([vdso] and similar) are left out. A malformed line is an error.
Result<std::vector<Mapping>> parse_maps(std::string_view text);

struct PageCounts {
    uint64_t present = 0;
    // Present pages that other processes map, too. The kernel does not move these.
    uint64_t shared = 0;
    uint64_t swapped = 0;        // not in memory
    uint64_t vast_mappings = 0;  // mappings above kVastBytes, which are not read
};

// Size limit of a mapping in bytes. A larger mapping is reserved address space, for example of a
// sanitizer, with hardly a page in it. The walk skips it, because the kernel would write a word for
// each possible page.
inline constexpr uint64_t kVastBytes = uint64_t{1} << 40;

// Calls `visit` for each present page that only this process maps, with the page's virtual and
// physical address. proc_dir is /proc/PID. An Error means that the process or the privilege is
// missing.
using VisitPage = std::function<void(uint64_t address, uint64_t hpa)>;
Result<PageCounts> walk_pages(const std::string &proc_dir, uint64_t page_bytes,
                              const VisitPage &visit);

}  // namespace pmukit::tier
