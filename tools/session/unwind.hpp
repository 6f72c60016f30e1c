// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Unwinds user stack dumps (--call-graph dwarf) with elfutils' libdw, from the registers and stack
// bytes of a sample, the maps of the recording, and the call frame information of its programs.
// x86-64 and arm64. Documentation/decisions/0023-elfutils-names-and-unwinds.rst has the limits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "perfdata/sample.hpp"

namespace pmukit::cli {

class Programs;
class Threads;

class Unwinder {
public:
    static constexpr size_t kMostCalls = 127;  // the default of perf's --max-stack

    // threads and programs must outlive the Unwinder.
    Unwinder(const Threads &threads, Programs &programs);
    ~Unwinder();
    Unwinder(Unwinder &&) noexcept;

    // True if the sample has the registers and the stack dump.
    static bool can_unwind(const perfdata::Sample &sample);
    // Appends the sampled ip, and for each caller an address inside its call instruction. Returns
    // false if the stack could not be unwound completely.
    bool unwind(const perfdata::Sample &sample, std::vector<uint64_t> &calls);

private:
    class Libdw;
    std::unique_ptr<Libdw> libdw_;
};

}  // namespace pmukit::cli
