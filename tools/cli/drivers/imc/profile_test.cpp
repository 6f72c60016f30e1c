// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks that each sample is counted once, and that counts of functions with a symbol are exact,
// for any number of addresses.
#include "cli/drivers/imc/profile.hpp"

#include <gtest/gtest.h>

#include "perfdata/testing/test_file.hpp"

namespace pmukit::cli {
namespace {

using decode::imc::Mode;

class ImcProfileTest : public testing::Test {
protected:
    static constexpr uint64_t kText = 0xc000000000000000;

    ImcProfile profile(bool with_stacks) { return {names_, threads_, with_stacks}; }
    template <typename Key>
    static uint64_t sum_of(const std::map<Key, uint64_t> &samples)
    {
        uint64_t sum = 0;
        for (const auto &[key, count] : samples)
            sum += count;
        return sum;
    }

private:
    static SymbolTable symbols()
    {
        Result<SymbolTable> table = parse_kallsyms(
            "c000000000000000 T first\nc000000000800000 t second\nc000000001000000 t end\n");
        return std::move(*table);
    }

    std::vector<std::byte> file_ = perfdata::testing::FileBuilder(std::endian::native)
                                       .event(1, PERF_SAMPLE_IDENTIFIER, {7})
                                       .file();
    Result<perfdata::Reader> reader_ = perfdata::Reader::open(file_);
    Threads threads_;
    Names names_{*reader_, "", symbols()};
};

// Samples every fourth byte of two functions: more addresses than are symbolized at a time.
TEST_F(ImcProfileTest, CountsSamplesPerFunctionExactlyIfAddressesExceedOneBatch)
{
    ImcProfile made = profile(false);
    constexpr uint64_t kEach = 2 * ImcProfile::kMostSpots;
    for (uint64_t i = 0; i < kEach; i++)
        for (uint64_t base : {uint64_t{0}, uint64_t{0x800000}})
            made.add({1, 1, Mode::kKernel, kText + base + 4 * i}, i);
    made.finish();
    ASSERT_EQ(made.functions().size(), 2U);
    for (const auto &[function, samples] : made.functions())
        EXPECT_EQ(samples, kEach) << function.name;
    EXPECT_EQ(made.without_symbol(), 0U);
    EXPECT_EQ(made.samples(), 2 * kEach);
    EXPECT_EQ(made.tasks().at({"", 1, 1}), 2 * kEach);
}

// The hot address is added last, and must still have a separate entry.
TEST_F(ImcProfileTest, CountsAddressesWithoutASymbolSeparatelyUpToALimit)
{
    ImcProfile made = profile(false);
    constexpr uint64_t kCold = ImcProfile::kMostNameless + 1000, kHot = 0x7000000;
    for (uint64_t i = 0; i < kCold; i++)
        made.add({1, 1, Mode::kUser, 4 * i}, i);
    for (int i = 0; i < 50; i++)
        made.add({1, 1, Mode::kUser, kHot}, 0);
    made.finish();
    EXPECT_EQ(made.functions().size(), ImcProfile::kMostNameless + 1);
    EXPECT_EQ(made.undivided(), 1001U);
    EXPECT_EQ(made.functions().at({"[unknown]", ImcProfile::kOthers, false, Mode::kUser}), 1001U);
    EXPECT_EQ(made.functions().at({"[unknown]", "[unknown]+0x7000000", false, Mode::kUser}), 50U);
    EXPECT_EQ(sum_of(made.functions()), kCold + 50);
    EXPECT_EQ(made.without_symbol(), kCold + 50);
}

TEST_F(ImcProfileTest, CountsStacksPerThreadAndFunctionUpToALimit)
{
    ImcProfile made = profile(true);
    constexpr uint32_t kThreads = ImcProfile::kMostStacks / 2 + 100;
    for (uint32_t tid = 0; tid < kThreads; tid++)
        for (uint64_t ip : {kText, kText + 0x800000})
            made.add({1, tid, Mode::kKernel, ip}, 0);
    made.finish();
    EXPECT_LE(made.stacks().size(), ImcProfile::kMostStacks + kThreads);
    EXPECT_GT(made.stacks().size(), ImcProfile::kMostStacks);
    EXPECT_EQ(sum_of(made.stacks()), 2 * kThreads);
    EXPECT_EQ(made.functions().size(), 2U);
    EXPECT_TRUE(profile(false).stacks().empty());
}

}  // namespace
}  // namespace pmukit::cli
