// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds the build id in ELF notes, such as those of the running kernel in /sys/kernel/notes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"
#include "base/file.hpp"

namespace pmukit {

// Returns the build id in ELF notes (elf(5)), which have this machine's byte order. Empty: the
// notes have none. A note has three words (size of the name, size of the content, type), then the
// name and the content, each padded to whole 32-bit words.
inline Bytes build_id_of_notes(Bytes notes)
{
    constexpr size_t kHeadBytes = 12;
    constexpr uint32_t kBuildIdType = 3;  // NT_GNU_BUILD_ID
    constexpr std::string_view kOwner("GNU", 4);
    const auto padded = [](uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; };
    while (notes.size() >= kHeadBytes) {
        const uint64_t name_bytes = load<uint32_t>(notes.data(), std::endian::native);
        const uint64_t id_bytes = load<uint32_t>(notes.data() + 4, std::endian::native);
        const uint32_t type = load<uint32_t>(notes.data() + 8, std::endian::native);
        notes = notes.subspan(kHeadBytes);
        if (padded(name_bytes) > notes.size() || id_bytes > notes.size() - padded(name_bytes))
            return {};
        const Bytes id = notes.subspan(padded(name_bytes), id_bytes);
        if (type == kBuildIdType && name_bytes == kOwner.size() &&
            std::ranges::equal(notes.first(name_bytes), as_bytes(kOwner)))
            return id;
        notes =
            notes.subspan(std::min<uint64_t>(padded(name_bytes) + padded(id_bytes), notes.size()));
    }
    return {};
}

}  // namespace pmukit
