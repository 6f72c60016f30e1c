// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/version.hpp"

namespace pmukit::cli {

const char *const kVersion = PMUKIT_VERSION;  // defined in CMakeLists.txt

}  // namespace pmukit::cli
