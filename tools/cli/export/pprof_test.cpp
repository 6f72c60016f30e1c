// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/pprof.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <set>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/tests/profile.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::cli {
namespace {

using testing::Profile;
using testing::ProfileReader;

// Stacks of addresses that belong to no program.
class PprofStacks : public ::testing::Test {
protected:
    using Frames = std::vector<StackFrame>;

    // Writes the stacks, and reads the profile.
    Profile profile(const std::vector<StackSample> &stacks)
    {
        options_.output = folder_.path("profile");
        auto pprof = Pprof::make(options_, *recording_, names_);
        EXPECT_TRUE(pprof) << pprof.error().message;
        (*pprof)->name_by(threads_);
        for (const StackSample &stack : stacks)
            (*pprof)->stack(stack);
        EXPECT_TRUE((*pprof)->finish());
        bytes_ = *read_file(options_.output, size_t{1} << 30);
        return ProfileReader::read(bytes_);
    }

    TestFolder folder_;
    ExportOptions options_;
    Result<Recording> recording_ = [this] {
        folder_.put("perf.data", perfdata::testing::FileBuilder(std::endian::native)
                                     .event(1, PERF_SAMPLE_IDENTIFIER, {7})
                                     .file());
        return Recording::open(folder_.path("perf.data"), {});
    }();
    Names names_{recording_->reader(), "", std::nullopt};
    Threads threads_;
    std::string bytes_;
};

constexpr decode::imc::Mode kUser = decode::imc::Mode::kUser;

TEST_F(PprofStacks, InnermostAddressIsTheFirst)
{
    const Frames frames = {{kUser, 0x300}, {kUser, 0x200}, {kUser, 0x100}};
    const Profile read = profile({{0, 5, 6, 0, frames}});
    ASSERT_EQ(read.samples.size(), 1U);
    const auto &stack = read.samples[0].stack;
    ASSERT_EQ(stack.size(), 3U);
    EXPECT_EQ(stack[0].address, 0x300U);
    EXPECT_EQ(stack[2].address, 0x100U);
    EXPECT_EQ(stack[0].functions, std::vector<std::string>{"[unknown]"});
    EXPECT_EQ(read.samples[0].numbers, (std::map<std::string, uint64_t>{{"pid", 5}, {"tid", 6}}));
}

TEST_F(PprofStacks, EqualStacksOfATaskAreOneSampleWithTheSumsOfSamplesAndPeriods)
{
    const Frames frames = {{kUser, 0x300}};
    const Profile read =
        profile({{0, 5, 6, 0, frames, 10}, {0, 5, 6, 0, frames, 20}, {0, 5, 7, 0, frames, 1}});
    ASSERT_EQ(read.types.size(), 2U);
    EXPECT_EQ(read.types[0], "samples");
    EXPECT_EQ(read.default_type, "samples");
    ASSERT_EQ(read.samples.size(), 2U);
    EXPECT_EQ(read.samples[0].values.at("samples"), 2U);
    EXPECT_EQ(read.samples[0].values.at(read.types[1]), 30U);
    EXPECT_EQ(read.samples[1].values.at(read.types[1]), 1U);
}

// Ids of locations must not be used twice if the tables of names were forgotten.
TEST_F(PprofStacks, NoSampleIsLostAboveTheLimitOfNames)
{
    constexpr uint64_t kStacks = 12000, kFrames = 8;
    std::vector<Frames> all(kStacks);
    std::vector<StackSample> stacks;
    for (uint64_t i = 0; i < kStacks; i++) {
        for (uint64_t frame = 0; frame < kFrames; frame++)
            all[i].push_back({kUser, i * kFrames + frame});
        stacks.push_back({0, 5, 6, 0, all[i]});
    }
    const Profile read = profile(stacks);
    ASSERT_EQ(read.samples.size(), kStacks);
    std::set<uint64_t> seen;
    for (const auto &sample : read.samples)
        for (const auto &location : sample.stack)
            seen.insert(location.address);
    EXPECT_EQ(seen.size(), kStacks * kFrames);
}

TEST_F(PprofStacks, FileIsRecognizedByItsFirstBytes)
{
    profile({});
    EXPECT_TRUE(Pprof::is_one(bytes_));
    EXPECT_FALSE(Pprof::is_one(std::string_view(bytes_).substr(0, 9)));
    EXPECT_FALSE(Pprof::is_one("2"));
}

}  // namespace
}  // namespace pmukit::cli
