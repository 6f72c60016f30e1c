// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#pragma once

#include "cli/commands.hpp"

namespace pmukit::cli {

// Adds the subcommand record to app. Parsing its command line fills `options`.
CLI::App *add_record_words(CLI::App &app, RecordCommandOptions &options);

}  // namespace pmukit::cli
