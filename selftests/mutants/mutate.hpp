// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Small faults for source text: what a test suite must notice. Knows C and C++ as far as comments,
// strings and brackets; whether a fault compiles is found out by the caller that builds it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::mutants {

// One replacement in a text: bytes [at, at + length) become `with`.
struct Mutant {
    std::string_view kind;  // the name of the operator, e.g. "drop-clamp"
    size_t at = 0;
    size_t length = 0;
    std::string with;
};

// Every mutant of the text, by operator, then by place. Kinds: drop-clamp, swap-field, drop-check,
// shift-compare, flip-logic, off-by-one, drop-update.
std::vector<Mutant> list_mutants(std::string_view text);

std::string mutated(std::string_view text, const Mutant &mutant);

// Number of the line (from 1) that holds a byte.
size_t line_of(std::string_view text, size_t at);

// A fault written by hand: lines of a file (compared without leading and trailing blanks) and what
// replaces them.
struct HandMutant {
    std::string name;
    std::string file;
    std::string tests;  // build target, or the guest step that must notice
    std::vector<std::string> before;
    std::vector<std::string> after;
};

// Blocks of "mutant NAME", "file PATH", "tests TARGET", "- line"..., "+ line"...; '#' comments,
// blank lines between.
Result<std::vector<HandMutant>> parse_hand_mutants(std::string_view text);

// The lines must occur exactly once, or the tree has moved away from its mutant.
Result<std::string> mutated(std::string_view text, const HandMutant &mutant);

}  // namespace pmukit::mutants
