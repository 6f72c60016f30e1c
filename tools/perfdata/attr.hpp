// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// An event's attributes as stored in a file, of any size and byte order.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace pmukit::perfdata {

struct Attr {
    uint32_t type = 0;
    uint64_t config = 0;
    uint64_t config1 = 0;  // 0 if the attribute is too old to have it, as in the kernel
    uint64_t config2 = 0;
    uint64_t config3 = 0;
    uint64_t config4 = 0;
    uint64_t sample_period = 0;
    uint64_t sample_type = 0;         // PERF_SAMPLE_*
    uint64_t read_format = 0;         // PERF_FORMAT_*
    uint64_t flags = 0;               // the bit fields; bit 0 is `disabled` in either byte order
    uint64_t branch_sample_type = 0;  // PERF_SAMPLE_BRANCH_*
    uint64_t sample_regs_user = 0;    // masks of registers; samples have one word per set bit
    uint64_t sample_regs_intr = 0;
    uint32_t sample_stack_user = 0;  // bytes
    uint32_t aux_sample_size = 0;    // bytes
    uint32_t bp_type = 0;            // HW_BREAKPOINT_*
    int32_t clock_id = 0;            // CLOCK_*, if use_clockid is set
    bool sample_id_all = false;
    bool freq = false;  // sample_period is samples per second
    bool use_clockid = false;
};

// bytes: all bytes that the file reserves for the attribute. The error has no offset in the file,
// which only the caller knows.
Result<Attr> parse_attr(Bytes bytes, std::endian order);

}  // namespace pmukit::perfdata
