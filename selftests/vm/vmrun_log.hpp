// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The kernel's log is part of every test: a warning of the kernel fails the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit::vm {

// Puts together what a guest writes on its console: the kernel may speak in the middle of a line,
// whose rest then follows behind what the kernel said.
class GuestLines {
public:
    // Takes the next line of the console. A line of the guest's own, once its end has come.
    std::optional<std::string> take(std::string_view line);

private:
    std::string begun_;
};

// Lines of `log` that a healthy kernel does not print, without those that contain one of
// `harmless`.
std::vector<std::string> warnings_in(std::string_view log,
                                     std::span<const std::string_view> harmless);

// `log` without KCSAN's reports of which no backtrace passes through one of `modules`: the kernel
// has data races of its own. A report that does not come to its end stays.
std::string without_races_of_others(std::string_view log, std::span<const std::string> modules);

bool has_panicked(std::string_view log);

// Of what QEMU itself wrote: has it aborted on a condition that it takes for impossible?
bool has_asserted(std::string_view errors);

// Of what a device model printed at its end: how often the guest violated the documentation of its
// devices, by their drivers.
std::map<std::string, uint64_t> violations_in(std::string_view model_log);

}  // namespace pmukit::vm
