// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_cpio.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace pmukit::vm {
namespace {

struct Entry {
    std::string name, content;
    unsigned long mode, major, minor;
};

unsigned long field(const std::string &archive, size_t at, unsigned number)
{
    return std::strtoul(archive.substr(at + 6 + number * 8, 8).c_str(), nullptr, 16);
}

// Reads the archive without the writer's code: for each entry a header of 110 bytes, the name and
// the content, both padded to a multiple of four bytes.
std::vector<Entry> read_back(const std::string &archive)
{
    std::vector<Entry> entries;
    auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
    size_t at = 0;
    while (at + 110 <= archive.size() && archive.compare(at, 6, "070701") == 0) {
        size_t content_size = field(archive, at, 6), name_size = field(archive, at, 11);
        size_t content_at = padded(at + 110 + name_size);
        entries.push_back({archive.substr(at + 110, name_size - 1),
                           archive.substr(content_at, content_size), field(archive, at, 1),
                           field(archive, at, 9), field(archive, at, 10)});
        at = padded(content_at + content_size);
    }
    EXPECT_EQ(at, archive.size());
    return entries;
}

TEST(Cpio, AddsMissingFolderOnceBeforeItsFiles)
{
    CpioWriter cpio;
    cpio.file("a/b/one", "1", true);
    cpio.file("a/b/two", "22", false);
    auto entries = read_back(cpio.finish());
    ASSERT_EQ(entries.size(), 5u);
    EXPECT_EQ(entries[0].name, "a");
    EXPECT_EQ(entries[1].name, "a/b");
    EXPECT_EQ(entries[2].name, "a/b/one");
    EXPECT_EQ(entries[2].mode, 0100755u);
    EXPECT_EQ(entries[3].content, "22");
    EXPECT_EQ(entries[3].mode, 0100644u);
    EXPECT_EQ(entries[4].name, "TRAILER!!!");
}

TEST(Cpio, PreservesContentsOfEverySize)
{
    CpioWriter cpio;
    for (size_t size = 0; size < 9; size++)
        cpio.file(std::string(size + 1, 'n'), std::string(size, 'c'), false);
    auto entries = read_back(cpio.finish());
    ASSERT_EQ(entries.size(), 10u);
    for (size_t size = 0; size < 9; size++) {
        EXPECT_EQ(entries[size].name.size(), size + 1);
        EXPECT_EQ(entries[size].content.size(), size);
    }
}

TEST(Cpio, WritesLinksAndDevices)
{
    CpioWriter cpio;
    cpio.link("bin/sh", "busybox");
    cpio.character_device("dev/console", 5, 1);
    auto entries = read_back(cpio.finish());
    ASSERT_EQ(entries.size(), 5u);
    EXPECT_EQ(entries[1].mode, 0120777u);
    EXPECT_EQ(entries[1].content, "busybox");
    EXPECT_EQ(entries[3].mode, 0020600u);
    EXPECT_EQ(entries[3].major, 5u);
    EXPECT_EQ(entries[3].minor, 1u);
}

TEST(Cpio, WriterIsEmptyAfterFinish)
{
    CpioWriter cpio;
    cpio.folder("a");
    auto first = cpio.finish();
    cpio.folder("a");
    EXPECT_EQ(cpio.finish(), first);
}

}  // namespace
}  // namespace pmukit::vm
