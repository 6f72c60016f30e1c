// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Stock perf must read files that pmukit writes. A missing perf is a failure: `make setup` installs
// it.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "cli/tests/stock_perf.hpp"
#include "decode/hisi_ptt/hisi_ptt_test_vectors.hpp"
#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;
using stock::run;
using stock::Said;

constexpr uint64_t kId = 7;
constexpr uint64_t kSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

std::vector<std::byte> attr_of(uint32_t type, size_t size)
{
    std::vector<std::byte> attr(size);
    store<uint32_t>(attr.data() + kAttrType, type, std::endian::native);
    store<uint32_t>(attr.data() + kAttrSize, static_cast<uint32_t>(size), std::endian::native);
    store<uint64_t>(attr.data() + kAttrSamplePeriod, 1, std::endian::native);
    store<uint64_t>(attr.data() + kAttrSampleType, kSampleType, std::endian::native);
    store<uint64_t>(attr.data() + kAttrFlags, uint64_t{1} << kAttrFlagSampleIdAll,
                    std::endian::native);
    return attr;
}

std::vector<std::byte> sample(uint64_t time_ns)
{
    std::vector<std::byte> record(8 + 40);
    store<uint32_t>(record.data(), PERF_RECORD_SAMPLE, std::endian::native);
    store<uint16_t>(record.data() + 4, PERF_RECORD_MISC_USER, std::endian::native);
    store<uint16_t>(record.data() + 6, 48, std::endian::native);
    store<uint64_t>(record.data() + 8, kId, std::endian::native);
    store<uint64_t>(record.data() + 16, 0x401000, std::endian::native);
    store<uint32_t>(record.data() + 24, 100, std::endian::native);
    store<uint32_t>(record.data() + 28, 101, std::endian::native);
    store<uint64_t>(record.data() + 32, time_ns, std::endian::native);
    return record;
}

class PerfAccepts : public testing::TestWithParam<const char *> {
protected:
    void SetUp() override
    {
        perf_ = stock::perf(GetParam());
        ASSERT_FALSE(perf_.empty()) << "no perf of " << GetParam() << "; run make setup";
    }

    // Writes three samples of a software event and, if device_type is not 0, AUX data.
    void write(uint32_t device_type, bool info)
    {
        std::vector<WriterEvent> events = {{attr_of(1, 128), {kId}, "cpu-clock"}};
        if (device_type)
            events.push_back({attr_of(device_type, 136), {8}, "hisi_ptt0_2/filter=0x80001/"});
        HostInfo host{host_, "6.12", "pmukit", "x86_64", 2, 2, {"pmukit", "record"}, {}};
        host.pmus = {{1, "software"}, {24, "hisi_ptt0_2"}};
        host.caps = {{"hisi_ptt0_2", {{"source", "model"}}}};
        Result<Writer> writer = Writer::create(path_, events, host);
        ASSERT_TRUE(writer);
        if (info) {
            ASSERT_TRUE(writer->auxtrace_info(6, {device_type}));
        }
        for (uint64_t time : {1000000, 2000000, 3000000})
            ASSERT_TRUE(writer->records(sample(time)));
        if (device_type) {
            AuxtraceRecord trace;
            trace.reference = 8;
            trace.tid = UINT32_MAX;
            ASSERT_TRUE(writer->auxtrace(
                trace,
                decode::hisi_ptt::testing::entry(
                    decode::hisi_ptt::Format::k8dw,
                    decode::hisi_ptt::testing::read_tlp(0x101, 5, 0x402810040, 32), 100),
                {}));
        }
        ASSERT_TRUE(writer->finished_round());
        ASSERT_TRUE(writer->finish());
    }

    void expect_reads(const std::string &words, const std::string &expected)
    {
        const Said said = run(perf_ + words);
        EXPECT_EQ(said.status, 0) << words << "\n" << said.text;
        EXPECT_NE(said.text.find(expected), std::string::npos) << words << "\n" << said.text;
    }
    size_t script_lines(const std::string &options, const std::string &pattern = "401000")
    {
        const Said said = run(perf_ + "script " + options + " -F tid,time,ip,event -i " + path_ +
                              " | grep -c " + pattern);
        return std::strtoul(said.text.c_str(), nullptr, 10);
    }
    // Runs the command; its output file replaces path_.
    template <typename Options>
    void make(Result<int> (*command)(const Options &, cli::Output &), const Options &options)
    {
        const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        cli::Output out(null.get(), "null");
        const Result<int> status = command(options, out);
        ASSERT_TRUE(status) << status.error().message;
        ASSERT_EQ(*status, 0);
        path_ = options.output;
    }

    TestFolder folder_;
    std::string perf_, path_ = folder_.path("perf.data"), host_ = "accepts";
};
INSTANTIATE_TEST_SUITE_P(EveryPerf, PerfAccepts, testing::ValuesIn(stock::kKernels),
                         [](const auto &kernel) { return stock::name_of(kernel.param); });

TEST_P(PerfAccepts, FileWithSamples)
{
    write(0, false);
    expect_reads("report --header-only -i " + path_, "hostname : accepts");
    expect_reads("report --header-only -i " + path_, "hisi_ptt0_2 = 24");
    expect_reads("report --header-only -i " + path_, "hisi_ptt0_2 pmu capabilities: source=model");
    expect_reads("evlist -v -i " + path_, "cpu-clock");
    EXPECT_EQ(script_lines(""), 3U);
}

TEST_P(PerfAccepts, HisiPttAuxDataWithoutAuxtraceInfoIfOptionNoItraceIsGiven)
{
    write(24, false);
    expect_reads("evlist -i " + path_, "hisi_ptt0_2/filter=0x80001/");
    EXPECT_EQ(script_lines("--no-itrace"), 3U);
}

TEST_P(PerfAccepts, HisiPttAuxDataWithAuxtraceInfo)
{
    write(24, true);
    expect_reads("report -D -i " + path_, "HISI PTT");
}

TEST_P(PerfAccepts, FileWithInjectedSamples)
{
    write(24, false);
    ASSERT_NO_FATAL_FAILURE(
        make(cli::run_inject, cli::InjectOptions{path_, folder_.path("plain")}));
    expect_reads("evlist -v -i " + path_, "hisi_ptt0_2/filter=0x80001/");
    expect_reads("report --header-only -i " + path_, "hostname : accepts");
    EXPECT_EQ(script_lines(""), 3U);
    EXPECT_EQ(script_lines("", "hisi_ptt0_2"), 1U);
    // These four bytes are the tag at the start of a hisi_ptt payload.
    expect_reads("script -D -i " + path_, "48 50 54 54");
}

TEST_P(PerfAccepts, FileThatCutWrites)
{
    write(24, true);
    cli::CutOptions options;
    options.input = path_;
    options.output = folder_.path("cut");
    options.time = "0.0015,0.0025";
    ASSERT_NO_FATAL_FAILURE(make(cli::run_cut, options));
    EXPECT_EQ(script_lines("--no-itrace"), 1U);
    expect_reads("script --no-itrace -F time -i " + path_, "0.002000");
    expect_reads("report -D -i " + path_, "HISI PTT");
    expect_reads("report --header-only -i " + path_, "hostname : accepts");
}

TEST_P(PerfAccepts, FileThatMergeWritesForTwoHosts)
{
    write(24, true);
    cli::MergeOptions options;
    options.inputs = {path_, path_ + ".other"};
    options.output = folder_.path("both");
    path_ += ".other";
    host_ = "elsewhere";
    write(24, true);
    ASSERT_NO_FATAL_FAILURE(make(cli::run_merge, options));
    expect_reads("report --header-only -i " + path_, "hostname : accepts+elsewhere");
    expect_reads("evlist -i " + path_, "@elsewhere");
    EXPECT_EQ(script_lines("--no-itrace"), 6U);
    EXPECT_EQ(script_lines("--no-itrace", "4194405"), 3U) << "thread 101 of the second host";
    const Said said = run(perf_ + "script --no-itrace -F time -i " + path_);
    EXPECT_EQ(said.text.find("Warning"), std::string::npos) << said.text;
    expect_reads("report -D -i " + path_, "HISI PTT");
}

// Cgroup ids are inode numbers, which are the same on many hosts.
TEST_P(PerfAccepts, CgroupsOfTwoHostsInAMergedFileAreDistinct)
{
    constexpr uint64_t kCgroup = 5;
    const auto write_one = [this](const std::string &host, const std::string &cgroup) {
        std::vector<std::byte> attr = attr_of(1, 128);
        store<uint64_t>(attr.data() + kAttrSampleType, kSampleType | PERF_SAMPLE_CGROUP,
                        std::endian::native);
        const std::string path = folder_.path(host);
        HostInfo info{host, "6.12", "pmukit", "x86_64", 2, 2, {"pmukit"}, {{1, "software"}}};
        Result<Writer> writer = Writer::create(path, {{attr, {kId}, "cpu-clock"}}, info);
        ASSERT_TRUE(writer);
        constexpr size_t kTrailerBytes = 32;
        Packer names(std::endian::native);
        names.record_header(PERF_RECORD_CGROUP, 0, kRecordHeaderBytes + 8 + 16 + kTrailerBytes)
            .put(kCgroup)
            .put(as_bytes(cgroup))
            .pad_to(kRecordHeaderBytes + 8 + 16)
            .put(100U)
            .put(101U)
            .put(uint64_t{1000})
            .put(uint64_t{0})
            .put(kId);
        ASSERT_TRUE(writer->records(names.bytes()));
        std::vector<std::byte> taken = sample(2000000);
        taken.resize(taken.size() + 8);
        store<uint16_t>(taken.data() + 6, static_cast<uint16_t>(taken.size()), std::endian::native);
        store<uint64_t>(taken.data() + taken.size() - 8, kCgroup, std::endian::native);
        ASSERT_TRUE(writer->records(taken));
        ASSERT_TRUE(writer->finish());
    };
    ASSERT_NO_FATAL_FAILURE(write_one("green", "/of-green"));
    ASSERT_NO_FATAL_FAILURE(write_one("blue", "/of-blue"));
    cli::MergeOptions options;
    options.inputs = {folder_.path("green"), folder_.path("blue")};
    options.output = path_;
    ASSERT_NO_FATAL_FAILURE(make(cli::run_merge, options));
    expect_reads("report --stdio --sort cgroup -i " + path_, "/of-green");
    expect_reads("report --stdio --sort cgroup -i " + path_, "/of-blue");
}

TEST_P(PerfAccepts, FileThatRecoverWrites)
{
    write(24, false);
    fs::resize_file(path_, fs::file_size(path_) - 1000);
    const std::string cut = path_;
    const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    cli::Output out(null.get(), "null");
    path_ = folder_.path("whole");
    const Result<int> status = cli::run_recover({cut, path_}, out);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, 1) << "something is lost";
    EXPECT_EQ(script_lines("--no-itrace"), 3U);
}

TEST_P(PerfAccepts, RecordingInPipeFormat)
{
    std::string path = path_;
    Fd out(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    Result<Writer> writer = Writer::create_pipe(
        std::move(out), {{attr_of(1, 128), {kId}, "cpu-clock"}},
        {"accepts", "6.12", "pmukit", "x86_64", 2, 2, {"pmukit", "record"}, {{1, "software"}}});
    ASSERT_TRUE(writer);
    for (uint64_t time : {1000000, 2000000, 3000000})
        ASSERT_TRUE(writer->records(sample(time)));
    ASSERT_TRUE(writer->finish());
    const Said said =
        run("cat " + path + " | " + perf_ + "script -F tid,time,ip -i - | grep -c 401000");
    EXPECT_EQ(said.text.substr(0, 1), "3") << said.text;
}

}  // namespace
}  // namespace pmukit::perfdata
