// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#pragma once

namespace pmukit::cli {

constexpr const char *kVersion = "0.1.0";

}  // namespace pmukit::cli
