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

// A process, held by its folder in /proc. The folder of a process that has ended stays empty, even
// if another process gets its pid. So data read by pid between open() and a successful is_there()
// belongs to the process.
class HeldProcess {
public:
    // proc_dir: /proc/PID
    static Result<HeldProcess> open(const std::string &proc_dir);
    bool is_there() const;

private:
    explicit HeldProcess(Fd folder) : folder_(std::move(folder)) {}

    Fd folder_;
};

struct Mapping {
    uint64_t start = 0, end = 0;
};

// The mappings that can have movable pages: not those without access, nor those of the kernel
// ([vdso] and similar). A malformed line is an error.
Result<std::vector<Mapping>> parse_maps(std::string_view text);

struct PageCounts {
    uint64_t present = 0;
    uint64_t shared = 0;   // of those: also mapped by other processes, so the kernel moves none
    uint64_t swapped = 0;  // not in memory
    uint64_t vast_mappings = 0;  // larger than kVastBytes, not read
};

// A larger mapping is reserved address space, such as a sanitizer's, with hardly a page in it; the
// kernel would still write a word for each possible page.
inline constexpr uint64_t kVastBytes = uint64_t{1} << 40;

// proc_dir: /proc/PID. visit is called for each present page that only this process has, with its
// virtual and physical address. Errors: the process or the privilege is missing.
using VisitPage = std::function<void(uint64_t address, uint64_t hpa)>;
Result<PageCounts> walk_pages(const std::string &proc_dir, uint64_t page_bytes,
                              const VisitPage &visit);

}  // namespace pmukit::tier
