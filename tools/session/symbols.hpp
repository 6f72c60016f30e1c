// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Function names: for programs and libraries from ELF symbols (none if built without libelf), for
// the kernel from a copy of /proc/kallsyms. Files may come from another machine, with either byte
// order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/budget.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "session/elf_file.hpp"

namespace pmukit::cli {

// If several symbols share an address, a table returns the best one, as perf does.
enum class SymbolRank : uint8_t { kGlobal, kLocal, kWeak, kLabel };  // best rank first

class SymbolTable {
public:
    struct Found {
        std::string_view name;
        uint64_t offset;  // bytes from the start of the symbol
    };

    SymbolTable() = default;
    SymbolTable(SymbolTable &&) = default;
    SymbolTable &operator=(SymbolTable &&) = default;

    // bytes 0: the symbol extends to the next one.
    void add(uint64_t address, uint64_t bytes, std::string_view name,
             SymbolRank rank = SymbolRank::kGlobal);
    // Like add(), within a budget. Returns false if the symbol does not fit.
    bool add(uint64_t address, std::string_view name, SymbolRank rank, Budget &left);
    // Stores a whole string table, as many symbols may share one long name. The names passed to
    // add_kept() are parts of the returned text.
    std::string_view keep(std::string names);
    void add_kept(uint64_t address, uint64_t bytes, std::string_view name,
                  SymbolRank rank = SymbolRank::kGlobal);
    // Call after the last add(), before the first lookup.
    void sort();
    bool empty() const { return symbols_.empty(); }
    size_t size() const { return symbols_.size(); }
    // nullopt: no symbol contains the address.
    std::optional<Found> locate(uint64_t address) const;
    // Name of the symbol that contains the address; empty: none.
    std::string_view find(uint64_t address) const;
    // Memory of the symbols and their names.
    size_t bytes() const { return name_bytes_ + symbols_.capacity() * sizeof(Symbol); }
    static constexpr size_t bytes_of(size_t symbols, size_t names)
    {
        return names + symbols * sizeof(Symbol);
    }
    // Address of _text or _stext: perf names the map of the kernel after one of them.
    std::optional<uint64_t> address_of(std::string_view name) const;

private:
    struct Symbol {
        std::string_view name() const { return {text, text_bytes}; }

        uint64_t address, bytes;
        const char *text;  // points into names_ or blocks_
        uint32_t text_bytes;
        SymbolRank rank;
    };
    static bool is_better(const Symbol &a, const Symbol &b);
    // Copies a name. Short names share a block of memory.
    std::string_view copy(std::string_view name);

    std::deque<std::string> names_, blocks_;
    size_t name_bytes_ = 0;
    std::vector<Symbol> symbols_;  // sorted by address
    std::map<std::string, uint64_t, std::less<>> references_;
};

// Demangles C++ names of untrusted programs. A short name can expand to gigabytes, because each
// reference in it repeats an earlier part.
class Demangler {
public:
    // most_bytes: limit for the text of all demangled names together.
    explicit Demangler(uint64_t most_bytes = uint64_t{256} << 20) : bytes_left_(most_bytes) {}
    // Returns the name itself (cut to a few KiB) if it is not mangled, if it could expand too far,
    // or if earlier names used up the limit.
    std::string operator()(std::string_view name);

private:
    std::string demangled(std::string_view name);

    uint64_t bytes_left_;  // the rest of most_bytes
};

class ElfSymbols {
public:
    // A file below root (empty: this machine). If it has no .symtab, its debug file in
    // usr/lib/debug below root, or of debuginfod, supplies the symbols.
    static Result<ElfSymbols> open(const std::string &path, const std::string &root);
    static ElfSymbols of(const ElfFile &file, const std::string &root,
                         Debuginfod *debuginfod = nullptr);

    const std::vector<std::byte> &build_id() const { return build_id_; }
    // True if the build ids match, or if either is absent.
    bool matches(Bytes build_id) const { return same_build(build_id, build_id_); }
    std::optional<SymbolTable::Found> locate(uint64_t file_offset) const;
    std::string_view find(uint64_t file_offset) const;
    std::optional<uint64_t> address_of(uint64_t file_offset) const
    {
        return address_in(code_, file_offset);
    }
    bool has_symbols() const { return !symbols_.empty(); }
    // True if the file has more symbols than the limit. Then no symbol is kept.
    bool has_too_many() const { return too_many_; }
    size_t bytes() const { return symbols_.bytes() + stubs_.bytes(); }

private:
    friend class ElfReader;
    // A stub of an indirect function of the file itself, resolved at load time (IRELATIVE).
    struct OwnStub {
        uint64_t address, bytes, function;
    };
    static ElfSymbols read(const ElfFile &file);
    void name_own_stubs();

    std::vector<OwnStub> own_stubs_;
    std::vector<std::byte> build_id_;
    std::vector<CodeSegment> code_;
    bool is_full_ = false;  // true: from .symtab, not only from .dynsym
    bool too_many_ = false;
    SymbolTable symbols_;
    SymbolTable stubs_;  // NAME@plt: PLT stubs, which have no symbols of their own
};

// Reads lines "address type name [module]" from a copy of /proc/kallsyms.
class Kallsyms {
public:
    // Adds text, which may begin and end within a line.
    void add(std::string_view text);
    // Error: all addresses are 0, as unprivileged users read them, or the table exceeds
    // limits::kKallsyms.
    Result<SymbolTable> finish();

private:
    void line(std::string_view line);

    SymbolTable table_;
    Budget left_{limits::kKallsyms};
    std::string begun_;  // a line whose end is not yet there, or a prefix of a long one
    bool any_address_ = false, is_full_ = false;
};
// Reads a whole text.
Result<SymbolTable> parse_kallsyms(std::string_view text);

}  // namespace pmukit::cli
