// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads files and folders of sysfs, or of a saved copy of sysfs. A copy is untrusted: every value
// is checked, and an error message is one line with the file and its value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::topology {

// Returns the text of an attribute without blanks around it.
Result<std::string> read_attribute(const std::string &path);
// Like read_attribute(), but returns nullopt if the file does not exist.
Result<std::optional<std::string>> read_optional_attribute(const std::string &path);
Result<uint64_t> read_number(const std::string &path);
Result<std::optional<uint64_t>> read_optional_number(const std::string &path);

// Returns an error "PATH: 'VALUE' HOW".
Error wrong_value(const std::string &path, std::string_view value, std::string_view how);

// Returns "DIR/NAME".
std::string joined(std::string_view dir, std::string_view name);
bool is_folder(const std::string &path);
// Returns the names in a folder, sorted as text; kNotFound if the folder does not exist.
Result<std::vector<std::string>> list_folder(const std::string &path);

// Returns the number in a name such as mem12: only decimal digits may follow the prefix.
std::optional<uint32_t> number_after(std::string_view prefix, std::string_view name);

}  // namespace pmukit::topology
