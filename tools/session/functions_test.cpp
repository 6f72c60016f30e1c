// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names kernel functions from a copy of kallsyms of another boot.
#include "session/functions.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <filesystem>

#include "base/test_folder.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::cli {
namespace {

// A recording whose kernel map has the name and the address of a kernel symbol.
class FunctionsTest : public testing::Test {
protected:
    static constexpr uint64_t kText = 0xffffffff90000000;

    void kernel_map(std::string_view reference)
    {
        const std::string path = "[kernel.kallsyms]" + std::string(reference);
        perfdata::Packer body;
        body.put(UINT32_MAX).put(UINT32_MAX).put(kText).put(uint64_t{0x1000000}).put(kText);
        const size_t end = body.bytes().size() + path.size() / 8 * 8 + 8;
        body.put(as_bytes(path)).pad_to(end).put(uint64_t{7});
        perfdata::Record record;
        record.type = PERF_RECORD_MMAP;
        record.body = body.bytes();
        threads_.note(record, *reader_);
    }
    std::string name_at(uint64_t address, const SymbolTable &kernel)
    {
        Programs programs(threads_, "", *reader_);
        return Explainer(threads_, programs, &kernel)
            .function_at(1, decode::imc::Mode::kKernel, address, 0)
            .name;
    }

    // True if the program that is mapped at an address is found below symfs.
    bool has_program(const std::string &path, const std::string &symfs)
    {
        perfdata::Packer body;
        body.put(kPid).put(kPid).put(kText).put(uint64_t{0x1000}).put(uint64_t{0});
        const size_t end = body.bytes().size() + path.size() / 8 * 8 + 8;
        body.put(as_bytes(path)).pad_to(end).put(uint64_t{7});
        perfdata::Record record;
        record.type = PERF_RECORD_MMAP;
        record.body = body.bytes();
        threads_.note(record, *reader_);
        const auto place = threads_.find(kPid, kText, UINT64_MAX);
        return place && Programs(threads_, symfs, *reader_).open_file(place->object);
    }

private:
    static constexpr uint32_t kPid = 7;
    std::vector<std::byte> file_ = perfdata::testing::FileBuilder(std::endian::native)
                                       .event(1, PERF_SAMPLE_IDENTIFIER, {7})
                                       .file();
    Result<perfdata::Reader> reader_ = perfdata::Reader::open(file_);
    Threads threads_;
};

// _text and _stext share an address, as on most machines; perf may name the map after either.
TEST_F(FunctionsTest, FindsSymbolsOfAnotherBootIfTheMapIsNamedTextOrStext)
{
    const Result<SymbolTable> other_boot = parse_kallsyms(
        "ffffffff81000000 T _stext\nffffffff81000000 T _text\n"
        "ffffffff81000100 t busy_loop\nffffffff81000200 t behind\n");
    ASSERT_TRUE(other_boot);
    for (const std::string_view reference : {"_text", "_stext"}) {
        kernel_map(reference);
        EXPECT_EQ(name_at(kText + 0x110, *other_boot), "busy_loop") << reference;
    }
}

TEST_F(FunctionsTest, AnonymousMemoryHasNoProgram)
{
    const TestFolder folder;
    std::filesystem::copy_file("/proc/self/exe", folder.path("anon"));
    EXPECT_TRUE(has_program("/anon", folder.dir()));
    EXPECT_FALSE(has_program("//anon", folder.dir()));
}

}  // namespace
}  // namespace pmukit::cli
