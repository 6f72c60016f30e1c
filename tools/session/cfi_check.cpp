// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/cfi_check.hpp"

#ifdef PMUKIT_LIBELF
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace pmukit::cli {
namespace {

constexpr size_t kMostSectionBytes = size_t{64} << 20;
constexpr size_t kMostEntries = 1 << 20;
// Limit for a file without a search table, of which libdw stores all entries.
constexpr size_t kMostEntriesInARow = 8192;
constexpr size_t kBytesPerEntry = 160;  // memory of libdw per entry, in bytes
constexpr size_t kMostInstructionBytes = 8192, kMostExpressionBytes = 1024;
constexpr uint64_t kRegisters = 256;
constexpr unsigned kMostStates = 32;

// Checks the instructions of an entry. A read past the end fails the check.
class CfiReader {
public:
    CfiReader(const uint8_t *at, const uint8_t *end) : at_(at), end_(end) {}

    bool are_sane()
    {
        if (end_ < at_ || static_cast<size_t>(end_ - at_) > kMostInstructionBytes)
            return false;
        while (good_ && at_ < end_)
            read_one(*at_++);
        return good_;
    }

private:
    void skip(uint64_t bytes)
    {
        if (bytes > static_cast<size_t>(end_ - at_))
            good_ = false;
        else
            at_ += bytes;
    }
    uint64_t number()
    {
        uint64_t value = 0;
        for (unsigned shift = 0; at_ < end_ && shift < 64; shift += 7) {
            const uint8_t byte = *at_++;
            value |= uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80)
                return value;
        }
        good_ = false;
        return 0;
    }
    void a_register()
    {
        if (number() >= kRegisters)
            good_ = false;
    }
    void expression()
    {
        const uint64_t bytes = number();
        if (bytes > kMostExpressionBytes)
            good_ = false;
        else
            skip(bytes);
    }
    void read_one(uint8_t instruction)
    {
        constexpr uint8_t kOperandInIt = 0xc0;
        if (instruction & kOperandInIt) {
            if ((instruction & kOperandInIt) == DW_CFA_offset)
                number();
            return;
        }
        switch (instruction) {
            case DW_CFA_nop:
            case DW_CFA_GNU_window_save:  // arm64: the return address is signed
                return;
            case DW_CFA_remember_state:
                if (++states_ > kMostStates)
                    good_ = false;
                return;
            case DW_CFA_restore_state:
                states_ -= states_ != 0;
                return;
            case DW_CFA_advance_loc1:
                return skip(1);
            case DW_CFA_advance_loc2:
                return skip(2);
            case DW_CFA_advance_loc4:
                return skip(4);
            case DW_CFA_def_cfa_offset:
            case DW_CFA_def_cfa_offset_sf:
            case DW_CFA_GNU_args_size:
                number();
                return;
            case DW_CFA_restore_extended:
            case DW_CFA_undefined:
            case DW_CFA_same_value:
            case DW_CFA_def_cfa_register:
                return a_register();
            case DW_CFA_register:
                a_register();
                return a_register();
            case DW_CFA_offset_extended:
            case DW_CFA_offset_extended_sf:
            case DW_CFA_def_cfa:
            case DW_CFA_def_cfa_sf:
            case DW_CFA_val_offset:
            case DW_CFA_val_offset_sf:
            case DW_CFA_GNU_negative_offset_extended:
                a_register();
                number();
                return;
            case DW_CFA_def_cfa_expression:
                return expression();
            case DW_CFA_expression:
            case DW_CFA_val_expression:
                a_register();
                return expression();
            default:
                good_ = false;
        }
    }

    const uint8_t *at_, *end_;
    unsigned states_ = 0;
    bool good_ = true;
};

struct Section {
    Elf_Data *data = nullptr;
    uint64_t address = 0;
    bool is_there() const { return data != nullptr; }
};

struct Sections {
    Section eh_frame, table, debug_frame;
    bool good = true;
};

// Finds the sections by name, as libdw does.
Sections sections_of(Elf *elf)
{
    Sections found;
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return found;
    GElf_Shdr header;
    for (Elf_Scn *at = nullptr; (at = elf_nextscn(elf, at)) && gelf_getshdr(at, &header);) {
        const char *text = elf_strptr(elf, names, header.sh_name);
        const std::string_view name = text ? text : "";
        Section *section = name == ".eh_frame"       ? &found.eh_frame
                           : name == ".eh_frame_hdr" ? &found.table
                           : name == ".debug_frame"  ? &found.debug_frame
                                                     : nullptr;
        if (name == ".zdebug_frame")
            found.good = false;
        if (!section || header.sh_type == SHT_NOBITS)
            continue;
        if (section->is_there() || (header.sh_flags & SHF_COMPRESSED) ||
            header.sh_size > kMostSectionBytes)
            found.good = false;
        else
            *section = {elf_rawdata(at, nullptr), header.sh_addr};
    }
    return found;
}

class SectionCheck {
public:
    SectionCheck(const ElfFile &file, const Section &section, bool is_eh)
        : ident_(reinterpret_cast<const uint8_t *>(elf_getident(file.elf(), nullptr))),
          section_(section),
          is_eh_(is_eh)
    {
    }

    // Checks all entries in order.
    bool are_sane()
    {
        if (!section_.data->d_buf)
            return section_.data->d_size == 0;
        Dwarf_Off next = 0;
        Dwarf_CFI_Entry entry;
        for (Dwarf_Off at = 0;; at = next) {
            const int found = dwarf_next_cfi(ident_, section_.data, is_eh_, at, &next, &entry);
            if (found > 0)
                break;
            if (found < 0 || next <= at || cies_.size() + fdes_.size() >= kMostEntries ||
                !is_sane(at, entry))
                return false;
        }
        std::ranges::sort(cies_);
        return std::ranges::all_of(used_, [this](Dwarf_Off cie) { return has(cies_, cie); });
    }
    size_t entries() const { return fdes_.size(); }
    bool has_entry_at(uint64_t offset) const { return has(fdes_, offset); }

private:
    static bool has(const std::vector<Dwarf_Off> &sorted, uint64_t offset)
    {
        return std::ranges::binary_search(sorted, offset);
    }
    static bool has(const std::vector<uint32_t> &sorted, uint64_t offset)
    {
        return offset <= UINT32_MAX &&
               std::ranges::binary_search(sorted, static_cast<uint32_t>(offset));
    }
    bool is_sane(Dwarf_Off at, const Dwarf_CFI_Entry &entry)
    {
        if (dwarf_cfi_cie_p(&entry)) {
            cies_.push_back(at);
            return CfiReader(entry.cie.initial_instructions, entry.cie.initial_instructions_end)
                .are_sane();
        }
        fdes_.push_back(static_cast<uint32_t>(at));
        if (used_.empty() || used_.back() != entry.fde.CIE_pointer)
            used_.push_back(entry.fde.CIE_pointer);
        // The range start..end also includes the addresses before the instructions.
        return entry.fde.end >= entry.fde.start &&
               static_cast<size_t>(entry.fde.end - entry.fde.start) <= kMostInstructionBytes &&
               has_sane_instructions(entry.fde);
    }
    bool has_sane_instructions(const Dwarf_FDE &fde) const
    {
        const std::optional<size_t> begin = instructions_at(fde);
        return begin && CfiReader(fde.start + *begin, fde.end).are_sane();
    }
    std::optional<size_t> instructions_at(const Dwarf_FDE &fde) const;

    const uint8_t *ident_;
    const Section &section_;
    bool is_eh_;
    std::vector<Dwarf_Off> cies_, used_;
    std::vector<uint32_t> fdes_;
};

// Size of a pointer of this encoding in bytes. 0: an encoding that compilers do not use here.
size_t pointer_bytes(uint8_t encoding)
{
    switch (encoding & 0x0f) {
        case DW_EH_PE_absptr:
        case DW_EH_PE_udata8:
        case DW_EH_PE_sdata8:
            return 8;
        case DW_EH_PE_udata4:
        case DW_EH_PE_sdata4:
            return 4;
        case DW_EH_PE_udata2:
        case DW_EH_PE_sdata2:
            return 2;
        default:
            return 0;
    }
}

// Offset of an FDE's instructions, after its addresses and augmentation data.
std::optional<size_t> SectionCheck::instructions_at(const Dwarf_FDE &fde) const
{
    Dwarf_Off next = 0;
    Dwarf_CFI_Entry entry;
    if (dwarf_next_cfi(ident_, section_.data, is_eh_, fde.CIE_pointer, &next, &entry) != 0 ||
        !dwarf_cfi_cie_p(&entry))
        return std::nullopt;
    const Dwarf_CIE &cie = entry.cie;
    uint8_t encoding = DW_EH_PE_absptr;
    const uint8_t *data = cie.augmentation_data;
    const uint8_t *const data_end = data ? data + cie.augmentation_data_size : nullptr;
    bool has_size = false;
    for (const char *kind = cie.augmentation; *kind; kind++) {
        const auto left = static_cast<size_t>(data_end - data);
        if (*kind == 'z') {
            has_size = true;
        } else if (*kind == 'R') {
            if (left < 1)
                return std::nullopt;
            encoding = *data++;
        } else if (*kind == 'L') {
            if (left < 1)
                return std::nullopt;
            data++;
        } else if (*kind == 'P') {
            if (left < 1 || left < 1 + pointer_bytes(*data))
                return std::nullopt;
            data += 1 + pointer_bytes(*data);
        } else if (*kind != 'S' && *kind != 'B') {
            return std::nullopt;
        }
    }
    const size_t pointer = pointer_bytes(encoding);
    size_t at = 2 * pointer;
    const auto size = static_cast<size_t>(fde.end - fde.start);
    if (pointer == 0 || at > size)
        return std::nullopt;
    if (has_size) {
        uint64_t bytes = 0;
        unsigned shift = 0;
        do {
            if (at >= size || shift >= 64)
                return std::nullopt;
            bytes |= uint64_t{fde.start[at] & 0x7fU} << shift;
            shift += 7;
        } while (fde.start[at++] >= 0x80);
        if (bytes > size - at)
            return std::nullopt;
        at += bytes;
    }
    return at;
}

// Checks the search table of libdw: pairs of code address and entry address. A file may have no
// table.
enum class Table { kNone, kGood, kBad };
Table check_table(const Section &table, const Section &eh_frame, const SectionCheck &entries)
{
    constexpr size_t kFront = 12, kPair = 8;
    constexpr uint8_t kUsual = DW_EH_PE_datarel | DW_EH_PE_sdata4;
    if (!table.is_there() || !table.data->d_buf || table.data->d_size == 0)
        return Table::kNone;
    const auto *bytes = static_cast<const std::byte *>(table.data->d_buf);
    const auto encoding = [bytes](size_t at) { return std::to_integer<uint8_t>(bytes[at]); };
    if (table.data->d_size < kFront || encoding(0) != 1 || pointer_bytes(encoding(1)) != 4 ||
        encoding(2) != DW_EH_PE_udata4 || encoding(3) != kUsual)
        return Table::kBad;
    const uint32_t count = load<uint32_t>(bytes + 8, std::endian::little);
    if (count > (table.data->d_size - kFront) / kPair)
        return Table::kBad;
    for (size_t i = 0; i < count; i++) {
        const auto from = static_cast<int32_t>(
            load<uint32_t>(bytes + kFront + i * kPair + 4, std::endian::little));
        if (!entries.has_entry_at(table.address + static_cast<uint64_t>(int64_t{from}) -
                                  eh_frame.address))
            return Table::kBad;
    }
    return count ? Table::kGood : Table::kNone;
}

}  // namespace

uint64_t unpacked_bytes(const ElfFile &file)
{
    constexpr size_t kOldFront = 12;  // "ZLIB" and the size as 8 big-endian bytes
    uint64_t bytes = 0;
    size_t names = 0;
    GElf_Shdr header;
    GElf_Chdr packed;
    if (elf_getshdrstrndx(file.elf(), &names) != 0)
        return 0;
    for (Elf_Scn *at = nullptr; (at = elf_nextscn(file.elf(), at)) && gelf_getshdr(at, &header);) {
        const char *name = elf_strptr(file.elf(), names, header.sh_name);
        uint64_t size = 0;
        if (header.sh_flags & SHF_COMPRESSED) {
            size = gelf_getchdr(at, &packed) ? packed.ch_size : UINT64_MAX;
        } else if (name && std::string_view(name).starts_with(".zdebug")) {
            const Elf_Data *data = elf_rawdata(at, nullptr);
            if (data && data->d_buf && data->d_size >= kOldFront)
                size = load<uint64_t>(static_cast<const std::byte *>(data->d_buf) + 4,
                                      std::endian::big);
        }
        bytes = size > UINT64_MAX - bytes ? UINT64_MAX : bytes + size;
    }
    return bytes;
}

std::optional<CheckedCfi> check_cfi(const ElfFile &file, Budget &work)
{
    const bool is_known = file.machine() == EM_X86_64 || file.machine() == EM_AARCH64;
    if (!is_known || file.order() != std::endian::little || file.is_relocatable() ||
        file.begin() >= file.end() || gelf_getclass(file.elf()) != ELFCLASS64)
        return std::nullopt;
    const Sections sections = sections_of(file.elf());
    const uint64_t unpacked = unpacked_bytes(file);
    if (!sections.good || !sections.eh_frame.is_there() || unpacked > kMostUnpackedBytes ||
        !work.take(sections.eh_frame.data->d_size))
        return std::nullopt;
    SectionCheck eh_frame(file, sections.eh_frame, true);
    if (!eh_frame.are_sane())
        return std::nullopt;
    const Table table = check_table(sections.table, sections.eh_frame, eh_frame);
    if (table == Table::kBad || (table == Table::kNone && eh_frame.entries() > kMostEntriesInARow))
        return std::nullopt;
    size_t in_a_row = table == Table::kNone ? eh_frame.entries() : 0;
    if (sections.debug_frame.is_there()) {
        if (!work.take(sections.debug_frame.data->d_size))
            return std::nullopt;
        SectionCheck debug_frame(file, sections.debug_frame, false);
        if (!debug_frame.are_sane() || debug_frame.entries() > kMostEntriesInARow)
            return std::nullopt;
        in_a_row += debug_frame.entries();
    }
    return CheckedCfi{static_cast<size_t>(unpacked) + in_a_row * kBytesPerEntry};
}

}  // namespace pmukit::cli

#endif
