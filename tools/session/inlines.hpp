// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Inlined functions at an address of a program, from its debug information, read by elfutils'
// libdw.
//
//     unit                    compilation unit, found by its ranges
//       function              found in a list of the unit's functions
//         inlined function    holds the address, and so on inwards
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "session/elf_file.hpp"

namespace pmukit::cli {

class Inlines {
public:
    // Of the file itself, or else of its separate debug information below root. work: bytes of
    // debug information that may still be read, of all files; it outlives this.
    Inlines(ElfFile file, const std::string &root, Budget &work);
    ~Inlines();
    Inlines(Inlines &&) noexcept;
    Inlines &operator=(Inlines &&) noexcept;

    // Names as they are written there, the innermost first. address: as symbols have it.
    std::vector<std::string> at(uint64_t address);
    // That it takes now.
    size_t memory() const;
    // There is debug information, and too much of it or more than may be read.
    bool has_too_much() const;

private:
    class Libdw;
    std::unique_ptr<Libdw> libdw_;
};

}  // namespace pmukit::cli
