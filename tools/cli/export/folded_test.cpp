// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/folded.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <fstream>
#include <numeric>

#include "base/test_folder.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::cli {
namespace {

// Stacks of addresses that belong to no program. The commands make the lines differ.
class FoldedStacks : public testing::Test {
protected:
    // A line of kLineBytes, which the table of lines counts with a node of 64 bytes. Half of the
    // memory is for lines.
    static constexpr size_t kEntryBytes = 8192, kLines = limits::kStacks / 2 / kEntryBytes;
    static constexpr size_t kLineBytes =
        kEntryBytes - 64 - sizeof(std::pair<const std::string, uint64_t>);
    static constexpr std::string_view kFrame = ";[unknown]";
    static constexpr size_t kFrames = kLineBytes / kFrame.size() - 1;

    void name_thread(uint32_t tid, uint64_t number)
    {
        perfdata::Packer body;
        body.put(tid).put(tid);
        const std::string name =
            fmt::format("{:0>{}}", number, kLineBytes - kFrames * kFrame.size());
        const size_t end = body.bytes().size() + name.size() / 8 * 8 + 8;
        body.put(as_bytes(name)).pad_to(end).put(uint64_t{7});
        perfdata::Record record;
        record.type = PERF_RECORD_COMM;
        record.body = body.bytes();
        threads_.note(record, recording_->reader());
    }
    // Returns the number of samples of each line, for one stack in `different` threads, and then in
    // another thread that has the command of the first.
    std::vector<uint64_t> samples_of_lines(uint32_t different)
    {
        const std::string path = folder_.path("folded");
        Result<exporter::TextFile> output = exporter::TextFile::create(path);
        Folded folded(std::move(*output), *recording_, names_);
        folded.name_by(threads_);
        const std::vector<StackFrame> frames(kFrames, {decode::imc::Mode::kUser, 1});
        for (uint32_t tid = 1; tid <= different + 1; tid++) {
            name_thread(tid, tid <= different ? tid : 1);
            folded.stack({0, tid, tid, 0, frames});
        }
        EXPECT_TRUE(folded.finish());
        std::ifstream file(path);
        std::vector<uint64_t> samples;
        for (std::string line; std::getline(file, line);) {
            EXPECT_EQ(line.rfind(' '), kLineBytes);
            samples.push_back(std::stoull(line.substr(line.rfind(' '))));
        }
        EXPECT_EQ(std::accumulate(samples.begin(), samples.end(), uint64_t{0}), different + 1);
        return samples;
    }

private:
    TestFolder folder_;
    Result<Recording> recording_ = [this] {
        folder_.put("perf.data", perfdata::testing::FileBuilder(std::endian::native)
                                     .event(1, PERF_SAMPLE_IDENTIFIER, {7})
                                     .file());
        return Recording::open(folder_.path("perf.data"), {});
    }();
    Names names_{recording_->reader(), "", std::nullopt};
    Threads threads_;
};

TEST_F(FoldedStacks, EqualLinesAreCountedTogetherUpToTheLimit)
{
    EXPECT_EQ(samples_of_lines(kLines).size(), kLines);
}

TEST_F(FoldedStacks, LinesRepeatAboveTheLimitAndNoSampleIsDropped)
{
    EXPECT_EQ(samples_of_lines(kLines + 1).size(), kLines + 2);
}

}  // namespace
}  // namespace pmukit::cli
