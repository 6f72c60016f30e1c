// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/cxl_sysfs.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "topology/test_tree.hpp"

namespace pmukit::topology {
namespace {

const std::string kDevices = "bus/cxl/devices/";

TEST(CxlSysfs, ReadsACopyOfSysfsInRegularFiles)
{
    TestFolder tree;
    put_region(tree, {.ways = 2, .root_ways = 2, .dpa_bytes = 0x10000000});
    Result<CxlDevices> found = read_cxl_devices(tree.dir());
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->memdevs.size(), 2U);
    EXPECT_EQ(found->memdevs[0].numa_node, std::nullopt);
    EXPECT_EQ(found->memdevs[1].numa_node, 0U);
    EXPECT_EQ(found->memdevs[1].serial, 2U);
    EXPECT_EQ(found->memdevs[1].ram_bytes, 0x10000000U);
    ASSERT_EQ(found->endpoints.size(), 2U);
    EXPECT_EQ(found->endpoints[1].name, "decoder5.0");
    EXPECT_EQ(found->endpoints[1].memdev, "mem1");
    EXPECT_EQ(found->endpoints[1].region, "region0");
    ASSERT_EQ(found->regions.size(), 1U);
    EXPECT_EQ(found->regions[0].targets, (std::vector<std::string>{"decoder4.0", "decoder5.0"}));
    EXPECT_EQ(found->regions[0].bytes, 0x20000000U);
    ASSERT_EQ(found->roots.size(), 1U);
    EXPECT_EQ(found->roots[0].ways, 2U);
    EXPECT_EQ(found->roots[0].targets, std::vector<uint64_t>{12});
}

TEST(CxlSysfs, AcceptsTheDevicesFolderInsteadOfTheWholeTree)
{
    TestFolder tree;
    put_region(tree, {});
    EXPECT_EQ(read_cxl_devices(tree.path(kDevices))->endpoints.size(), 1U);
}

// In live sysfs, every device is a link into devices/, and uport is a link to the memdev.
TEST(CxlSysfs, FollowsLinksAsInLiveSysfs)
{
    TestFolder tree;
    put_region(tree, {});
    tree.folder("devices/pci0000:0c");
    std::filesystem::rename(tree.path(kDevices + "mem0"), tree.path("devices/pci0000:0c/mem0"));
    tree.link(kDevices + "mem0", "../../../devices/pci0000:0c/mem0");
    tree.remove(kDevices + "endpoint4/uport");
    tree.link(kDevices + "endpoint4/uport", "../../../../devices/pci0000:0c/mem0");
    Result<CxlDevices> found = read_cxl_devices(tree.dir());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->memdevs.size(), 1U);
    EXPECT_EQ(found->endpoints[0].memdev, "mem0");
}

// If a copy is made with links followed, uport is a folder with the attributes of its memdev.
TEST(CxlSysfs, FindsTheMemdevByItsDeviceNumberIfUportIsAFolder)
{
    TestFolder tree;
    put_region(tree, {.ways = 2, .root_ways = 2});
    tree.put(kDevices + "mem0/dev", "250:0\n");
    tree.put(kDevices + "mem1/dev", "250:1\n");
    tree.remove(kDevices + "endpoint4/uport");
    tree.put(kDevices + "endpoint4/uport/dev", "250:1\n");
    EXPECT_EQ(read_cxl_devices(tree.dir())->endpoints[0].memdev, "mem1");
}

TEST(CxlSysfs, IgnoresInactiveRegionsAndDecodersAndObjectsOfOtherKinds)
{
    TestFolder tree;
    put_region(tree, {});
    tree.put(kDevices + "decoder4.1/dpa_resource", "0xffffffffffffffff\n");
    tree.put(kDevices + "decoder4.1/dpa_size", "0x0000000000000000\n");
    tree.put(kDevices + "region1/resource", "0xffffffffffffffff\n");
    tree.put(kDevices + "decoder2.0/target_list", "0,1\n");  // target_list of a host bridge
    tree.folder(kDevices + "root0");
    tree.folder(kDevices + "decoder.1");
    tree.folder(kDevices + "memory");
    Result<CxlDevices> found = read_cxl_devices(tree.dir());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->endpoints.size(), 1U);
    EXPECT_EQ(found->regions.size(), 1U);
    EXPECT_EQ(found->roots.size(), 1U);
}

struct Damage {
    const char *file, *text;
};

// A wrong value excludes only the object that has it.
TEST(CxlSysfs, OnlyTheObjectWithAWrongValueIsLeftOutAndItsFolderIsNamed)
{
    const Damage damages[] = {
        {"decoder4.0/dpa_resource", "zero"},
        {"decoder4.0/dpa_resource", "0xffffffffffffff00"},
        {"decoder4.0/dpa_size", "0x1ffffffffffffffff"},
        {"decoder4.0/dpa_size", ""},
        {"decoder4.0/region", "../../region0"},
        {"decoder4.0/start", "\x01\x02"},
        {"decoder4.0/size", "-1"},
        {"endpoint4/uport", "decoder4.0"},
        {"mem0/numa_node", "-2"},
        {"mem0/serial", "0x"},
        {"mem0/ram/size", "1k"},
        {"region0/resource", "none"},
        {"region0/resource", "0xfffffffffffffff0"},
        {"region0/size", "0"},
        {"region0/interleave_ways", "5"},
        {"region0/interleave_ways", "4294967297"},
        {"region0/interleave_granularity", "256 bytes"},
        {"region0/extended_linear_cache_size", "0x4000"},
        {"region0/target0", "region0"},
        {"decoder0.0/start", "??"},
        {"decoder0.0/size", "0x0"},
        {"decoder0.0/interleave_ways", "0"},
        {"decoder0.0/target_list", "1,,2"},
    };
    for (const Damage &damage : damages) {
        TestFolder tree;
        put_region(tree, {});
        put_region(tree, {.start = uint64_t{1} << 33, .number = 1});
        tree.put(kDevices + damage.file, damage.text);
        Result<CxlDevices> found = read_cxl_devices(tree.dir());
        ASSERT_TRUE(found) << damage.file << " " << found.error().message;
        EXPECT_EQ(found->memdevs.size() + found->endpoints.size() + found->regions.size() +
                      found->roots.size(),
                  7U)
            << damage.file << " " << damage.text;
        ASSERT_EQ(found->left_out.size(), 1U) << damage.file << " " << damage.text;
        const std::string folder = *std::filesystem::path(damage.file).begin();
        EXPECT_EQ(found->left_out[0].name, folder == "endpoint4" ? "decoder4.0" : folder);
        // For an invalid range, the error names the file of the size even if the start is wrong, so
        // only the folder is compared.
        const std::string &why = found->left_out[0].why.message;
        EXPECT_EQ(why.find(tree.path(kDevices + folder)), 0U) << why;
        EXPECT_EQ(why.find('\n'), std::string::npos) << why;
    }
}

TEST(CxlSysfs, ReportsAnErrorIfNoObjectIsValid)
{
    TestFolder tree;
    put_region(tree, {});
    tree.put(kDevices + "decoder4.0/size", "-1");
    EXPECT_EQ(read_cxl_devices(tree.dir())->memdevs.size(), 1U);
    tree.put(kDevices + "mem0/serial", "0x");
    Result<CxlDevices> found = read_cxl_devices(tree.dir());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message.find(tree.path(kDevices + "decoder4.0/size")), 0U)
        << found.error().message;
}

// In a saved copy, uport may be a folder. A memdev whose device number is unreadable is not
// compared with it.
TEST(CxlSysfs, UnreadableDeviceNumberExcludesOnlyThatMemdev)
{
    TestFolder tree;
    put_region(tree, {.ways = 2, .root_ways = 2});
    tree.folder(kDevices + "mem0/dev");
    tree.put(kDevices + "mem1/dev", "250:1\n");
    tree.remove(kDevices + "endpoint5/uport");
    tree.put(kDevices + "endpoint5/uport/dev", "250:1\n");
    EXPECT_EQ(read_cxl_devices(tree.dir())->endpoints[1].memdev, "mem1");
}

void damage(const TestFolder &tree, const std::string &file, int kind, const std::string &enormous)
{
    tree.remove(file);
    if (kind == 1)
        tree.put(file, "");
    if (kind == 2)
        tree.put(file, "text\n");
    if (kind == 3)
        tree.put(file, enormous);
    if (kind == 4)
        tree.folder(file);
    if (kind == 5)
        tree.link(file, std::filesystem::path(file).filename());
    if (kind == 6) {
        ASSERT_EQ(::mkfifo(tree.path(file).c_str(), 0600), 0);
    }
}

// Makes each file in turn missing, empty, text, enormous, a folder, a link to itself and a pipe.
// The reader must always return: no crash, and no blocking read.
TEST(CxlSysfs, AnyDamageToAnyFileExcludesAtMostOneObject)
{
    TestFolder tree;
    put_region(tree, {.ways = 3, .root_ways = 3, .cache_bytes = 0xc000});
    const std::vector<std::string> files = tree.files();
    const std::string enormous(1 << 17, '9');
    unsigned refused = 0;
    for (const std::string &file : files) {
        const Result<std::string> good = read_small_file(tree.path(file));
        ASSERT_TRUE(good);
        for (int kind = 0; kind < 7; kind++) {
            damage(tree, file, kind, enormous);
            Result<CxlDevices> found = read_cxl_devices(tree.dir());
            ASSERT_TRUE(found) << file << " " << found.error().message;
            EXPECT_LE(found->left_out.size(), 1U) << file;
            refused += !found->left_out.empty();
            for (const LeftOut &one : found->left_out) {
                EXPECT_NE(one.why.message.find(tree.dir()), std::string::npos) << one.why.message;
                EXPECT_LT(one.why.message.size(), 300U);
            }
        }
        tree.remove(file);
        tree.put(file, *good);
    }
    EXPECT_GT(refused, files.size() * 4);
}

TEST(CxlSysfs, ReportsAMissingOrEmptyTree)
{
    TestFolder tree;
    Result<CxlDevices> found = read_cxl_devices(tree.path("nowhere"));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::kNotFound);
    found = read_cxl_devices(tree.dir());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, tree.dir() + ": no CXL memory devices");
}

}  // namespace
}  // namespace pmukit::topology
