// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The kernel's log is part of every test: what the kernel complains about, a run has failed on.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit::vm {

// A line of a guest's console up to where the kernel says something in between, as it may before
// the end of the line: that is written by itself.
std::string_view until_kernel_speaks(std::string_view line);

// Lines of `log` that a healthy kernel does not print, without those that contain one of
// `harmless`.
std::vector<std::string> complaints_in(std::string_view log,
                                       std::span<const std::string_view> harmless);

// `log` without KCSAN's reports of which no backtrace passes through one of `modules`: the kernel
// has data races of its own. A report that does not come to its end stays.
std::string without_races_of_others(std::string_view log, std::span<const std::string> modules);

bool has_panicked(std::string_view log);

// Of what QEMU itself wrote: has it aborted on a condition that it takes for impossible?
bool has_asserted(std::string_view errors);

}  // namespace pmukit::vm
