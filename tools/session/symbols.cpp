// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/symbols.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <numbers>
#include <utility>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

#ifdef PMUKIT_LIBELF
#include <gelf.h>
#include <libelf.h>
#endif

namespace pmukit::cli {
namespace {

constexpr size_t kMostNameBytes = 4096;

// Counts substitutions (S_, S1A_) and template parameters (T_, T0_), which repeat earlier parts of
// a mangled name. Letters of identifiers may look like these, so the count is an upper bound.
size_t references_in(std::string_view mangled)
{
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
    size_t references = 0;
    for (size_t at = 0; at < mangled.size(); at++) {
        if (mangled[at] != 'S' && mangled[at] != 'T')
            continue;
        size_t end = at + 1;
        while (end < mangled.size() && is_digit(mangled[end]))
            end++;
        references += end < mangled.size() && mangled[end] == '_';
    }
    return references;
}

// Upper bound for the size of the demangled name. If each level repeats the one below r times, n
// references yield r^(n/r) repetitions; that is largest for r = e.
double most_bytes(std::string_view mangled)
{
    return static_cast<double>(mangled.size()) *
           std::exp(static_cast<double>(references_in(mangled)) / std::numbers::e);
}

}  // namespace

// Tables

void SymbolTable::add(uint64_t address, uint64_t bytes, std::string_view name, SymbolRank rank)
{
    add_kept(address, bytes, copy(name), rank);
}

bool SymbolTable::add(uint64_t address, std::string_view name, SymbolRank rank, Budget &left)
{
    const size_t before = name_bytes_;
    if (!has_room(symbols_, left))
        return false;
    add(address, 0, name, rank);
    return left.take(name_bytes_ - before);
}

std::string_view SymbolTable::copy(std::string_view name)
{
    // A block is as large as all names before it, within limits.
    constexpr size_t kLeastBytes = 1024, kMostBytes = 65536;
    if (name.size() > kLeastBytes)
        return keep(std::string(name));
    if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < name.size()) {
        const size_t bytes = std::clamp(name_bytes_, kLeastBytes, kMostBytes);
        blocks_.emplace_back().reserve(bytes);
        name_bytes_ += sizeof(std::string) + bytes;
    }
    std::string &block = blocks_.back();
    block += name;
    return std::string_view(block).substr(block.size() - name.size());
}

std::string_view SymbolTable::keep(std::string names)
{
    name_bytes_ += sizeof names + names.size();
    return names_.emplace_back(std::move(names));
}

void SymbolTable::add_kept(uint64_t address, uint64_t bytes, std::string_view name, SymbolRank rank)
{
    symbols_.push_back({address, bytes, name.data(), static_cast<uint32_t>(name.size()), rank});
}

// Orders two symbols at one address as perf's choose_best_symbol() does: prefers a symbol with a
// size, then the better rank, fewer leading underscores, the longer name.
bool SymbolTable::is_better(const Symbol &a, const Symbol &b)
{
    if ((a.bytes != 0) != (b.bytes != 0))
        return a.bytes != 0;
    if (a.rank != b.rank)
        return a.rank < b.rank;
    const auto underscores = [](std::string_view name) {
        return std::min(name.find_first_not_of('_'), name.size());
    };
    if (underscores(a.name()) != underscores(b.name()))
        return underscores(a.name()) < underscores(b.name());
    return a.text_bytes > b.text_bytes;
}

void SymbolTable::sort()
{
    std::ranges::stable_sort(symbols_, [](const Symbol &a, const Symbol &b) {
        return a.address != b.address ? a.address < b.address : is_better(a, b);
    });
    // _text and _stext often share an address, for which the table keeps only one name.
    constexpr std::string_view kReferences[] = {"_text", "_stext"};
    for (const Symbol &symbol : symbols_)
        if (std::ranges::find(kReferences, symbol.name()) != std::end(kReferences))
            references_.try_emplace(std::string(symbol.name()), symbol.address);
    const auto same = [](const Symbol &a, const Symbol &b) { return a.address == b.address; };
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
}

std::optional<SymbolTable::Found> SymbolTable::locate(uint64_t address) const
{
    const auto behind = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
    if (behind == symbols_.begin())
        return std::nullopt;
    const Symbol &symbol = *std::prev(behind);
    const uint64_t offset = address - symbol.address;
    return symbol.bytes && offset >= symbol.bytes ? std::nullopt
                                                  : std::optional(Found{symbol.name(), offset});
}

std::string_view SymbolTable::find(uint64_t address) const
{
    const std::optional<Found> found = locate(address);
    return found ? found->name : std::string_view();
}

std::optional<uint64_t> SymbolTable::address_of(std::string_view name) const
{
    const auto found = references_.find(name);
    return found == references_.end() ? std::nullopt : std::optional(found->second);
}

std::string Demangler::operator()(std::string_view name)
{
    constexpr std::string_view kStub = "@plt";
    if (!name.ends_with(kStub))
        return demangled(name);
    return demangled(name.substr(0, name.size() - kStub.size())) + std::string(kStub);
}

std::string Demangler::demangled(std::string_view name)
{
    constexpr double kMostBytes = 16 << 20;
    std::string mangled(name.substr(0, kMostNameBytes));
    if (!name.starts_with("_Z") || name.size() > kMostNameBytes || bytes_left_ == 0 ||
        most_bytes(name) > kMostBytes)
        return mangled;
    int status = 0;
    const std::unique_ptr<char, void (*)(void *)> text(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
    const size_t bytes = text ? std::strlen(text.get()) : 0;
    bytes_left_ -= std::min<uint64_t>(bytes_left_, bytes);
    return bytes != 0 && bytes <= kMostNameBytes ? std::string(text.get()) : mangled;
}

// The kernel

namespace {

SymbolRank rank_of(char type)
{
    if (type == 'W')
        return SymbolRank::kWeak;
    return type == 'T' ? SymbolRank::kGlobal : SymbolRank::kLocal;
}

}  // namespace

void Kallsyms::add(std::string_view text)
{
    constexpr size_t kMostLineBytes = 4096;  // the kernel's names have at most 512 (KSYM_NAME_LEN)
    for (size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
        begun_ += text.substr(0, std::min(end, kMostLineBytes));
        line(begun_);
        begun_.clear();
    }
    begun_ += text.substr(0, kMostLineBytes - std::min(kMostLineBytes, begun_.size()));
}

void Kallsyms::line(std::string_view line)
{
    const std::vector<std::string_view> words = split(line, ' ');
    constexpr std::string_view kCode = "tTwW";
    if (words.size() < 3 || words[1].size() != 1 || kCode.find(words[1][0]) == kCode.npos)
        return;
    const Result<uint64_t> address = parse_u64("0x" + std::string(words[0]));
    if (!address)
        return;
    any_address_ |= *address != 0;
    // Symbols of modules: "name\t[module]"
    const std::string_view name = words[2].substr(0, words[2].find('\t'));
    is_full_ = is_full_ || !table_.add(*address, name, rank_of(words[1][0]), left_);
}

Result<SymbolTable> Kallsyms::finish()
{
    line(std::exchange(begun_, {}));
    if (is_full_)
        return Error{Errc::kUnsupported,
                     fmt::format("functions of more than {} MiB; is it a copy of /proc/kallsyms?",
                                 limits::kKallsyms >> 20)};
    if (!any_address_)
        return Error{Errc::kDenied, "no addresses in it: copy /proc/kallsyms as root"};
    table_.sort();
    return std::move(table_);
}

Result<SymbolTable> parse_kallsyms(std::string_view text)
{
    Kallsyms kallsyms;
    kallsyms.add(text);
    return kallsyms.finish();
}

// Programs and libraries

std::optional<SymbolTable::Found> ElfSymbols::locate(uint64_t file_offset) const
{
    const std::optional<uint64_t> address = address_in(code_, file_offset);
    if (!address)
        return std::nullopt;
    const std::optional<SymbolTable::Found> stub = stubs_.locate(*address);
    return stub ? stub : symbols_.locate(*address);
}

std::string_view ElfSymbols::find(uint64_t file_offset) const
{
    const std::optional<SymbolTable::Found> found = locate(file_offset);
    return found ? found->name : std::string_view();
}

#ifdef PMUKIT_LIBELF

class ElfReader {
public:
    explicit ElfReader(const ElfFile &file) : file_(file), elf_(file.elf()) {}

    ElfSymbols read()
    {
        ElfSymbols symbols;
        symbols.build_id_ = file_.build_id();
        symbols.code_ = file_.code();
        GElf_Ehdr header;
        if (!gelf_getehdr(elf_, &header))
            return symbols;
        // POWER ELFv1: a function symbol has the address of its descriptor in .opd.
        constexpr uint32_t kAbiMask = 3, kAbi2 = 2;
        descriptors_ = header.e_machine == EM_PPC64 && (header.e_flags & kAbiMask) != kAbi2;
        read_sections(symbols);
        symbols.symbols_.sort();
        read_stubs(header.e_machine, symbols);
        if (header.e_machine == EM_X86_64)
            read_slot_stubs(symbols.stubs_);
        return symbols;
    }

private:
    void read_sections(ElfSymbols &symbols)
    {
        Elf_Scn *full = nullptr, *dynamic = nullptr;
        size_t names = 0;
        elf_getshdrstrndx(elf_, &names);
        GElf_Shdr header;
        for (Elf_Scn *at = nullptr; (at = elf_nextscn(elf_, at)) && gelf_getshdr(at, &header);) {
            const char *name = elf_strptr(elf_, names, header.sh_name);
            if (header.sh_type == SHT_SYMTAB)
                full = at;
            else if (header.sh_type == SHT_DYNSYM)
                dynamic = at;
            else if (descriptors_ && name && std::string_view(name) == ".opd")
                opd_ = {header.sh_addr, elf_rawdata(at, nullptr)};
            else if (name && header.sh_type == SHT_RELA && std::string_view(name) == ".rela.plt")
                jumps_ = at;
            else if (name && std::string_view(name) == ".plt")
                stubs_ = header;
            else if (name && header.sh_type == SHT_RELA && std::string_view(name) == ".rela.dyn")
                slots_ = at;
            else if (name && std::string_view(name) == ".plt.got")
                slot_stubs_ = at;
            else if (name && std::string_view(name) == ".plt.sec")
                second_stubs_ = header;
        }
        symbols.is_full_ = full != nullptr;
        if (Elf_Scn *table = full ? full : dynamic)
            symbols.too_many_ = !read_symbols(table, symbols.symbols_);
    }

    // Returns false if there are more symbols than the limit.
    bool read_symbols(Elf_Scn *section, SymbolTable &table)
    {
        GElf_Shdr header, strings_header;
        if (!gelf_getshdr(section, &header) || header.sh_entsize == 0)
            return true;
        Elf_Scn *strings = elf_getscn(elf_, header.sh_link);
        if (!strings || !gelf_getshdr(strings, &strings_header))
            return true;
        if (header.sh_size > limits::kSymbols || strings_header.sh_size > limits::kSymbols ||
            SymbolTable::bytes_of(header.sh_size / header.sh_entsize, strings_header.sh_size) >
                limits::kSymbols)
            return false;
        Elf_Data *data = elf_getdata(section, nullptr);
        const Elf_Data *text = elf_rawdata(strings, nullptr);
        if (!data || !text || !text->d_buf)
            return true;
        const std::string_view names =
            table.keep(std::string(static_cast<const char *>(text->d_buf), text->d_size));
        GElf_Sym symbol;
        for (size_t i = 0; i < data->d_size / header.sh_entsize; i++) {
            if (!gelf_getsym(data, static_cast<int>(i), &symbol))
                break;
            add_symbol(symbol, names, table);
        }
        return true;
    }

    void add_symbol(const GElf_Sym &symbol, std::string_view names, SymbolTable &table) const
    {
        // Truncate longer names: in a table without terminators, the search for the end of each
        // name would be quadratic.
        const std::string_view from =
            names.substr(std::min<size_t>(symbol.st_name, names.size()), kMostNameBytes + 1);
        const std::string_view name = from.substr(0, from.find('\0'));
        const unsigned type = GELF_ST_TYPE(symbol.st_info);
        const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
        if (symbol.st_shndx == SHN_UNDEF || name.empty() ||
            (!is_function && !is_label(symbol, name)))
            return;
        SymbolRank rank = SymbolRank::kLabel;
        if (is_function)
            rank = GELF_ST_BIND(symbol.st_info) == STB_WEAK     ? SymbolRank::kWeak
                   : GELF_ST_BIND(symbol.st_info) == STB_GLOBAL ? SymbolRank::kGlobal
                                                                : SymbolRank::kLocal;
        const uint64_t address = code_of(symbol.st_value);
        const uint64_t bytes = symbol.st_size ? symbol.st_size : rest_of_section(symbol, address);
        table.add_kept(address, bytes, name, rank);
    }

    // True for labels of assembler code, but not for the mapping symbols of arm64 ($x, $d).
    bool is_label(const GElf_Sym &symbol, std::string_view name) const
    {
        const unsigned seen = GELF_ST_VISIBILITY(symbol.st_other);
        if (GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE || symbol.st_shndx >= SHN_LORESERVE ||
            seen == STV_HIDDEN || seen == STV_INTERNAL || name[0] == '$')
            return false;
        Elf_Scn *section = elf_getscn(elf_, symbol.st_shndx);
        GElf_Shdr header;
        return section && gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR);
    }

    // A symbol without a size, such as _init, ends with its section at the latest. 0: unknown.
    uint64_t rest_of_section(const GElf_Sym &symbol, uint64_t address) const
    {
        Elf_Scn *section = elf_getscn(elf_, symbol.st_shndx);
        GElf_Shdr header;
        const bool known = section && symbol.st_shndx < SHN_LORESERVE &&
                           gelf_getshdr(section, &header) && address >= header.sh_addr &&
                           address - header.sh_addr < header.sh_size;
        return known ? header.sh_addr + header.sh_size - address : 0;
    }

    // Relocations of the slots that stubs jump through, by slot. Stubs are in the order of their
    // slots; the linker moves relocations of the file's own functions (IRELATIVE) to the end.
    static std::vector<GElf_Rela> jumps_by_slot(Elf_Data *jumps, size_t entry_bytes)
    {
        std::vector<GElf_Rela> relocations;
        GElf_Rela jump;
        for (size_t i = 0; i < jumps->d_size / entry_bytes; i++)
            if (gelf_getrela(jumps, static_cast<int>(i), &jump))
                relocations.push_back(jump);
        std::ranges::stable_sort(relocations, {}, &GElf_Rela::r_offset);
        return relocations;
    }

    // Names the stubs in .plt: each jumps through a slot whose relocation names the function. The
    // first bytes belong to the dynamic linker, and are named .plt as in perf. If .plt.sec exists
    // (x86 with IBT), programs call the stubs there instead.
    void read_stubs(unsigned machine, ElfSymbols &symbols)
    {
        struct Layout {
            unsigned machine;
            uint64_t first_bytes, bytes;
        };
        constexpr Layout kLayouts[] = {{EM_X86_64, 16, 16}, {EM_AARCH64, 32, 16}};
        const Layout *layout = std::ranges::find(kLayouts, machine, &Layout::machine);
        GElf_Shdr header;
        if (layout == std::end(kLayouts) || !jumps_ || !gelf_getshdr(jumps_, &header) ||
            header.sh_entsize == 0 || header.sh_size > limits::kSymbols)
            return;
        Elf_Data *jumps = elf_getdata(jumps_, nullptr);
        if (!jumps)
            return;
        if (stubs_.sh_size >= layout->first_bytes)
            symbols.stubs_.add(stubs_.sh_addr, layout->first_bytes, ".plt");
        const bool second = second_stubs_.sh_size != 0;
        const GElf_Shdr &stubs = second ? second_stubs_ : stubs_;
        uint64_t at = second ? 0 : layout->first_bytes;
        for (const GElf_Rela &jump : jumps_by_slot(jumps, header.sh_entsize)) {
            if (at >= stubs.sh_size)
                return;
            const std::string name = name_of(header.sh_link, GELF_R_SYM(jump.r_info));
            if (!stubs_left_.take(sizeof name + name.size()))
                return;
            if (name.empty())
                symbols.own_stubs_.push_back(
                    {stubs.sh_addr + at, layout->bytes, static_cast<uint64_t>(jump.r_addend)});
            else
                symbols.stubs_.add(stubs.sh_addr + at, layout->bytes, name + "@plt");
            at += layout->bytes;
        }
    }

    // Names the stubs in .plt.got, of functions whose address the program takes as well: each jumps
    // through a slot that is filled at load time. x86: [endbr64] [bnd] jmp *offset(%rip)
    void read_slot_stubs(SymbolTable &table)
    {
        constexpr size_t kJumpBytes = 6, kPrefixBytes = 5;
        GElf_Shdr stubs, slots;
        if (!slot_stubs_ || !slots_ || !gelf_getshdr(slot_stubs_, &stubs) ||
            !gelf_getshdr(slots_, &slots) || stubs.sh_entsize < kJumpBytes ||
            slots.sh_size > limits::kSymbols)
            return;
        const Elf_Data *code = elf_rawdata(slot_stubs_, nullptr);
        const std::map<uint64_t, uint64_t> symbols =
            code && code->d_buf ? filled_slots() : std::map<uint64_t, uint64_t>();
        if (symbols.empty())
            return;
        const auto *bytes = static_cast<const std::byte *>(code->d_buf);
        for (size_t at = 0; at + stubs.sh_entsize <= code->d_size; at += stubs.sh_entsize) {
            size_t jump = at;
            while (jump - at < kPrefixBytes && jump + kJumpBytes < at + stubs.sh_entsize &&
                   (bytes[jump] != std::byte{0xff} || bytes[jump + 1] != std::byte{0x25}))
                jump++;
            const auto offset =
                static_cast<int32_t>(load<uint32_t>(bytes + jump + 2, std::endian::little));
            const bool is_jump =
                bytes[jump] == std::byte{0xff} && bytes[jump + 1] == std::byte{0x25};
            const auto found = symbols.find(stubs.sh_addr + jump + kJumpBytes +
                                            static_cast<uint64_t>(int64_t{offset}));
            if (!is_jump || found == symbols.end())
                continue;
            const std::string name = name_of(slots.sh_link, found->second);
            if (!name.empty() && stubs_left_.take(sizeof name + name.size()))
                table.add(stubs.sh_addr + at, stubs.sh_entsize, name + "@plt");
        }
    }

    // Address of each slot for a function of another file, and the index of the function's symbol.
    std::map<uint64_t, uint64_t> filled_slots() const
    {
        std::map<uint64_t, uint64_t> symbols;
        Budget left(limits::kStubs);  // for the duration of read_slot_stubs()
        Elf_Data *data = elf_getdata(slots_, nullptr);
        GElf_Rela slot;
        for (int i = 0; data && gelf_getrela(data, i, &slot); i++)
            if (GELF_R_TYPE(slot.r_info) == R_X86_64_GLOB_DAT && left.take(kNodeBytes))
                symbols.emplace(slot.r_offset, GELF_R_SYM(slot.r_info));
        return symbols;
    }

    std::string name_of(size_t table, size_t number) const
    {
        Elf_Scn *section = elf_getscn(elf_, table);
        GElf_Shdr header;
        GElf_Sym symbol;
        if (!section || number > INT32_MAX || !gelf_getshdr(section, &header) ||
            header.sh_size > limits::kSymbols)
            return {};
        Elf_Data *data = elf_getdata(section, nullptr);
        if (!data || !gelf_getsym(data, static_cast<int>(number), &symbol))
            return {};
        const char *name = elf_strptr(elf_, header.sh_link, symbol.st_name);
        return name ? std::string(name, ::strnlen(name, kMostNameBytes)) : std::string();
    }

    uint64_t code_of(uint64_t value) const
    {
        constexpr size_t kAddressBytes = 8;
        if (!opd_.data || value < opd_.address || opd_.data->d_size < kAddressBytes ||
            value - opd_.address > opd_.data->d_size - kAddressBytes)
            return value;
        const auto *bytes = static_cast<const std::byte *>(opd_.data->d_buf);
        return load<uint64_t>(bytes + (value - opd_.address), file_.order());
    }

    struct Opd {
        uint64_t address = 0;
        Elf_Data *data = nullptr;
    };
    const ElfFile &file_;
    Elf *elf_;
    bool descriptors_ = false;
    Opd opd_;
    Elf_Scn *jumps_ = nullptr, *slots_ = nullptr, *slot_stubs_ = nullptr;
    GElf_Shdr stubs_ = {}, second_stubs_ = {};
    Budget stubs_left_{limits::kStubs};
};

ElfSymbols ElfSymbols::read(const ElfFile &file)
{
    return ElfReader(file).read();
}

#else

ElfSymbols ElfSymbols::read(const ElfFile &)
{
    return {};
}

#endif

void ElfSymbols::name_own_stubs()
{
    Budget left(limits::kStubs - std::min(limits::kStubs, stubs_.bytes()));
    for (const OwnStub &stub : own_stubs_)
        if (const std::string_view name = symbols_.find(stub.function);
            !name.empty() && left.take(sizeof(std::string) + name.size()))
            stubs_.add(stub.address, stub.bytes, std::string(name) + "@plt");
    own_stubs_.clear();
    stubs_.sort();
}

Result<ElfSymbols> ElfSymbols::open(const std::string &path, const std::string &root)
{
    const Result<ElfFile> file = ElfFile::open(root, path);
    if (!file)
        return file.error();
    return of(*file, root);
}

ElfSymbols ElfSymbols::of(const ElfFile &file, const std::string &root, Debuginfod *debuginfod)
{
    ElfSymbols own = read(file);
    const Result<ElfFile> debug = own.is_full_
                                      ? Error{Errc::kUnsupported, ""}
                                      : ElfFile::open_debug(root, own.build_id_, debuginfod);
    ElfSymbols other = debug ? read(*debug) : ElfSymbols();
    if (other.has_symbols())
        own.symbols_ = std::move(other.symbols_);
    own.too_many_ |= other.too_many_;
    own.name_own_stubs();
    return own;
}

}  // namespace pmukit::cli
