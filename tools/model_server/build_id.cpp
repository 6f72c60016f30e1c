// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "model_server/build_id.hpp"

#include <fmt/core.h>
#include <link.h>

#include <optional>
#include <string_view>

#include "base/bytes.hpp"

// The program's own ELF header in memory. The linker defines this symbol.
extern "C" const std::byte pmukit_elf_header[] __asm__("__ehdr_start");

namespace pmukit::cli {
namespace {

constexpr std::endian kNative = std::endian::native;

// A note has a name and a description, each padded to four bytes (elf(5)).
std::optional<Bytes> find_build_id(Bytes notes)
{
    constexpr std::string_view kOwner("GNU\0", 4);
    const auto padded = [](uint32_t size) { return (size_t{size} + 3) / 4 * 4; };
    ByteReader in(notes, kNative);
    for (;;) {
        const auto name_bytes = in.u32(), id_bytes = in.u32(), type = in.u32();
        if (!name_bytes || !id_bytes || !type)
            return std::nullopt;
        const std::optional<Bytes> name = in.take(padded(*name_bytes));
        const std::optional<Bytes> id = in.take(padded(*id_bytes));
        if (!name || !id)
            return std::nullopt;
        if (*type == NT_GNU_BUILD_ID && name->size() == kOwner.size() &&
            std::memcmp(name->data(), kOwner.data(), kOwner.size()) == 0)
            return id->first(*id_bytes);
    }
}

}  // namespace

std::string build_id()
{
    ElfW(Ehdr) header;
    std::memcpy(&header, pmukit_elf_header, sizeof header);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        std::memcpy(&segment, pmukit_elf_header + header.e_phoff + i * sizeof segment,
                    sizeof segment);
        if (segment.p_type != PT_NOTE)
            continue;
        // The file offset can be used as an offset in memory, because the header and the notes are
        // in the first loaded segment.
        const Bytes notes(pmukit_elf_header + segment.p_offset, segment.p_filesz);
        if (const std::optional<Bytes> id = find_build_id(notes)) {
            std::string text;
            for (std::byte byte : *id)
                text += fmt::format("{:02x}", static_cast<unsigned>(byte));
            return text;
        }
    }
    return "unknown";
}

}  // namespace pmukit::cli
