// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Escapes untrusted text (names of PMUs, commands, functions, files), which may have any bytes, for
// a page.
#pragma once

#include <string>
#include <string_view>

namespace pmukit::html {

// Valid between tags and in quoted attributes. Invalid UTF-8, characters that XML 1.0 (section 2.2,
// Char) excludes, and those that a terminal must not get (base/escape.hpp: they change the order in
// which a page is shown, too) become U+FFFD.
std::string escaped(std::string_view text);

}  // namespace pmukit::html
