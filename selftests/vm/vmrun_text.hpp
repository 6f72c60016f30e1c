// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Small text and file helpers of vmrun.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::vm {

std::vector<std::string> lines_of(std::string_view text);  // without CR and LF at the ends
std::vector<std::string> words_of(std::string_view text);  // split at blanks and tabs

// Parses lines NAME=VALUE; skips empty lines and lines that begin with #.
Result<std::map<std::string, std::string>> parse_settings(std::string_view text);

// Replaces each {name} by its value in `values`; keeps a name that `values` does not have.
std::string expand(std::string_view text, const std::map<std::string, std::string> &values);

// Returns the word in single quotes, for a command of sh.
std::string shell_quote(std::string_view word);

Result<std::string> read_file(const std::filesystem::path &path);
Result<void> write_file(const std::filesystem::path &path, std::string_view content);

}  // namespace pmukit::vm
