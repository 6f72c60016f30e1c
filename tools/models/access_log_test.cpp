// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/access_log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace pmukit::models {
namespace {

class AccessLogFile : public testing::Test {
protected:
    void TearDown() override { ::unlink(path_.c_str()); }
    std::string text() const
    {
        std::ifstream in(path_);
        std::ostringstream out;
        out << in.rdbuf();
        return out.str();
    }
    std::string path_ = testing::TempDir() + "pmukit_access_log_" + std::to_string(::getpid());
};

TEST_F(AccessLogFile, HoldsEveryAccessInOrder)
{
    Result<AccessLog> log = AccessLog::create(path_);
    ASSERT_TRUE(log);
    log->read(0, 8);
    log->write(0xabcdef, 1);
    log->read(~uint64_t{0}, 8);
    ASSERT_TRUE(log->close());
    EXPECT_EQ(text(), "# pmukit access log 1\nR 0x0 8\nW 0xabcdef 1\nR 0xffffffffffffffff 8\n");
    EXPECT_EQ(log->reads(), 2u);
    EXPECT_EQ(log->writes(), 1u);
}

TEST_F(AccessLogFile, LosesNoAccessWhenItsBufferIsFlushed)
{
    // Enough accesses to fill the buffer of the file several times.
    constexpr unsigned kAccesses = 20'000;
    Result<AccessLog> log = AccessLog::create(path_);
    ASSERT_TRUE(log);
    for (unsigned i = 0; i < kAccesses; i++)
        log->read(uint64_t{i} << 40, 4);
    ASSERT_TRUE(log->close());

    std::istringstream lines(text());
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    for (unsigned i = 0; i < kAccesses; i++) {
        ASSERT_TRUE(std::getline(lines, line));
        ASSERT_EQ(std::stoull(line.substr(2), nullptr, 16), uint64_t{i} << 40);
    }
    EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(AccessLogFile, ReportsAFileThatCannotBeCreated)
{
    Result<AccessLog> log = AccessLog::create("/nonexistent/log");
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().code, Errc::kIo);
}

TEST(AccessLog, ReportsAFullDisk)
{
    Result<AccessLog> log = AccessLog::create("/dev/full");
    ASSERT_TRUE(log);
    log->read(0, 8);
    const Result<void> closed = log->close();
    ASSERT_FALSE(closed);
    EXPECT_TRUE(log->failed());
    EXPECT_NE(closed.error().message.find("/dev/full"), std::string::npos);
    // close() also returns the error of the earlier write.
    EXPECT_FALSE(log->close());
}

TEST(AccessLog, CountsAccessesWithoutALogFile)
{
    AccessLog log;
    log.read(0, 8);
    log.write(8, 8);
    log.write(16, 8);
    EXPECT_EQ(log.reads(), 1u);
    EXPECT_EQ(log.writes(), 2u);
    EXPECT_TRUE(log.close());
}

}  // namespace
}  // namespace pmukit::models
