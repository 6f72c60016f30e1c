// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The index and a walk find the same buffers; an invalid index is not used.
#include "perfdata/aux_file.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "perfdata/format.hpp"
#include "perfdata/testing/test_file.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;
using testing::filled;

constexpr size_t kBuffers = 20;

class AuxFileTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        std::vector<std::byte> attr(128);
        Result<Writer> writer = Writer::create(path_, {{attr, {7}, "x"}}, {});
        ASSERT_TRUE(writer);
        for (size_t i = 0; i < kBuffers; i++) {
            AuxtraceRecord trace;
            trace.reference = 7;
            trace.cpu = static_cast<uint32_t>(i);
            ASSERT_TRUE(writer->auxtrace(trace, filled(8 * i, static_cast<int>(i)), {}));
            ASSERT_TRUE(writer->finished_round());
        }
        ASSERT_TRUE(writer->finish());
    }

    void put(Bytes bytes) const { folder_.put("perf.data", bytes); }
    // Overwrites one word of the index. Its words are: count, offset, size, offset, size ...
    void lie(size_t word, uint64_t value)
    {
        std::vector<std::byte> bytes = content();
        size_t index = bytes.size() - 8 * (1 + 2 * kBuffers);
        store_le(bytes.data() + index + 8 * word, value);
        put(bytes);
    }
    std::vector<std::byte> content() const
    {
        Result<MappedFile> file = MappedFile::open(path_);
        return {file->bytes().begin(), file->bytes().end()};
    }

    void expect_all(const AuxFile &file)
    {
        ASSERT_EQ(file.buffers().size(), kBuffers);
        for (size_t i = 0; i < kBuffers; i++) {
            EXPECT_EQ(file.buffers()[i].trace.cpu, i);
            ASSERT_EQ(file.data(i).size(), 8 * i);
            if (i != 0) {
                EXPECT_EQ(file.data(i).back(), static_cast<std::byte>(i));
            }
        }
    }

    TestFolder folder_;
    const std::string path_ = folder_.path("perf.data");
};

TEST_F(AuxFileTest, UsesTheAuxtraceIndexIfItIsValid)
{
    Result<AuxFile> file = AuxFile::open(path_);
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->from_index());
    expect_all(*file);
}

TEST_F(AuxFileTest, WalksTheRecordsIfTheIndexIsInvalid)
{
    const std::pair<size_t, uint64_t> lies[] = {
        {0, kBuffers + 1}, {0, UINT64_MAX}, {1, 0},  {1, UINT64_MAX},
        {2, 48 + 8},       {2, UINT64_MAX}, {3, 24}, {4, 0},
    };
    const std::vector<std::byte> good = content();
    for (auto [word, value] : lies) {
        lie(word, value);
        Result<AuxFile> file = AuxFile::open(path_);
        ASSERT_TRUE(file);
        EXPECT_FALSE(file->from_index()) << word << " " << value;
        expect_all(*file);
        put(good);
    }
}

TEST_F(AuxFileTest, TruncatedFileStillHasItsCompleteBuffers)
{
    const std::vector<std::byte> good = content();
    size_t last = 0;
    for (size_t size = 0; size <= good.size(); size++) {
        fs::resize_file(path_, good.size());
        put(Bytes(good).first(size));
        Result<AuxFile> file = AuxFile::open(path_);
        if (!file)
            continue;
        EXPECT_GE(file->buffers().size(), last) << size;
        last = file->buffers().size();
    }
    EXPECT_EQ(last, kBuffers);
}

TEST_F(AuxFileTest, EveryBufferIsVisitedOnceByAnyNumberOfThreads)
{
    Result<AuxFile> file = AuxFile::open(path_);
    for (unsigned threads : {0U, 1U, 2U, 7U, 100U}) {
        std::mutex lock;
        std::multiset<size_t> seen;
        std::atomic<size_t> bytes = 0;
        file->for_each_buffer(threads, [&](size_t number, Bytes data) {
            bytes += data.size();
            std::lock_guard guard(lock);
            seen.insert(number);
        });
        EXPECT_EQ(seen.size(), kBuffers) << threads;
        EXPECT_EQ(std::set<size_t>(seen.begin(), seen.end()).size(), kBuffers) << threads;
        EXPECT_EQ(bytes, 8 * kBuffers * (kBuffers - 1) / 2);
    }
}

// Each entry matches the file; only the order of the entries is wrong.
TEST_F(AuxFileTest, WalksTheRecordsIfTheIndexIsNotInAscendingOrder)
{
    const std::vector<std::byte> good = content();
    const std::byte *index = good.data() + good.size() - 8 * (1 + 2 * kBuffers);
    const auto word = [&](size_t at) { return load_le<uint64_t>(index + 8 * at); };
    const std::pair<size_t, size_t> lies[] = {{1, 0}, {0, 1}, {kBuffers - 1, 0}, {5, 7}};
    for (const auto &[entry, as] : lies) {
        lie(1 + 2 * entry, word(1 + 2 * as));
        lie(2 + 2 * entry, word(2 + 2 * as));
        Result<AuxFile> file = AuxFile::open(path_);
        ASSERT_TRUE(file);
        EXPECT_FALSE(file->from_index()) << entry;
        expect_all(*file);
        put(good);
    }
}

TEST_F(AuxFileTest, ExceptionInTheCallbackForABufferTerminatesTheProgram)
{
    Result<AuxFile> file = AuxFile::open(path_);
    ASSERT_TRUE(file);
    const auto visit = [](size_t number, Bytes) {
        if (!number)
            throw std::runtime_error("of a visit");
    };
    for (unsigned threads : {1U, 4U})
        EXPECT_DEATH(file->for_each_buffer(threads, visit), "of a visit") << threads;
}

}  // namespace
}  // namespace pmukit::perfdata
