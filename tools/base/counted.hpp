// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Texts with a count, in the singular or the plural.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pmukit {

// Returns the number and the text, which begins with a noun in the plural: "3 entries were lost".
// If the number is 1, the nouns before the verb and the verb are in the singular: "1 entry was
// lost". Words that counted.cpp does not list stay as they are.
std::string counted(uint64_t number, std::string_view text);

}  // namespace pmukit
