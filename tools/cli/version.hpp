// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#pragma once

namespace pmukit::cli {

// What the VERSION file of the suite says.
extern const char *const kVersion;

}  // namespace pmukit::cli
