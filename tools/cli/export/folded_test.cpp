// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/folded.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <fstream>
#include <numeric>

#include "base/test_folder.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::cli {
namespace {

// Stacks of addresses that belong to no program: such a frame shows its address.
class FoldedStacks : public testing::Test {
protected:
    // A line of kLineBytes, which the table of lines counts with a node of 64 bytes.
    static constexpr size_t kEntryBytes = 8192, kLines = limits::kStacks / kEntryBytes;
    static constexpr size_t kLineBytes =
        kEntryBytes - 64 - sizeof(std::pair<const std::string, uint64_t>);
    static constexpr std::string_view kNoCommand = "[unknown]", kFrame = ";[unknown]+0x";

    // Returns frames for a line of kLineBytes, which differ by the number.
    static std::vector<StackFrame> stack(uint64_t number)
    {
        constexpr size_t kLongest = kFrame.size() + 16;
        size_t left = kLineBytes - kNoCommand.size();
        std::vector<StackFrame> frames;
        for (; left >= 2 * kLongest; left -= kLongest)
            frames.push_back({decode::imc::Mode::kUser, uint64_t{1} << 60 | number});
        // Two frames share the rest: at least one digit each, at most 16.
        for (const size_t bytes : {left / 2, left - left / 2})
            frames.push_back(
                {decode::imc::Mode::kUser, uint64_t{1} << 4 * (bytes - kFrame.size() - 1)});
        return frames;
    }
    // Returns the number of samples of each line, for `different` stacks of one thread and then the
    // first of them in another thread.
    std::vector<uint64_t> samples_of_lines(size_t different)
    {
        const std::string path = folder_.path("folded");
        Result<exporter::TextFile> output = exporter::TextFile::create(path);
        Folded folded(std::move(*output), *recording_, names_);
        folded.name_by(threads_);
        for (uint64_t i = 0; i < different; i++)
            folded.stack({0, 1, 1, 0, stack(i)});
        folded.stack({0, 2, 2, 0, stack(0)});
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
