// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Programs and libraries that a recording names, as ELF files of either byte order. The files are
// untrusted, and opened as Documentation/decisions/0017-files-of-others.rst describes.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

struct Elf;

namespace pmukit::cli {

class Debuginfod;

// An executable segment: its range in the file, and its address as used by symbols.
struct CodeSegment {
    uint64_t offset, bytes, address;
};
// nullopt: the offset is not in code.
std::optional<uint64_t> address_in(const std::vector<CodeSegment> &code, uint64_t file_offset);

class ElfFile {
public:
    // Opens a file below root; empty root: the file system of this machine.
    static Result<ElfFile> open(const std::string &root, const std::string &path);
    // Opens the separate debug information of a build: below root, or else from debuginfod, if it
    // is not nullptr.
    static Result<ElfFile> open_debug(const std::string &root, Bytes build_id,
                                      Debuginfod *debuginfod = nullptr);
    // Opens a program that debuginfod has.
    static Result<ElfFile> open_program(Debuginfod &debuginfod, Bytes build_id);
    // A file in memory.
    static Result<ElfFile> of(Bytes bytes);

    Elf *elf() const { return elf_.get(); }
    std::endian order() const { return order_; }
    unsigned machine() const { return machine_; }  // EM_*
    bool is_relocatable() const { return is_relocatable_; }
    const std::vector<std::byte> &build_id() const { return build_id_; }
    const std::vector<CodeSegment> &code() const { return code_; }
    // Address range of all loaded segments; begin is aligned as in libdwfl.
    uint64_t begin() const { return begin_; }
    uint64_t end() const { return end_; }

private:
    struct End {
        void operator()(Elf *elf) const;
    };
    // Fails if the file has another build id.
    static Result<ElfFile> open_build(const std::string &root, const std::string &path,
                                      Bytes build_id);
    static Result<ElfFile> begun(Fd fd, std::vector<char> bytes, const std::string &name);
    void read_segments();
    void read_build_id();

    Fd fd_;
    std::vector<char> bytes_;
    std::unique_ptr<Elf, End> elf_;
    std::endian order_ = std::endian::little;
    unsigned machine_ = 0;
    bool is_relocatable_ = false;
    uint64_t begin_ = 0, end_ = 0;
    std::vector<CodeSegment> code_;
    std::vector<std::byte> build_id_;
};

// Returns hexadecimal digits such as "0123456789abcdef", two per byte.
std::string hex_of(Bytes bytes);

// True if both build ids match, or if either is absent.
bool same_build(Bytes recorded, Bytes found);

}  // namespace pmukit::cli
