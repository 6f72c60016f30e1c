// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parts of a page.
#pragma once

#include <string>
#include <string_view>

#include "html/page.hpp"

namespace pmukit::html {

extern const std::string_view kStyle, kScript;

// The picture with its axes. name: for screen readers.
std::string text_of(const Picture &picture, std::string_view name);

}  // namespace pmukit::html
