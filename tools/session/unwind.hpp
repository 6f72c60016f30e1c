// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Calls from copies of user stacks (--call-graph dwarf): by elfutils' libdw, from the registers and
// the bytes of a sample, the maps of the recording, and the call frame information of its programs.
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
    static constexpr size_t kMostCalls = 127;  // as perf's --max-stack

    // Both outlive this.
    Unwinder(const Threads &threads, Programs &programs);
    ~Unwinder();
    Unwinder(Unwinder &&) noexcept;

    // The sample has the registers and a copy of the stack that this needs.
    static bool can_unwind(const perfdata::Sample &sample);
    // Appends where the program was, and where each of its callers is: in the call, not behind it.
    // False: there are more, which cannot be known.
    bool unwind(const perfdata::Sample &sample, std::vector<uint64_t> &calls);

private:
    class Libdw;
    std::unique_ptr<Libdw> libdw_;
};

}  // namespace pmukit::cli
