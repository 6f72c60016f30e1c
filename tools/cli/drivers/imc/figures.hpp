// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of imc: where each task ran.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "cli/figures.hpp"
#include "decode/imc/imc_decode.hpp"

namespace pmukit::cli {

struct ImcStack {
    std::string command;
    uint32_t pid = 0, tid = 0;
    decode::imc::Mode mode = decode::imc::Mode::kUser;
    std::string object, function;
    auto operator<=>(const ImcStack &) const = default;
};
html::Figure flame_figure(const FigureHead &head, const std::map<ImcStack, uint64_t> &stacks,
                          size_t top);

}  // namespace pmukit::cli
