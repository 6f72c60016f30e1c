// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What lies at an address of a recording, by name: from the maps that the recording has, and the
// symbols of its programs and of the kernel where they are to be had.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decode/imc/imc_decode.hpp"
#include "perfdata/reader.hpp"
#include "session/symbols.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {

struct Function {
    std::string object, name;  // name: of the symbol, or object+0xoffset
    bool has_symbol = false;
    decode::imc::Mode mode = decode::imc::Mode::kUser;
    auto operator<=>(const Function &) const = default;
};

std::string_view base_name(std::string_view path);

// Programs of the recording, opened when a sample needs them.
class Programs {
public:
    // symfs: the folder in which they are; empty: /
    Programs(const Threads &threads, std::string symfs, const perfdata::Reader &reader);

    // Empty: no symbol.
    std::string_view find(const Threads::Place &place);
    // Files that are there, but of another build.
    const std::vector<std::string> &changed() const { return changed_; }

private:
    std::optional<ElfSymbols> open(const Threads::Object &object);

    const Threads &threads_;
    std::string symfs_;
    std::map<std::string, Bytes> build_ids_;
    std::map<size_t, std::optional<ElfSymbols>> opened_;
    std::vector<std::string> changed_;
};

class Explainer {
public:
    // kernel: nullptr: its symbols are not known.
    Explainer(const Threads &threads, Programs &programs, const SymbolTable *kernel)
        : threads_(threads), programs_(programs), kernel_(kernel)
    {
    }

    Function function_at(uint32_t pid, decode::imc::Mode mode, uint64_t ip, uint64_t time_ns);

private:
    Function kernel_function(uint64_t ip, uint64_t time_ns);
    uint64_t moved_by(std::string_view symbol, const Threads::Place &place) const;

    const Threads &threads_;
    Programs &programs_;
    const SymbolTable *kernel_;
    Demangler demangle_;
};

// Names for all addresses of a recording; its programs are opened when the first is asked for.
class Names {
public:
    // symfs: as Programs has it. kernel: nothing: its symbols are not known.
    Names(const perfdata::Reader &reader, std::string symfs, std::optional<SymbolTable> kernel)
        : reader_(reader), symfs_(std::move(symfs)), kernel_(std::move(kernel))
    {
    }

    // threads: the same each time.
    Explainer explainer(const Threads &threads);
    // Files that are there, but of another build.
    std::vector<std::string> changed() const
    {
        return programs_ ? programs_->changed() : std::vector<std::string>();
    }

private:
    const perfdata::Reader &reader_;
    std::string symfs_;
    std::optional<SymbolTable> kernel_;
    std::optional<Programs> programs_;
};

// A copy of /proc/kallsyms; an empty path: none.
Result<std::optional<SymbolTable>> read_kallsyms(const std::string &path);

}  // namespace pmukit::cli
