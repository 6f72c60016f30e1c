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

namespace pmukit::cli {

class SymbolTable {
public:
    SymbolTable() = default;
    SymbolTable(SymbolTable &&) = default;
    SymbolTable &operator=(SymbolTable &&) = default;

    // bytes 0: up to the next one
    void add(uint64_t address, uint64_t bytes, std::string name);
    // Names of a program lie in one table, and many symbols may share a long one: it is kept once.
    // What add_kept() has are parts of what this gives.
    std::string_view keep(std::string names);
    void add_kept(uint64_t address, uint64_t bytes, std::string_view name);
    // After the last, before the first question.
    void sort();
    bool empty() const { return symbols_.empty(); }
    size_t size() const { return symbols_.size(); }
    // Empty: none has this address.
    std::string_view find(uint64_t address) const;
    // Of one that a map of the kernel can be called after: _text or _stext.
    std::optional<uint64_t> address_of(std::string_view name) const;

private:
    struct Symbol {
        uint64_t address, bytes;
        std::string_view name;  // in names_
    };
    std::deque<std::string> names_;
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
    uint64_t bytes_left_;  // that may still be made
};

class ElfSymbols {
public:
    // A file below root (empty: of this machine), and where it has no symbols of its own that of
    // usr/lib/debug there.
    static Result<ElfSymbols> open(const std::string &path, const std::string &root);

    const std::vector<std::byte> &build_id() const { return build_id_; }
    // Is this the file that a recording names so? True where one of both does not say.
    bool matches(Bytes build_id) const;
    std::string_view find(uint64_t file_offset) const;
    bool has_symbols() const { return !symbols_.empty(); }

private:
    struct Segment {
        uint64_t offset, bytes, address;
    };
    friend class ElfReader;

    std::vector<std::byte> build_id_;
    std::vector<Segment> segments_;
    bool is_full_ = false;  // .symtab, not only .dynsym
    SymbolTable symbols_;
    SymbolTable stubs_;  // NAME@plt: jumps to functions of other files, which have no symbols
};

// Lines "address type name [module]". Error: it has no addresses, as for users without privilege.
Result<SymbolTable> parse_kallsyms(std::string_view text);

}  // namespace pmukit::cli
