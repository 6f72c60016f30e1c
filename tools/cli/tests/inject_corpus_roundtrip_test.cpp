// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs `pmukit inject` on every recording of the corpus: recordings of stock perf, and recordings
// that pmukit-encode made in either byte order. Records other than AUX data must stay unchanged. If
// inject converts AUX data to samples, the report must be the same as before.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "cli/drivers.hpp"
#include "perfdata/format.hpp"
#include "perfdata/testing/corpus_file.hpp"
#include "perfdata/testing/perf_script.hpp"
#include "session/driver.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;
using perfdata::testing::Recording;

// Records that inject removes. It also removes an AUXTRACE_INFO without the layout of entries in
// samples.
constexpr uint32_t kAuxTypes[] = {PERF_RECORD_AUX, perfdata::kAuxtrace, perfdata::kAuxtraceError};

bool is_aux(const perfdata::Record &record, std::endian order)
{
    if (record.type != perfdata::kAuxtraceInfo)
        return std::ranges::find(kAuxTypes, record.type) != std::end(kAuxTypes);
    const auto info = perfdata::parse_auxtrace_info(record.body, order);
    return !info || info->priv.size() < 2;
}

struct Content {
    std::string script;
    uint64_t records = 0, aux_records = 0, samples = 0, trace_bytes = 0;
    bool is_ours = false, is_pipe = false, is_damaged = false;
    std::endian order = std::endian::native;
};

// Returns true if inject converts AUX data of the driver to samples. inject removes AUX data of
// other drivers without converting it.
bool is_injected(const Driver *driver)
{
    constexpr std::string_view kInjected[] = {"cache_qos", "cxl_hmu", "hisi_ptt", "imc"};
    return driver && std::ranges::find(kInjected, driver->name) != std::end(kInjected);
}

// Reads a recording into `content`. content.script has the lines that perf script prints for the
// recording; if `piped` is true, those that it prints for a recording read from a pipe, which
// differ.
void read(const std::string &path, bool piped, Content &content)
{
    Result<perfdata::Reader> script = perfdata::Reader::open_path(path);
    ASSERT_TRUE(script) << script.error().message;
    const Result<std::string> said = perfdata::testing::perf_script(*script, piped);
    ASSERT_TRUE(said) << said.error().message;
    content.script = *said;
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    ASSERT_TRUE(reader) << reader.error().message;
    for (perfdata::Record record;;) {
        if (!reader->next(record)) {
            ASSERT_FALSE(reader->error()) << reader->error()->message;
            break;
        }
        content.records++;
        content.aux_records += is_aux(record, reader->order());
        content.samples += record.type == PERF_RECORD_SAMPLE;
        content.trace_bytes += record.type == perfdata::kAuxtrace ? record.payload.size() : 0;
    }
    content.order = reader->order();
    content.is_damaged = reader->damage() || !reader->warnings().empty();
    for (const perfdata::Event &event : reader->events())
        content.is_ours |=
            is_injected(driver_of_pmu(recorded_drivers(), reader->pmu_name(event.attr.type)));
}

// Runs a command and returns its output.
template <typename Options>
std::string said_by(Result<int> (*command)(const Options &, Output &), const Options &options,
                    const std::string &to)
{
    const Fd file(::open(to.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    Output out(file.get(), to);
    const Result<int> status = command(options, out);
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_TRUE(out.finish());
    const Result<std::string> text = read_small_file(to);
    return text ? *text : "";
}

// Returns a report without the lines about losses, which differ between AUX data and samples.
std::string found_in(const std::string &report)
{
    std::string found;
    for (std::string_view line : split(report, '\n'))
        if (std::ranges::none_of(
                std::initializer_list<std::string_view>{"lost", "never reached", "kernel cut",
                                                        "were skipped"},
                [line](std::string_view word) { return line.find(word) != line.npos; }))
            found += std::string(line) + '\n';
    return found;
}

class InjectCorpus : public testing::TestWithParam<std::string> {
protected:
    // Returns the exit status; nullopt if inject rejected the recording.
    std::optional<int> inject(const std::string &from, bool samples) const
    {
        const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        Output out(null.get(), "null");
        fs::remove(to_);
        const Result<int> status = run_inject({from, to_, samples}, out);
        if (status)
            return *status;
        EXPECT_EQ(status.error().code, Errc::kUnsupported) << status.error().message;
        EXPECT_FALSE(fs::exists(to_)) << "refused, and there is a file";
        return std::nullopt;
    }

    TestFolder folder_;
    const std::string to_ = folder_.path("perf.data");
};
INSTANTIATE_TEST_SUITE_P(OfPerf, InjectCorpus,
                         testing::ValuesIn(perfdata::testing::corpus_folders()),
                         [](const auto &folder) {
                             std::string name = folder.param;
                             std::replace_if(
                                 name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                                 '_');
                             return name;
                         });

TEST_P(InjectCorpus, OptionNoSamplesRemovesOnlyAuxData)
{
    size_t injected = 0;
    for (const Recording &recording : perfdata::testing::recordings_of(GetParam())) {
        SCOPED_TRACE(recording.name);
        const std::string from = recording.unpacked(folder_);
        const bool piped = perfdata::Reader::open_path(from)->is_pipe();
        Content before, after;
        ASSERT_NO_FATAL_FAILURE(read(from, piped, before));
        const std::optional<int> status = inject(from, false);
        if (!status)
            continue;
        injected++;
        EXPECT_EQ(*status, before.is_damaged ? kExitFailed : kExitGood);
        ASSERT_NO_FATAL_FAILURE(read(to_, piped, after));
        EXPECT_TRUE(after.script == before.script) << "perf script would say something else";
        EXPECT_EQ(after.aux_records, 0U);
        EXPECT_EQ(after.samples, before.samples);
        EXPECT_EQ(after.order, before.order);
        EXPECT_FALSE(after.is_damaged);
    }
    EXPECT_NE(injected, 0U);
}

TEST_P(InjectCorpus, SamplesFromInjectGiveTheReportOfTheirAuxData)
{
    size_t with_aux = 0;
    std::map<std::endian, size_t> reported;
    for (const Recording &recording : perfdata::testing::recordings_of(GetParam())) {
        SCOPED_TRACE(recording.name);
        const std::string from = recording.unpacked(folder_);
        Content before, after;
        ASSERT_NO_FATAL_FAILURE(read(from, false, before));
        if (!before.is_ours || before.trace_bytes == 0)
            continue;
        with_aux++;
        ASSERT_TRUE(inject(from, true));
        ASSERT_NO_FATAL_FAILURE(read(to_, false, after));
        EXPECT_EQ(after.aux_records, 0U);
        EXPECT_GT(after.samples, before.samples);
        EXPECT_EQ(after.order, before.order);
        ReportOptions options;
        options.top = 0;
        options.input = from;
        const std::string report = found_in(said_by(run_report, options, folder_.path("before")));
        EXPECT_FALSE(report.empty());
        options.input = to_;
        EXPECT_EQ(found_in(said_by(run_report, options, folder_.path("after"))), report);
        reported[before.order]++;
    }
    // Of the recordings that stock perf made in guests, only the arm64 ones have AUX data of
    // pmukit's drivers.
    EXPECT_EQ(with_aux != 0, GetParam() == "encoded" || GetParam() == "6.12-arm64");
    if (GetParam() == "encoded") {
        EXPECT_GE(reported[std::endian::little], 2U);
        EXPECT_GE(reported[std::endian::big], 3U);
    }
}

// A damaged file may lack the names of PMUs or the events; inject then does not convert their data.
TEST_P(InjectCorpus, DamagedInputGivesAValidRecordingOrNone)
{
    constexpr size_t kHeader = 104, kAttrsSize = 32, kStep = 56;
    if (GetParam() != "encoded")
        return;  // recordings of stock perf are large, and would test the same code
    size_t made = 0;
    const auto check = [&](const std::vector<std::byte> &bytes) {
        const std::string from = folder_.path("damaged");
        folder_.put("damaged", bytes);
        const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        Output out(null.get(), "null");
        fs::remove(to_);
        const Result<int> status = run_inject({from, to_, true}, out);
        ASSERT_EQ(fs::exists(to_), static_cast<bool>(status));
        if (!status)
            return;
        Content before, after;
        ASSERT_NO_FATAL_FAILURE(read(from, false, before));
        ASSERT_NO_FATAL_FAILURE(read(to_, false, after));
        if (before.is_damaged)
            EXPECT_EQ(*status, kExitFailed);
        if (after.records)  // a file without records may be one that was never completed
            EXPECT_FALSE(after.is_damaged);
        made++;
    };
    for (const Recording &recording : perfdata::testing::recordings_of(GetParam())) {
        SCOPED_TRACE(recording.name);
        std::vector<std::byte> bytes = recording.parts.front().bytes;
        for (size_t size = bytes.size() - 8; size > kHeader; size -= std::min(size, kStep))
            ASSERT_NO_FATAL_FAILURE(check({bytes.begin(), bytes.begin() + static_cast<long>(size)}))
                << size;
        std::fill_n(bytes.begin() + kAttrsSize, sizeof(uint64_t), std::byte());
        ASSERT_NO_FATAL_FAILURE(check(bytes)) << "without events";
    }
    EXPECT_GT(made, 100U);
}

}  // namespace
}  // namespace pmukit::cli
