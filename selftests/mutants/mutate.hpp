// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Small faults (mutants) of source text that a test suite must detect. Recognizes comments, strings
// and brackets of C and C++; only a build shows whether a mutant compiles.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::mutants {

// One replacement in a text: `with` replaces the bytes [at, at + length).
struct Mutant {
    std::string_view kind;  // the name of the operator, e.g. "drop-clamp"
    size_t at = 0;
    size_t length = 0;
    std::string with;
};

// Returns all mutants of the text, sorted by kind, then by position. Kinds: drop-clamp, swap-field,
// drop-check, shift-compare, flip-logic, off-by-one, drop-update.
std::vector<Mutant> list_mutants(std::string_view text);

std::string mutated(std::string_view text, const Mutant &mutant);

// Returns the number of the line, from 1, that contains the byte at `at`.
size_t line_of(std::string_view text, size_t at);

// A fault written by hand: lines of a file (compared without leading and trailing blanks) and their
// replacement.
struct HandMutant {
    std::string name;
    std::string file;
    std::string tests;  // build target or guest step that must fail
    std::vector<std::string> before;
    std::vector<std::string> after;
};

// Parses blocks of "mutant NAME", "file PATH", "tests TARGET", "- line"..., "+ line"... . Ignores
// '#' comments and blank lines.
Result<std::vector<HandMutant>> parse_hand_mutants(std::string_view text);

// Returns the text with the mutant. An Error means that the mutant no longer matches the tree: its
// lines do not occur, or occur more than once.
Result<std::string> mutated(std::string_view text, const HandMutant &mutant);

}  // namespace pmukit::mutants
