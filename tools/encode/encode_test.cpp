// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the case language, and the bytes and records generated from cases. tools/cli/tests checks
// pmukit's output for the cases in testdata.
#include "encode/encode.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "perfdata/format.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::encode {
namespace {

constexpr std::string_view kHead = "pmu 24 p\nevent 8 p/x=1/\naux 8 cpu 3\n";

std::vector<std::byte> bytes_of(std::string_view lines)
{
    Result<Case> made = parse_case(std::string(kHead) + std::string(lines));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->buffers.at(0).bytes : std::vector<std::byte>();
}

std::string error_of(std::string_view text)
{
    Result<Case> made = parse_case(text);
    return made ? "none" : made.error().message;
}

TEST(EncodeLines, BytesDwordsAndWordsAreWrittenInLittleEndianOrder)
{
    EXPECT_EQ(bytes_of("bytes 01 ff"), (std::vector{std::byte{1}, std::byte{0xff}}));
    const std::vector<std::byte> dwords = bytes_of("dwords 01020304\nwords 5");
    ASSERT_EQ(dwords.size(), 12U);
    EXPECT_EQ(load_le<uint32_t>(dwords.data()), 0x01020304U);
    EXPECT_EQ(load_le<uint64_t>(dwords.data() + 4), 5U);
}

TEST(EncodeLines, HisiPttLinesAreEncodedIn8dwAnd4dwFormat)
{
    const std::vector<std::byte> wide = bytes_of("8dw 10 60000001 2 3 4 91312345");
    ASSERT_EQ(wide.size(), 32U);
    const uint32_t expected[] = {0xffffffff, 0x91312345, 0x60000001, 2, 3, 4, 0, 10};
    for (size_t i = 0; i < std::size(expected); i++)
        EXPECT_EQ(load_le<uint32_t>(wide.data() + 4 * i), expected[i]) << i;
    EXPECT_EQ(bytes_of("4dw 1 2 3 4").size(), 16U);
}

TEST(EncodeLines, HotLinesAreEncodedAsCxlHmuRecords)
{
    const std::vector<std::byte> hot = bytes_of("hot width 8 unit 12 time 7 lost 5 3:255 1:1");
    ASSERT_EQ(hot.size(), 8U * 9);
    EXPECT_EQ(load_le<uint64_t>(hot.data()), uint64_t{5} << 56 | 1 << 24 | 8 << 16 | 7)
        << "two entries and five extra words";
    EXPECT_EQ(load_le<uint64_t>(hot.data() + 8), 0xdeadbeefU);
    EXPECT_EQ(load_le<uint64_t>(hot.data() + 16), 7U);
    EXPECT_EQ(load_le<uint64_t>(hot.data() + 48), 5U);
    EXPECT_EQ(load_le<uint64_t>(hot.data() + 56), uint64_t{3} << 8 | 255);
}

TEST(EncodeLines, RejectsMoreEntriesThanTheCountOfACxlHmuRecordHolds)
{
    std::string line = "hot width 8";
    for (unsigned i = 0; i < 0xffff - 5; i++)
        line += " 1:1";
    EXPECT_EQ(load_le<uint64_t>(bytes_of(line).data()) & 0xffff, 0xffffU);
    EXPECT_EQ(error_of(std::string(kHead) + line + " 1:1"),
              "line 4: a record holds at most 65530 entries; write further ones in a second line");
}

TEST(EncodeCase, ErrorMessagesContainTheLineNumber)
{
    EXPECT_EQ(error_of("pmu 1 a\nevent 1 b//\n"), "line 2: an event of an undefined pmu");
    for (const char *line : {"pmu x a", "pmu 1", "pmu 1 a cap"})
        EXPECT_EQ(error_of(line), "line 1: pmu TYPE NAME [CAP=VALUE ...]");
    EXPECT_EQ(error_of("\n\nnonsense"), "line 3: unknown word 'nonsense'");
    EXPECT_EQ(error_of("bytes 1"), "line 1: bytes outside a buffer: aux must come first");
    EXPECT_EQ(error_of("| text"), "line 1: a text line without a preceding expect");
    EXPECT_EQ(error_of(std::string(kHead) + "bytes 100"), "line 4: 100 does not fit");
    EXPECT_EQ(error_of(std::string(kHead) + "hot width 8 1:256"), "line 4: 1:256 does not fit");
    EXPECT_EQ(error_of(std::string(kHead) + "hot wide 8"), "line 4: hot has no term 'wide'");
    EXPECT_EQ(error_of(std::string(kHead) + "8dw 1 2"),
              "line 4: 8dw TIME DW0 DW1 DW2 DW3 [PREFIX]");
    EXPECT_EQ(error_of("# only this"), "a case has at least one pmu and one event");
}

TEST(EncodeCase, ReturnsExpectedOutputOfCaseUnchanged)
{
    Result<Case> made = parse_case(std::string(kHead) +
                                   "expect dump --tlp\n| one\n|  two\n|\nexpect report\n| three\n");
    ASSERT_TRUE(made);
    ASSERT_EQ(made->expected.size(), 2U);
    EXPECT_EQ(made->expected[0].command, "dump --tlp");
    EXPECT_EQ(made->expected[0].text, "one\n two\n\n");
    EXPECT_EQ(made->expected[1].text, "three\n");
}

TEST(EncodeCase, RefusesAuxDataThatEndsInsideAWord)
{
    Result<Case> made = parse_case(std::string(kHead) + "bytes 1 2 3");
    ASSERT_TRUE(made);
    EXPECT_FALSE(write_recording(*made, testing::TempDir() + "pmukit_encode.odd"));
}

class EncodeRecording : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(BothLayouts, EncodeRecording, testing::Values("file", "pipe"),
                         [](const auto &layout) { return std::string(layout.param); });

TEST_P(EncodeRecording, RecordingHasAuxBuffersAndMissingBytesOfCase)
{
    const std::string path =
        testing::TempDir() + "pmukit_encode." + GetParam() + "." + std::to_string(::getpid());
    Result<Case> made = parse_case(std::string("layout ") + GetParam() +
                                   "\npmu 24 p\nevent 8 p/x=1/\ninfo 6 24\n"
                                   "aux 8 cpu 3 missing 16 truncated\nwords 1\n"
                                   "aux 8 cpu 3\nwords 2 3\n");
    ASSERT_TRUE(made);
    ASSERT_TRUE(write_recording(*made, path));
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    ASSERT_TRUE(reader);
    std::vector<perfdata::AuxRecord> said;
    std::vector<perfdata::AuxtraceRecord> found;
    uint32_t info = 0;
    for (perfdata::Record record; reader->next(record);) {
        if (record.type == PERF_RECORD_AUX) {
            EXPECT_EQ(reader->event_of(record), 0U);
            said.push_back(*perfdata::parse_aux(record.body, reader->order()));
        }
        if (record.type == perfdata::kAuxtrace) {
            found.push_back(*perfdata::parse_auxtrace(record.body, reader->order()));
        }
        if (record.type == perfdata::kAuxtraceInfo)
            info = perfdata::parse_auxtrace_info(record.body, reader->order())->type;
    }
    EXPECT_EQ(reader->is_pipe(), std::string(GetParam()) == "pipe");
    EXPECT_EQ(reader->pmu_name(24), "p");
    EXPECT_EQ(info, 6U);
    ASSERT_EQ(said.size(), 2U);
    EXPECT_EQ(said[0].size, 24U);
    EXPECT_EQ(said[0].flags, uint64_t{PERF_AUX_FLAG_TRUNCATED});
    EXPECT_EQ(said[1].offset, 24U);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].size, 8U);
    EXPECT_EQ(found[1].offset, 24U);
    EXPECT_EQ(found[1].cpu, 3U);
    EXPECT_EQ(found[1].reference, 8U);
    std::filesystem::remove(path);
}

class EncodeOutput : public EncodeRecording {
protected:
    EncodeOutput()
    {
        std::filesystem::create_directory(folder_);
        std::ofstream(case_) << text_;
    }
    ~EncodeOutput() override { std::filesystem::remove_all(folder_); }

    static int run(const std::string &arguments)
    {
        const std::string command = PMUKIT_ENCODE " " + arguments + " 2>/dev/null";
        return WEXITSTATUS(std::system(command.c_str()));
    }
    static std::string content_of(const std::string &path)
    {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    const std::string folder_ =
        testing::TempDir() + "pmukit_encode_output." + std::to_string(::getpid());
    const std::string case_ = folder_ + "/case", other_ = folder_ + "/other";
    const std::string text_ = std::string("layout ") + GetParam() + "\n" + std::string(kHead);
};
INSTANTIATE_TEST_SUITE_P(BothLayouts, EncodeOutput, testing::Values("file", "pipe"),
                         [](const auto &layout) { return std::string(layout.param); });

TEST_P(EncodeOutput, CaseIsNeverReplaced)
{
    std::filesystem::create_symlink("case", other_);
    for (const char *force : {"", "--force "})
        for (const std::string &output : {case_, other_}) {
            EXPECT_EQ(run(force + case_ + " " + output), 2) << force << output;
            EXPECT_EQ(content_of(case_), text_) << force << output;
        }
}

TEST_P(EncodeOutput, ReplacesAFileThatIsNoRecordingOnlyWithForce)
{
    std::ofstream(other_) << "important";
    EXPECT_EQ(run(case_ + " " + other_), 2);
    EXPECT_EQ(content_of(other_), "important");
    for (const char *force : {"--force ", ""}) {  // the second run replaces a recording
        EXPECT_EQ(run(force + case_ + " " + other_), 0);
        EXPECT_TRUE(perfdata::Reader::open_path(other_)) << force;
    }
}

TEST_P(EncodeOutput, OldFileStaysIfTheRecordingCannotBeMade)
{
    ASSERT_EQ(run(case_ + " " + other_), 0);
    const std::string before = content_of(other_);
    std::ofstream(case_, std::ios::app) << "bytes 1 2 3\n";
    EXPECT_EQ(run(case_ + " " + other_), 2);
    EXPECT_EQ(content_of(other_), before);
    const std::filesystem::directory_iterator files(folder_);
    EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

}  // namespace
}  // namespace pmukit::encode
