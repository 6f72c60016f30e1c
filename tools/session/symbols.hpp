// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names of functions: of programs and libraries from their ELF symbols (by libelf; built without it
// there are none), of the kernel from a copy of /proc/kallsyms. Files may be of another machine,
// of either byte order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "session/elf_file.hpp"

namespace pmukit::cli {

// Of several symbols at one address perf shows the best one; so does a table.
enum class SymbolRank : uint8_t { kGlobal, kLocal, kWeak, kLabel };  // the best first

class SymbolTable {
public:
    struct Found {
        std::string_view name;
        uint64_t offset;  // behind where it begins
    };

    SymbolTable() = default;
    SymbolTable(SymbolTable &&) = default;
    SymbolTable &operator=(SymbolTable &&) = default;

    // bytes 0: up to the next one
    void add(uint64_t address, uint64_t bytes, std::string name,
             SymbolRank rank = SymbolRank::kGlobal);
    // Names of a program lie in one table, and many symbols may share a long one: it is kept once.
    // What add_kept() has are parts of what this gives.
    std::string_view keep(std::string names);
    void add_kept(uint64_t address, uint64_t bytes, std::string_view name,
                  SymbolRank rank = SymbolRank::kGlobal);
    // After the last, before the first question.
    void sort();
    bool empty() const { return symbols_.empty(); }
    size_t size() const { return symbols_.size(); }
    // nullopt: none has this address.
    std::optional<Found> locate(uint64_t address) const;
    // Its name; empty: none.
    std::string_view find(uint64_t address) const;
    // That the symbols and their names take.
    size_t bytes() const { return name_bytes_ + symbols_.capacity() * sizeof(Symbol); }
    static constexpr size_t bytes_of(size_t symbols, size_t names)
    {
        return names + symbols * sizeof(Symbol);
    }
    // Of one that a map of the kernel can be called after: _text or _stext.
    std::optional<uint64_t> address_of(std::string_view name) const;

private:
    struct Symbol {
        uint64_t address, bytes;
        std::string_view name;  // in names_
        SymbolRank rank;
    };
    static bool is_better(const Symbol &a, const Symbol &b);

    std::deque<std::string> names_;
    size_t name_bytes_ = 0;
    std::vector<Symbol> symbols_;  // by address
    std::map<std::string, uint64_t, std::less<>> references_;
};

// Names as a C++ programmer wrote them, of programs that anybody may have written: a short name can
// stand for gigabytes, for each reference in it repeats what came before.
class Demangler {
public:
    // most_bytes: of text, of all names together.
    explicit Demangler(uint64_t most_bytes = uint64_t{256} << 20) : bytes_left_(most_bytes) {}
    // As it is (no longer than a few KiB) where it is none of those, where what it stands for may
    // be too long, and where too much was made of the names before it.
    std::string operator()(std::string_view name);

private:
    std::string demangled(std::string_view name);

    uint64_t bytes_left_;  // that may still be made
};

class ElfSymbols {
public:
    // A file below root (empty: of this machine), and where it has no symbols of its own that of
    // usr/lib/debug there.
    static Result<ElfSymbols> open(const std::string &path, const std::string &root);
    static ElfSymbols of(const ElfFile &file, const std::string &root);

    const std::vector<std::byte> &build_id() const { return build_id_; }
    // Is this the file that a recording names so? True where one of both does not say.
    bool matches(Bytes build_id) const { return same_build(build_id, build_id_); }
    std::optional<SymbolTable::Found> locate(uint64_t file_offset) const;
    std::string_view find(uint64_t file_offset) const;
    std::optional<uint64_t> address_of(uint64_t file_offset) const
    {
        return address_in(code_, file_offset);
    }
    bool has_symbols() const { return !symbols_.empty(); }
    // More symbols than are kept of one file: it has none.
    bool has_too_many() const { return too_many_; }
    size_t bytes() const { return symbols_.bytes() + stubs_.bytes(); }

private:
    friend class ElfReader;
    // A stub of a function of the file itself, which is chosen when it is loaded (IRELATIVE).
    struct OwnStub {
        uint64_t address, bytes, function;
    };
    static ElfSymbols read(const ElfFile &file);
    void name_own_stubs();

    std::vector<OwnStub> own_stubs_;
    std::vector<std::byte> build_id_;
    std::vector<CodeSegment> code_;
    bool is_full_ = false;  // .symtab, not only .dynsym
    bool too_many_ = false;
    SymbolTable symbols_;
    SymbolTable stubs_;  // NAME@plt: jumps to functions of other files, which have no symbols
};

// Lines "address type name [module]". Error: it has no addresses, as for users without privilege.
Result<SymbolTable> parse_kallsyms(std::string_view text);

}  // namespace pmukit::cli
