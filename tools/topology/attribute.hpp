// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads files and folders of sysfs, or of a saved copy. A copy is untrusted: every value is
// checked, and an error is one line with the file and its value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::topology {

// The text of an attribute without blanks around it.
Result<std::string> read_attribute(const std::string &path);
// The same; nullopt if the file does not exist.
Result<std::optional<std::string>> read_optional_attribute(const std::string &path);
Result<uint64_t> read_number(const std::string &path);
Result<std::optional<uint64_t>> read_optional_number(const std::string &path);

// "path: 'value' HOW"
Error wrong_value(const std::string &path, std::string_view value, std::string_view how);

// "dir/name"
std::string joined(std::string_view dir, std::string_view name);
bool is_folder(const std::string &path);
// Names in a folder, sorted as text; kNotFound if the folder does not exist.
Result<std::vector<std::string>> list_folder(const std::string &path);

// The number in a name such as mem12: the prefix, then only decimal digits.
std::optional<uint32_t> number_after(std::string_view prefix, std::string_view name);

}  // namespace pmukit::topology
