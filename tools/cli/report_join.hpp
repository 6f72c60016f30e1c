// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Output of pmukit report --join: text, JSON and HTML figures.
#pragma once

#include <vector>

#include "cli/commands.hpp"
#include "cli/join.hpp"
#include "console/json_writer.hpp"
#include "html/page.hpp"

namespace pmukit::cli {

void print_join(const Joined &joined, const ReportOptions &options, Output &out);
// Writes the members of the JSON object "join".
void write_join(const Joined &joined, const ReportOptions &options, JsonWriter &json);
std::vector<html::Figure> join_figures(const Joined &joined, const ReportOptions &options);

}  // namespace pmukit::cli
