// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/identity.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kKiB = 1024;

class RecordingId : public testing::Test {
protected:
    // Writes a recording with `extra` bytes behind its header, which no reader looks at.
    void write(const std::string &name, const std::string &extra)
    {
        perfdata::HostInfo host;
        host.hostname = "host";
        auto writer = perfdata::Writer::create(folder_.path(name),
                                               {{std::vector<std::byte>(128), {1}, "event"}}, host);
        ASSERT_TRUE(writer && writer->finish());
        std::ofstream(folder_.path(name), std::ios::app | std::ios::binary) << extra;
    }
    std::optional<std::string> id_of(const std::string &name)
    {
        const Result<Recording> recording = Recording::open(folder_.path(name), {});
        EXPECT_TRUE(recording) << recording.error().message;
        return recording ? recording_id(*recording) : std::nullopt;
    }

    TestFolder folder_;
};

// FNV-1a of a file up to 64 KiB: of its size, 8 bytes in little-endian order, and of its bytes.
std::string fnv1a(const std::string &content)
{
    std::string all;
    for (int i = 0; i < 8; i++)
        all += static_cast<char>(content.size() >> 8 * i);
    uint64_t hash = 14695981039346656037U;
    for (const char byte : all + content) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 1099511628211U;
    }
    char text[17];
    std::snprintf(text, sizeof text, "%016lx", static_cast<unsigned long>(hash));
    return text;
}

TEST_F(RecordingId, IsTheFnv1aHashOfSizeAndBytes)
{
    write("a", "foobar");
    std::ifstream file(folder_.path("a"), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(id_of("a"), fnv1a(content));
}

TEST_F(RecordingId, DependsOnNeitherPathNorTime)
{
    write("a", "foobar");
    fs::create_directory(folder_.path("b"));
    fs::copy_file(folder_.path("a"), folder_.path("b/c"));
    fs::last_write_time(folder_.path("b/c"), fs::file_time_type());
    EXPECT_EQ(id_of("a"), id_of("b/c"));
}

TEST_F(RecordingId, ChangesWithSizeEdgesAndSampledBlocks)
{
    std::string extra(300 * kKiB, 'x');
    write("a", extra);
    const std::optional<std::string> id = id_of("a");
    const uint64_t begin = fs::file_size(folder_.path("a")) - extra.size();
    for (const uint64_t at : {begin, 64 * kKiB, 128 * kKiB + 511, 192 * kKiB, 300 * kKiB - 1}) {
        std::string other = extra;
        other[at - begin] = 'y';
        write("a", other);
        EXPECT_NE(id_of("a"), id) << at;
    }
    write("a", extra + "x");
    EXPECT_NE(id_of("a"), id);
}

TEST(WallTime, IsAsFarFromTheWallClockAsTheTimeFromItsClock)
{
    const perfdata::ClockData clock{1, CLOCK_MONOTONIC, 1700000000000000000, 5000};
    EXPECT_EQ(wall_time(clock, 5000), 1700000000000000000U);
    EXPECT_EQ(wall_time(clock, 0), 1699999999999995000U);
    EXPECT_EQ(wall_time(clock, 6001), 1700000000000001001U);
}

TEST(WallTime, OutOfRangeIsUnknown)
{
    EXPECT_EQ(wall_time({1, 1, 10, 0}, UINT64_MAX - 9), std::nullopt);
    EXPECT_EQ(wall_time({1, 1, 10, 0}, UINT64_MAX - 10), UINT64_MAX);
    EXPECT_EQ(wall_time({1, 1, 10, 11}, 0), std::nullopt);
    EXPECT_EQ(wall_time({1, 1, 10, 10}, 0), 0U);
}

}  // namespace
}  // namespace pmukit::cli
