// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// PCIe traces that are written to a file must give the same dump and report, whether they are AUX
// data or samples.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <pmukit/hisi_ptt.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/limits.hpp"
#include "base/test_folder.hpp"
#include "base/test_memory.hpp"
#include "cli/commands.hpp"
#include "cli/export/export.hpp"
#include "cli/tests/hisi_ptt_file.hpp"
#include "decode/hisi_ptt/hisi_ptt_test_vectors.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/sample.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;
namespace ptt = decode::hisi_ptt;
using ptt::Format;
using ptt::testing::Buffer;
using testing::PttFile;

std::string read_all(const std::string &path)
{
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

bool holds(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

// Returns a dump without the lines that perf does not print.
std::string without_remarks(const std::string &text)
{
    std::istringstream lines(text);
    std::string left;
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with("#"))
            left += line + "\n";
    return left;
}

// Raw payload of a sample with one record of <pmukit/hisi_ptt.h>.
Buffer raw_record(Format format, const Buffer &entries, uint64_t sequence, uint64_t lost = 0,
                  uint64_t flags = 0, uint64_t time_ns = 1000)
{
    Buffer raw(8);
    ptt::testing::put_dword(raw, PMUKIT_RAW_TAG_HISI_PTT);
    const size_t size = packet_bytes(format);
    for (uint64_t word : {entries.size() / size | size << 16 | uint64_t{4} << 56,
                          uint64_t{PMUKIT_HISI_PTT_MARK}, time_ns, flags, sequence, lost}) {
        ptt::testing::put_dword(raw, static_cast<uint32_t>(word));
        ptt::testing::put_dword(raw, static_cast<uint32_t>(word >> 32));
    }
    append(raw, entries);
    return raw;
}

// While an object of this class exists, standard input is a pipe with these bytes.
class PipedInput {
public:
    explicit PipedInput(std::string bytes) : saved_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0))
    {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            std::abort();
        ::dup2(ends[0], STDIN_FILENO);
        ::close(ends[0]);
        writer_ = std::thread([bytes = std::move(bytes), end = Fd(ends[1])] {
            ASSERT_TRUE(write_all(end.get(), as_bytes(bytes), "pipe"));
        });
    }
    PipedInput(const PipedInput &) = delete;
    PipedInput &operator=(const PipedInput &) = delete;
    ~PipedInput()
    {
        writer_.join();
        ::dup2(saved_.get(), STDIN_FILENO);
    }

private:
    Fd saved_;
    std::thread writer_;
};

class HisiPttRoundtrip : public ::testing::Test {
protected:
    template <typename Command>
    int run(Command command)
    {
        const std::string path = folder_.path("out");
        const Fd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        Output out(fd.get(), path);
        ::testing::internal::CaptureStderr();
        const Result<int> status = command(out);
        EXPECT_TRUE(out.finish());
        err_ = ::testing::internal::GetCapturedStderr() + (status ? "" : status.error().message);
        out_ = read_all(path);
        return status ? *status : kExitFailed;
    }
    int dump(bool tlp = false)
    {
        DumpOptions options;
        options.input = file_;
        options.tlp = tlp;
        return run([&options](Output &out) { return run_dump(options, out); });
    }
    int inject(bool samples = true)
    {
        const InjectOptions options{file_, folder_.path("injected"), samples};
        const int status = run([&options](Output &out) { return run_inject(options, out); });
        file_ = options.output;
        return status;
    }
    // Returns the raw payload of every sample in the file, and stores the types of all records in
    // types_.
    std::vector<Buffer> payloads()
    {
        std::vector<Buffer> payloads;
        types_.clear();
        Result<perfdata::Reader> reader = perfdata::Reader::open_path(file_);
        EXPECT_TRUE(reader);
        for (perfdata::Record record; reader->next(record);) {
            types_.insert(record.type);
            if (record.type != PERF_RECORD_SAMPLE)
                continue;
            const auto sample = perfdata::parse_sample(
                record.body, reader->events()[*reader->event_of(record)].attr, reader->order());
            EXPECT_TRUE(sample && sample->raw);
            payloads.emplace_back(sample->raw->begin(), sample->raw->end());
        }
        return payloads;
    }
    std::string exported(const char *format)
    {
        ExportOptions options;
        options.input = file_;
        options.format = format;
        options.output = folder_.path(format);
        EXPECT_EQ(run([&](Output &out) { return run_export(options, out); }), kExitGood) << err_;
        return read_all(options.output);
    }
    int report(bool json = true, ReportOptions options = {})
    {
        options.input = file_;
        options.json = json;
        const int status = run([&options](Output &out) { return run_report(options, out); });
        if (json)
            json_ = nlohmann::json::parse(out_, nullptr, false)["pmus"][0];
        return status;
    }

    TestFolder folder_;
    std::string file_ = folder_.path("perf.data"), out_, err_;
    nlohmann::json json_;
    std::set<uint32_t> types_;
};

// Entries: a 128-byte read with two completions, a write, a read without a completion, and a
// completion without a request.
Buffer conversation(Format format)
{
    Buffer all;
    const auto add = [&](const ptt::TlpHeader &header, uint32_t time) {
        append(all, ptt::testing::entry(format, header, time));
    };
    add(ptt::testing::read_tlp(0x101, 5, 0x402810040, 32), 100);
    add(ptt::testing::write_tlp(0x102, 0x402800000, 16), 110);
    add(ptt::testing::completion_tlp(0x101, 5, 128, 16), 150);
    add(ptt::testing::completion_tlp(0x101, 5, 64, 16), 170);
    add(ptt::testing::read_tlp(0x101, 6, 0x800000000, 1), 180);
    add(ptt::testing::completion_tlp(0x103, 9, 4, 1), 190);
    return all;
}

class HisiPttFormats : public HisiPttRoundtrip, public ::testing::WithParamInterface<Format> {
protected:
    std::string testdata(const char *kind) const
    {
        return std::string(HISI_PTT_TESTDATA) + (GetParam() == Format::k8dw ? "/8dw." : "/4dw.") +
               kind + ".txt";
    }
    ptt::testing::Vectors vectors() const
    {
        return ptt::testing::read_vectors(GetParam() == Format::k8dw ? "8dw" : "4dw");
    }
    PttFile::Options options_{.config = GetParam() == Format::k8dw ? testing::kPttConfig
                                                                   : testing::kPttConfig4dw};
};
INSTANTIATE_TEST_SUITE_P(Formats, HisiPttFormats, ::testing::Values(Format::k4dw, Format::k8dw),
                         [](const auto &of) { return of.param == Format::k8dw ? "8dw" : "4dw"; });

// testdata/*.perf.txt is the output of perf of Linux 7.2 for the same bytes.
TEST_P(HisiPttFormats, DumpIsTheOutputOfStockPerf)
{
    PttFile file(file_, options_);
    file.aux(vectors().bytes);
    file.aux(vectors().bytes);
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood) << err_;
    const std::string once = ".\n" + read_all(testdata("perf"));
    EXPECT_EQ(without_remarks(out_), once + once);
    EXPECT_TRUE(holds(out_, "# hisi_ptt0_2 cpu 0: AUX offset 0x0, file offset 0x")) << out_;
}

TEST_P(HisiPttFormats, DumpPrintsSamplesInTheFormatOfAuxData)
{
    PttFile file(file_, options_);
    file.sample(raw_record(GetParam(), vectors().bytes, 0));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_EQ(without_remarks(out_), ".\n" + read_all(testdata("perf")));
}

TEST_P(HisiPttFormats, ReportCountsTlpsAndMatchesCompletions)
{
    PttFile file(file_, options_);
    file.aux(conversation(GetParam()));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["pmu"], "hisi_ptt0_2");
    EXPECT_EQ(json_["direction_text"], "outbound");
    EXPECT_EQ(json_["tlps"], 6);
    EXPECT_EQ(json_["by_type"]["MRd"]["tlps"], 2);
    EXPECT_EQ(json_["by_type"]["MRd"]["requested_bytes"], 132);
    EXPECT_EQ(json_["by_type"]["MWr"]["bytes"], 64);
    EXPECT_EQ(json_["by_type"]["CplD"]["bytes"], 132);
    EXPECT_EQ(json_["by_class"]["completion"]["tlps"], 3);
    EXPECT_EQ(json_["requesters"][0]["requester"], "01:00.1");
    EXPECT_EQ(json_["requesters"][0]["latency_mean"], 70.0);
    EXPECT_EQ(json_["ranges"].size(), 2U);
    EXPECT_EQ(json_["ranges"][0]["address"], 0x402800000);
    EXPECT_EQ(json_["ranges"][0]["reads"]["requested_bytes"], 128);
    EXPECT_EQ(json_["time"]["last"].get<uint64_t>() - json_["time"]["first"].get<uint64_t>(), 90);
    EXPECT_EQ(json_["alignment"]["64"], 1);
    EXPECT_EQ(json_["alignment"]["4096"], 2);
    const nlohmann::json &latency = json_["latency"];
    EXPECT_EQ(latency["requests"], 2);
    EXPECT_EQ(latency["answered"], 1);
    EXPECT_EQ(latency["outstanding"], 1);
    EXPECT_EQ(latency["unmatched"], 1);
    EXPECT_EQ(latency["min"], 70);
    EXPECT_EQ(latency["max"], 70);
}

TEST_P(HisiPttFormats, SamplesAndAuxDataGiveTheSameReport)
{
    PttFile aux(file_, options_);
    aux.aux(conversation(GetParam()));
    ASSERT_TRUE(aux.finish());
    ASSERT_EQ(report(), kExitGood) << err_;
    nlohmann::json of_aux = json_;

    const Buffer all = conversation(GetParam());
    const auto half = static_cast<ptrdiff_t>(3 * packet_bytes(GetParam()));
    PttFile samples(file_, options_);
    samples.sample(raw_record(GetParam(), Buffer(all.begin(), all.begin() + half), 0));
    samples.sample(raw_record(GetParam(), Buffer(all.begin() + half, all.end()), 1));
    ASSERT_TRUE(samples.finish());
    ASSERT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["records"], 2);
    of_aux.erase("records");
    json_.erase("records");
    EXPECT_EQ(json_, of_aux);
}

// The samples must equal those that the driver writes without an AUX area, except for the time.
TEST_P(HisiPttFormats, InjectWritesTheSameSamplesAsTheDriver)
{
    PttFile::Options options = options_;
    options.sample_type &= ~uint64_t{PERF_SAMPLE_RAW};  // as stock perf records AUX data
    PttFile file(file_, options);
    const Buffer all = conversation(GetParam());
    file.aux(all);
    file.announce(64);
    file.aux(all);
    ASSERT_TRUE(file.finish());
    ASSERT_EQ(report(), kExitGood) << err_;
    nlohmann::json of_aux = json_;

    EXPECT_EQ(inject(), kExitGood) << err_;
    EXPECT_TRUE(
        holds(out_, std::to_string(2 * all.size()) + " bytes of AUX data removed, 2 samples"))
        << out_;
    const std::vector<Buffer> raw = payloads();
    ASSERT_EQ(raw.size(), 2U);
    EXPECT_EQ(raw[0], raw_record(GetParam(), all, 0, 0, 0, 0));
    EXPECT_EQ(raw[1], raw_record(GetParam(), all, 1, 64 / packet_bytes(GetParam()),
                                 PMUKIT_HISI_PTT_F_TRUNCATED, 0));
    EXPECT_EQ(types_, (std::set<uint32_t>{PERF_RECORD_SAMPLE, perfdata::kFinishedRound}));
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["records"], 2);
    EXPECT_EQ(json_["tlps"], of_aux["tlps"]);
    EXPECT_EQ(json_["by_type"], of_aux["by_type"]);
    EXPECT_EQ(json_["latency"], of_aux["latency"]);
}

TEST_F(HisiPttRoundtrip, InjectSplitsEntriesIntoRecordsOfTheMaximumSize)
{
    Buffer entries;
    for (uint32_t i = 0; i < 100; i++)
        append(entries,
               ptt::testing::entry(Format::k8dw, ptt::testing::write_tlp(0x102, 64 * i, 16), i));
    PttFile file(file_, {});
    file.aux(entries);
    ASSERT_TRUE(file.finish());
    ASSERT_EQ(inject(), kExitGood) << err_;
    const std::vector<Buffer> raw = payloads();
    ASSERT_EQ(raw.size(), 2U);
    constexpr ptrdiff_t kFirst = PMUKIT_HISI_PTT_DATA_BYTES;
    EXPECT_EQ(raw[0],
              raw_record(Format::k8dw, {entries.begin(), entries.begin() + kFirst}, 0, 0, 0, 0));
    EXPECT_EQ(raw[1],
              raw_record(Format::k8dw, {entries.begin() + kFirst, entries.end()}, 1, 0, 0, 0));
}

TEST_F(HisiPttRoundtrip, InjectAddsASampleForALossAfterTheLastEntry)
{
    const Buffer entries = conversation(Format::k8dw);
    PttFile file(file_, {});
    file.aux(entries);
    file.announce(3 * ptt::k8dwBytes);
    ASSERT_TRUE(file.finish());
    ASSERT_EQ(inject(), kExitGood) << err_;
    const std::vector<Buffer> raw = payloads();
    ASSERT_EQ(raw.size(), 2U);
    EXPECT_EQ(raw[0], raw_record(Format::k8dw, entries, 0, 0, 0, 0));
    EXPECT_EQ(raw[1], raw_record(Format::k8dw, {}, 1, 3, PMUKIT_HISI_PTT_F_TRUNCATED, 0));
}

TEST_F(HisiPttRoundtrip, InjectWithOptionNoSamplesOnlyRemovesAuxData)
{
    PttFile file(file_, {});
    file.sample(raw_record(Format::k8dw, conversation(Format::k8dw), 0));
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(inject(false), kExitGood) << err_;
    const std::vector<Buffer> raw = payloads();
    ASSERT_EQ(raw.size(), 1U);
    EXPECT_EQ(raw[0], raw_record(Format::k8dw, conversation(Format::k8dw), 0));
    EXPECT_EQ(types_, (std::set<uint32_t>{PERF_RECORD_SAMPLE, perfdata::kFinishedRound}));
}

TEST_F(HisiPttRoundtrip, InjectReportsBytesThatAreNoEntry)
{
    PttFile file(file_, {});
    file.aux(Buffer(64, std::byte{0x5a}));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(inject(), kExitFailed);
    EXPECT_TRUE(holds(err_, "64 bytes of AUX data held no record")) << err_;
}

TEST_F(HisiPttRoundtrip, InjectRejectsExistingSamplesWithAnotherSampleType)
{
    PttFile::Options options;
    options.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU;
    PttFile file(file_, options);
    file.sample({});
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(inject(), kExitFailed);
    EXPECT_TRUE(holds(err_, "use --no-samples")) << err_;
    EXPECT_FALSE(fs::exists(file_)) << "nothing half done";
}

TEST_F(HisiPttRoundtrip, CutKeepsOnlyTheSelectedBuffer)
{
    PttFile file(file_, {});
    for (int i = 0; i < 3; i++)
        file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    CutOptions options;
    options.input = file_;
    options.output = folder_.path("cut");
    options.events = {"hisi_ptt0_2"};
    options.buffers = "1";
    EXPECT_EQ(run([&](Output &out) { return run_cut(options, out); }), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "0 of 0 samples, 1 of 3 AUX buffers")) << out_;
    file_ = options.output;
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["tlps"], 6);
    EXPECT_EQ(nlohmann::json::parse(out_)["lost_aux_bytes"], 0) << "cut off, not lost";
}

TEST_F(HisiPttRoundtrip, CutRejectsInvalidSelections)
{
    PttFile file(file_, {});
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    const struct {
        CutOptions options;
        const char *why;
    } cases[] = {
        {{file_, "c", "5", "", "", {}}, "expected FROM,TO"},
        {{file_, "c", "2,1", "", "", {}}, "expected FROM,TO"},
        {{file_, "c", "1.,2", "", "", {}}, "expected FROM,TO"},
        {{file_, "c", "0x1,2", "", "", {}}, "expected FROM,TO"},
        {{file_, "c", "1.0000000001,2", "", "", {}}, "expected FROM,TO"},
        {{file_, "c", "99999999999999,", "", "", {}}, "expected FROM,TO"},
        {{file_, "c", "", "a", "", {}}, "--cpu a: expected a list"},
        {{file_, "c", "", "", "1-", {}}, "--buffer 1-: expected a list"},
        {{file_, "c", "", "", "", {"hisi_ptt0_3"}}, "did you mean hisi_ptt0_2"},
        {{file_, "c", "1,2", "", "", {}}, "without times"},
        {{"-", "c", "", "", "", {}}, "name a file"},
    };
    for (const auto &wrong : cases) {
        run([&wrong](Output &out) { return run_cut(wrong.options, out); });
        EXPECT_TRUE(holds(err_, wrong.why)) << err_;
    }
}

// In a malformed file, the name of a PMU can have any characters.
TEST_F(HisiPttRoundtrip, EscapesControlCharactersInPmuNames)
{
    PttFile::Options options;
    options.pmu = "hisi_ptt0_2\033]0;owned\a";
    PttFile file(file_, options);
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "# hisi_ptt0_2\\x1b]0;owned\\x07 cpu 0")) << out_;
    EXPECT_EQ(report(false), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "hisi_ptt0_2\\x1b]0;owned\\x07  ")) << out_;
    EXPECT_EQ((out_ + err_).find_first_of("\033\a"), std::string::npos) << out_ << err_;
}

TEST_F(HisiPttRoundtrip, DumpAndReportMarkAnEmulatedDeviceWithSourceModel)
{
    for (bool model : {false, true})
        for (bool pipe : {false, true}) {
            PttFile::Options options;
            options.model = model;
            options.pipe = pipe;
            fs::remove(file_);
            PttFile file(file_, options);
            file.aux(conversation(Format::k8dw));
            ASSERT_TRUE(file.finish());
            EXPECT_EQ(report(), kExitGood) << err_;
            EXPECT_EQ(nlohmann::json::parse(out_)["source"],
                      model ? nlohmann::json("model") : nlohmann::json());
            EXPECT_EQ(report(false), kExitGood);
            EXPECT_EQ(holds(out_, "source=model"), model);
            EXPECT_EQ(dump(), kExitGood);
            EXPECT_EQ(holds(out_, "# source=model"), model);
        }
    inject();
    EXPECT_EQ(report(), kExitGood);
    EXPECT_EQ(nlohmann::json::parse(out_)["source"], "model") << "a copy says it too";
}

// The buffer is longer than the pieces that are read from a pipe, and not a multiple of their size.
TEST_F(HisiPttRoundtrip, LongBufferIsDumpedUnderOneHeadingFromFileAndFromPipe)
{
    Buffer entries;
    for (uint32_t i = 0; i < 20000; i++)
        append(entries, ptt::testing::entry(
                            Format::k8dw, ptt::testing::write_tlp(0x102, 0x1000 + i * 64, 16), i));
    std::string dumped;
    for (bool pipe : {false, true}) {
        PttFile::Options options;
        options.pipe = pipe;
        fs::remove(file_);
        PttFile recording(file_, options);
        recording.aux(entries);
        ASSERT_TRUE(recording.finish());
        std::optional<PipedInput> input;
        if (pipe) {
            input.emplace(read_all(file_));
            file_ = "-";
        }
        EXPECT_EQ(dump(), kExitGood) << err_;
        const std::string text = without_remarks(out_);
        EXPECT_TRUE(holds(text, "HISI PTT data: size 640000 bytes")) << text.substr(0, 200);
        EXPECT_EQ(text.find("HISI PTT"), text.rfind("HISI PTT")) << "one buffer, one heading";
        EXPECT_TRUE(dumped.empty() || dumped == text);
        dumped = text;
    }
}

// Each record of 48 bytes can create a stream, so dump must not allocate a text buffer for each
// stream.
TEST_F(HisiPttRoundtrip, DumpOf3000AuxStreamsUsesLessThan128MiB)
{
    constexpr uint32_t kStreams = 3000;
    constexpr long kMostKib = 128 * 1024;
    const Buffer entry =
        ptt::testing::entry(Format::k8dw, ptt::testing::write_tlp(0x102, 0x1000, 16), 100);
    PttFile recording(file_, {});
    for (uint32_t cpu = 0; cpu < kStreams; cpu++)
        recording.aux_of(cpu, entry);
    ASSERT_TRUE(recording.finish());
    const long before_kib = peak_kib();
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_LT(peak_kib() - before_kib, kMostKib);
    size_t headings = 0;
    for (size_t at = 0; (at = out_.find("HISI PTT data: size 32 bytes", at)) != out_.npos; at++)
        headings++;
    EXPECT_EQ(headings, kStreams);
}

TEST_F(HisiPttRoundtrip, ReportFromStandardInputIsThatOfTheFile)
{
    PttFile::Options options;
    options.pipe = true;
    PttFile recording(file_, options);
    recording.aux(conversation(Format::k8dw));
    ASSERT_TRUE(recording.finish());
    EXPECT_EQ(report(), kExitGood) << err_;
    const std::string from_file = out_, bytes = read_all(file_);
    file_ = "-";
    {
        const PipedInput input(bytes);
        EXPECT_EQ(report(), kExitGood) << err_;
        EXPECT_EQ(out_, from_file);
    }
    const PipedInput cut(bytes.substr(0, bytes.size() - 20));
    EXPECT_EQ(report(), kExitFailed);
    EXPECT_TRUE(holds(err_, "standard input: the data ends inside")) << err_;
}

TEST_F(HisiPttRoundtrip, RejectsARecordingInFileFormatFromAPipe)
{
    PttFile recording(file_, {});
    ASSERT_TRUE(recording.finish());
    const PipedInput input(read_all(file_));
    file_ = "-";
    EXPECT_EQ(report(false), kExitFailed);
    EXPECT_TRUE(holds(err_, "standard input: a recording of file layout")) << err_;
}

TEST_F(HisiPttRoundtrip, DataIsRecognizedByAuxtraceInfoIfTheFileHasNoPmuNames)
{
    for (const bool info : {true, false}) {
        PttFile file(file_, {.config = testing::kPttConfig4dw, .info = info, .pmu_mapping = false});
        file.aux(conversation(Format::k4dw));
        ASSERT_TRUE(file.finish());
        EXPECT_EQ(dump(), info ? kExitGood : kExitFailed) << err_;
        EXPECT_EQ(holds(out_, "HISI PTT data: size 96 bytes"), info);
    }
}

TEST_F(HisiPttRoundtrip, EightDwordTraceIsRecognizedInAFileWithoutPmuNames)
{
    PttFile file(file_, {.info = false, .pmu_mapping = false});
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "HISI PTT data: size 192 bytes")) << out_;
}

TEST_F(HisiPttRoundtrip, DumpWithTlpOptionHasOneLinePerTlp)
{
    PttFile file(file_, {});
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(true), kExitGood);
    EXPECT_TRUE(holds(
        out_,
        "0x00000000          100 MRd 01:00.1 tag 0x5 address 0x402810040 length 32 be 0xf/0xf\n"))
        << out_;
    EXPECT_TRUE(holds(out_, "0x00000060          170 CplD 01:00.1 tag 0x5 by 00:00.0 SC bytes 64"))
        << out_;
}

// The TLPs are two reads and their completions, with tags that differ only in the upper four bits.
TEST_F(HisiPttRoundtrip, MatchesCompletionsBy14BitTagsFromDecoderVersion2On)
{
    Buffer all;
    for (const uint32_t upper : {3U, 12U}) {
        ptt::TlpHeader read = ptt::testing::read_tlp(0x101, 5, 0x402810040, 1);
        read[2] |= 1U << 21 | upper << 16;
        append(all, ptt::testing::entry_8dw(read, 100 + upper));
    }
    for (const uint32_t upper : {3U, 12U}) {
        ptt::TlpHeader answer = ptt::testing::completion_tlp(0x101, 5, 4, 1);
        answer[3] = 1U << 5 | upper;
        append(all, ptt::testing::entry_8dw(answer, 150 + upper));
    }
    // Second word of AUXTRACE_INFO. 0: the file has no such word; 1: the pattern of the event; 2:
    // the decoder version in perf patches of June 2026; 3: an unknown version.
    for (const uint64_t word : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}}) {
        const uint64_t version = std::array<uint64_t, 4>{1, 2, 2, 3}[word];
        file_ = folder_.path("perf.data");
        PttFile file(file_, {.info_word = word});
        file.aux(all);
        ASSERT_TRUE(file.finish());
        EXPECT_EQ(report(), kExitGood) << err_;
        EXPECT_EQ(json_["decoder_version"], version);
        EXPECT_EQ(json_["latency"]["answered"], version == 1 ? 1 : 2);
        EXPECT_EQ(json_["latency"]["reused"], version == 1 ? 1 : 0);
        EXPECT_EQ(holds(err_, "decoder version 3 is not known: read as 2"), version == 3) << err_;
        EXPECT_EQ(dump(true), kExitGood);
        EXPECT_EQ(holds(out_, fmt::format("# decoder version {}\n", version)), version != 1);
        EXPECT_EQ(holds(out_, "MRd 01:00.1 tag 0xc05 address 0x402810040"), version != 1);
        ASSERT_EQ(inject(), kExitGood) << err_;
        EXPECT_EQ(report(), kExitGood) << err_;
        EXPECT_EQ(json_["latency"]["answered"], version == 1 ? 1 : 2) << "of samples";
    }
}

// --hisi-ptt-headers is for files whose decoder version is missing or wrong.
TEST_F(HisiPttRoundtrip, HeadersOptionOverridesTheDecoderVersionOfTheFile)
{
    ptt::TlpHeader read = ptt::testing::read_tlp(0x101, 5, 0x402810040, 1);
    read[2] |= 1U << 21 | 3U << 16;
    const Buffer entry = ptt::testing::entry_8dw(read, 100);
    const std::string original = folder_.path("perf.data");
    for (const uint64_t word : {uint64_t{0}, uint64_t{1}})
        for (const std::string headers : {"narrow", "wide"}) {
            const bool wide = headers == "wide";
            const std::string said = fmt::format(
                "headers {} (--hisi-ptt-headers), file has decoder version {}", headers, word + 1);
            const std::string tlp = wide ? "MRd 01:00.1 tag 0xc05 address 0x402810040 length"
                                         : "MRd 01:00.1 tag 0x5 address 0x23000402810040";
            file_ = original;
            PttFile file(file_, {.info_word = word});
            file.aux(entry);
            ASSERT_TRUE(file.finish());
            DumpOptions options;
            options.input = file_;
            options.tlp = true;
            options.headers = headers;
            EXPECT_EQ(run([&](Output &out) { return run_dump(options, out); }), kExitGood);
            EXPECT_TRUE(holds(out_, "# " + said + "\n")) << out_;
            EXPECT_TRUE(holds(out_, tlp)) << out_;
            ReportOptions report_options;
            report_options.headers = headers;
            EXPECT_EQ(report(true, report_options), kExitGood) << err_;
            EXPECT_EQ(json_["decoder_version"], wide ? 2 : 1);
            EXPECT_EQ(json_["version_in_file"], word + 1);
            EXPECT_EQ(report(false, report_options), kExitGood) << err_;
            EXPECT_TRUE(holds(out_, said)) << out_;
            ExportOptions rows;
            rows.input = file_;
            rows.format = "csv";
            rows.driver = "hisi_ptt";
            rows.output = folder_.path("rows.csv");
            rows.headers = headers;
            EXPECT_EQ(run([&](Output &out) { return run_export(rows, out); }), kExitGood);
            EXPECT_TRUE(holds(read_all(rows.output), wide ? ",3077," : ",5,"));
            // The copy that inject makes must be read in the same way without the option.
            const InjectOptions injected{file_, folder_.path("injected"), true, headers};
            EXPECT_EQ(run([&](Output &out) { return run_inject(injected, out); }), kExitGood);
            file_ = injected.output;
            EXPECT_EQ(dump(true), kExitGood) << err_;
            EXPECT_TRUE(holds(out_, tlp)) << out_;
            EXPECT_EQ(report(), kExitGood) << err_;
            EXPECT_EQ(json_["decoder_version"], wide ? 2 : 1);
        }
}

TEST_F(HisiPttRoundtrip, DumpPrintsTheFormatOfPerf6_12)
{
    PttFile file(file_, {});
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    DumpOptions options;
    options.input = file_;
    options.perf = "6.12";
    EXPECT_EQ(run([&options](Output &out) { return run_dump(options, out); }), kExitGood);
    EXPECT_TRUE(holds(out_, ".  00000008: 20 00 00 20 ")) << out_;
}

TEST_F(HisiPttRoundtrip, EntryInTwoPiecesOfAuxDataIsDecoded)
{
    const Buffer all = conversation(Format::k8dw);
    PttFile file(file_, {});
    file.announce(all.size());
    file.piece(0, Bytes(all).first(72));
    file.piece(72, Bytes(all).subspan(72));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["tlps"], 6);
}

// AUX data of two runs (periods of tracing). The device was stopped inside an entry, so that the
// last entry of the first run is partial, and was started again.
struct TwoRuns {
    explicit TwoRuns(Format format)
        : size(packet_bytes(format)), part(size / 2), all(conversation(format)), first(all)
    {
        first.resize(4 * size + part);
        both = first;
        append(both, all);
    }
    static constexpr uint64_t kWhole = 4 + 6;

    size_t size, part;
    Buffer all, first, both;
};

class HisiPttRuns : public HisiPttFormats {
protected:
    // Checks that every command finds the complete entries of both runs, and nothing else.
    void expect_both(const TwoRuns &runs, uint64_t skipped)
    {
        const std::string recording = file_, bytes = pipe_ ? read_all(file_) : "";
        const auto read = [&](auto command) {
            file_ = pipe_ ? "-" : recording;
            std::optional<PipedInput> input;
            if (pipe_)
                input.emplace(bytes);
            command();
        };
        read([&] { EXPECT_EQ(dump(true), kExitFailed); });
        EXPECT_TRUE(holds(err_, fmt::format("{} bytes held no record", skipped))) << err_;
        EXPECT_EQ(lines_with(" MRd ") + lines_with(" MWr ") + lines_with(" CplD "),
                  TwoRuns::kWhole);
        EXPECT_EQ(lines_with("unknown"), 0U) << out_;
        EXPECT_TRUE(holds(
            out_, fmt::format("# skipped {} bytes at {:#x}: no entry", skipped, 4 * runs.size)))
            << out_;
        read([&] { EXPECT_EQ(report(), kExitFailed); });
        EXPECT_EQ(json_["tlps"], TwoRuns::kWhole);
        EXPECT_EQ(json_["by_type"]["MRd"]["tlps"], 3);
        EXPECT_EQ(json_["lost"]["skipped_bytes"], skipped);
        read([&] {
            ExportOptions options;
            options.input = file_;
            options.format = "csv";
            options.driver = "hisi_ptt";
            options.output = folder_.path("rows.csv");
            EXPECT_EQ(run([&](Output &out) { return run_export(options, out); }), kExitFailed);
            EXPECT_TRUE(holds(out_, fmt::format("{} rows of hisi_ptt", TwoRuns::kWhole))) << out_;
        });
        read([&] { EXPECT_EQ(inject(), kExitFailed); });
        EXPECT_TRUE(holds(err_, fmt::format("{} bytes of AUX data held no record", skipped)));
        EXPECT_EQ(report(), kExitGood) << err_;
        EXPECT_EQ(json_["tlps"], TwoRuns::kWhole);
        file_ = recording;
    }
    size_t lines_with(const std::string &part) const
    {
        size_t lines = 0;
        for (size_t at = 0; (at = out_.find(part, at)) != out_.npos; at++)
            lines++;
        return lines;
    }

    bool pipe_ = false;
};
INSTANTIATE_TEST_SUITE_P(Formats, HisiPttRuns, ::testing::Values(Format::k4dw, Format::k8dw),
                         [](const auto &of) { return of.param == Format::k8dw ? "8dw" : "4dw"; });

// The test writes the same data in four ways: a buffer with an AUX record for each run; both runs
// in one buffer, after both AUX records; the same buffer before the AUX records; and without AUX
// records.
TEST_P(HisiPttRuns, PartialEntriesOfTwoTracingPeriodsAreNotJoined)
{
    const TwoRuns runs(GetParam());
    for (const bool pipe : {false, true})
        for (const auto &write : std::vector<std::function<void(PttFile &)>>{
                 [&](PttFile &file) {
                     file.aux(runs.first);
                     file.aux(runs.all);
                 },
                 [&](PttFile &file) {
                     file.announce(runs.first.size());
                     file.announce(runs.all.size());
                     file.piece(0, runs.both);
                 },
                 [&](PttFile &file) {
                     file.piece(0, runs.both);
                     file.announce(runs.first.size());
                     file.announce(runs.all.size());
                 },
                 [&](PttFile &file) {  // without AUX records
                     file.piece(0, runs.first);
                     file.piece(runs.first.size(), runs.all);
                 }}) {
            pipe_ = options_.pipe = pipe;
            fs::remove(file_);
            PttFile file(file_, options_);
            write(file);
            ASSERT_TRUE(file.finish());
            expect_both(runs, runs.part);
        }
}

// The AUX record that marks the start of the second run follows the data of this run.
TEST_P(HisiPttRuns, TracingPeriodsFromAPipeAreDecodedSeparatelyIfTheReaderCanBufferTheirData)
{
    const TwoRuns runs(GetParam());
    options_.pipe = true;
    for (const bool fits : {true, false}) {
        const size_t bytes = fits ? limits::kHeld / 2 : limits::kHeld + runs.all.size();
        Buffer both = runs.both;
        while (both.size() + runs.all.size() <= bytes)
            append(both, runs.all);
        fs::remove(file_);
        PttFile file(file_, options_);
        file.piece(0, both);
        file.announce(runs.first.size());
        file.announce(both.size() - runs.first.size());
        ASSERT_TRUE(file.finish());
        const std::string recording = file_;
        PipedInput input(read_all(file_));
        file_ = "-";
        EXPECT_EQ(report(), kExitFailed) << err_;
        const uint64_t whole = (both.size() - runs.part) / runs.size;
        if (fits) {
            EXPECT_EQ(json_["tlps"], whole);
            EXPECT_EQ(json_["lost"]["skipped_bytes"], runs.part);
        } else {
            // The data is decoded as one run, and the decoder resynchronizes after the partial
            // entry.
            EXPECT_GE(json_["lost"]["skipped_bytes"], runs.part);
            EXPECT_LE(json_["tlps"], whole);
        }
        file_ = recording;
    }
}

// The AUX record of the second of three runs was lost. The run is decoded if complete entries fill
// the gap between the other runs; if not, it is skipped.
TEST_P(HisiPttRuns, TracingPeriodWithoutAuxRecordIsDecodedIfAllItsEntriesAreWhole)
{
    const TwoRuns runs(GetParam());
    for (const bool pipe : {false, true})
        for (const bool whole : {false, true}) {
            options_.pipe = pipe;
            fs::remove(file_);
            PttFile file(file_, options_);
            const Buffer &between = whole ? runs.all : runs.first;
            file.aux(runs.all);
            file.piece(runs.all.size(), between);
            file.skip(between.size());
            file.aux(runs.all);
            ASSERT_TRUE(file.finish());
            std::optional<PipedInput> input;
            const std::string recording = file_;
            if (pipe) {
                input.emplace(read_all(file_));
                file_ = "-";
            }
            EXPECT_EQ(report(), whole ? kExitGood : kExitFailed) << err_;
            EXPECT_EQ(json_["tlps"], whole ? 18 : 12) << pipe;
            EXPECT_EQ(json_["lost"]["skipped_bytes"], whole ? 0 : runs.first.size());
            file_ = recording;
        }
}

TEST_F(HisiPttRoundtrip, BytesThatAreNoEntryAreSkippedAndTheCommandFails)
{
    Buffer damaged = conversation(Format::k8dw);
    damaged.insert(damaged.begin(), 64, std::byte{0x5a});
    PttFile file(file_, {});
    file.aux(damaged);
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_TRUE(holds(out_, "# skipped 64 bytes at 0x0: no entry")) << out_;
    EXPECT_TRUE(holds(out_, ".  00000044: ")) << out_;
    EXPECT_TRUE(holds(err_, "64 bytes held no record")) << err_;
    EXPECT_EQ(report(), kExitFailed);
    EXPECT_EQ(json_["lost"]["skipped_bytes"], 64);
    EXPECT_EQ(json_["tlps"], 6);
}

TEST_F(HisiPttRoundtrip, CompletionAfterALossDoesNotMatchAnEarlierRequest)
{
    PttFile file(file_, {});
    file.aux(ptt::testing::entry_8dw(ptt::testing::read_tlp(0x101, 5, 0x1000, 16), 100));
    file.announce(64);
    file.aux(ptt::testing::entry_8dw(ptt::testing::completion_tlp(0x101, 5, 64, 16), 900));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["lost"]["bytes"], 64);
    EXPECT_EQ(json_["latency"]["forgotten"], 1);
    EXPECT_EQ(json_["latency"]["unmatched"], 1);
    EXPECT_EQ(json_["latency"]["answered"], 0);
    EXPECT_EQ(report(false), kExitGood);
    EXPECT_FALSE(holds(out_, "nothing lost")) << out_;
    EXPECT_EQ(dump(), kExitGood);
    EXPECT_TRUE(holds(out_, "# hisi_ptt0_2: lost 64 bytes at AUX offset 0x20")) << out_;
}

// AUX data with a gap of known or of unknown size.
class HisiPttLosses : public HisiPttRoundtrip, public ::testing::WithParamInterface<bool> {
protected:
    static bool is_unknown() { return GetParam(); }
    void record(bool pipe = false)
    {
        const auto entry = [](uint32_t time) {
            return ptt::testing::entry_8dw(ptt::testing::write_tlp(0x101, 0x1000, 16), time);
        };
        PttFile file(file_, {.pipe = pipe});
        file.aux(entry(100));
        file.announce(0, PERF_AUX_FLAG_PARTIAL | (is_unknown() ? PERF_AUX_FLAG_COLLISION : 0));
        file.aux(entry(200));
        file.lost_samples(7);
        ASSERT_TRUE(file.finish());
    }
    // Checks the losses in the report.
    void expect_losses()
    {
        EXPECT_EQ(report(), kExitGood) << err_;
        EXPECT_EQ(json_["tlps"], 2);
        EXPECT_EQ(json_["lost"]["entries"], 7);
        EXPECT_EQ(json_["lost"]["entries_at_least"], is_unknown());
        EXPECT_EQ(json_["lost"]["unknown_losses"], is_unknown() ? 1 : 0);
        EXPECT_EQ(json_["lost"]["overruns"], 0);
        EXPECT_EQ(json_["lost"]["losses"], 1);
        const nlohmann::json all = nlohmann::json::parse(out_);
        EXPECT_EQ(all["lost_samples"], 0);
        EXPECT_EQ(all["aux_truncations"], is_unknown() ? 0 : 1);
        EXPECT_EQ(all["aux_unknown_losses"], is_unknown() ? 1 : 0);
    }
};
INSTANTIATE_TEST_SUITE_P(Sizes, HisiPttLosses, ::testing::Bool(),
                         [](const auto &of) { return of.param ? "Unknown" : "Known"; });

TEST_P(HisiPttLosses, ReportShowsALowerBoundForALossOfUnknownSize)
{
    for (const bool pipe : {false, true}) {
        record(pipe);
        expect_losses();
        fs::remove(file_);
    }
    record();
    EXPECT_EQ(report(false), kExitGood) << err_;
    const std::string text = out_;
    ReportOptions options;
    options.html = folder_.path("page.html");
    EXPECT_EQ(report(false, options), kExitGood) << err_;
    const std::string page = read_all(options.html);
    const std::string exact = "7 entries lost", bound = "at least 7 entries lost";
    for (const std::string &shown : {text, page}) {
        EXPECT_TRUE(holds(shown, is_unknown() ? bound : exact)) << shown;
        EXPECT_EQ(holds(shown, bound), is_unknown()) << shown;
        EXPECT_EQ(holds(shown, "time AUX data was truncated"), !is_unknown()) << shown;
        EXPECT_EQ(holds(shown, "loss of AUX data is of unknown size"), is_unknown()) << shown;
        EXPECT_FALSE(holds(shown, "overwrote")) << shown;
        EXPECT_FALSE(holds(shown, "nothing lost")) << shown;
    }
}

TEST_P(HisiPttLosses, DumpShowsALowerBoundForALossOfUnknownSize)
{
    record();
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, std::string("# hisi_ptt0_2: ") + (is_unknown() ? "at least " : "") +
                                "7 entries lost before the AUX area or the ring, in all\n"))
        << out_;
    EXPECT_EQ(holds(out_, "a loss of unknown size at AUX offset 0x20"), is_unknown()) << out_;
    EXPECT_EQ(holds(out_, "lost an unknown number of bytes at AUX offset 0x20"), !is_unknown());
}

TEST_P(HisiPttLosses, ExportedRowsMarkALossOfUnknownSizeAsALowerBound)
{
    record();
    const std::string lines = exported("jsonl");
    EXPECT_TRUE(
        holds(lines, std::string(R"("kind":"entries-lost","amount":7,"measure":"entries",)") +
                         R"("at_least":)" + (is_unknown() ? "1}" : "0}")))
        << lines;
    EXPECT_EQ(holds(lines, R"("kind":"unknown-loss","offset_bytes":32})"), is_unknown()) << lines;
    EXPECT_EQ(holds(lines, R"("kind":"aux-truncated","offset_bytes":32})"), !is_unknown()) << lines;
    EXPECT_FALSE(holds(lines, "ring-full")) << lines;
    const std::string metrics = exported("openmetrics");
    EXPECT_TRUE(holds(metrics, std::string(R"(kind="entries-lost",measure="entries",at_least=")") +
                                   (is_unknown() ? "1" : "0") + "\"} 7\n"))
        << metrics;
}

TEST_P(HisiPttLosses, CutAndMergePreserveLosses)
{
    record();
    expect_losses();
    CutOptions cut;
    cut.input = file_;
    cut.output = folder_.path("cut");
    cut.events = {"hisi_ptt0_2"};
    EXPECT_EQ(run([&](Output &out) { return run_cut(cut, out); }), kExitGood) << err_;
    const std::string whole = std::exchange(file_, cut.output);
    expect_losses();
    const std::string other = folder_.path("other");
    PttFile second(other, {.pmu = "hisi_ptt0_3"});
    second.aux(conversation(Format::k8dw));
    ASSERT_TRUE(second.finish());
    for (const std::vector<std::string> &inputs : {std::vector{whole, other}, {other, whole}}) {
        const MergeOptions merge{inputs, folder_.path("merged")};
        EXPECT_EQ(run([&](Output &out) { return run_merge(merge, out); }), kExitGood) << err_;
        file_ = merge.output;
        EXPECT_EQ(report(), kExitGood) << err_;
        const nlohmann::json all = nlohmann::json::parse(out_);
        for (const nlohmann::json &pmu : all["pmus"]) {
            const bool is_first = pmu["tlps"] == 2;
            EXPECT_EQ(pmu["lost"]["entries"], is_first ? 7 : 0);
            EXPECT_EQ(pmu["lost"]["entries_at_least"], is_first && is_unknown());
        }
    }
}

// The size of a gap in AUX data is unknown.
TEST_P(HisiPttLosses, SamplesFromInjectMarkALossOfUnknownSizeAsALowerBound)
{
    record();
    ASSERT_EQ(inject(), kExitGood) << err_;
    const std::vector<Buffer> raw = payloads();
    ASSERT_EQ(raw.size(), 3U);
    const uint64_t flags = PMUKIT_HISI_PTT_F_TRUNCATED | PMUKIT_HISI_PTT_F_AT_LEAST;
    const auto entry = [](uint32_t time) {
        return ptt::testing::entry_8dw(ptt::testing::write_tlp(0x101, 0x1000, 16), time);
    };
    EXPECT_EQ(raw[0], raw_record(Format::k8dw, entry(100), 0, 0, 0, 0));
    EXPECT_EQ(raw[1], raw_record(Format::k8dw, entry(200), 1, 0, flags, 0));
    EXPECT_EQ(raw[2], raw_record(Format::k8dw, {}, 2, 7, flags, 0));
    EXPECT_FALSE(types_.contains(PERF_RECORD_LOST_SAMPLES)) << "the records say it";
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["lost"]["entries"], 7);
    EXPECT_EQ(json_["lost"]["entries_at_least"], true);
    EXPECT_EQ(json_["lost"]["overruns"], 0);
    EXPECT_EQ(nlohmann::json::parse(out_)["lost_samples"], 0);
}

// For an event with samples, the kernel counts the samples that did not fit into the ring. The
// number of trace entries in these samples is unknown.
TEST_F(HisiPttRoundtrip, DroppedSamplesMakeTheNumberOfLostEntriesALowerBound)
{
    for (const bool by_ring : {false, true}) {
        fs::remove(file_);
        PttFile file(file_, {});
        file.sample(raw_record(Format::k8dw, conversation(Format::k8dw), 0, 3));
        by_ring ? file.lost(5) : file.lost_samples(5);
        ASSERT_TRUE(file.finish());
        EXPECT_EQ(report(), kExitGood) << err_;
        EXPECT_EQ(json_["lost"]["entries"], 3);
        EXPECT_EQ(json_["lost"]["entries_at_least"], true);
        EXPECT_EQ(nlohmann::json::parse(out_)["lost_samples"], 5);
        const std::string lines = exported("jsonl");
        EXPECT_TRUE(holds(
            lines, fmt::format(R"("driver":"hisi_ptt","pmu":"hisi_ptt0_2",{})"
                               R"("kind":"ring-full","amount":5,"measure":"{}")",
                               by_ring ? R"("cpu":0,)" : "", by_ring ? "records" : "samples")))
            << lines;
    }
}

TEST_F(HisiPttRoundtrip, GapBeforeAnyDataIsReportedAsALoss)
{
    for (const bool data : {false, true})
        for (const bool pipe : {false, true}) {
            fs::remove(file_);
            PttFile file(file_, {.pipe = pipe});
            file.announce(0, data ? PERF_AUX_FLAG_PARTIAL : PERF_AUX_FLAG_TRUNCATED);
            if (data)
                file.aux(conversation(Format::k8dw));
            ASSERT_TRUE(file.finish());
            EXPECT_EQ(report(), kExitGood) << err_;
            EXPECT_EQ(json_["tlps"], data ? 6 : 0);
            EXPECT_EQ(json_["lost"]["entries"], 0);
            EXPECT_EQ(json_["lost"]["entries_at_least"], true);
            EXPECT_EQ(json_["lost"]["losses"], 1);
            EXPECT_EQ(report(false), kExitGood) << err_;
            EXPECT_TRUE(holds(out_, "  at least 0 entries lost;")) << out_;
            EXPECT_FALSE(holds(out_, "nothing")) << out_;
            EXPECT_TRUE(
                holds(exported("jsonl"),
                      R"("kind":"entries-lost","amount":0,"measure":"entries","at_least":1)"));
        }
}

// The in-tree driver does not mark its losses.
TEST_F(HisiPttRoundtrip, SaysThatNothingWasLostOnlyIfTheDriverMarksLosses)
{
    for (const bool marks : {false, true}) {
        PttFile file(file_, {.marks = marks});
        file.aux(conversation(Format::k8dw));
        ASSERT_TRUE(file.finish());
        EXPECT_EQ(report(), kExitGood) << err_;
        EXPECT_EQ(json_["lost"]["marked"], marks);
        EXPECT_EQ(report(false), kExitGood) << err_;
        EXPECT_EQ(holds(out_, "\n  nothing lost\n"), marks) << out_;
        EXPECT_EQ(holds(out_,
                        "\n  no loss is marked; the recording does not state that its driver marks "
                        "losses\n"),
                  !marks)
            << out_;
        ReportOptions options;
        options.html = folder_.path("page.html");
        EXPECT_EQ(report(false, options), kExitGood) << err_;
        const std::string page = read_all(options.html);
        EXPECT_EQ(holds(page, "nothing lost"), marks);
        EXPECT_EQ(holds(page, ">no loss is marked</span>"), !marks);
    }
}

// An event can have no records, for example after pmukit cut.
TEST_F(HisiPttRoundtrip, ReportsNoLossLineForAnEventWithoutRecords)
{
    PttFile file(file_, {});
    ASSERT_TRUE(file.finish());
    ReportOptions options;
    options.html = folder_.path("page.html");
    EXPECT_EQ(report(false), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "hisi_ptt0_2  filter 0x80001")) << out_;
    EXPECT_FALSE(holds(out_, "lost")) << out_;
}

// One of the dropped records may have been an AUX record that reports a gap.
TEST_F(HisiPttRoundtrip, DroppedRecordMakesTheNumberOfLostEntriesALowerBound)
{
    PttFile file(file_, {});
    file.aux(conversation(Format::k8dw));
    file.announce(0, PERF_AUX_FLAG_PARTIAL);
    file.aux(conversation(Format::k8dw));
    file.lost(2);
    file.lost_samples(9);
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["lost"]["entries"], 7);
    EXPECT_EQ(json_["lost"]["entries_at_least"], true);
    EXPECT_EQ(nlohmann::json::parse(out_)["lost_samples"], 2);
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "# 2 samples or records were lost between kernel and recorder"))
        << out_;
}

// inject must copy a count of losses (LOST_SAMPLES) if the samples that it writes do not report the
// same losses.
TEST_F(HisiPttRoundtrip, InjectKeepsLostSamplesRecordsThatItsSamplesDoNotReport)
{
    PttFile file(file_, {});
    file.aux(conversation(Format::k8dw));
    file.lost_samples(4);
    file.lost_samples(3);
    ASSERT_TRUE(file.finish());
    for (const bool copy : {false, true}) {
        if (copy) {
            ASSERT_EQ(inject(), kExitGood) << err_;
        }
        EXPECT_EQ(report(), kExitGood) << err_;
        EXPECT_EQ(json_["lost"]["entries"], 0);
        EXPECT_EQ(json_["lost"]["entries_at_least"], true);
        EXPECT_EQ(json_["lost"]["losses"], 0);
        EXPECT_EQ(nlohmann::json::parse(out_)["lost_samples"], 7);
    }
}

TEST_F(HisiPttRoundtrip, AtLeastFlagInSamplesMakesTheNumberOfLostEntriesALowerBound)
{
    const Buffer one = ptt::testing::entry_8dw(ptt::testing::write_tlp(0x101, 0x1000, 16), 100);
    PttFile file(file_, {});
    file.sample(raw_record(Format::k8dw, one, 0, 3));
    file.sample(raw_record(Format::k8dw, one, 1, 3,
                           PMUKIT_HISI_PTT_F_TRUNCATED | PMUKIT_HISI_PTT_F_AT_LEAST));
    file.sample(raw_record(Format::k8dw, one, 2, 5, PMUKIT_HISI_PTT_F_AT_LEAST));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["lost"]["entries"], 5);
    EXPECT_EQ(json_["lost"]["entries_at_least"], true);
    EXPECT_EQ(report(false), kExitGood);
    EXPECT_TRUE(holds(out_, "  at least 5 entries lost;")) << out_;
    EXPECT_EQ(dump(), kExitGood);
    EXPECT_TRUE(holds(out_, "# record 0, 3 entries lost so far\n")) << out_;
    EXPECT_TRUE(holds(out_, "# record 2, at least 5 entries lost so far\n")) << out_;
    ExportOptions options;
    options.input = file_;
    options.format = "jsonl";
    options.driver = "losses";
    options.output = folder_.path("rows.jsonl");
    EXPECT_EQ(run([&](Output &out) { return run_export(options, out); }), kExitGood) << err_;
    std::vector<std::pair<int, int>> amounts;
    std::istringstream rows(read_all(options.output));
    for (std::string row; std::getline(rows, row);)
        if (const auto loss = nlohmann::json::parse(row); loss["kind"] == "entries-lost")
            amounts.emplace_back(loss["amount"], loss["at_least"]);
    EXPECT_EQ(amounts, (std::vector<std::pair<int, int>>{{3, 0}, {0, 1}, {2, 1}}));
}

TEST_F(HisiPttRoundtrip, ReportsALossWhoseLowerBoundIsZero)
{
    const Buffer one = ptt::testing::entry_8dw(ptt::testing::write_tlp(0x101, 0x1000, 16), 100);
    PttFile file(file_, {});
    file.sample(raw_record(Format::k8dw, one, 0, 0, PMUKIT_HISI_PTT_F_AT_LEAST));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(report(false), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "  at least 0 entries lost")) << out_;
    EXPECT_FALSE(holds(out_, "nothing lost")) << out_;
}

TEST_F(HisiPttRoundtrip, ReportsLossCountsAndFlagsOfTheRecordsInSamples)
{
    const Buffer one = ptt::testing::entry_8dw(ptt::testing::write_tlp(0x101, 0x1000, 16), 100);
    PttFile file(file_, {});
    file.sample(raw_record(Format::k8dw, one, 0));
    file.sample(raw_record(Format::k8dw, one, 0));  // a duplicate: same sequence number
    file.sample(raw_record(Format::k8dw, one, 3, 17,
                           PMUKIT_HISI_PTT_F_OVERRUN | PMUKIT_HISI_PTT_F_TRUNCATED));
    file.sample(raw_record(Format::k8dw, {}, 4, 20, PMUKIT_HISI_PTT_F_FILTER_GONE));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["records"], 3);
    EXPECT_EQ(json_["tlps"], 2);
    EXPECT_EQ(json_["lost"]["entries"], 20);
    EXPECT_EQ(json_["lost"]["missing_records"], 2);
    EXPECT_EQ(json_["lost"]["duplicates"], 1);
    EXPECT_EQ(json_["lost"]["overruns"], 1);
    EXPECT_EQ(report(false), kExitGood);
    EXPECT_TRUE(holds(out_, "20 entries lost;")) << out_;
    EXPECT_TRUE(holds(out_, "the traced function was removed")) << out_;
    EXPECT_EQ(dump(), kExitGood);
    EXPECT_TRUE(holds(out_,
                      "# record 3, 17 entries lost so far\n"
                      "# overwritten in the device's buffers\n"))
        << out_;
}

TEST_F(HisiPttRoundtrip, TruncatedRecordInASampleIsAnError)
{
    Buffer raw = raw_record(Format::k8dw, conversation(Format::k8dw), 0);
    raw.resize(raw.size() - 32);
    PttFile file(file_, {});
    file.sample(raw);
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_EQ(report(), kExitFailed);
    EXPECT_EQ(json_["lost"]["bad_records"], 1);
}

TEST_F(HisiPttRoundtrip, ReportTextShowsTrafficRequestersRangesAndLatency)
{
    PttFile file(file_, {});
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    ReportOptions options;
    options.top = 1;
    options.source = "model";
    EXPECT_EQ(report(false, options), kExitGood);
    for (const char *part :
         {"hisi_ptt0_2  filter 0x80001 (ports)  direction 1 (outbound)  type P  format 8DW  "
          "source=model\n  event hisi_ptt0_2//\n  6 TLPs, 196 bytes of payload, 132 bytes asked "
          "for, 90 ticks",
          "  MRd                  2   33.3%                0              132\n", "1  01:00.1",
          "2 more requesters; --top 0 shows all", "0x0000000402800000-0x00000004029fffff",
          "2 non-posted requests, 1 answered, 1 outstanding; 1 completion without a request",
          "min 70  mean 70.0  median 70", "nothing lost"})
        EXPECT_TRUE(holds(out_, part)) << part << "\n" << out_;
}

TEST_F(HisiPttRoundtrip, RangeSizeMustBeAPowerOfTwo)
{
    PttFile file(file_, {});
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    ReportOptions options;
    options.range_bytes = 4096;
    EXPECT_EQ(report(true, options), kExitGood);
    EXPECT_EQ(json_["ranges"].size(), 3U);
    options.range_bytes = 3000;
    EXPECT_EQ(report(false, options), kExitFailed);
    EXPECT_TRUE(holds(err_, "--range-bytes 3000")) << err_;
}

TEST_F(HisiPttRoundtrip, ReportsAnEmptyTrace)
{
    PttFile file(file_, {});
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["tlps"], 0);
    EXPECT_EQ(report(false), kExitGood);
    EXPECT_TRUE(holds(out_, "0 TLPs")) << out_;
}

TEST_F(HisiPttRoundtrip, RecordingWithoutPayloadsIsRejectedWithAMessageThatNamesOptionR)
{
    PttFile file(file_, {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU, .info = false});
    file.sample(std::vector<std::byte>(4));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_TRUE(holds(err_, "recorded without -R")) << err_;
}

TEST_F(HisiPttRoundtrip, RecordingWithoutDataAndSamplesIsNoError)
{
    PttFile file(file_, {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU, .info = false});
    file.announce(0);
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood);
    EXPECT_TRUE(holds(err_, "no sample was recorded")) << err_;
}

}  // namespace
}  // namespace pmukit::cli
