// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Searches the kernel's log for warnings; each warning fails a test run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit::vm {

// Reassembles the lines that a guest's programs write to its console. A kernel message may
// interrupt such a line; the rest of the line then follows the message.
class GuestLines {
public:
    // Takes the next line of the console. Returns a line of a program once the line is complete.
    std::optional<std::string> take(std::string_view line);

private:
    std::string begun_;
};

// Returns the lines of `log` that a healthy kernel does not print, except lines that contain one of
// `harmless`.
std::vector<std::string> warnings_in(std::string_view log,
                                     std::span<const std::string_view> harmless);

// Returns `log` without the KCSAN reports in which no backtrace has one of `modules`: these are
// data races of the kernel itself. An incomplete report stays.
std::string without_races_of_others(std::string_view log, std::span<const std::string> modules);

bool has_panicked(std::string_view log);

// True if QEMU's error output has a failed assertion.
bool has_asserted(std::string_view errors);

// Returns how often the guest violated the documentation of each driver's devices, from the lines
// that a device model prints at its end.
std::map<std::string, uint64_t> violations_in(std::string_view model_log);

}  // namespace pmukit::vm
