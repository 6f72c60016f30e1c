// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Inlined functions at an address of a program, from its debug information, read by elfutils'
// libdw.
//
//     unit                    compilation unit, found by its ranges
//       function              found in a list of the unit's functions
//         inlined function    contains the address; may contain another inlined function
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "session/elf_file.hpp"

namespace pmukit::cli {

class Inlines {
public:
    // Reads the file itself, or else its separate debug information: see ElfFile::open_debug().
    // work: bytes of debug information that may still be read, over all files; outlives the object.
    Inlines(ElfFile file, const std::string &root, Budget &work, Debuginfod *debuginfod = nullptr);
    ~Inlines();
    Inlines(Inlines &&) noexcept;
    Inlines &operator=(Inlines &&) noexcept;

    // Names without demangling, the innermost first. address: in the address space of the file's
    // symbols.
    std::vector<std::string> at(uint64_t address);
    // Memory in use, in bytes.
    size_t memory() const;
    // True if the debug information exceeds a limit.
    bool has_too_much() const;

private:
    class Libdw;
    std::unique_ptr<Libdw> libdw_;
};

}  // namespace pmukit::cli
