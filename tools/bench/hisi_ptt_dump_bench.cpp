// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares `pmukit dump` with stock perf, on the same file and in the same run. Both must print the
// same text. Measures the processor time of each: the best of several runs for pmukit, one run for
// perf. perf is from a guest tree in the cache (make setup), and runs with the loader of that tree.
// Prints lines `bench <name> <value> <unit>`; exits with 69 without perf, with 1 if the texts
// differ.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "base/fd.hpp"
#include "bench/bench.hpp"
#include "cli/commands.hpp"
#include "cli/tests/hisi_ptt_file.hpp"

namespace {

using namespace pmukit;
namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{4} << 20;  // the driver's buffer size
constexpr size_t kTimedBuffers = 16, kComparedBuffers = 1;

struct Perf {
    std::string kernel, root;
};

// Prefers perf 7.2, which prints the same text as pmukit. perf 6.12 prints the bytes of a dword in
// reverse order.
std::optional<Perf> find_perf()
{
    const char *given = std::getenv("PMUKIT_CACHE"), *home = std::getenv("HOME");
    const std::string cache = given ? given : std::string(home ? home : "") + "/.cache/pmukit";
    for (const char *kernel : {"7.2", "6.12"}) {
        const std::string root = cache + "/guests/" + kernel;
        if (fs::exists(root + "/usr/bin/perf") && fs::exists(root + "/lib64"))
            return Perf{kernel, root};
    }
    return std::nullopt;
}

// Runs `perf report -D` on input, and writes its text to output. Returns false if perf failed.
bool run_perf(const Perf &perf, const std::string &input, const std::string &output)
{
    const pid_t child = ::fork();
    if (child == 0) {
        const Fd out(::open(output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600));
        const Fd none(::open("/dev/null", O_RDWR));
        ::dup2(none.get(), STDIN_FILENO);
        ::dup2(out.get(), STDOUT_FILENO);
        ::dup2(none.get(), STDERR_FILENO);
        const std::string loader = perf.root + "/lib64/ld-linux-x86-64.so.2",
                          libraries = perf.root + "/usr/lib/x86_64-linux-gnu",
                          program = perf.root + "/usr/bin/perf";
        ::execl(loader.c_str(), loader.c_str(), "--library-path", libraries.c_str(),
                program.c_str(), "report", "-D", "-i", input.c_str(), nullptr);
        ::_exit(127);
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool run_ours(const std::string &input, const std::string &output)
{
    const Fd fd(::open(output.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    cli::Output out(fd.get(), output);
    cli::DumpOptions options;
    options.input = input;
    const Result<int> status = cli::run_dump(options, out);
    return out.finish() && status && *status == cli::kExitGood;
}

// Returns entries with random fields. A TLP header need not be valid to be printed.
std::vector<std::byte> make_buffer(bool wide, uint64_t seed)
{
    std::vector<std::byte> buffer(kBufferBytes);
    uint64_t random = seed;
    for (size_t at = 0; at < buffer.size(); at += 4) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        const size_t word = at / 4 % (wide ? 8 : 4);
        uint32_t value = static_cast<uint32_t>(random >> 32);
        if (wide && word == 0)
            value = UINT32_MAX;
        if (wide && word == 6)
            value = 0;
        if (!wide && word == 0)
            value &= 0x41ffffff;  // Fmt 0 or 1 with Type 0: a known type of TLP, never padding
        store_le(buffer.data() + at, value);
        if (!wide && word == 1)
            store_le(buffer.data() + at, value | 0x11);  // first and last byte enables are not 0
    }
    return buffer;
}

bool make_file(const std::string &path, bool wide, size_t buffers)
{
    const uint64_t format = wide ? uint64_t{1} << 32 : 0;
    cli::testing::PttFile file(path, {.config = 0x80001 | 1 << 20 | 1 << 24 | format});
    for (size_t i = 0; i < buffers; i++)
        file.aux(make_buffer(wide, i + 1));
    return file.finish();
}

// True for the lines of entries (".  xxxxxxxx: ") and the heading before them. Lines that perf
// prints for other records are not compared.
bool is_ours(const std::string &line)
{
    return line.starts_with(". ... HISI PTT") ||
           (line.size() > 11 && line.starts_with(".  ") && line[11] == ':');
}

size_t same_lines(const std::string &perf, const std::string &ours, bool &same)
{
    std::ifstream a(perf), b(ours);
    const auto next = [](std::ifstream &file, std::string &line) {
        while (std::getline(file, line))
            if (is_ours(line))
                return true;
        return false;
    };
    size_t lines = 0;
    for (std::string left, right;; lines++) {
        const bool more = next(a, left), ours_more = next(b, right);
        same = more == ours_more && (!more || left == right);
        if (!same || !more)
            return lines;
    }
}

// Returns the processor time of work() in seconds. target: RUSAGE_SELF or RUSAGE_CHILDREN.
double seconds(int target, const std::function<bool()> &work, bool &good)
{
    const auto now = [target] {
        rusage usage{};
        ::getrusage(target, &usage);
        const auto of = [](const timeval &time) {
            return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
        };
        return of(usage.ru_utime) + of(usage.ru_stime);
    };
    const double begin = now();
    good = work() && good;
    return now() - begin;
}

// Compares the texts of pmukit and perf. Returns false if they differ or a program failed.
bool compare(const Perf &perf, const std::string &folder, bool wide)
{
    const std::string file = folder + "/compared.data", theirs = folder + "/theirs",
                      ours = folder + "/ours";
    bool same = make_file(file, wide, kComparedBuffers) && run_perf(perf, file, theirs) &&
                run_ours(file, ours);
    const size_t lines = same ? same_lines(theirs, ours, same) : 0;
    std::printf("bench decode.hisi_ptt.dump_equals_perf%s %zu lines%s\n", wide ? "" : "_4dw", lines,
                same ? "" : ", then they differ");
    return same && lines > kBufferBytes / 32;
}

bool measure(const Perf &perf, const std::string &folder, bool wide)
{
    const std::string file = folder + "/timed.data";
    bool good = make_file(file, wide, kTimedBuffers);
    double ours = 1e9;
    for (int round = 0; round < bench::kRounds; round++)
        ours = std::min(ours, seconds(
                                  RUSAGE_SELF, [&] { return run_ours(file, "/dev/null"); }, good));
    const double theirs = seconds(
        RUSAGE_CHILDREN, [&] { return run_perf(perf, file, "/dev/null"); }, good);
    const double bytes = kTimedBuffers * kBufferBytes;
    const char *format = wide ? "" : "_4dw";
    std::printf("bench perf-%s.report_D%s %.4f GB/s\n", perf.kernel.c_str(), format,
                bytes / theirs / 1e9);
    std::printf("bench decode.hisi_ptt.dump%s %.3f GB/s\n", format, bytes / ours / 1e9);
    std::printf("bench decode.hisi_ptt.dump%s_vs_perf %.1f ratio\n", format, theirs / ours);
    return good;
}

}  // namespace

int main()
{
    const std::optional<Perf> perf = find_perf();
    if (!perf) {
        std::fprintf(stderr, "hisi_ptt_dump_bench: no perf 6.12 or newer; run make setup\n");
        return cli::kExitEnvironment;
    }
    std::string folder = fs::temp_directory_path() / "pmukit_dump_bench.XXXXXX";
    if (!::mkdtemp(folder.data()))
        return cli::kExitEnvironment;
    bool good = true;
    for (const bool wide : {true, false}) {
        if (perf->kernel == "7.2")
            good = compare(*perf, folder, wide) && good;
        good = measure(*perf, folder, wide) && good;
        std::fflush(stdout);
    }
    fs::remove_all(folder);
    return good ? cli::kExitGood : cli::kExitFailed;
}
