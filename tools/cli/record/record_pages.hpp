// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How large the rings of a recording are, as perf record has it by default and by -m.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "record/recorder.hpp"

namespace pmukit::cli {

// Pages of a ring that every user may have: kernel.perf_event_mlock_kb without the control page, as
// a power of two.
size_t usual_pages(uint64_t mlock_kib, size_t page_bytes);

// "128", "128,1024", ",1024", "512K,4M": of the record ring and of the AUX area, in pages or as
// sizes, rounded up to powers of two (true: some were). What is left out stays as it is.
Result<bool> parse_pages(const std::string &text, size_t page_bytes,
                         record::RecordOptions &options);

// "512 KiB", "4097 bytes": in the largest unit of which it is a whole number.
std::string size_text(uint64_t bytes);

}  // namespace pmukit::cli
