// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures the rate at which `pmukit export` writes the tables of a PCIe trace (8DW, which has the
// most fields), by the processor time of the whole program. In the same run, measures comparable
// work: a loop that sums the words of a trace in memory, and sqlite3 importing the CSV. Prints
// lines `bench <name> <value> <unit>`; exits with 1 if something failed.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "bench/bench.hpp"
#include "cli/tests/hisi_ptt_file.hpp"

namespace {

using namespace pmukit;
namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{4} << 20;  // the driver's buffer size
constexpr size_t kTextBuffers = 32, kDatabaseBuffers = 8;
constexpr size_t kEntryBytes = 32;
constexpr int kTries = 3;

// Returns memory writes, reads and completions in turn, like the trace of a device that copies
// data.
std::vector<std::byte> make_buffer(uint64_t seed)
{
    std::vector<std::byte> buffer(kBufferBytes);
    for (size_t at = 0; at < buffer.size(); at += kEntryBytes) {
        const uint64_t number = seed * (kBufferBytes / kEntryBytes) + at / kEntryBytes;
        const uint32_t tag = static_cast<uint32_t>(number / 3 % 256) << 8;
        const uint32_t address = static_cast<uint32_t>(number * 64);
        const uint32_t packets[3][4] = {
            {0x60000010, 0x010000ff | tag, 0x00000004, address},
            {0x20000010, 0x010000ff | tag, 0x00000004, address},
            {0x4a000010, 0x00000040, 0x01000000 | tag, 0},
        };
        const uint32_t stamp = static_cast<uint32_t>(number * 17);
        const auto &packet = packets[number % 3];
        size_t to = at;
        for (const uint32_t word :
             {UINT32_MAX, 0U, packet[0], packet[1], packet[2], packet[3], 0U, stamp}) {
            store_le(buffer.data() + to, word);
            to += 4;
        }
    }
    return buffer;
}

bool make_file(const std::string &path, size_t buffers)
{
    cli::testing::PttFile file(path, {});
    for (size_t i = 0; i < buffers; i++)
        file.aux(make_buffer(i));
    return file.finish();
}

// Returns the processor time, in seconds, of the fastest of `tries` runs of a program with its
// children. A negative value means that the program failed.
double seconds_of(const std::vector<std::string> &words, int tries)
{
    std::vector<char *> arguments;
    for (const std::string &word : words)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    double best = -1;
    for (int i = 0; i < tries; i++) {
        const pid_t child = ::fork();
        if (child == 0) {
            const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
            ::dup2(nothing.get(), STDIN_FILENO);
            ::dup2(nothing.get(), STDOUT_FILENO);
            ::execvp(arguments[0], arguments.data());
            ::_exit(127);
        }
        int status = 0;
        rusage usage{};
        if (::wait4(child, &status, 0, &usage) != child || status != 0)
            return -1;
        const auto seconds = [](const timeval &time) {
            return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
        };
        const double took = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        best = best < 0 ? took : std::min(best, took);
    }
    return best;
}

bool say(const char *name, double amount, double seconds, const char *unit)
{
    if (seconds < 0) {
        std::fprintf(stderr, "export_bench: %s failed\n", name);
        return false;
    }
    std::printf("bench %s %.3f %s\n", name, amount / seconds, unit);
    std::fflush(stdout);
    return true;
}

std::vector<std::string> exporting(const char *format, const std::string &input,
                                   const std::string &output)
{
    return {PMUKIT_COMMAND, "export", "--format", format, "--driver",
            "hisi_ptt",     "-i",     input,      "-o",   output};
}

bool bench_text(const std::string &folder)
{
    const std::string file = folder + "/text.data";
    if (!make_file(file, kTextBuffers))
        return false;
    const double gigabytes = static_cast<double>(kTextBuffers * kBufferBytes) / 1e9;
    const std::vector<std::byte> buffer = make_buffer(0);
    std::printf("bench memory.sum %.3f GB/s\n",
                bench::best_rate(buffer.size(), [&] { return bench::memory_sum(buffer); }));
    bool good = true;
    for (const char *format : {"csv", "jsonl"})
        good = say((std::string("export.") + format).c_str(), gigabytes,
                   seconds_of(exporting(format, file, "/dev/null"), kTries), "GB/s") &&
               good;
    return good;
}

// Measures how fast `pmukit export` writes an SQLite database, and how fast sqlite3 imports the
// same rows from CSV (into text columns, without an index).
bool bench_database(const std::string &folder)
{
    const std::string file = folder + "/database.data", csv = folder + "/rows.csv";
    if (!make_file(file, kDatabaseBuffers))
        return false;
    const double rows = static_cast<double>(kDatabaseBuffers * kBufferBytes / kEntryBytes);
    const bool good =
        say("export.sqlite_rows", rows,
            seconds_of(exporting("sqlite", file, folder + "/ours.db"), kTries), "rows/s");
    if (seconds_of(exporting("csv", file, csv), 1) < 0)
        return false;
    return say("sqlite3.import_rows", rows,
               seconds_of({"sqlite3", folder + "/theirs.db", "-cmd", ".mode csv",
                           ".import " + csv + " hisi_ptt"},
                          1),
               "rows/s") &&
           good;
}

}  // namespace

int main()
{
    std::string folder = fs::temp_directory_path() / "pmukit_export_bench.XXXXXX";
    if (!::mkdtemp(folder.data()))
        return 69;
    bool good = bench_text(folder);
    good = bench_database(folder) && good;
    fs::remove_all(folder);
    return good ? 0 : 1;
}
