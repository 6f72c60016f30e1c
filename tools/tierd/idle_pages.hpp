// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds pages that were not accessed since the last check, by the kernel's idle page tracking
// (Documentation/admin-guide/mm/idle_page_tracking.rst of Linux). Of a huge page, only the first
// frame can be checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::tierd {

class IdlePages {
public:
    // path: /sys/kernel/mm/page_idle/bitmap. Error kNotFound: the kernel was built without
    // CONFIG_IDLE_PAGE_TRACKING.
    static Result<IdlePages> open(const std::string &path);

    // Returns for each frame whether it was not accessed since the last check, and starts the next
    // period. A frame that was not checked before counts as accessed.
    Result<std::vector<bool>> check(std::span<const uint64_t> frames);

private:
    IdlePages(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
    Result<uint64_t> exchange(uint64_t word, uint64_t mask);

    Fd file_;
    std::string path_;
};

}  // namespace pmukit::tierd
