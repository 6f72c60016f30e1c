// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Recordings of trace_imc, encoded from text in either byte order. The tests compare the output of
// dump and report, and the samples that inject makes from AUX data, with this text. Stock perf must
// be able to read these samples.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "cli/export/export.hpp"
#include "cli/tests/stock_perf.hpp"
#include "encode/encode.hpp"

namespace pmukit::cli {
namespace {

// Thread 100 has two records at 0x10000420 and one in the kernel. Thread 101 has one at 0x10000424,
// one that is torn, and one in a guest.
constexpr std::string_view kAux = R"(
host ppc64 POWER10 (architected), altivec supported
pmu 30 trace_imc
event 9 trace_imc/trace_cycles/ period 251
comm 100 100 busy exec time 1000
mmap 100 0x10000000 0x20000 0 /bin/busy build 0102030405060708 time 1100
mmap kernel 0xc000000000000000 0x2000000 0xc000000000000000 [kernel.kallsyms]_text
fork 100 100 101 100 2000
aux 9 cpu 0 pid 100 tid 100 time 500000
imc 0x140000000100 user 0x10000420
imc 0x140000000200 user 0x10000420
imc 0x140000000300 kernel 0xc000000000001000
aux 9 cpu 1 pid 100 tid 101 time 600000
imc 0x140000000180 user 0x10000424
imc 0x140000000280 user 0x10000424 torn
imc 0x140000000380 guest-user 0x700
)";

class ImcRecording : public testing::TestWithParam<const char *> {
protected:
    // Encodes the text in the byte order of the test parameter. Returns the path of the recording.
    std::string recording(std::string_view text)
    {
        const std::string path = folder_.path("data");
        Result<encode::Case> what =
            encode::parse_case(std::string("order ") + GetParam() + "\n" + std::string(text));
        EXPECT_TRUE(what) << what.error().message;
        EXPECT_TRUE(what && encode::write_recording(*what, path));
        return path;
    }
    // Runs a command and returns its standard output.
    template <typename Options>
    std::string said(Result<int> (*command)(const Options &, Output &), const Options &options,
                     int expected_status)
    {
        const std::string path = folder_.path("said");
        const Fd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600));
        Output out(fd.get(), "said");
        const Result<int> status = command(options, out);
        EXPECT_TRUE(status) << status.error().message;
        EXPECT_EQ(status ? *status : -1, expected_status);
        EXPECT_TRUE(out.finish());
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    nlohmann::json report(const std::string &path, int expected_status)
    {
        ReportOptions options;
        options.input = path;
        options.json = true;
        options.kallsyms = folder_.path("kallsyms");
        std::ofstream(options.kallsyms) << "c000000000100000 T _text\nc000000000101000 t a_loop\n";
        return nlohmann::json::parse(said(run_report, options, expected_status))["pmus"][0];
    }
    // Encodes the text, and returns the lines and counts of its folded stacks.
    std::vector<std::pair<std::string, uint64_t>> folded(const std::string &text)
    {
        ExportOptions options;
        options.input = recording(text);
        options.format = kFoldedFormat;
        options.output = folder_.path("folded");
        said(run_export, options, 0);
        std::ifstream in(options.output);
        std::vector<std::pair<std::string, uint64_t>> lines;
        std::string stack;
        for (uint64_t count = 0; in >> stack >> count;)
            lines.emplace_back(stack, count);
        return lines;
    }
    std::string injected(const std::string &path)
    {
        InjectOptions options{path, folder_.path("injected")};
        EXPECT_EQ(said(run_inject, options, 1),
                  options.output + ": 384 bytes of AUX data removed, 5 samples written\n");
        return options.output;
    }

    TestFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(EitherOrder, ImcRecording, testing::Values("little", "big"),
                         [](const auto &order) { return std::string(order.param); });

void expect_counts(const nlohmann::json &pmu)
{
    EXPECT_EQ(pmu["samples"], 5);
    EXPECT_EQ(pmu["modes"]["user"], 3);
    EXPECT_EQ(pmu["modes"]["kernel"], 1);
    EXPECT_EQ(pmu["modes"]["guest-user"], 1);
    ASSERT_EQ(pmu["hot"].size(), 4U);
    EXPECT_EQ(pmu["hot"][0]["function"], "busy+0x420");
    EXPECT_EQ(pmu["hot"][0]["samples"], 2);
    ASSERT_EQ(pmu["threads"].size(), 2U);
    EXPECT_EQ(pmu["threads"][0]["tid"], 100);
    EXPECT_EQ(pmu["threads"][0]["samples"], 3);
    EXPECT_EQ(pmu["threads"][1]["command"], "busy") << "inherited";
    bool kernel = false;
    for (const nlohmann::json &hot : pmu["hot"])
        kernel |= hot["function"] == "a_loop" && hot["mode"] == "kernel" && hot["symbol"] == true;
    EXPECT_TRUE(kernel) << "moved by 0x100000 since the copy of kallsyms was made: " << pmu["hot"];
}

TEST_P(ImcRecording, ReportOfAuxDataCountsSamplesByThread)
{
    const nlohmann::json pmu = report(recording(kAux), 1);
    expect_counts(pmu);
    EXPECT_EQ(pmu["skipped_bytes"], 64);
}

TEST_P(ImcRecording, SamplesFromInjectGiveTheReportOfTheirAuxData)
{
    const nlohmann::json pmu = report(injected(recording(kAux)), 0);
    expect_counts(pmu);
    EXPECT_EQ(pmu["skipped_bytes"], 0);
}

TEST_P(ImcRecording, InjectCopiesSamplesUnchanged)
{
    const std::string path = recording(
        "pmu 30 trace_imc\nevent 9 trace_imc// period 251\n"
        "sample 9 user 0x10000420 pid 100 tid 100 time 5\n");
    EXPECT_EQ(said(run_inject, InjectOptions{path, folder_.path("same")}, 0),
              folder_.path("same") + ": 0 bytes of AUX data removed, 0 samples written\n");
    EXPECT_EQ(said(run_dump, DumpOptions{folder_.path("same")}, 0).substr(0, 33),
              "# trace_imc cpu 0: sample, file o");
}

// The stacks of this recording exceed the limit at which export looks up the functions of the
// stacks that it has counted so far. The COMM and MMAP records follow the samples in the file. The
// program's name is long, so that the lines exceed their limit, too, and are written in several
// parts.
TEST_P(ImcRecording, FoldedStacksCountEverySampleOf70000Threads)
{
    constexpr unsigned kThreads = 70000, kFirst = 1000;
    const std::string wide(60, 'x');
    const auto sample_of = [](unsigned tid) {
        return fmt::format("sample 9 user 0x10000000 pid 100 tid {} time 5000\n", tid);
    };
    std::string text = "pmu 30 trace_imc\nevent 9 trace_imc// period 251\n";
    for (unsigned i = 0; i < kThreads; i++)
        text += sample_of(kFirst + i);
    text += sample_of(kFirst) +
            "comm 100 100 busy exec time 1000\nmmap 100 0x10000000 0x200000 0 /bin/" + wide +
            " time 1100\n";
    for (unsigned i = 0; i < kThreads; i++)
        text += fmt::format("comm 100 {} busy{} time 1200\n", kFirst + i, i);
    uint64_t lines = 0, samples = 0;
    for (const auto &[stack, count] : folded(text)) {
        EXPECT_TRUE(stack.starts_with("busy") && stack.ends_with(";[" + wide + "]")) << stack;
        lines++;
        samples += count;
    }
    EXPECT_EQ(lines, kThreads + 1) << "the first was written when it came again";
    EXPECT_EQ(samples, kThreads + 1);
}

// A flame graph has one frame for all addresses of a program without symbols.
TEST_P(ImcRecording, FoldedFramesWithoutASymbolHaveNoAddress)
{
    using Lines = std::vector<std::pair<std::string, uint64_t>>;
    EXPECT_EQ(
        folded("pmu 30 trace_imc\nevent 9 trace_imc// period 251\n"
               "comm 100 100 busy exec time 1000\n"
               "mmap 100 0x10000000 0x200000 0 /bin/nowhere time 1100\n"
               "sample 9 user 0x10000000 pid 100 tid 100 time 5000\n"
               "sample 9 user 0x10000040 pid 100 tid 100 time 5001\n"
               "sample 9 user 0x70000000 pid 100 tid 100 time 5002\n"
               "sample 9 kernel 0xc000000000000040 pid 100 tid 100 time 5003\n"),
        (Lines{{"busy;[kernel.kallsyms]_[k]", 1}, {"busy;[nowhere]", 2}, {"busy;[unknown]", 1}}));
}

TEST_P(ImcRecording, ReportCountsMissingLostAndDuplicateSamples)
{
    const nlohmann::json pmu =
        report(recording("pmu 30 trace_imc\nevent 9 trace_imc// period 251 raw\n"
                         "sample 9 user 0x420 time 5\nimc-numbers 0 0\nimc 5 user 0x420\n"
                         "sample 9 user 0x420 time 6\nimc-numbers 0 0\nimc 5 user 0x420\n"
                         "sample 9 user 0x420 time 7\nimc-numbers 3 2\nimc 6 user 0x420\n"
                         "sample 9 user 0x420 time 8\nimc-numbers 4 2\nimc 7 user 0x420 torn\n"),
               0);
    EXPECT_EQ(pmu["samples"], 3);
    EXPECT_EQ(pmu["duplicates"], 1);
    EXPECT_EQ(pmu["missing"], 2);
    EXPECT_EQ(pmu["lost"], 2);
    EXPECT_EQ(pmu["bad_payloads"], 1);
}

TEST_P(ImcRecording, StockPerfReadsInjectedSamples)
{
    const std::string path = injected(recording(kAux));
    for (const char *kernel : stock::kKernels) {
        const std::string perf = stock::perf(kernel);
        ASSERT_FALSE(perf.empty()) << "no perf of " << kernel << "; run make setup";
        const auto [status, text] = stock::run(perf + "script -F pid,tid,cpu,ip,period -i " + path);
        EXPECT_EQ(status, 0) << text;
        size_t lines = 0;
        for (size_t at = 0; (at = text.find("10000420", at)) != text.npos; at++)
            lines++;
        EXPECT_EQ(lines, 2U) << kernel << ": " << text;
        EXPECT_NE(text.find("100/101"), text.npos) << kernel << ": " << text;
        EXPECT_NE(text.find(" 251 "), text.npos) << kernel << ": " << text;
    }
}

}  // namespace
}  // namespace pmukit::cli
