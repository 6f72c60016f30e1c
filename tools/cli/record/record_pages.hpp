// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Ring sizes of a recording: defaults and -m, as in perf record.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "record/recorder.hpp"

namespace pmukit::cli {

// Returns the size in pages of the largest ring that every user may map: kernel.perf_event_mlock_kb
// without the control page, rounded down to a power of two.
size_t usual_pages(uint64_t mlock_kib, size_t page_bytes);

// Parses "128", "128,1024", ",1024" or "512K,4M": record ring and AUX area, in pages or as sizes,
// rounded up to powers of two. A missing part leaves its option unchanged. Returns true if a size
// was rounded.
Result<bool> parse_pages(const std::string &text, size_t page_bytes,
                         record::RecordOptions &options);

// Returns a size such as "512 KiB" or "4097 bytes", in the largest unit that divides it.
std::string size_text(uint64_t bytes);

}  // namespace pmukit::cli
