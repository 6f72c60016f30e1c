// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/elf_file.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "perfdata/output/destination.hpp"
#include "session/debuginfod.hpp"

#ifdef PMUKIT_LIBELF
#include <gelf.h>
#include <libelf.h>
#endif

namespace pmukit::cli {

std::string hex_of(Bytes bytes)
{
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    for (std::byte byte : bytes) {
        hex += kDigits[std::to_integer<size_t>(byte >> 4)];
        hex += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
    }
    return hex;
}

bool same_build(Bytes recorded, Bytes found)
{
    const size_t common = std::min(recorded.size(), found.size());
    // Old versions of perf store 20 bytes of every id, padded with zeros.
    const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
    return std::ranges::equal(recorded.first(common), found.first(common)) &&
           std::ranges::all_of(recorded.subspan(common), zero);
}

std::optional<uint64_t> address_in(const std::vector<CodeSegment> &code, uint64_t file_offset)
{
    for (const CodeSegment &segment : code)
        if (file_offset >= segment.offset && file_offset - segment.offset < segment.bytes)
            return file_offset - segment.offset + segment.address;
    return std::nullopt;
}

#ifdef PMUKIT_LIBELF

namespace {

constexpr size_t kMostSegments = 64, kMostNoteBytes = size_t{1} << 20;

std::vector<std::byte> build_id_of(Elf_Scn *section)
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

// Returns a path such as /usr/lib/debug/.build-id/01/23456789.debug
std::string debug_path(Bytes build_id)
{
    const std::string hex = hex_of(build_id);
    return "/usr/lib/debug/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
}

}  // namespace

void ElfFile::End::operator()(Elf *elf) const
{
    elf_end(elf);
}

// The path comes from the recording: it may name any file.
Result<ElfFile> ElfFile::open(const std::string &root, const std::string &path)
{
    Result<Fd> fd = perfdata::open_untrusted(root, path);
    if (!fd)
        return fd.error();
    return begun(std::move(*fd), {}, path);
}

Result<ElfFile> ElfFile::open_debug(const std::string &root, Bytes build_id, Debuginfod *debuginfod)
{
    if (build_id.size() < 2)
        return Error{Errc::kUnsupported, "no build id"};
    Result<ElfFile> file = open_build(root, debug_path(build_id), build_id);
    const auto path = file || !debuginfod
                          ? std::nullopt
                          : debuginfod->find(Debuginfod::Kind::kDebugInformation, build_id);
    return path ? open_build("", *path, build_id) : std::move(file);
}

Result<ElfFile> ElfFile::open_program(Debuginfod &debuginfod, Bytes build_id)
{
    const auto path = debuginfod.find(Debuginfod::Kind::kProgram, build_id);
    return path ? open_build("", *path, build_id) : Error{Errc::kNotFound, "no such build"};
}

Result<ElfFile> ElfFile::open_build(const std::string &root, const std::string &path,
                                    Bytes build_id)
{
    Result<ElfFile> file = open(root, path);
    if (file && (build_id.empty() || !std::ranges::equal(Bytes(file->build_id_), build_id)))
        return Error{Errc::kUnsupported, path + ": another build"};
    return file;
}

Result<ElfFile> ElfFile::of(Bytes bytes)
{
    const auto *begin = reinterpret_cast<const char *>(bytes.data());
    return begun({}, {begin, begin + bytes.size()}, "bytes");
}

Result<ElfFile> ElfFile::begun(Fd fd, std::vector<char> bytes, const std::string &name)
{
    if (elf_version(EV_CURRENT) == EV_NONE)
        return Error{Errc::kEnvironment, "libelf is older than its header"};
    ElfFile file;
    file.fd_ = std::move(fd);
    file.bytes_ = std::move(bytes);
    file.elf_.reset(file.fd_ ? elf_begin(file.fd_.get(), ELF_C_READ_MMAP, nullptr)
                             : elf_memory(file.bytes_.data(), file.bytes_.size()));
    GElf_Ehdr header;
    if (!file.elf_ || elf_kind(file.elf()) != ELF_K_ELF || !gelf_getehdr(file.elf(), &header))
        return Error{Errc::kDamaged, name + ": not an ELF file"};
    file.order_ = header.e_ident[EI_DATA] == ELFDATA2MSB ? std::endian::big : std::endian::little;
    file.machine_ = header.e_machine;
    file.is_relocatable_ = header.e_type == ET_REL;
    file.read_segments();
    file.read_build_id();
    return file;
}

void ElfFile::read_segments()
{
    size_t count = 0;
    GElf_Phdr segment;
    if (elf_getphdrnum(elf(), &count) != 0)
        return;
    bool is_first = true;
    for (size_t i = 0; i < std::min(count, kMostSegments); i++) {
        if (!gelf_getphdr(elf(), static_cast<int>(i), &segment))
            return;
        if (segment.p_type != PT_LOAD)
            continue;
        if (std::exchange(is_first, false))
            begin_ = segment.p_vaddr & -segment.p_align;
        end_ = std::max(end_, segment.p_vaddr + segment.p_memsz);
        if (segment.p_flags & PF_X)
            code_.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
    }
}

void ElfFile::read_build_id()
{
    GElf_Shdr header;
    for (Elf_Scn *at = nullptr; build_id_.empty() && (at = elf_nextscn(elf(), at));)
        if (gelf_getshdr(at, &header) && header.sh_type == SHT_NOTE &&
            header.sh_size <= kMostNoteBytes)
            build_id_ = build_id_of(at);
}

#else

void ElfFile::End::operator()(Elf *) const {}

Result<ElfFile> ElfFile::open(const std::string &, const std::string &path)
{
    return Error{Errc::kUnsupported, path + ": built without elfutils"};
}

Result<ElfFile> ElfFile::open_program(Debuginfod &, Bytes)
{
    return Error{Errc::kUnsupported, "built without elfutils"};
}

Result<ElfFile> ElfFile::open_debug(const std::string &, Bytes, Debuginfod *)
{
    return Error{Errc::kUnsupported, "built without elfutils"};
}

Result<ElfFile> ElfFile::of(Bytes)
{
    return Error{Errc::kUnsupported, "built without elfutils"};
}

#endif

}  // namespace pmukit::cli
