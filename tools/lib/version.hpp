// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The version of the library that a program runs with; that of its headers is kHeaderVersion. They
// work together when their major numbers, which the soname carries, are the same.
#pragma once

namespace pmukit {

constexpr const char *kHeaderVersion = "2.0.0";

const char *library_version();

}  // namespace pmukit
