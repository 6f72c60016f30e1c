// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Entries that pmukit did not decode, read into hisi_ptt_checker's Tlp: the text of stock `perf
// report -D`, and the bytes a program took out of an AUX area. The headers are read by PCI Express
// Base 6.0, chapter 2; no code is shared with the decoder, whose output read_dump() reads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hisi_ptt_checker.hpp"

namespace pmukit::checker::hisi_ptt {

// perf 6.12 prints the bytes of a dword as they are in memory, 7.2 as the digits of a number.
enum class ByteOrder { kMemory, kNumber };

struct PerfReport {
    std::vector<Tlp> tlps;
    // Records that say something is missing: PERF_RECORD_LOST, or AUX data with a flag that is not
    // of our own making.
    uint64_t gaps = 0;
};

Result<PerfReport> read_perf_report(std::string_view text, ByteOrder order);

// Entries of one format, one behind the other.
Result<std::vector<Tlp>> read_entries(std::string_view bytes, unsigned format_dwords);

}  // namespace pmukit::checker::hisi_ptt
