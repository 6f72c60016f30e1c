// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures the rate at which recordings are read, and compares it with a loop that sums the same
// bytes, and with stock perf on the same files (perf of a guest tree in PMUKIT_CACHE). Prints lines
// `bench <name> <value> <unit>`; each value is the best of kRounds. perfdata::Writer creates the
// files in TMPDIR: samples with callchains, and AUX buffers of hisi_ptt entries.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "bench/bench.hpp"
#include "bench/hisi_ptt_bench_work.hpp"
#include "perfdata/aux_file.hpp"
#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/writer.hpp"

namespace {

using namespace pmukit;
namespace fs = std::filesystem;
namespace ptt = decode::hisi_ptt;

constexpr int kRounds = 5;
constexpr size_t kSampleBytes = size_t{240} << 20, kScriptBytes = size_t{24} << 20;
constexpr size_t kFrames = 9;  // frames per callchain, the average of perf record -g
constexpr uint64_t kSampleType = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
constexpr size_t kAuxBuffers = 64, kAuxBufferBytes = size_t{4} << 20;
constexpr uint64_t kId = 7;

volatile uint64_t keep;

[[noreturn]] void give_up(const std::string &why)
{
    std::fprintf(stderr, "perfdata_bench: %s\n", why.c_str());
    std::exit(69);
}

template <typename T>
void must(const Result<T> &done)
{
    if (!done)
        give_up(done.error().message);
}

// Returns the duration of the fastest round in seconds.
template <typename Work>
double best_seconds(Work work)
{
    double best = 1e9;
    for (int round = 0; round < kRounds; round++) {
        const auto begin = std::chrono::steady_clock::now();
        keep = work();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count());
    }
    return best;
}

// Files

class Packer {
public:
    template <std::unsigned_integral T>
    Packer &put(T value)
    {
        bytes_.resize(bytes_.size() + sizeof value);
        store(bytes_.data() + bytes_.size() - sizeof value, value, std::endian::native);
        return *this;
    }
    std::vector<std::byte> &bytes() { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

perfdata::WriterEvent event_of(uint32_t type, uint64_t sample_type, const char *name)
{
    perfdata::WriterEvent event{std::vector<std::byte>(128), {kId}, name};
    std::byte *attr = event.attr.data();
    store<uint32_t>(attr + perfdata::kAttrType, type, std::endian::native);
    store<uint32_t>(attr + perfdata::kAttrSize, 128, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrSamplePeriod, 250000, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrSampleType, sample_type, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrFlags, uint64_t{1} << perfdata::kAttrFlagSampleIdAll,
                    std::endian::native);
    return event;
}

std::vector<std::byte> make_sample(uint64_t number)
{
    constexpr uint16_t kBytes = 8 + 8 * (6 + kFrames);
    Packer out;
    out.put(uint32_t{PERF_RECORD_SAMPLE}).put(uint16_t{PERF_RECORD_MISC_USER}).put(kBytes);
    out.put(uint64_t{0x400000 + number % 4096});                            // ip
    out.put(uint32_t{1000}).put(static_cast<uint32_t>(1000 + number % 8));  // pid, tid
    out.put(uint64_t{1000000 + number * 50000});                            // time
    out.put(static_cast<uint32_t>(number % 2)).put(uint32_t{0});            // cpu
    out.put(uint64_t{250000});                                              // period
    out.put(uint64_t{kFrames});
    for (uint64_t frame = 0; frame < kFrames; frame++)
        out.put(uint64_t{0x400000 + (number * 7 + frame * 64) % 65536});
    return out.bytes();
}

void write_samples(const std::string &path, size_t bytes)
{
    perfdata::HostInfo host{"bench", "6.12", "6.12", "x86_64", 2, 2, {"perf", "record"}, {}};
    auto writer = perfdata::Writer::create(path, {event_of(1, kSampleType, "cpu-clock")}, host);
    must(writer);
    for (uint64_t number = 0; writer->data_bytes() < bytes; number++)
        must(writer->records(make_sample(number)));
    must(writer->finish());
}

// Returns 8DW entries of memory writes by a few functions.
std::vector<std::byte> make_aux_buffer(uint32_t seed)
{
    constexpr uint32_t kWrite = 0x60000010;
    Packer out;
    for (uint32_t i = 0; i < kAuxBufferBytes / ptt::k8dwBytes; i++) {
        const uint32_t draw = (seed + i) * 2654435761U;
        out.put(UINT32_MAX).put(uint32_t{0}).put(kWrite).put((0x100 + draw % 24) << 16 | 0xff);
        out.put(uint32_t{4}).put(draw & ~63U).put(uint32_t{0}).put(seed + i * 16);
    }
    return out.bytes();
}

void write_aux(const std::string &path)
{
    auto writer =
        perfdata::Writer::create(path, {event_of(24, PERF_SAMPLE_IDENTIFIER, "hisi_ptt0_2//")}, {});
    must(writer);
    perfdata::AuxtraceRecord trace;
    trace.reference = kId;
    for (size_t i = 0; i < kAuxBuffers; i++) {
        std::vector<std::byte> buffer = make_aux_buffer(static_cast<uint32_t>(i << 20));
        must(writer->auxtrace(trace, buffer, {}));
        trace.offset += buffer.size();
    }
    must(writer->finish());
}

// Measured work

uint64_t sum_memory(const std::string &path)
{
    Result<MappedFile> file = MappedFile::open(path);
    must(file);
    uint64_t sum = 0;
    for (size_t at = 0; at + 8 <= file->bytes().size(); at += 8)
        sum += load_le<uint64_t>(file->bytes().data() + at);
    return sum;
}

uint64_t walk_records(const std::string &path)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    must(reader);
    uint64_t records = 0;
    for (perfdata::Record record; reader->next(record); records++)
        ;
    return records;
}

uint64_t parse_samples(const std::string &path)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    must(reader);
    perfdata::SampleParser parser;
    uint64_t sum = 0;
    for (perfdata::Record record; reader->next(record);) {
        if (record.type != PERF_RECORD_SAMPLE)
            continue;
        const size_t event = reader->event_of(record).value_or(0);
        const perfdata::Sample *sample =
            parser.parse(record.body, reader->events()[event].attr, reader->order());
        if (!sample)
            give_up("a sample cannot be read");
        sum += *sample->ip + *sample->sample_id.time_ns + *sample->period + *sample->sample_id.cpu;
        for (size_t i = 0; i < sample->callchain.size(); i++)
            sum += sample->callchain[i];
    }
    return sum;
}

// Returns the sum of the results of work() for all buffers, computed by `threads` threads.
uint64_t sum_of_buffers(const perfdata::AuxFile &file, unsigned threads, uint64_t (*work)(Bytes))
{
    std::vector<uint64_t> sums(file.buffers().size());
    file.for_each_buffer(threads, [&](size_t number, Bytes bytes) { sums[number] = work(bytes); });
    return std::accumulate(sums.begin(), sums.end(), uint64_t{0});
}

// Stock perf

// Returns the words that start the perf of a guest tree with the libraries of that tree.
std::vector<std::string> find_perf()
{
    const char *cache = std::getenv("PMUKIT_CACHE"), *home = std::getenv("HOME");
    const std::string root =
        (cache ? std::string(cache) : std::string(home ? home : "") + "/.cache/pmukit") +
        "/guests/6.12";
    if (!fs::exists(root + "/usr/bin/perf"))
        return {};
    return {root + "/lib64/ld-linux-x86-64.so.2", "--library-path",
            root + "/usr/lib/x86_64-linux-gnu", root + "/usr/bin/perf"};
}

uint64_t run_quietly(const std::vector<std::string> &words)
{
    std::vector<char *> argv;
    for (const std::string &word : words)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int fd : {STDOUT_FILENO, STDERR_FILENO})
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    pid_t pid = -1;
    int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    if (failed != 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0)
        give_up(words[0] + " failed");
    return 1;
}

double perf_seconds(std::vector<std::string> perf, std::initializer_list<std::string> words)
{
    perf.insert(perf.end(), words);
    return best_seconds([&perf] { return run_quietly(perf); });
}

void say(const char *name, double value, const char *unit)
{
    std::printf("bench %s %.2f %s\n", name, value, unit);
    std::fflush(stdout);
}

void bench_samples(const std::string &folder)
{
    const std::string path = folder + "/samples.data", small = folder + "/script.data";
    write_samples(path, kSampleBytes);
    write_samples(small, kScriptBytes);
    const double gigabytes = static_cast<double>(fs::file_size(path)) / 1e9;
    const double memory = best_seconds([&path] { return sum_memory(path); });
    const double walk = best_seconds([&path] { return walk_records(path); });
    const double samples = best_seconds([&path] { return parse_samples(path); });
    say("perfdata.memsum", gigabytes / memory, "GB/s");
    say("perfdata.walk", gigabytes / walk, "GB/s");
    say("perfdata.samples", gigabytes / samples, "GB/s");
    say("perfdata.samples_vs_memsum", memory / samples, "ratio");

    const std::vector<std::string> perf = find_perf();
    if (perf.empty()) {
        std::fprintf(stderr, "perfdata_bench: no perf in the cache, nothing to compare with\n");
        return;
    }
    const double stats = perf_seconds(perf, {"report", "--stats", "-i", path});
    say("perfdata.perf_stats", gigabytes / stats, "GB/s");
    say("perfdata.walk_vs_perf_stats", stats / walk, "ratio");
    const double script = perf_seconds(perf, {"script", "-i", small});
    const double script_gigabytes = static_cast<double>(fs::file_size(small)) / 1e9;
    say("perfdata.perf_script", script_gigabytes / script, "GB/s");
    say("perfdata.samples_vs_perf_script", (gigabytes / samples) / (script_gigabytes / script),
        "ratio");
}

void bench_threads(const std::string &folder)
{
    const std::string path = folder + "/aux.data";
    write_aux(path);
    Result<perfdata::AuxFile> file = perfdata::AuxFile::open(path);
    must(file);
    const double gigabytes = static_cast<double>(fs::file_size(path)) / 1e9;
    const auto seconds = [&file](unsigned threads, uint64_t (*work)(Bytes)) {
        return best_seconds([&] { return sum_of_buffers(*file, threads, work); });
    };
    constexpr auto kSum = [](Bytes bytes) { return ptt::sum_of_packets(bytes, ptt::Format::k8dw); };
    const double one = seconds(1, kSum), two = seconds(2, kSum);
    say("decode.threads1", gigabytes / one, "GB/s");
    say("decode.threads2", gigabytes / two, "GB/s");
    say("decode.threads2_ratio", one / two, "ratio");
    // For comparison, prints the speed-up of two threads that only sum the same bytes. Memory
    // bandwidth limits this speed-up.
    say("decode.threads2_memsum_ratio",
        seconds(1, bench::memory_sum) / seconds(2, bench::memory_sum), "ratio");
}

}  // namespace

int main()
{
    const char *temporary = std::getenv("TMPDIR");
    std::string folder = std::string(temporary ? temporary : "/tmp") + "/pmukit-bench.XXXXXX";
    if (!::mkdtemp(folder.data()))
        give_up(folder + ": cannot make a folder");
    bench_samples(folder);
    bench_threads(folder);
    fs::remove_all(folder);
    return 0;
}
