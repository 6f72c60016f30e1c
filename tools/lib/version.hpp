// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The version of the library at run time, from VERSION. The headers have kHeaderVersion, and as
// numbers PMUKIT_VERSION_* (tools/scripts/metadata writes both). Headers and library work together
// if the soname is the same.
#pragma once

#define PMUKIT_VERSION_MAJOR 0
#define PMUKIT_VERSION_MINOR 2
#define PMUKIT_VERSION_PATCH 0
// For comparisons: 200 is 0.2.0.
#define PMUKIT_VERSION \
    (PMUKIT_VERSION_MAJOR * 10000 + PMUKIT_VERSION_MINOR * 100 + PMUKIT_VERSION_PATCH)

namespace pmukit {

constexpr const char *kHeaderVersion = "0.2.0";

const char *library_version();

}  // namespace pmukit
