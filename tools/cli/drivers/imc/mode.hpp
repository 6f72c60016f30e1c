// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where the processor was, as trace_imc says it, as perf says it, and as people do.
#pragma once

#include <cstdint>
#include <string_view>

#include "decode/imc/imc_decode.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::cli {

// How the machine of a recording says it. After Recording::read_front().
decode::imc::ModeRule imc_mode_rule(const perfdata::Reader &reader);

std::string_view imc_mode_name(decode::imc::Mode mode);
uint16_t misc_of_imc_mode(decode::imc::Mode mode);

}  // namespace pmukit::cli
