// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The pages of a process: /proc/PID/maps and /proc/PID/pagemap
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

// A process, by its folder in /proc: the folder of a process that ended stays empty, whichever
// process has its number next. What is looked at by number between open() and is_there() was its
// own.
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

// The mappings that can hold pages of the process: not those without any access, nor the kernel's
// own ([vdso] and its kin). A line that is none is an error.
Result<std::vector<Mapping>> parse_maps(std::string_view text);

struct PageCounts {
    uint64_t present = 0;
    uint64_t shared = 0;   // of those: other processes have them too, and the kernel moves none
    uint64_t swapped = 0;  // not in memory
    uint64_t vast_mappings = 0;  // not looked at
};

// A mapping of more is address space kept for later, such as a sanitizer's, with hardly a page in
// it; the kernel would still write a word for each.
inline constexpr uint64_t kVastBytes = uint64_t{1} << 40;

// proc_dir: /proc/PID. visit gets each page that is present and the process's own: its address and
// its physical one. Errors say what is missing: the process, or the privilege.
using VisitPage = std::function<void(uint64_t address, uint64_t hpa)>;
Result<PageCounts> walk_pages(const std::string &proc_dir, uint64_t page_bytes,
                              const VisitPage &visit);

}  // namespace pmukit::tier
