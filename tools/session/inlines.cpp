// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/inlines.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/limits.hpp"
#include "session/cfi_check.hpp"

#ifdef PMUKIT_LIBELF
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#endif

namespace pmukit::cli {

#ifdef PMUKIT_LIBELF

namespace {

constexpr uint64_t kMostUnitBytes = uint64_t{64} << 20;
constexpr size_t kMostUnits = 32768, kUnitBytes = 384;  // memory of libdw per unit
constexpr size_t kAbbrevBytes = 96;                     // memory of libdw per abbreviation
constexpr size_t kMostAbbrevs = 50000;                  // limit for one table
constexpr unsigned kMostRanges = 4096, kMostDepth = 64, kMostHops = 8;

Elf_Data *section_of(Elf *elf, std::string_view wanted)
{
    size_t names = 0;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return nullptr;
    for (Elf_Scn *at = nullptr; (at = elf_nextscn(elf, at)) && gelf_getshdr(at, &header);)
        if (const char *name = elf_strptr(elf, names, header.sh_name);
            name && name == wanted && header.sh_type != SHT_NOBITS)
            return elf_rawdata(at, nullptr);
    return nullptr;
}

// Counts the abbreviations of a table, and its bytes. libdw keeps each abbreviation that it has
// parsed.
struct AbbrevCount {
    size_t all = 0, bytes = 0;
};
std::optional<AbbrevCount> count_abbrevs(Bytes table)
{
    size_t at = 0;
    const auto number = [&]() -> std::optional<uint64_t> {
        uint64_t value = 0;
        for (unsigned shift = 0; at < table.size() && shift < 70; shift += 7) {
            const auto byte = std::to_integer<uint8_t>(table[at++]);
            value |= shift < 64 ? uint64_t{byte & 0x7fU} << shift : 0;
            if (byte < 0x80)
                return value;
        }
        return std::nullopt;
    };
    AbbrevCount count;
    while (count.all <= kMostAbbrevs) {
        const std::optional<uint64_t> code = number();
        if (!code || *code == 0)
            return code ? std::optional(AbbrevCount{count.all, at}) : std::nullopt;
        // Skip the tag, and the byte that states whether the DIE has children.
        if (!number() || at++ >= table.size())
            return std::nullopt;
        for (bool more = true; more;) {
            const std::optional<uint64_t> name = number(), form = number();
            if (!name || !form || (*form == DW_FORM_implicit_const && !number()))
                return std::nullopt;
            more = *name != 0 || *form != 0;
        }
        count.all++;
    }
    return std::nullopt;
}

}  // namespace

class Inlines::Libdw {
public:
    Libdw(ElfFile file, const std::string &root, Budget &work, Debuginfod *debuginfod);

    std::vector<std::string> at(uint64_t address);
    bool has_too_much() const { return too_much_; }
    size_t memory() const { return unpacked_ + (limits::kInlines - left_.left()); }

private:
    struct EndDwarf {
        void operator()(Dwarf *dwarf) const { dwarf_end(dwarf); }
    };
    using OwnDwarf = std::unique_ptr<Dwarf, EndDwarf>;
    struct Unit {
        Dwarf_Off offset, end;   // offsets in .debug_info
        Dwarf_Off die, abbrevs;  // offsets of the first DIE, and of the table in .debug_abbrev
    };
    struct UnitRange {
        uint64_t begin, end;
        uint32_t unit;
    };
    // The address range of a function, and the range of its DIE.
    struct Function {
        uint64_t begin, end;
        Dwarf_Off die, die_end;
    };
    struct Entry {
        Dwarf_Die die;
        Dwarf_Off end;
    };

    bool read_units();
    bool index_units();
    bool begin_anew();
    bool charge(size_t memory, size_t work);
    bool may_read(Dwarf_Off abbrevs);
    const std::vector<Function> *functions_of(uint32_t unit);
    bool put_functions(Dwarf_Die die, Dwarf_Off end, unsigned depth, std::vector<Function> &to);
    template <typename Each>
    bool for_children(Dwarf_Die *parent, Dwarf_Off end, Each each);
    template <typename Each>
    bool for_ranges(Dwarf_Die *die, Each each);
    bool covers(Dwarf_Die *die, uint64_t address);
    bool put_inlined(Dwarf_Die die, Dwarf_Off end, uint64_t address, unsigned depth,
                     std::vector<std::string> &names);
    std::string name_of(Dwarf_Die die);

    ElfFile file_;
    std::optional<ElfFile> other_;  // shared debug information of several files (dwz)
    Budget &work_;
    Budget left_{limits::kInlines};
    OwnDwarf other_dwarf_, dwarf_;
    Bytes abbrevs_;
    std::vector<Unit> units_;
    std::vector<UnitRange> ranges_;  // sorted by begin
    std::map<uint32_t, std::vector<Function>> functions_;
    std::map<Dwarf_Off, bool> read_;  // checked tables of abbreviations; true: within the limits
    size_t unpacked_ = 0;
    bool too_much_ = false;
};

Inlines::Libdw::Libdw(ElfFile file, const std::string &root, Budget &work, Debuginfod *debuginfod)
    : file_(std::move(file)), work_(work)
{
    if (!section_of(file_.elf(), ".debug_info")) {
        Result<ElfFile> debug = ElfFile::open_debug(root, file_.build_id(), debuginfod);
        if (!debug || !section_of(debug->elf(), ".debug_info"))
            return;
        file_ = std::move(*debug);
    }
    const uint64_t unpacked = unpacked_bytes(file_);
    if (file_.is_relocatable() || unpacked > kMostUnpackedBytes) {
        too_much_ = true;
        return;
    }
    unpacked_ = unpacked;
    dwarf_.reset(dwarf_begin_elf(file_.elf(), DWARF_C_READ, nullptr));
    const char *name = nullptr;
    const void *id = nullptr;
    const ssize_t id_bytes = dwarf_ ? dwelf_dwarf_gnu_debugaltlink(dwarf_.get(), &name, &id) : 0;
    if (id_bytes > 0) {
        // The program opens the file by its build id, because libdw would open any path that
        // .gnu_debugaltlink names.
        Result<ElfFile> other = ElfFile::open_debug(
            root, Bytes(static_cast<const std::byte *>(id), static_cast<size_t>(id_bytes)),
            debuginfod);
        if (!other || other->is_relocatable() || unpacked_bytes(*other) > kMostUnpackedBytes) {
            dwarf_.reset();
            return;
        }
        unpacked_ += unpacked_bytes(*other);
        other_ = std::move(*other);
    }
    too_much_ = !begin_anew() || !read_units() || !index_units();
}

// Restarts libdw, which frees the memory that it has kept.
bool Inlines::Libdw::begin_anew()
{
    dwarf_.reset();
    other_dwarf_.reset();
    read_.clear();
    functions_.clear();
    left_ = Budget(limits::kInlines);
    dwarf_.reset(dwarf_begin_elf(file_.elf(), DWARF_C_READ, nullptr));
    if (!dwarf_)
        return true;
    if (other_) {
        other_dwarf_.reset(dwarf_begin_elf(other_->elf(), DWARF_C_READ, nullptr));
        if (!other_dwarf_)
            return false;
        dwarf_setalt(dwarf_.get(), other_dwarf_.get());
    }
    return left_.take(units_.size() * (kUnitBytes + sizeof(Unit)) +
                      ranges_.size() * sizeof(UnitRange));
}

bool Inlines::Libdw::charge(size_t memory, size_t work)
{
    return left_.take(memory) && work_.take(work);
}

// Returns false if a unit with this table of abbreviations cannot be read within the limits.
bool Inlines::Libdw::may_read(Dwarf_Off abbrevs)
{
    const auto [at, fresh] = read_.try_emplace(abbrevs);
    if (!fresh)
        return at->second;
    const auto count = abbrevs < abbrevs_.size() ? count_abbrevs(abbrevs_.subspan(abbrevs))
                                                 : std::optional<AbbrevCount>();
    return at->second = count && charge(kNodeBytes + count->all * kAbbrevBytes, count->bytes);
}

bool Inlines::Libdw::read_units()
{
    // dwarf_begin_elf() has decompressed the section.
    const Elf_Data *abbrevs = dwarf_ ? section_of(file_.elf(), ".debug_abbrev") : nullptr;
    if (!abbrevs || !abbrevs->d_buf)
        return true;
    abbrevs_ = {static_cast<const std::byte *>(abbrevs->d_buf), abbrevs->d_size};
    Dwarf_Off next = 0;
    for (Dwarf_Off at = 0;; at = next) {
        size_t header_bytes = 0;
        Unit unit{};
        if (dwarf_next_unit(dwarf_.get(), at, &next, &header_bytes, nullptr, &unit.abbrevs, nullptr,
                            nullptr, nullptr, nullptr) != 0)
            return true;
        unit.offset = at;
        unit.end = next;
        unit.die = at + header_bytes;
        if (next <= at || units_.size() >= kMostUnits || next - at > kMostUnitBytes ||
            !charge(kUnitBytes + sizeof unit, 0))
            return false;
        units_.push_back(unit);
    }
}

template <typename Each>
bool Inlines::Libdw::for_ranges(Dwarf_Die *die, Each each)
{
    Dwarf_Addr base = 0, begin = 0, end = 0;
    ptrdiff_t at = 0;
    for (unsigned i = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0; i++) {
        if (i >= kMostRanges || !work_.take(sizeof(UnitRange)))
            return false;
        if (begin < end)
            each(begin, end);
    }
    return true;
}

bool Inlines::Libdw::index_units()
{
    for (uint32_t i = 0; i < units_.size(); i++) {
        // The loop needs only the first DIE of each unit. So if the limit is reached, begin_anew()
        // can free what libdw has stored for earlier units.
        if (!may_read(units_[i].abbrevs) && (!begin_anew() || !may_read(units_[i].abbrevs)))
            return false;
        Dwarf_Die die;
        if (!dwarf_offdie(dwarf_.get(), units_[i].die, &die))
            continue;
        const int tag = dwarf_tag(&die);
        if (tag != DW_TAG_compile_unit && tag != DW_TAG_partial_unit)
            continue;
        bool fits = true;
        const bool whole = for_ranges(&die, [&](uint64_t begin, uint64_t end) {
            fits = fits && left_.take(sizeof(UnitRange));
            if (fits)
                ranges_.push_back({begin, end, i});
        });
        if (!whole || !fits)
            return false;
    }
    std::ranges::sort(ranges_, {}, &UnitRange::begin);
    return begin_anew();
}

// Calls each(child, end) for each child; end is the offset of the next sibling. Returns false if it
// stops early.
template <typename Each>
bool Inlines::Libdw::for_children(Dwarf_Die *parent, Dwarf_Off end, Each each)
{
    Dwarf_Die child;
    if (dwarf_child(parent, &child) != 0)
        return true;
    for (bool more = true; more;) {
        Dwarf_Die next;
        const Dwarf_Off at = dwarf_dieoffset(&child);
        more = dwarf_siblingof(&child, &next) == 0;
        const Dwarf_Off child_end = more ? dwarf_dieoffset(&next) : end;
        // Damaged: the sibling is at or before the DIE itself, or after the end of the parent.
        if (child_end <= at || child_end > end || !work_.take(child_end - at))
            return false;
        if (!each(child, child_end))
            return false;
        child = next;
    }
    return true;
}

bool Inlines::Libdw::put_functions(Dwarf_Die die, Dwarf_Off end, unsigned depth,
                                   std::vector<Function> &to)
{
    if (depth > kMostDepth)
        return false;
    return for_children(&die, end, [&](Dwarf_Die child, Dwarf_Off child_end) {
        bool fits = true, whole = true;
        switch (dwarf_tag(&child)) {
            case DW_TAG_subprogram:
                whole = for_ranges(&child, [&](uint64_t begin, uint64_t ends) {
                    fits = fits && has_room(to, left_);
                    if (fits)
                        to.push_back({begin, ends, dwarf_dieoffset(&child), child_end});
                });
                return whole && fits;
            case DW_TAG_namespace:
            case DW_TAG_class_type:
            case DW_TAG_structure_type:
            case DW_TAG_union_type:
            case DW_TAG_module:
                return put_functions(child, child_end, depth + 1, to);
            default:
                return true;
        }
    });
}

const std::vector<Inlines::Libdw::Function> *Inlines::Libdw::functions_of(uint32_t unit)
{
    if (const auto known = functions_.find(unit); known != functions_.end())
        return &known->second;
    std::vector<Function> functions;
    Dwarf_Die die;
    if (!may_read(units_[unit].abbrevs) || !left_.take(kNodeBytes) ||
        !dwarf_offdie(dwarf_.get(), units_[unit].die, &die) ||
        !put_functions(die, units_[unit].end, 0, functions))
        return nullptr;
    std::ranges::stable_sort(functions, {}, &Function::begin);
    return &functions_.emplace(unit, std::move(functions)).first->second;
}

bool Inlines::Libdw::covers(Dwarf_Die *die, uint64_t address)
{
    bool found = false;
    for_ranges(die, [&](uint64_t begin, uint64_t end) {
        found = found || (address >= begin && address < end);
    });
    return found;
}

// Appends the inlined functions at the address, the outermost first.
bool Inlines::Libdw::put_inlined(Dwarf_Die die, Dwarf_Off end, uint64_t address, unsigned depth,
                                 std::vector<std::string> &names)
{
    if (depth > kMostDepth)
        return false;
    bool is_found = false;
    return for_children(&die, end, [&](Dwarf_Die child, Dwarf_Off child_end) {
        const int tag = dwarf_tag(&child);
        const bool is_inlined = tag == DW_TAG_inlined_subroutine;
        if (is_found || (!is_inlined && tag != DW_TAG_lexical_block) || !covers(&child, address))
            return true;
        is_found = true;
        if (is_inlined)
            names.push_back(name_of(child));
        return put_inlined(child, child_end, address, depth + 1, names);
    });
}

// Finds the name of an inlined function through its abstract origin and the origin's specification.
std::string Inlines::Libdw::name_of(Dwarf_Die die)
{
    constexpr size_t kMostNameBytes = 4096;
    std::string_view plain;
    for (unsigned i = 0; i < kMostHops; i++) {
        Dwarf_Attribute attribute;
        for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
            if (const char *name = dwarf_formstring(dwarf_attr(&die, kind, &attribute)))
                return std::string(name).substr(0, kMostNameBytes);
        if (const char *name = dwarf_formstring(dwarf_attr(&die, DW_AT_name, &attribute));
            name && plain.empty())
            plain = name;
        Dwarf_Die origin, unit;
        Dwarf_Off abbrevs = 0;
        if ((!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
             !dwarf_attr(&die, DW_AT_specification, &attribute)) ||
            !dwarf_formref_die(&attribute, &origin) ||
            !dwarf_cu_die(origin.cu, &unit, nullptr, &abbrevs, nullptr, nullptr, nullptr, nullptr))
            break;
        // Follow references within this file only, if the unit's table is within the limits.
        const bool is_other = other_dwarf_ && dwarf_cu_getdwarf(origin.cu) == other_dwarf_.get();
        if (is_other || !may_read(abbrevs))
            break;
        die = origin;
    }
    return std::string(plain.substr(0, kMostNameBytes));
}

std::vector<std::string> Inlines::Libdw::at(uint64_t address)
{
    std::vector<std::string> names;
    const auto behind = std::ranges::upper_bound(ranges_, address, {}, &UnitRange::begin);
    if (too_much_ || behind == ranges_.begin() || address >= std::prev(behind)->end)
        return names;
    const uint32_t unit = std::prev(behind)->unit;
    const std::vector<Function> *functions = functions_of(unit);
    if (!functions)  // retry without the memory that other units take
        functions = begin_anew() ? functions_of(unit) : nullptr;
    too_much_ = !functions;
    if (!functions)
        return names;
    const auto function = std::ranges::upper_bound(*functions, address, {}, &Function::begin);
    if (function == functions->begin() || address >= std::prev(function)->end)
        return names;
    Dwarf_Die die;
    if (!dwarf_offdie(dwarf_.get(), std::prev(function)->die, &die) ||
        !put_inlined(die, std::prev(function)->die_end, address, 0, names))
        names.clear();
    std::ranges::reverse(names);
    return names;
}

#else

class Inlines::Libdw {
public:
    Libdw(ElfFile, const std::string &, Budget &, Debuginfod *) {}
    std::vector<std::string> at(uint64_t) { return {}; }
    bool has_too_much() const { return false; }
    size_t memory() const { return 0; }
};

#endif

Inlines::Inlines(ElfFile file, const std::string &root, Budget &work, Debuginfod *debuginfod)
    : libdw_(std::make_unique<Libdw>(std::move(file), root, work, debuginfod))
{
}

Inlines::~Inlines() = default;
Inlines::Inlines(Inlines &&) noexcept = default;
Inlines &Inlines::operator=(Inlines &&) noexcept = default;

std::vector<std::string> Inlines::at(uint64_t address)
{
    return libdw_->at(address);
}

size_t Inlines::memory() const
{
    return libdw_->memory();
}

bool Inlines::has_too_much() const
{
    return libdw_->has_too_much();
}

}  // namespace pmukit::cli
