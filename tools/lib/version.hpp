// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// library_version() returns the version of the library that the program uses at run time.
// kHeaderVersion and PMUKIT_VERSION_* are the version of the headers; tools/scripts/metadata writes
// them from the file VERSION. Headers and a library of different versions work together if the
// soname is the same.
#pragma once

#define PMUKIT_VERSION_MAJOR 0
#define PMUKIT_VERSION_MINOR 2
#define PMUKIT_VERSION_PATCH 0
// The version as a number, for comparisons: 0.2.0 is 200.
#define PMUKIT_VERSION \
    (PMUKIT_VERSION_MAJOR * 10000 + PMUKIT_VERSION_MINOR * 100 + PMUKIT_VERSION_PATCH)

namespace pmukit {

constexpr const char *kHeaderVersion = "0.2.0";

const char *library_version();

}  // namespace pmukit
