// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Mapped files stay readable after their pages were dropped; errors name the missing file.
#include "base/file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace pmukit {
namespace {

class FileTest : public testing::Test {
protected:
    void SetUp() override { fd_ = Fd(::mkstemp(path_.data())); }
    void TearDown() override { ::unlink(path_.c_str()); }

    std::string path_ = testing::TempDir() + "pmukit_file_test.XXXXXX";
    Fd fd_;
};

TEST_F(FileTest, MappedBytesEqualTheWrittenBytes)
{
    ASSERT_TRUE(write_all(fd_.get(), as_bytes("hello"), path_));
    Result<MappedFile> file = MappedFile::open(path_);
    ASSERT_TRUE(file);
    EXPECT_TRUE(std::ranges::equal(file->bytes(), as_bytes("hello")));
    EXPECT_EQ(*read_small_file(path_), "hello");
}

TEST_F(FileTest, ReadSmallFileRejectsMoreThan64KiB)
{
    ASSERT_TRUE(write_all(fd_.get(), as_bytes(std::string(65535, 'x')), path_));
    EXPECT_EQ(read_small_file(path_).value().size(), 65535U);
    ASSERT_TRUE(write_all(fd_.get(), as_bytes("x"), path_));
    EXPECT_EQ(read_small_file(path_).value().size(), 65536U);
    ASSERT_TRUE(write_all(fd_.get(), as_bytes("x"), path_));
    const Result<std::string> text = read_small_file(path_);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().message, path_ + ": longer than 65536 bytes");
}

TEST_F(FileTest, EmptyFileMapsToEmptyBytes)
{
    Result<MappedFile> file = MappedFile::open(path_);
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->bytes().empty());
}

TEST_F(FileTest, DroppedPagesOfAMappedFileAreReadAgain)
{
    std::string text(20 << 20, 'x');
    ASSERT_TRUE(write_all(fd_.get(), as_bytes(text), path_));
    Result<MappedFile> file = MappedFile::open(path_);
    ASSERT_TRUE(file);
    file->forget_before(text.size());
    EXPECT_TRUE(std::ranges::equal(file->bytes(), as_bytes(text)));
}

TEST_F(FileTest, OpenErrorContainsTheNameOfTheMissingFile)
{
    Result<MappedFile> file = MappedFile::open(path_ + ".no");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, Errc::kNotFound);
    EXPECT_NE(file.error().message.find(path_ + ".no"), std::string::npos);
}

TEST_F(FileTest, WriteFromATruncatedMappedInputReportsTheInputNotTheOutput)
{
    ASSERT_TRUE(write_all(fd_.get(), as_bytes("hello"), path_));
    const Result<MappedFile> file = MappedFile::open(path_);
    ASSERT_TRUE(file);
    ASSERT_EQ(::ftruncate(fd_.get(), 0), 0);
    std::string other = testing::TempDir() + "pmukit_file_test.XXXXXX";
    const Fd to(::mkstemp(other.data()));
    const Result<void> done = write_all(to.get(), file->bytes(), "out");
    ::unlink(other.c_str());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, kInputIsGone);
}

TEST(WriteAll, WaitsForTheReaderOfANonBlockingPipe)
{
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const Fd in(ends[0]);
    Fd out(ends[1]);
    const std::string text(1 << 20, 'x');
    size_t arrived = 0;
    std::thread reader([&in, &arrived] {
        char chunk[16384];
        for (ssize_t got = 1; got != 0;) {
            // The delay makes the reader slower than the writer, so the pipe becomes full.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            got = ::read(in.get(), chunk, sizeof chunk);
            arrived += got > 0 ? static_cast<size_t>(got) : 0;
        }
    });
    const Result<void> done = write_all(out.get(), as_bytes(text), "out");
    out.reset();
    reader.join();
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(arrived, text.size());
}

TEST(WriteToPipe, StopsWaitingForAFullPipeOnceAStopIsRequested)
{
    int ends[2], stop[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(stop, O_CLOEXEC), 0);
    const Fd out_read(ends[0]), out(ends[1]), stop_read(stop[0]), stop_write(stop[1]);
    const std::vector<std::byte> much(size_t{1} << 20);
    std::thread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_EQ(::write(stop[1], "x", 1), 1);
    });
    const Result<void> written = write_to_pipe(out.get(), much, "the pipe", stop_read.get());
    stopper.join();
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message,
              "the pipe: stopped by a signal while it had no reader; incomplete");
}

TEST(WriteToPipe, WritesAllWhenThePipeIsReadAfterAStopRequest)
{
    int ends[2], stop[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(stop, O_CLOEXEC), 0);
    Fd out_read(ends[0]), out(ends[1]);
    const Fd stop_read(stop[0]), stop_write(stop[1]);
    EXPECT_EQ(::write(stop[1], "x", 1), 1);
    const std::vector<std::byte> much(size_t{1} << 20);
    size_t arrived = 0;
    std::thread reader([&] {
        std::vector<char> some(65536);
        for (ssize_t got; (got = ::read(out_read.get(), some.data(), some.size())) > 0;) {
            arrived += static_cast<size_t>(got);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    });
    EXPECT_TRUE(write_to_pipe(out.get(), much, "the pipe", stop_read.get()));
    out.reset();
    reader.join();
    EXPECT_EQ(arrived, much.size());
}

TEST_F(FileTest, AFailedWriteIsAnError)
{
    Fd full(::open("/dev/full", O_WRONLY));
    ASSERT_TRUE(full);
    EXPECT_EQ(write_all(full.get(), as_bytes("x"), "out").error().code, Errc::kIo);
}

}  // namespace
}  // namespace pmukit
