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

std::vector<std::string> lines_of(std::string_view text);  // without line ends; CR is dropped
std::vector<std::string> words_of(std::string_view text);  // split at blanks and tabs

// NAME=VALUE lines; empty lines and # comments are skipped.
Result<std::map<std::string, std::string>> parse_settings(std::string_view text);

// Replaces each {name} by its value; an unknown name stays as it is.
std::string expand(std::string_view text, const std::map<std::string, std::string> &values);

// For sh: the word in single quotes.
std::string shell_quote(std::string_view word);

Result<std::string> read_file(const std::filesystem::path &path);
Result<void> write_file(const std::filesystem::path &path, std::string_view content);

}  // namespace pmukit::vm
