// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What pmukit report --join says, for people, for programs and for a page.
#pragma once

#include <vector>

#include "cli/commands.hpp"
#include "cli/join.hpp"
#include "console/json_writer.hpp"
#include "html/page.hpp"

namespace pmukit::cli {

void print_join(const Joined &joined, const ReportOptions &options, Output &out);
// Its members.
void write_join(const Joined &joined, const ReportOptions &options, JsonWriter &json);
std::vector<html::Figure> join_figures(const Joined &joined, const ReportOptions &options);

}  // namespace pmukit::cli
