// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The HTML page of pmukit report --html.
#pragma once

#include "cli/commands.hpp"
#include "html/page.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

// Returns a page with only its head: title, version, source and record counts.
html::Page page_of(const Recording &recording, const RecordingTotals &totals);

}  // namespace pmukit::cli
