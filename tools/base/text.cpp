// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace pmukit {

void append_values(std::string &to, fmt::string_view format, fmt::format_args values)
{
    fmt::vformat_to(std::back_inserter(to), format, values);
}

}  // namespace pmukit
