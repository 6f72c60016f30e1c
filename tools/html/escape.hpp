// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Text from outside (names of PMUs, commands, functions, files) as text of a page, whatever bytes
// it is made of.
#pragma once

#include <string>
#include <string_view>

namespace pmukit::html {

// Valid between tags and in quoted attributes. What is no UTF-8, and a character that XML 1.0
// (section 2.2, Char) excludes, becomes U+FFFD.
std::string escaped(std::string_view text);

}  // namespace pmukit::html
