// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The reference log: every countable access, and every access to a unit's registers or to the
// global control, one line each, in order. It is independent of events and counters, so results
// computed from it can check them.
//
//   # pmukit uncore log 1
//   <ns> ddr R|W 0x<offset in the DDR range> <width> imc=<n>
//   <ns> cxl R|W 0x<address> <width> port=<bdf>
//   <ns> reg R|W <type>.<id> 0x<bytes from the unit's control> <width> 0x<value> [ones]
//   <ns> global R|W 0x<value>
//
// The value of a read is that of the unit's register, without an injected fault. "ones" means that
// the guest read all ones instead.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "models/line_file.hpp"
#include "vfu/traffic.hpp"

namespace pmukit::models::uncore_pmon {

struct RegisterAccess {
    uint16_t type = 0;
    uint16_t id = 0;
    uint32_t offset = 0;
    unsigned width = 0;
    uint64_t value = 0;
    bool ones = false;
};

struct AccessTally {
    uint64_t ddr_reads = 0;
    uint64_t ddr_writes = 0;
    uint64_t cxl_reads = 0;
    uint64_t cxl_writes = 0;
    uint64_t register_reads = 0;
    uint64_t register_writes = 0;
    uint64_t all_ones = 0;  // reads that returned all ones
};

class AccessRecord {
public:
    // Without a file: only counts accesses.
    AccessRecord() = default;
    // Creates or truncates the file.
    static Result<AccessRecord> create(const std::string &path);

    void ddr(uint64_t now_ns, bool write, uint64_t offset, unsigned width, unsigned imc);
    void cxl(const vfu::Packet &request);
    void reg(uint64_t now_ns, bool write, const RegisterAccess &access);
    // An access to an MMIO global control, which the tally does not include.
    void global(uint64_t now_ns, bool write, uint64_t value);

    const AccessTally &tally() const { return tally_; }
    // See LineFile::close().
    Result<void> close() { return file_.close(); }

private:
    AccessTally tally_;
    LineFile file_;
};

}  // namespace pmukit::models::uncore_pmon
