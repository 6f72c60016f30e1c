// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The mode of the processor in a sample: as trace_imc encodes it, as perf's misc, and as text.
#pragma once

#include <cstdint>
#include <string_view>

#include "decode/imc/imc_decode.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::cli {

// How the machine of a recording encodes the mode. Call after Recording::read_front().
decode::imc::ModeRule imc_mode_rule(const perfdata::Reader &reader);

std::string_view imc_mode_name(decode::imc::Mode mode);
uint16_t misc_of_imc_mode(decode::imc::Mode mode);

}  // namespace pmukit::cli
