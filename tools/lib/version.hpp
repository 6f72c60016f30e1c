// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The version of the library that a program runs with; that of its headers is kHeaderVersion. They
// work together when their major numbers, which the soname carries, are the same.
#pragma once

#define PMUKIT_VERSION_MAJOR 2
#define PMUKIT_VERSION_MINOR 0
#define PMUKIT_VERSION_PATCH 0
// For comparisons: 20100 is 2.1.0.
#define PMUKIT_VERSION \
    (PMUKIT_VERSION_MAJOR * 10000 + PMUKIT_VERSION_MINOR * 100 + PMUKIT_VERSION_PATCH)

namespace pmukit {

constexpr const char *kHeaderVersion = "2.0.0";

const char *library_version();

}  // namespace pmukit
