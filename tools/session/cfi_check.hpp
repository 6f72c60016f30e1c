// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Call frame information of a file, before libdw executes it. libdw believes what is written there
// of registers and states: a few bytes can make it allocate gigabytes. What no compiler writes is
// refused here.
//
//     .eh_frame_hdr   table -----> .eh_frame   CIE, FDE, FDE ...   each an entry with instructions
#pragma once

#include <cstdint>
#include <optional>

#include "base/budget.hpp"
#include "session/elf_file.hpp"

namespace pmukit::cli {

// work: bytes that may still be checked, of all files of a recording. memory: what libdw may keep
// of this file beyond what frames take. nullopt: refused, or there is none.
struct CheckedCfi {
    size_t memory = 0;
};
std::optional<CheckedCfi> check_cfi(const ElfFile &file, Budget &work);

// Bytes that libdw takes to unpack the compressed sections of a file, and how many it may take.
uint64_t unpacked_bytes(const ElfFile &file);
constexpr uint64_t kMostUnpackedBytes = uint64_t{12} << 20;

}  // namespace pmukit::cli
