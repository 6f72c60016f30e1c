// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names kernel functions from a copy of kallsyms of another boot, or from the running kernel, and
// functions of the vDSO.
#include "session/functions.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::cli {
namespace {

// The kernel of the recording, which was at another address.
constexpr std::string_view kOtherBoot =
    "ffffffff81000000 T _stext\nffffffff81000000 T _text\n"
    "ffffffff81000100 t busy_loop\nffffffff81000200 t behind\n";
constexpr std::string_view kBuild = "twenty bytes of id..";

// A recording whose kernel map has the name and the address of a kernel symbol.
class FunctionsTest : public testing::Test {
protected:
    static constexpr uint64_t kText = 0xffffffff90000000;

    void kernel_map(std::string_view reference)
    {
        map(UINT32_MAX, kText, kText, "[kernel.kallsyms]" + std::string(reference));
    }
    // With a build id, the map is an MMAP2 record.
    void map(uint32_t pid, uint64_t address, uint64_t file_offset, std::string_view path,
             std::string_view build_id = {})
    {
        perfdata::Packer body;
        body.put(pid).put(pid).put(address).put(uint64_t{0x1000000}).put(file_offset);
        if (!build_id.empty())
            body.put(static_cast<uint32_t>(build_id.size())).put(as_bytes(build_id)).pad_to(64);
        const size_t end = body.bytes().size() + path.size() / 8 * 8 + 8;
        body.put(as_bytes(path)).pad_to(end).put(uint64_t{7});
        perfdata::Record record;
        record.type = build_id.empty() ? PERF_RECORD_MMAP : PERF_RECORD_MMAP2;
        record.misc = build_id.empty() ? 0 : PERF_RECORD_MISC_MMAP_BUILD_ID;
        record.body = body.bytes();
        threads_.note(record, *reader_);
    }
    // Files of the machine that reads the recording.
    void running_kernel(std::string_view build_id, std::string_view kallsyms)
    {
        std::vector<std::byte> notes(12);
        store(notes.data(), uint32_t{4}, std::endian::native);
        store(notes.data() + 4, static_cast<uint32_t>(build_id.size()), std::endian::native);
        store(notes.data() + 8, uint32_t{3}, std::endian::native);
        append(notes, as_bytes({"GNU", 4}));
        append(notes, as_bytes(build_id));
        root_.put("sys/kernel/notes", notes);
        root_.put("proc/kallsyms", kallsyms);
    }
    // Symbol of a user address; empty: none.
    std::string user_symbol(uint64_t address)
    {
        return Names(*reader_, "", std::nullopt, root_.dir())
            .explainer(threads_)
            .frames_at(kPid, decode::imc::Mode::kUser, address, UINT64_MAX)
            .frames.back()
            .symbol;
    }
    std::string name_at(uint64_t address, std::optional<SymbolTable> kernel)
    {
        return Names(*reader_, "", std::move(kernel), root_.dir())
            .explainer(threads_)
            .function_at(1, decode::imc::Mode::kKernel, address, 0)
            .name;
    }

    // True if the program that is mapped at an address is found below symfs.
    bool has_program(const std::string &path, const std::string &symfs)
    {
        map(kPid, kText, 0, path);
        const auto place = threads_.find(kPid, kText, UINT64_MAX);
        return place && Programs(threads_, symfs, *reader_).open_file(place->object);
    }

    static constexpr uint32_t kPid = 7;
    const TestFolder root_;

private:
    std::vector<std::byte> file_ = perfdata::testing::FileBuilder(std::endian::native)
                                       .event(1, PERF_SAMPLE_IDENTIFIER, {7})
                                       .file();
    Result<perfdata::Reader> reader_ = perfdata::Reader::open(file_);
    Threads threads_;
};

// _text and _stext share an address, as on most machines; perf may name the map after either.
TEST_F(FunctionsTest, FindsSymbolsOfAnotherBootIfTheMapIsNamedTextOrStext)
{
    for (const std::string_view reference : {"_text", "_stext"}) {
        kernel_map(reference);
        Result<SymbolTable> other_boot = parse_kallsyms(kOtherBoot);
        ASSERT_TRUE(other_boot);
        EXPECT_EQ(name_at(kText + 0x110, std::move(*other_boot)), "busy_loop") << reference;
    }
}

TEST_F(FunctionsTest, TakesSymbolsOfTheRunningKernelIfItsBuildIdIsTheRecordedOne)
{
    map(UINT32_MAX, kText, kText, "[kernel.kallsyms]_text", kBuild);
    EXPECT_EQ(name_at(kText + 0x110, {}), "[kernel.kallsyms]+0xffffffff90000110");
    running_kernel("another build id    ", kOtherBoot);
    EXPECT_EQ(name_at(kText + 0x110, {}), "[kernel.kallsyms]+0xffffffff90000110");
    running_kernel(kBuild, kOtherBoot);
    EXPECT_EQ(name_at(kText + 0x110, {}), "busy_loop") << "it is at another address now";
    running_kernel(kBuild, "0000000000000000 T _text\n0000000000000000 t busy_loop\n");
    EXPECT_EQ(name_at(kText + 0x110, {}), "[kernel.kallsyms]+0xffffffff90000110") << "hidden";
}

// A recording without a build id, and without the name of the host, may be of any kernel.
TEST_F(FunctionsTest, TakesNoSymbolsOfTheRunningKernelWithoutAProof)
{
    kernel_map("_text");
    running_kernel(kBuild, "ffffffff90000000 T _text\nffffffff90000100 t busy_loop\n");
    EXPECT_EQ(name_at(kText + 0x110, {}), "[kernel.kallsyms]+0xffffffff90000110");
}

TEST_F(FunctionsTest, TakesSymbolsOfAModuleOnlyIfItIsStillAtItsAddress)
{
    constexpr uint64_t kModule = 0xffffffffc0000000;
    map(UINT32_MAX, kText, kText, "[kernel.kallsyms]_text", kBuild);
    map(UINT32_MAX, kModule, 0, "/lib/modules/6.12/kernel/nf-tables.ko.xz");
    running_kernel(kBuild,
                   std::string(kOtherBoot) + "ffffffffc0000100 t nft_do_chain\t[nf_tables]\n");
    EXPECT_EQ(name_at(kModule + 0x110, {}), "nf-tables.ko.xz+0x110") << "not loaded";
    root_.put("proc/modules", "nf_tables 4096 0 - Live 0xffffffffc0000000\n");
    EXPECT_EQ(name_at(kModule + 0x110, {}), "nft_do_chain");
    root_.put("proc/modules", "nf_tables 4096 0 - Live 0xffffffffc0001000\n");
    EXPECT_EQ(name_at(kModule + 0x110, {}), "nf-tables.ko.xz+0x110") << "loaded again elsewhere";
}

TEST_F(FunctionsTest, TakesSymbolsThatPerfHasKeptOfTheRecordedKernel)
{
    map(UINT32_MAX, kText, kText, "[kernel.kallsyms]_text", kBuild);
    running_kernel("another build id    ", "ffffffff81000000 T _text\n");
    const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
    ::setenv("HOME", root_.dir().c_str(), 1);
    root_.put(kept_path(as_bytes(kBuild)).substr(1) + "/kallsyms", kOtherBoot);
    EXPECT_EQ(name_at(kText + 0x110, {}), "busy_loop");
    ::setenv("HOME", home.c_str(), 1);
}

// The vDSO of this process, in which each test looks for any symbol.
TEST_F(FunctionsTest, NamesFunctionsOfTheVdsoIfTheKernelIsTheRunningOne)
{
    constexpr uint64_t kHigh = 0x7fff00000000, kLow = 0xf7fc0000;
    const auto named = [this](uint64_t begin) {
        size_t found = 0;
        for (uint64_t at = 0; at < 0x2000; at += 16)
            found += user_symbol(begin + at).starts_with("__");
        return found;
    };
    map(kPid, kHigh, 0, "[vdso]");
    map(kPid, kLow, 0, "[vdso]");
    map(UINT32_MAX, kText, kText, "[kernel.kallsyms]_text", kBuild);
    running_kernel("another build id    ", kOtherBoot);
    EXPECT_EQ(named(kHigh), 0U);
    running_kernel(kBuild, kOtherBoot);
    EXPECT_GT(named(kHigh), 0U);
    EXPECT_EQ(named(kLow), 0U) << "the vDSO of a 32-bit process is another one";
}

TEST_F(FunctionsTest, NamesNoFunctionsOfTheVdsoOfAnotherBuild)
{
    map(kPid, 0x7fff00000000, 0, "[vdso]", "another build id    ");
    map(UINT32_MAX, kText, kText, "[kernel.kallsyms]_text", kBuild);
    running_kernel(kBuild, kOtherBoot);
    for (uint64_t at = 0; at < 0x2000; at += 16)
        EXPECT_EQ(user_symbol(0x7fff00000000 + at), "");
}

TEST_F(FunctionsTest, AnonymousMemoryHasNoProgram)
{
    const TestFolder folder;
    std::filesystem::copy_file("/proc/self/exe", folder.path("anon"));
    EXPECT_TRUE(has_program("/anon", folder.dir()));
    EXPECT_FALSE(has_program("//anon", folder.dir()));
}

// Debuginfod servers and other users may have files of any name.
TEST(DebugInformation, FileOfAnotherBuildIsNotUsed)
{
    const TestFolder root;
    const Result<ElfFile> own = ElfFile::open("", "/bin/sh");
    ASSERT_TRUE(own && own->build_id().size() > 2);
    std::vector<std::byte> other = own->build_id();
    other.back() ^= std::byte{1};
    for (const std::vector<std::byte> &id : {own->build_id(), other}) {
        const std::string hex = hex_of(id);
        root.folder("usr/lib/debug/.build-id/" + hex.substr(0, 2));
        std::filesystem::copy_file("/bin/sh",
                                   root.path("usr/lib/debug/.build-id/" + hex.substr(0, 2) + "/" +
                                             hex.substr(2) + ".debug"));
        EXPECT_EQ(static_cast<bool>(ElfFile::open_debug(root.dir(), id)), id == own->build_id());
    }
}

}  // namespace
}  // namespace pmukit::cli
