// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Mapped files stay readable after their pages were dropped; errors name the missing file.
#include "base/file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/pci_config.hpp"

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

// open() of a FIFO waits for a writer: without the check, these tests do not end.
class SpecialFile : public FileTest {
protected:
    void SetUp() override
    {
        FileTest::SetUp();
        ASSERT_EQ(::unlink(path_.c_str()), 0);
        ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    }
};

TEST_F(SpecialFile, IsNotOpenedWhereAFileIsExpected)
{
    EXPECT_EQ(read_small_file(path_).error().message, path_ + ": not a regular file");
    EXPECT_EQ(MappedFile::open(path_).error().message, path_ + ": not a regular file");
    EXPECT_EQ(PciConfigReader::read(path_).error().message, path_ + ": not a regular file");
    EXPECT_EQ(read_small_file("/dev/null").error().message, "/dev/null: not a regular file");
    EXPECT_EQ(read_small_file("/dev").error().message, "/dev: Is a directory");
}

TEST_F(SpecialFile, FifoWithoutAWriterIsEmptyForAFileThatTheUserNames)
{
    const Result<std::string> text = read_file(path_, 100, Readable::kPipeAlso);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(*text, "");
    EXPECT_FALSE(read_file("/dev/null", 100, Readable::kPipeAlso)) << "a device";
}

// As in --kallsyms <(command): the path is that of an open pipe, and its writer is slow.
TEST_F(SpecialFile, PipeIsReadToItsEndForAFileThatTheUserNames)
{
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd from(ends[0]);
    Fd to(ends[1]);
    std::thread writer([&] {
        for (const char *piece : {"one", "two"}) {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            EXPECT_EQ(::write(to.get(), piece, 3), 3);
        }
        to.reset();
    });
    const std::string name = "/dev/fd/" + std::to_string(from.get());
    const Result<std::string> text = read_file(name, 100, Readable::kPipeAlso);
    writer.join();
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(*text, "onetwo");
}

TEST_F(FileTest, ProcfsIsReadAsAFile)
{
    const Result<std::string> text = read_small_file("/proc/self/stat");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_TRUE(text->starts_with(std::to_string(::getpid()) + " "));
}

TEST_F(FileTest, LongFileIsAnError)
{
    ASSERT_TRUE(write_all(fd_.get(), as_bytes("hello"), path_));
    EXPECT_EQ(*read_file(path_, 5), "hello");
    EXPECT_EQ(read_file(path_, 4).error().message, path_ + ": longer than 4 bytes");
}

TEST_F(FileTest, AFailedWriteIsAnError)
{
    Fd full(::open("/dev/full", O_WRONLY));
    ASSERT_TRUE(full);
    EXPECT_EQ(write_all(full.get(), as_bytes("x"), "out").error().code, Errc::kIo);
}

}  // namespace
}  // namespace pmukit
