// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks the call frame information of a file before libdw executes it. libdw trusts the register
// numbers and saved states in it, so that a few bytes can make libdw allocate gigabytes. Anything
// that no compiler emits is rejected.
//
//     .eh_frame_hdr   table -----> .eh_frame   CIE, FDE, FDE ...   each an entry with instructions
#pragma once

#include <cstdint>
#include <optional>

#include "base/budget.hpp"
#include "session/elf_file.hpp"

namespace pmukit::cli {

// Checks the call frame information of a file. Returns nullopt if it is rejected, or if there is
// none. work: number of bytes that may still be checked, over all files of a recording.
struct CheckedCfi {
    // Bytes that libdw may allocate for this file, apart from frames.
    size_t memory = 0;
};
std::optional<CheckedCfi> check_cfi(const ElfFile &file, Budget &work);

// Returns the memory in bytes that libdw needs to decompress the sections of a file. The limit is
// kMostUnpackedBytes.
uint64_t unpacked_bytes(const ElfFile &file);
constexpr uint64_t kMostUnpackedBytes = uint64_t{12} << 20;

}  // namespace pmukit::cli
