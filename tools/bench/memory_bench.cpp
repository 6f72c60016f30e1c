// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// memory_bench [MIB]: measures the peak resident set size and the rate of the commands that read a
// recording, and of a loop over its records. Each command may use at most 64 MiB, and runs with a
// data limit of that size (ulimit -d). The main recording has 8192 MiB, or MIB. It is sparse: only
// the start of each AUX buffer has records; the rest are zeros, which decoders must scan, too. A
// second recording, of 512 MiB, has no zeros. In two more, of 64 MiB, all records differ: each
// entry has a different unit of memory, each sample a different address. The files are in TMPDIR.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pmukit/cxl_hmu.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "decode/imc/imc_decode.hpp"
#include "perfdata/format.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/writer.hpp"

namespace {

using namespace pmukit;

constexpr uint64_t kId = 7;
constexpr uint32_t kPmuType = 24;
constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kEntriesPerRecord = 57;  // hotlist entries in a full record
constexpr uint64_t kFewUnits = 65536;     // number of hot units in most recordings
constexpr uint64_t kManyUnits = uint64_t{1} << 40;
constexpr unsigned kCounterWidth = 16;

// AUX data of one driver: the name of its PMU, and a function that returns a buffer of whole
// records. The sequence numbers of the records continue from call to call.
struct Data {
    const char *pmu;
    std::vector<std::byte> (*make_buffer)(uint64_t &sequence);
};

template <uint64_t kUnits>
std::vector<std::byte> make_hot_list(uint64_t &sequence)
{
    constexpr size_t kRecordBytes = 8 * (2 + PMUKIT_CXL_HMU_EXTRA_WORDS + kEntriesPerRecord);
    std::vector<std::byte> buffer(kBufferBytes / kRecordBytes * kRecordBytes);
    size_t at = 0;
    auto put = [&](uint64_t value) {
        store_le(buffer.data() + at, value);
        at += 8;
    };
    while (at < buffer.size()) {
        put(PMUKIT_CXL_HMU_W0(kEntriesPerRecord, kCounterWidth));
        put(PMUKIT_CXL_HMU_MARK);
        put(sequence * 1000);
        put(12);
        put(0);
        put(sequence);
        put(0);
        for (uint64_t i = 0; i < kEntriesPerRecord; i++)
            put((sequence * kEntriesPerRecord + i) % kUnits << kCounterWidth | (i + 1));
        sequence++;
    }
    return buffer;
}

// Returns samples of a program without symbols; their addresses are spread over the whole program.
std::vector<std::byte> make_samples(uint64_t &sequence)
{
    std::vector<std::byte> buffer(kBufferBytes);
    for (size_t at = 0; at < buffer.size(); at += decode::imc::kRecordBytes) {
        const uint64_t time = ++sequence;
        for (const auto &[word, value] :
             {std::pair<size_t, uint64_t>{0, time}, {1, time * 52}, {7, time}})
            store<uint64_t>(buffer.data() + at + 8 * word, value, std::endian::big);
    }
    return buffer;
}

constexpr Data kFew = {"cxl_hmu_mem0.0.0", make_hot_list<kFewUnits>};
constexpr Data kMany = {"cxl_hmu_mem0.0.0", make_hot_list<kManyUnits>};
constexpr Data kSamples = {"trace_imc", make_samples};

perfdata::WriterEvent make_event(const Data &data)
{
    perfdata::WriterEvent event{std::vector<std::byte>(128), {kId}, std::string(data.pmu) + "//"};
    std::byte *attr = event.attr.data();
    store<uint32_t>(attr + perfdata::kAttrType, kPmuType, std::endian::native);
    store<uint32_t>(attr + perfdata::kAttrSize, 128, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrSampleType, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU,
                    std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrFlags, uint64_t{1} << perfdata::kAttrFlagSampleIdAll,
                    std::endian::native);
    return event;
}

std::vector<std::byte> aux_record(uint64_t offset, uint64_t size)
{
    std::vector<std::byte> record(48);
    perf_event_header header{PERF_RECORD_AUX, 0, static_cast<uint16_t>(record.size())};
    std::memcpy(record.data(), &header, sizeof header);
    store<uint64_t>(record.data() + 8, offset, std::endian::native);
    store<uint64_t>(record.data() + 16, size, std::endian::native);
    store<uint64_t>(record.data() + 40, kId, std::endian::native);
    return record;
}

Result<void> write_recording(const std::string &path, const Data &data, size_t bytes)
{
    perfdata::HostInfo host;
    host.pmus = {{kPmuType, data.pmu}};
    auto writer = perfdata::Writer::create(path, {make_event(data)}, host);
    if (!writer)
        return writer.error();
    uint64_t sequence = 0;
    for (uint64_t offset = 0; offset < bytes;) {
        std::vector<std::byte> buffer = data.make_buffer(sequence);
        perfdata::AuxtraceRecord trace;
        trace.offset = offset;
        trace.reference = kId;
        if (auto put = writer->records(aux_record(offset, buffer.size())); !put)
            return put;
        if (auto put = writer->auxtrace(trace, buffer, {}); !put)
            return put;
        offset += buffer.size();
    }
    return writer->finish();
}

// Writes the file in pipe format, which has nothing after the data, so that the rest of each AUX
// buffer can be a hole of the file.
Result<void> write_sparse(const std::string &path, size_t bytes)
{
    constexpr size_t kSparseBufferBytes = size_t{256} << 20;
    perfdata::HostInfo host;
    host.pmus = {{kPmuType, kFew.pmu}};
    Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    Fd front(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!fd || !front)
        return system_error(path, errno);
    auto writer = perfdata::Writer::create_pipe(std::move(front), {make_event(kFew)}, host);
    if (!writer)
        return writer.error();
    if (auto put = writer->finish(); !put)
        return put;
    uint64_t sequence = 0;
    for (uint64_t offset = 0; offset < bytes; offset += kSparseBufferBytes) {
        std::vector<std::byte> head = aux_record(offset, kSparseBufferBytes);
        const size_t at = head.size();
        const perf_event_header header{perfdata::kAuxtrace, 0, 48};
        head.resize(at + 48);
        std::memcpy(head.data() + at, &header, sizeof header);
        for (size_t i = 0; uint64_t word : {uint64_t{kSparseBufferBytes}, offset, kId})
            store<uint64_t>(head.data() + at + 8 * ++i, word, std::endian::native);
        const std::vector<std::byte> buffer = kFew.make_buffer(sequence);
        head.insert(head.end(), buffer.begin(), buffer.end());
        if (auto put = write_all(fd.get(), head, path); !put)
            return put;
        const off_t end =
            ::lseek(fd.get(), static_cast<off_t>(kSparseBufferBytes - buffer.size()), SEEK_CUR);
        if (end < 0 || ::ftruncate(fd.get(), end) != 0)
            return system_error(path, errno);
    }
    return {};
}

// Reads every record, and every word of the payload that follows a record.
int iterate(const std::string &path)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    if (!reader)
        return 2;
    uint64_t sum = 0;
    for (perfdata::Record record;;) {
        const bool more = reader->next(record);
        if (reader->error() || reader->damage())
            return 2;
        if (!more)
            return sum == 1;  // uses the sum, or the loop would be optimized away
        for (size_t at = 0; at + 8 <= record.payload.size(); at += 8)
            sum += load_le<uint64_t>(record.payload.data() + at);
    }
}

struct Run {
    bool good = false;
    double seconds = 0;
    double peak_mib = 0;
};

Run run_command(const std::vector<std::string> &words)
{
    std::vector<char *> argv;
    for (const std::string &word : words)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    auto start = std::chrono::steady_clock::now();
    pid_t pid = -1;
    int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    struct rusage usage {};
    if (failed != 0 || ::wait4(pid, &status, 0, &usage) != pid)
        return {};
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    // Exit status 1: some bytes were not part of a record.
    return {WIFEXITED(status) && WEXITSTATUS(status) <= 1, took.count(),
            static_cast<double>(usage.ru_maxrss) / 1024};
}

constexpr size_t kMostMib = 64;

// Runs a command on a recording, and prints its peak memory and its rate. `name` is the part of the
// printed names that stands for the command.
bool measure(const char *name, const std::vector<std::string> &words, size_t mib)
{
    const Run run = run_command(words);
    if (!run.good || run.peak_mib > static_cast<double>(kMostMib)) {
        std::fprintf(stderr, "memory_bench: %s %s, %.1f MiB\n", name,
                     run.good ? "takes too much memory" : "failed", run.peak_mib);
        return false;
    }
    std::printf("bench cli.%s_rss_of_%zu_mib %.1f MiB\n", name, mib, run.peak_mib);
    std::printf("bench cli.%s_of_%zu_mib %.3f GB/s\n", name, mib,
                static_cast<double>(mib << 20) / 1e9 / run.seconds);
    std::fflush(stdout);
    return true;
}

std::vector<std::string> exporting(const char *format, const std::string &file,
                                   const std::string &output, const char *driver = "cxl_hmu")
{
    return {PMUKIT_COMMAND, "export", "--format", format, "--driver",
            driver,         "-i",     file,       "-o",   output};
}

bool measure_all(const std::string &self, const std::string &file, size_t mib)
{
    const std::string output = file + ".out";
    struct Row {
        const char *name;
        std::vector<std::string> words;
    };
    const Row rows[] = {
        {"report", {PMUKIT_COMMAND, "report", "-i", file}},
        {"dump", {PMUKIT_COMMAND, "dump", "-i", file}},
        {"recover", {PMUKIT_COMMAND, "recover", "-i", file}},
        {"cut", {PMUKIT_COMMAND, "cut", "-i", file, "-o", output, "--buffer", "0"}},
        {"inject", {PMUKIT_COMMAND, "inject", "-i", file, "-o", output}},
        {"export_csv", exporting("csv", file, "/dev/null")},
        {"export_jsonl", exporting("jsonl", file, "/dev/null")},
        {"iteration", {self, "--iterate", file}},
    };
    bool good = true;
    for (const Row &row : rows)
        good = measure(row.name, row.words, mib) && good;
    return good;
}

// Measures the export formats that need much time per row, or more disk space than the recording.
// Only the sparse recording is used, because it has few rows.
bool measure_other_forms(const std::string &file, size_t mib)
{
    bool good = true;
    for (const std::string form : {"perfetto", "perfetto-trace", "openmetrics", "sqlite", "ctf"}) {
        const std::string output = file + "." + form;
        good =
            measure(("export_" + form).c_str(), exporting(form.c_str(), file, output), mib) && good;
        std::filesystem::remove_all(output);
    }
    return good;
}

bool has(const Result<void> &written)
{
    if (!written)
        std::fprintf(stderr, "memory_bench: %s\n", written.error().message.c_str());
    return bool(written);
}

// Measures the memory that depends on the content of records, with recordings whose records all
// differ.
bool measure_different(const std::string &file)
{
    constexpr size_t kMib = 64;
    if (!has(write_recording(file, kMany, kMib << 20)))
        return false;
    bool good = measure("report_many_units", {PMUKIT_COMMAND, "report", "-i", file}, kMib);
    if (!has(write_recording(file, kSamples, kMib << 20)))
        return false;
    good = measure("report_many_addresses", {PMUKIT_COMMAND, "report", "-i", file}, kMib) && good;
    return measure("export_folded", exporting("folded", file, "/dev/null", "imc"), kMib) && good;
}

int bench(const std::string &self, const std::string &file, size_t mib)
{
    constexpr size_t kFullMib = 512;
    const bool different = measure_different(file);
    if (!has(write_recording(file, kFew, kFullMib << 20)))
        return 69;
    const bool full =
        measure_all(self, file, kFullMib) &&
        measure("merge", {PMUKIT_COMMAND, "merge", "-o", file + ".out", file, file}, 2 * kFullMib);
    std::filesystem::remove(file + ".out");
    if (!has(write_sparse(file, mib << 20)))
        return 69;
    const bool sparse = measure_all(self, file, mib) && measure_other_forms(file, mib);
    return different && full && sparse ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv)
{
    // The commands that this program starts inherit the limit.
    const rlimit most = {kMostMib << 20, kMostMib << 20};
    ::setrlimit(RLIMIT_DATA, &most);
    if (argc == 3 && std::string_view(argv[1]) == "--iterate")
        return iterate(argv[2]);
    size_t mib = 8192;
    if (argc > 1)
        std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), mib);
    const char *temporary = std::getenv("TMPDIR");
    std::string folder = std::string(temporary ? temporary : "/tmp") + "/pmukit-bench.XXXXXX";
    if (!::mkdtemp(folder.data())) {
        std::fprintf(stderr, "memory_bench: %s: cannot make a folder\n", folder.c_str());
        return 69;
    }
    int status = bench(argv[0], folder + "/perf.data", mib);
    std::filesystem::remove_all(folder);
    return status;
}
