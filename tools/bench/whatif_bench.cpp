// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures how fast `pmukit what-if` replays a log of 1e8 accesses, by the processor time of the
// whole program. The log comes through a pipe: a file would need 2 GB. Three quarters of the
// accesses go to a hot set of 4096 pages that moves every 5 million accesses, the others to 4 GiB.
// Prints lines `bench <name> <value> <unit>`; exits with 1 if something
// failed or the replay took more than 60 s.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/fd.hpp"
#include "base/file.hpp"

namespace {

using namespace pmukit;

constexpr uint64_t kAccesses = 100'000'000;
constexpr uint64_t kPages = uint64_t{1} << 20, kHotPages = 4096;
constexpr uint64_t kMovesAfter = 5'000'000;
constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = 32;
constexpr double kMostSeconds = 60;

uint64_t next_random(uint64_t &state)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 24;
}

// Writes the log. Returns false if the reader left.
bool write_log(int fd)
{
    std::string buffer = "# pmukit access log 1\n";
    uint64_t state = 1;
    for (uint64_t i = 0; i < kAccesses; i++) {
        const uint64_t random = next_random(state);
        const uint64_t line = next_random(state) % 64;
        const uint64_t page = random % 4 == 0
                                  ? random / 4 % kPages
                                  : (i / kMovesAfter * kHotPages * 7 + random / 4 % kHotPages);
        char text[kMaxLineBytes];
        char *end = std::to_chars(text, text + sizeof text, page * 4096 + line * 64, 16).ptr;
        buffer.append(random % 3 ? "R 0x" : "W 0x").append(text, end).append(" 8\n");
        if (buffer.size() < kBufferBytes)
            continue;
        if (!write_all(fd, as_bytes(buffer), "log"))
            return false;
        buffer.clear();
    }
    return bool(write_all(fd, as_bytes(buffer), "log"));
}

struct Run {
    bool good = false;
    double seconds = 0;  // processor time
    double mib = 0;
};

Run replay()
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return {};
    Fd in(ends[0]), out(ends[1]);
    ::fcntl(out.get(), F_SETPIPE_SZ, static_cast<int>(kBufferBytes));
    const pid_t child = ::fork();
    if (child == 0) {
        const Fd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        ::dup2(in.get(), STDIN_FILENO);
        ::dup2(nothing.get(), STDOUT_FILENO);
        ::execl(PMUKIT_COMMAND, "pmukit", "what-if", "-i", "-", "--fast", "65536", "--epoch",
                "100000", nullptr);
        ::_exit(127);
    }
    in.reset();
    const bool written = child > 0 && write_log(out.get());
    out.reset();
    int status = -1;
    struct rusage usage {};
    if (child < 0 || ::wait4(child, &status, 0, &usage) != child)
        return {};
    Run run;
    run.good = written && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    for (const timeval &time : {usage.ru_utime, usage.ru_stime})
        run.seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    run.mib = static_cast<double>(usage.ru_maxrss) / 1024;
    return run;
}

}  // namespace

int main()
{
    ::signal(SIGPIPE, SIG_IGN);
    const Run run = replay();
    if (!run.good) {
        std::fprintf(stderr, "whatif_bench: pmukit what-if failed\n");
        return 1;
    }
    std::printf("bench whatif.accesses_s %.0f accesses/s\n",
                static_cast<double>(kAccesses) / run.seconds);
    std::printf("bench whatif.1e8_accesses %.1f s\n", run.seconds);
    std::printf("bench whatif.memory %.0f MiB\n", run.mib);
    if (run.seconds > kMostSeconds) {
        std::fprintf(stderr, "whatif_bench: more than %.0f s\n", kMostSeconds);
        return 1;
    }
    return 0;
}
