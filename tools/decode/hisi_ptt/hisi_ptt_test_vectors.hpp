// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Entries for tests: built from fields, or read from testdata.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt::testing {

using Buffer = std::vector<std::byte>;

inline void put_dword(Buffer &to, uint32_t value)
{
    to.resize(to.size() + 4);
    store_le(to.data() + to.size() - 4, value);
}

inline Buffer entry_8dw(const TlpHeader &header, uint32_t time, uint32_t prefix = 0)
{
    Buffer entry;
    for (uint32_t value :
         {0xffffffffU, prefix, header[0], header[1], header[2], header[3], 0U, time})
        put_dword(entry, value);
    return entry;
}

// Packs the first dword as the device does.
inline Buffer entry_4dw(const TlpHeader &header, uint32_t time)
{
    const uint32_t dw0 = header[0];
    Buffer entry;
    put_dword(entry, (dw0 >> 24 & 0x7f) << 25 | (dw0 >> 23 & 1) << 24 | (dw0 >> 19 & 1) << 23 |
                         (dw0 >> 16 & 1) << 22 | (dw0 & 0x3ff) << 11 | (time & 0x7ff));
    for (uint32_t value : {header[1], header[2], header[3]})
        put_dword(entry, value);
    return entry;
}

inline Buffer entry(Format format, const TlpHeader &header, uint32_t time)
{
    return format == Format::k8dw ? entry_8dw(header, time) : entry_4dw(header, time);
}

// Headers
inline TlpHeader read_tlp(uint16_t requester, uint8_t tag, uint64_t address, uint32_t dwords)
{
    return {0x20000000 | (dwords & 0x3ff),
            uint32_t{requester} << 16 | uint32_t{tag} << 8 | (dwords > 1 ? 0xffU : 0x0fU),
            static_cast<uint32_t>(address >> 32), static_cast<uint32_t>(address)};
}

inline TlpHeader write_tlp(uint16_t requester, uint64_t address, uint32_t dwords)
{
    TlpHeader header = read_tlp(requester, 0, address, dwords);
    header[0] |= 0x40000000;
    return header;
}

inline TlpHeader completion_tlp(uint16_t requester, uint8_t tag, uint32_t byte_count,
                                uint32_t dwords, uint32_t status = 0)
{
    return {dwords ? 0x4a000000 | (dwords & 0x3ff) : 0x0a000000,
            status << 13 | (byte_count & 0xfff), uint32_t{requester} << 16 | uint32_t{tag} << 8, 0};
}

inline void join(Buffer &to, const Buffer &more)
{
    append(to, more);
}

// Reads and writes of a few requesters; the time advances by seven.
inline Buffer stream_of(Format format, size_t packets, uint32_t time = 100)
{
    Buffer all;
    for (size_t i = 0; i < packets; i++) {
        const auto requester = static_cast<uint16_t>(0x100 + i % 3);
        const uint64_t address = 0x402810000 + i * 64;
        const TlpHeader header = i % 2 ? write_tlp(requester, address, 16)
                                       : read_tlp(requester, static_cast<uint8_t>(i), address, 16);
        join(all, entry(format, header, time + static_cast<uint32_t>(i) * 7));
    }
    return all;
}

struct Vectors {
    Buffer bytes;
    std::vector<std::string> lines;  // expected text, one per entry
};

// testdata/NAME.ptt.txt
inline Vectors read_vectors(const std::string &name)
{
    std::ifstream file(std::string(HISI_PTT_TESTDATA) + "/" + name + ".ptt.txt");
    EXPECT_TRUE(file.is_open()) << name;
    Vectors vectors;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#')
            continue;
        if (line.starts_with("4dw ") || line.starts_with("8dw ")) {
            vectors.lines.push_back(line);
            continue;
        }
        std::istringstream words(line);
        for (uint32_t value; words >> std::hex >> value;)
            put_dword(vectors.bytes, value);
    }
    return vectors;
}

}  // namespace pmukit::decode::hisi_ptt::testing
