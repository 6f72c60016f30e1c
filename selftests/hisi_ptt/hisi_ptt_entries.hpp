// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Converts entries to hisi_ptt_checker's Tlp without pmukit's decoder: from the text of stock `perf
// report -D`, or from the bytes of an AUX area. The layout of headers is from PCI Express Base 6.0,
// chapter 2. Shares no code with pmukit's decoder, whose output read_dump() reads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hisi_ptt_checker.hpp"

namespace pmukit::checker::hisi_ptt {

// perf 6.12 prints the bytes of a dword in memory order, perf 7.2 prints the dword as a number.
enum class ByteOrder { kMemory, kNumber };

struct PerfReport {
    std::vector<Tlp> tlps;
    // Records that report a loss: PERF_RECORD_LOST, or PERF_RECORD_AUX with one of perf's flags.
    uint64_t gaps = 0;
};

Result<PerfReport> read_perf_report(std::string_view text, ByteOrder order);

// Reads consecutive entries of one format.
Result<std::vector<Tlp>> read_entries(std::string_view bytes, unsigned format_dwords);

}  // namespace pmukit::checker::hisi_ptt
