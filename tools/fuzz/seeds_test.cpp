// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs the seeds of the fuzzers, and every input that revealed a defect, as ordinary tests. For
// each file of testdata/<target>, runs the file and prefixes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "fuzz/targets.hpp"

namespace pmukit::fuzz {
namespace {

namespace fs = std::filesystem;

// About this many prefixes of each file are run. Their lengths differ by equal steps.
constexpr size_t kPrefixes = 64;

class Seeds : public testing::TestWithParam<Target> {};
INSTANTIATE_TEST_SUITE_P(EveryTarget, Seeds, testing::ValuesIn(kTargets),
                         [](const auto &target) { return std::string(target.param.name); });

TEST_P(Seeds, SeedsAndTheirPrefixesRunWithoutACrash)
{
    size_t files = 0;
    for (const auto &entry : fs::directory_iterator(fs::path(SEEDS_FOLDER) / GetParam().name)) {
        SCOPED_TRACE(entry.path().string());
        Result<MappedFile> file = MappedFile::open(entry.path());
        ASSERT_TRUE(file);
        const Bytes bytes = file->bytes();
        const size_t step = std::max<size_t>(1, bytes.size() / kPrefixes);
        for (size_t size = 0; size < bytes.size(); size += step)
            GetParam().run(bytes.first(size));
        GetParam().run(bytes);
        files++;
    }
    EXPECT_GE(files, 3U);
}

}  // namespace
}  // namespace pmukit::fuzz
