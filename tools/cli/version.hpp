// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#pragma once

namespace pmukit::cli {

// Contents of the file VERSION of the source tree.
extern const char *const kVersion;

}  // namespace pmukit::cli
