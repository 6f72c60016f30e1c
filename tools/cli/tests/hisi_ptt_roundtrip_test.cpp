// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// PCIe traces into a file by the writer, out of it by dump and report, whichever way they
// travelled.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <pmukit/hisi_ptt.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "base/test_memory.hpp"
#include "cli/commands.hpp"
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

// What perf has no part in.
std::string without_remarks(const std::string &text)
{
    std::istringstream lines(text);
    std::string left;
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with("#"))
            left += line + "\n";
    return left;
}

// A record of <pmukit/hisi_ptt.h> in the raw payload of a sample.
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

// Standard input is a pipe that gets these bytes, as long as this lives.
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
    // The raw payload of every sample of the file, and of what types its records are.
    std::vector<Buffer> payloads()
    {
        std::vector<Buffer> payloads;
        types_.clear();
        Result<perfdata::Reader> reader = perfdata::Reader::open_path(file_);
        EXPECT_TRUE(reader);
        for (perfdata::Record record; *reader->next(record);) {
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

// A read of 128 bytes answered in two, a write, a read that nobody answers, a stray completion.
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

// testdata/*.perf.txt: what perf of Linux 7.2 prints for the same bytes.
TEST_P(HisiPttFormats, DumpPrintsWhatPerfPrints)
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

TEST_P(HisiPttFormats, SamplesDumpAsAuxDataDoes)
{
    PttFile file(file_, options_);
    file.sample(raw_record(GetParam(), vectors().bytes, 0));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_EQ(without_remarks(out_), ".\n" + read_all(testdata("perf")));
}

TEST_P(HisiPttFormats, ReportCountsAndMatches)
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

// As the driver writes samples where there is no AUX area: byte for byte but for the time.
TEST_P(HisiPttFormats, InjectMakesTheSamplesOfTheDriver)
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
        holds(out_, std::to_string(2 * all.size()) + " bytes of AUX data left out, 2 samples"))
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

TEST_F(HisiPttRoundtrip, InjectFillsRecordsAsTheDriverDoes)
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

TEST_F(HisiPttRoundtrip, InjectTellsALossBehindTheLastEntry)
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

TEST_F(HisiPttRoundtrip, InjectOnlyLeavesAuxDataOut)
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

TEST_F(HisiPttRoundtrip, InjectSaysWhatBecameNoSample)
{
    PttFile file(file_, {});
    file.aux(Buffer(64, std::byte{0x5a}));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(inject(), kExitFailed);
    EXPECT_TRUE(holds(err_, "64 bytes of AUX data hold no record")) << err_;
}

TEST_F(HisiPttRoundtrip, InjectRefusesToChangeSamplesThatAreThere)
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

TEST_F(HisiPttRoundtrip, CutTakesWhatIsNamed)
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

TEST_F(HisiPttRoundtrip, CutSaysWhatItDoesNotUnderstand)
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

// A PMU can be called anything in a file that somebody made.
TEST_F(HisiPttRoundtrip, ANameCannotMoveTheCursor)
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

TEST_F(HisiPttRoundtrip, ARecordingSaysThatItsDeviceWasEmulated)
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

// Longer than what a stream gives at once, and no multiple of it.
TEST_F(HisiPttRoundtrip, ALongBufferIsOnePieceHoweverItComes)
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

// A stream is named by a record of 48 bytes: it must not cost a buffer of text each.
TEST_F(HisiPttRoundtrip, ManyStreamsShareTheRoomForText)
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

TEST_F(HisiPttRoundtrip, StandardInputIsReportedAsTheFileIs)
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

TEST_F(HisiPttRoundtrip, AFileThroughAPipeIsRefusedByName)
{
    PttFile recording(file_, {});
    ASSERT_TRUE(recording.finish());
    const PipedInput input(read_all(file_));
    file_ = "-";
    EXPECT_EQ(report(false), kExitFailed);
    EXPECT_TRUE(holds(err_, "standard input: a recording of file layout")) << err_;
}

TEST_F(HisiPttRoundtrip, AFileWithoutNamesIsKnownByItsInfo)
{
    for (const bool info : {true, false}) {
        PttFile file(file_, {.config = testing::kPttConfig4dw, .info = info, .pmu_mapping = false});
        file.aux(conversation(Format::k4dw));
        ASSERT_TRUE(file.finish());
        EXPECT_EQ(dump(), info ? kExitGood : kExitFailed) << err_;
        EXPECT_EQ(holds(out_, "HISI PTT data: size 96 bytes"), info);
    }
}

TEST_F(HisiPttRoundtrip, WideEntriesAreKnownByTheirMark)
{
    PttFile file(file_, {.info = false, .pmu_mapping = false});
    file.aux(conversation(Format::k8dw));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "HISI PTT data: size 192 bytes")) << out_;
}

TEST_F(HisiPttRoundtrip, OneLineATlp)
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

// Two reads and their completions, whose tags differ in the upper four bits only.
TEST_F(HisiPttRoundtrip, WideTagsArePairedFromTheSecondVersionOn)
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
    for (const uint64_t version : {uint64_t{1}, uint64_t{2}, uint64_t{3}}) {
        PttFile file(file_, {.decoder_version = version});
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
    }
}

TEST_F(HisiPttRoundtrip, DumpPrintsTheBytesOfPerf6_12)
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

TEST_F(HisiPttRoundtrip, AnEntryMayBeCutByTwoPieces)
{
    const Buffer all = conversation(Format::k8dw);
    PttFile file(file_, {});
    file.aux(Bytes(all).first(72));
    file.aux(Bytes(all).subspan(72));
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["tlps"], 6);
}

TEST_F(HisiPttRoundtrip, WhatIsNoEntryIsSaidAndFails)
{
    Buffer damaged = conversation(Format::k8dw);
    damaged.insert(damaged.begin(), 64, std::byte{0x5a});
    PttFile file(file_, {});
    file.aux(damaged);
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_TRUE(holds(out_, "# skipped 64 bytes at 0x0: no entry")) << out_;
    EXPECT_TRUE(holds(out_, ".  00000044: ")) << out_;
    EXPECT_TRUE(holds(err_, "64 bytes hold no record")) << err_;
    EXPECT_EQ(report(), kExitFailed);
    EXPECT_EQ(json_["lost"]["skipped_bytes"], 64);
    EXPECT_EQ(json_["tlps"], 6);
}

TEST_F(HisiPttRoundtrip, LossesAreSaidAndWhatWaitsIsForgotten)
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

TEST_F(HisiPttRoundtrip, RecordsOfSamplesTellOfLosses)
{
    const Buffer one = ptt::testing::entry_8dw(ptt::testing::write_tlp(0x101, 0x1000, 16), 100);
    PttFile file(file_, {});
    file.sample(raw_record(Format::k8dw, one, 0));
    file.sample(raw_record(Format::k8dw, one, 0));  // twice
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
    EXPECT_TRUE(holds(out_, "20 entries were lost in the driver")) << out_;
    EXPECT_TRUE(holds(out_, "what was traced left")) << out_;
    EXPECT_EQ(dump(), kExitGood);
    EXPECT_TRUE(holds(out_,
                      "# record 3, 17 entries lost so far\n"
                      "# overwritten in the device's buffers\n"))
        << out_;
}

TEST_F(HisiPttRoundtrip, ASampleThatHoldsNoRecordFails)
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

TEST_F(HisiPttRoundtrip, TablesShowWhatTheJsonHas)
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
          "source=model\n  6 TLPs, 196 bytes of payload, 132 bytes asked for, "
          "90 ticks",
          "  MRd                  2   33.3%                0              132\n", "1  01:00.1",
          "2 more requesters; --top 0 shows all", "0x0000000402800000-0x00000004029fffff",
          "2 non-posted requests, 1 answered, 1 outstanding; 1 completions without a request",
          "min 70  mean 70.0  median 70", "nothing lost"})
        EXPECT_TRUE(holds(out_, part)) << part << "\n" << out_;
}

TEST_F(HisiPttRoundtrip, RangesArePowersOfTwo)
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

TEST_F(HisiPttRoundtrip, NothingTracedIsAnAnswerToo)
{
    PttFile file(file_, {});
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["tlps"], 0);
    EXPECT_EQ(report(false), kExitGood);
    EXPECT_TRUE(holds(out_, "0 TLPs")) << out_;
}

TEST_F(HisiPttRoundtrip, WithoutRawTheMissingOptionIsNamed)
{
    PttFile file(file_, {.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU, .info = false});
    file.announce(0);
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_TRUE(holds(err_, "recorded without -R")) << err_;
}

}  // namespace
}  // namespace pmukit::cli
