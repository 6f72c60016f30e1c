// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// rotation_bench: runs `pmukit record --interval 2` on the whole machine at 10 kHz, and counts the
// samples that it loses. Meanwhile the system has 8000 idle threads, and each new file must contain
// the names of all threads. Exit status 1: samples were lost; 69: the system does not permit
// recording, or does not permit that many threads.
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "perfdata/reader.hpp"
#include "perfdata/records.hpp"

namespace {

using namespace pmukit;

constexpr int kThreads = 8000, kUnavailable = 69;
constexpr const char *kSeconds = "10";

// Starts a process with idle threads. Returns its pid once all threads exist, or -1 if the system
// does not permit that many threads.
pid_t start_threads()
{
    int ready[2];
    if (::pipe(ready) != 0)
        return -1;
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::vector<std::thread> threads;
        try {
            for (int i = 0; i < kThreads; i++)
                threads.emplace_back([] { ::pause(); });
        } catch (const std::system_error &) {
            ::_exit(1);
        }
        (void)!::write(ready[1], "", 1);
        ::pause();
        ::_exit(0);
    }
    ::close(ready[1]);
    char byte;
    const bool all = child > 0 && ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
    return all ? child : -1;
}

int run(std::vector<std::string> command)
{
    std::vector<char *> argv;
    for (std::string &word : command)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    int status = -1;
    if (::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0 ||
        ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

struct Found {
    uint64_t files = 0, samples = 0, lost = 0;
    bool whole = true;
};

void add(const std::string &path, Found &found)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    found.files++;
    found.whole = found.whole && reader;
    for (perfdata::Record record; reader && reader->next(record);) {
        found.samples += record.type == PERF_RECORD_SAMPLE;
        // The recorder's LOST_SAMPLES record repeats the count of LOST, so a loss may count twice;
        // the test requires a count of 0.
        if (record.type == PERF_RECORD_LOST)
            found.lost += perfdata::parse_lost(record.body, reader->order())->lost;
        if (record.type == PERF_RECORD_LOST_SAMPLES)
            found.lost += perfdata::parse_lost_samples(record.body, reader->order()).value_or(0);
    }
    found.whole = found.whole && !reader->error() && !reader->damage();
}

int measure(const std::string &folder)
{
    const pid_t threads = start_threads();
    if (threads < 0) {
        std::fprintf(stderr, "rotation_bench: no room for %d threads\n", kThreads);
        return kUnavailable;
    }
    const int status =
        run({PMUKIT_COMMAND, "record", "-q", "-m", "16", "-a", "-e", "cpu-clock", "-F", "10000",
             "--interval", "2", "-o", folder + "/perf.data", "--", "/bin/sleep", kSeconds});
    ::kill(threads, SIGKILL);
    ::waitpid(threads, nullptr, 0);
    Found found;
    for (const auto &file : std::filesystem::directory_iterator(folder))
        add(file.path().string(), found);
    if (status != 0 || found.samples == 0) {
        std::fprintf(stderr, "rotation_bench: pmukit record ended with %d\n", status);
        return kUnavailable;
    }
    std::printf("bench rotation.files %" PRIu64 " files\n", found.files);
    std::printf("bench rotation.samples %" PRIu64 " samples\n", found.samples);
    std::printf("bench rotation.lost %" PRIu64 " samples\n", found.lost);
    return found.whole && found.files > 1 && found.lost == 0 ? 0 : 1;
}

}  // namespace

int main()
{
    const char *temporary = std::getenv("TMPDIR");
    std::string folder = std::string(temporary ? temporary : "/tmp") + "/pmukit-rotation.XXXXXX";
    if (!::mkdtemp(folder.data()))
        return kUnavailable;
    const int status = measure(folder);
    std::filesystem::remove_all(folder);
    return status;
}
