// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// TPMI, an interface for power management, is another part of the PCIe function. A DVSEC with ID
// 0x42 locates a table of features, two dwords each; a feature has consecutive register banks of
// one size. Linux 6.12 and later use TPMI (intel_vsec, intel_vsec_tpmi). The model does not count
// accesses to it.
//
//          49:48      47:32                       31:16        15:8   7:0
//   +0     attribute  KiB from the table's start  bank dwords  banks  feature
//
// Software reads a feature's state through the control feature, which is a mailbox. A write of the
// command makes software the owner of the mailbox. Writing the run-busy bit executes the command at
// once, and writing the completion bit releases the mailbox.
// The banks of other features are read-only: qword 0 is the version (0.0), qword n of bank b reads
// as feature << 16 | b << 8 | n.
#pragma once

#include <cstdint>

namespace pmukit::models::uncore_pmon {

inline constexpr uint16_t kEntryTpmi = 0x42;
inline constexpr unsigned kTpmiEntries = 4;
inline constexpr unsigned kTpmiEntryDwords = 2;

inline constexpr uint64_t kTpmiAt = 0x48000;  // offset in the BAR of telemetry
inline constexpr uint64_t kTpmiEnd = kTpmiAt + 0x1400;

class Tpmi {
public:
    static bool has(uint64_t offset) { return offset >= kTpmiAt && offset < kTpmiEnd; }

    // offset: in the BAR; has(offset) must be true. Unused bytes are zero.
    uint64_t read(uint64_t offset, unsigned width) const;
    // Returns false if no register is writable with this width.
    bool write(uint64_t offset, unsigned width, uint64_t value);
    void reset() { *this = {}; }

private:
    uint64_t qword(uint64_t at) const;
    void execute();

    uint64_t status_ = 0;
    uint64_t command_ = 0;  // 63:32: data
};

}  // namespace pmukit::models::uncore_pmon
