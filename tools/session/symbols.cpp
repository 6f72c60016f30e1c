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

#include "base/budget.hpp"
#include "base/file.hpp"
#include "base/limits.hpp"
#include "base/number.hpp"
#include "perfdata/destination.hpp"

#ifdef PMUKIT_LIBELF
#include <gelf.h>
#include <libelf.h>
#endif

namespace pmukit::cli {
namespace {

constexpr size_t kMostNameBytes = 4096;

// S_, S1A_, T_, T0_: what was there before comes again. Some of a name's own letters look like one.
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

// The most that a mangled name can stand for. Of what repeats r times what repeats others, and so
// on, r times r times ... is the most for r = e: n references repeat things e^(n/e) times at most.
double most_bytes(std::string_view mangled)
{
    return static_cast<double>(mangled.size()) *
           std::exp(static_cast<double>(references_in(mangled)) / std::numbers::e);
}

}  // namespace

// Tables

void SymbolTable::add(uint64_t address, uint64_t bytes, std::string name)
{
    add_kept(address, bytes, keep(std::move(name)));
}

std::string_view SymbolTable::keep(std::string names)
{
    return names_.emplace_back(std::move(names));
}

void SymbolTable::add_kept(uint64_t address, uint64_t bytes, std::string_view name)
{
    symbols_.push_back({address, bytes, name});
}

void SymbolTable::sort()
{
    // Of several at one place the one that says its size, then the first by name.
    std::ranges::sort(symbols_, [](const Symbol &a, const Symbol &b) {
        if (a.address != b.address)
            return a.address < b.address;
        return a.bytes != b.bytes
                   ? a.bytes > b.bytes
                   : a.name.substr(0, kMostNameBytes) < b.name.substr(0, kMostNameBytes);
    });
    // Both are often at one place, which keeps one name.
    constexpr std::string_view kReferences[] = {"_text", "_stext"};
    for (const Symbol &symbol : symbols_)
        if (std::ranges::find(kReferences, symbol.name) != std::end(kReferences))
            references_.try_emplace(std::string(symbol.name), symbol.address);
    const auto same = [](const Symbol &a, const Symbol &b) { return a.address == b.address; };
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
}

std::string_view SymbolTable::find(uint64_t address) const
{
    const auto behind = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
    if (behind == symbols_.begin())
        return {};
    const Symbol &symbol = *std::prev(behind);
    if (symbol.bytes && address - symbol.address >= symbol.bytes)
        return {};
    return symbol.name;
}

std::optional<uint64_t> SymbolTable::address_of(std::string_view name) const
{
    const auto found = references_.find(name);
    return found == references_.end() ? std::nullopt : std::optional(found->second);
}

std::string Demangler::operator()(std::string_view name)
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

Result<SymbolTable> parse_kallsyms(std::string_view text)
{
    SymbolTable table;
    bool any_address = false;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::vector<std::string_view> words = split(line, ' ');
        constexpr std::string_view kCode = "tTwW";
        if (words.size() < 3 || words[1].size() != 1 || kCode.find(words[1][0]) == kCode.npos)
            continue;
        const Result<uint64_t> address = parse_u64("0x" + std::string(words[0]));
        if (!address)
            continue;
        any_address |= *address != 0;
        // "name\t[module]" of a module
        table.add(*address, 0, std::string(words[2].substr(0, words[2].find('\t'))));
    }
    if (!any_address)
        return Error{Errc::kDenied, "no addresses in it: copy /proc/kallsyms as root"};
    table.sort();
    return table;
}

// Programs and libraries

bool ElfSymbols::matches(Bytes build_id) const
{
    const size_t common = std::min(build_id.size(), build_id_.size());
    // perf of old keeps 20 bytes of every id, the last of them 0 if it is shorter.
    const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
    return common == 0 ||
           (std::ranges::equal(build_id.first(common), Bytes(build_id_).first(common)) &&
            std::ranges::all_of(build_id.subspan(common), zero));
}

std::string_view ElfSymbols::find(uint64_t file_offset) const
{
    for (const Segment &segment : segments_)
        if (file_offset >= segment.offset && file_offset - segment.offset < segment.bytes) {
            const uint64_t address = file_offset - segment.offset + segment.address;
            const std::string_view stub = stubs_.find(address);
            return stub.empty() ? symbols_.find(address) : stub;
        }
    return {};
}

#ifdef PMUKIT_LIBELF

class ElfReader {
public:
    explicit ElfReader(Elf *elf) : elf_(elf) {}

    ElfSymbols read()
    {
        ElfSymbols symbols;
        GElf_Ehdr header;
        if (!gelf_getehdr(elf_, &header))
            return symbols;
        // ELFv1 of POWER: a function's symbol is that of its descriptor in .opd.
        constexpr uint32_t kAbiMask = 3, kAbi2 = 2;
        descriptors_ = header.e_machine == EM_PPC64 && (header.e_flags & kAbiMask) != kAbi2;
        read_segments(symbols);
        read_sections(symbols);
        symbols.symbols_.sort();
        read_stubs(header.e_machine, symbols.stubs_);
        symbols.stubs_.sort();
        return symbols;
    }

private:
    void read_segments(ElfSymbols &symbols)
    {
        size_t count = 0;
        GElf_Phdr segment;
        if (elf_getphdrnum(elf_, &count) != 0)
            return;
        for (size_t i = 0; i < count && gelf_getphdr(elf_, static_cast<int>(i), &segment); i++)
            if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
                symbols.segments_.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
    }

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
            else if (header.sh_type == SHT_NOTE && symbols.build_id_.empty())
                symbols.build_id_ = build_id_in(at);
            else if (descriptors_ && name && std::string_view(name) == ".opd")
                opd_ = {header.sh_addr, elf_rawdata(at, nullptr)};
            else if (name && header.sh_type == SHT_RELA && std::string_view(name) == ".rela.plt")
                jumps_ = at;
            else if (name && std::string_view(name) == ".plt")
                stubs_ = header;
            else if (name && std::string_view(name) == ".plt.sec")
                second_stubs_ = header;
        }
        symbols.is_full_ = full != nullptr;
        if (Elf_Scn *table = full ? full : dynamic)
            read_symbols(table, symbols.symbols_);
    }

    static std::vector<std::byte> build_id_in(Elf_Scn *section)
    {
        Elf_Data *data = elf_getdata(section, nullptr);
        GElf_Nhdr note;
        size_t name_at = 0, content_at = 0;
        for (size_t at = 0, next;
             data && (next = gelf_getnote(data, at, &note, &name_at, &content_at)) > 0; at = next) {
            const auto *bytes = static_cast<const std::byte *>(data->d_buf);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
                std::memcmp(bytes + name_at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0)
                return {bytes + content_at, bytes + content_at + note.n_descsz};
        }
        return {};
    }

    void read_symbols(Elf_Scn *section, SymbolTable &table)
    {
        GElf_Shdr header;
        Elf_Data *data = elf_getdata(section, nullptr);
        if (!data || !gelf_getshdr(section, &header) || header.sh_entsize == 0)
            return;
        Elf_Scn *strings = elf_getscn(elf_, header.sh_link);
        const Elf_Data *text = strings ? elf_rawdata(strings, nullptr) : nullptr;
        if (!text || !text->d_buf)
            return;
        const std::string_view names =
            table.keep(std::string(static_cast<const char *>(text->d_buf), text->d_size));
        GElf_Sym symbol;
        for (size_t i = 0; i < data->d_size / header.sh_entsize; i++) {
            if (!gelf_getsym(data, static_cast<int>(i), &symbol))
                break;
            const unsigned type = GELF_ST_TYPE(symbol.st_info);
            // What is longer is named by its beginning: to look for the end of each name in a table
            // without any would be quadratic.
            const std::string_view from =
                names.substr(std::min<size_t>(symbol.st_name, names.size()), kMostNameBytes + 1);
            const std::string_view name = from.substr(0, from.find('\0'));
            if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
                name.empty())
                continue;
            const uint64_t address = code_of(symbol.st_value);
            const uint64_t bytes =
                symbol.st_size ? symbol.st_size : rest_of_section(symbol, address);
            table.add_kept(address, bytes, name);
        }
    }

    // What says no size, as _init, ends with its section at the latest. 0: not known.
    uint64_t rest_of_section(const GElf_Sym &symbol, uint64_t address) const
    {
        Elf_Scn *section = elf_getscn(elf_, symbol.st_shndx);
        GElf_Shdr header;
        const bool known = section && symbol.st_shndx < SHN_LORESERVE &&
                           gelf_getshdr(section, &header) && address >= header.sh_addr &&
                           address - header.sh_addr < header.sh_size;
        return known ? header.sh_addr + header.sh_size - address : 0;
    }

    // Each jump goes through a slot that the linker fills: its relocation names the function. The
    // first stubs are for the linker itself. With .plt.sec (x86, IBT) programs go through that.
    void read_stubs(unsigned machine, SymbolTable &table)
    {
        struct Layout {
            unsigned machine;
            uint64_t first_bytes, bytes;
        };
        constexpr Layout kLayouts[] = {{EM_X86_64, 16, 16}, {EM_AARCH64, 32, 16}};
        const Layout *layout = std::ranges::find(kLayouts, machine, &Layout::machine);
        GElf_Shdr header;
        Elf_Data *jumps = jumps_ ? elf_getdata(jumps_, nullptr) : nullptr;
        if (layout == std::end(kLayouts) || !jumps || !gelf_getshdr(jumps_, &header) ||
            header.sh_entsize == 0)
            return;
        const bool second = second_stubs_.sh_size != 0;
        const GElf_Shdr &stubs = second ? second_stubs_ : stubs_;
        uint64_t at = second ? 0 : layout->first_bytes;
        Budget left(limits::kStubs);
        for (size_t i = 0; i < jumps->d_size / header.sh_entsize; i++, at += layout->bytes) {
            GElf_Rela jump;
            if (at >= stubs.sh_size || !gelf_getrela(jumps, static_cast<int>(i), &jump))
                return;
            const std::string name = name_of(header.sh_link, GELF_R_SYM(jump.r_info));
            if (!name.empty() && left.take(sizeof name + name.size()))
                table.add(stubs.sh_addr + at, layout->bytes, name + "@plt");
        }
    }

    std::string name_of(size_t table, size_t number) const
    {
        Elf_Scn *section = elf_getscn(elf_, table);
        Elf_Data *data = section ? elf_getdata(section, nullptr) : nullptr;
        GElf_Shdr header;
        GElf_Sym symbol;
        if (!data || number > INT32_MAX || !gelf_getshdr(section, &header) ||
            !gelf_getsym(data, static_cast<int>(number), &symbol))
            return {};
        const char *name = elf_strptr(elf_, header.sh_link, symbol.st_name);
        return name ? std::string(name).substr(0, kMostNameBytes) : std::string();
    }

    uint64_t code_of(uint64_t value) const
    {
        constexpr size_t kAddressBytes = 8;
        if (!opd_.data || value < opd_.address || opd_.data->d_size < kAddressBytes ||
            value - opd_.address > opd_.data->d_size - kAddressBytes)
            return value;
        const char *ident = elf_getident(elf_, nullptr);
        const auto order =
            ident && ident[EI_DATA] == ELFDATA2MSB ? std::endian::big : std::endian::little;
        const auto *bytes = static_cast<const std::byte *>(opd_.data->d_buf);
        return load<uint64_t>(bytes + (value - opd_.address), order);
    }

    struct Opd {
        uint64_t address = 0;
        Elf_Data *data = nullptr;
    };
    Elf *elf_;
    bool descriptors_ = false;
    Opd opd_;
    Elf_Scn *jumps_ = nullptr;
    GElf_Shdr stubs_ = {}, second_stubs_ = {};
};

namespace {

struct EndElf {
    void operator()(Elf *elf) const { elf_end(elf); }
};

// The path is of the recording: it may name anything.
Result<ElfSymbols> read_elf(const std::string &root, const std::string &path)
{
    const Result<Fd> fd = perfdata::open_untrusted(root, path);
    if (!fd)
        return fd.error();
    if (elf_version(EV_CURRENT) == EV_NONE)
        return Error{Errc::kEnvironment, "libelf is older than its header"};
    const std::unique_ptr<Elf, EndElf> elf(elf_begin(fd->get(), ELF_C_READ_MMAP, nullptr));
    if (!elf || elf_kind(elf.get()) != ELF_K_ELF)
        return Error{Errc::kDamaged, path + ": not an ELF file"};
    return ElfReader(elf.get()).read();
}

// /usr/lib/debug/.build-id/01/23456789.debug
std::string debug_path(const std::vector<std::byte> &build_id)
{
    std::string hex;
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (std::byte byte : build_id) {
        hex += kDigits[std::to_integer<size_t>(byte >> 4)];
        hex += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
    }
    return "/usr/lib/debug/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
}

}  // namespace

Result<ElfSymbols> ElfSymbols::open(const std::string &path, const std::string &root)
{
    Result<ElfSymbols> own = read_elf(root, path);
    if (!own || own->is_full_ || own->build_id_.size() < 2)
        return own;
    Result<ElfSymbols> debug = read_elf(root, debug_path(own->build_id_));
    if (debug && debug->has_symbols() && debug->build_id_ == own->build_id_)
        own->symbols_ = std::move(debug->symbols_);
    return own;
}

#else

Result<ElfSymbols> ElfSymbols::open(const std::string &path, const std::string &)
{
    return Error{Errc::kUnsupported, path + ": built without libelf"};
}

#endif

}  // namespace pmukit::cli
