// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Records of a CXL hotness monitoring unit that are written to a file must give the same dump and
// report, whether they are AUX data or samples.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <pmukit/cxl_hmu.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "cli/export/export.hpp"
#include "decode/cxl_hmu/cxl_hmu_units.hpp"
#include "perfdata/format.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/writer.hpp"
#include "topology/test_tree.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kId = 7;
constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
constexpr const char *kPmu = "cxl_hmu_mem0.0.0";

// Returns a record with this sequence number, loss count and flags. The counters in its entries
// have 16 bits, units have 4 KiB, and counts are not downsampled.
std::vector<std::byte> record_of(uint64_t sequence, uint64_t lost, uint64_t flags,
                                 std::vector<uint64_t> entries)
{
    std::vector<uint64_t> words = {entries.size() | 16 << 16 | uint64_t{5} << 56,
                                   PMUKIT_CXL_HMU_MARK,
                                   1000,
                                   12,
                                   flags,
                                   sequence,
                                   lost};
    words.insert(words.end(), entries.begin(), entries.end());
    std::vector<std::byte> bytes(words.size() * 8);
    for (size_t i = 0; i < words.size(); i++)
        store_le(bytes.data() + i * 8, words[i]);
    return bytes;
}

template <std::unsigned_integral... T>
std::vector<std::byte> packed(T... values)
{
    std::vector<std::byte> bytes;
    auto put = [&bytes](auto value) {
        bytes.resize(bytes.size() + sizeof value);
        store(bytes.data() + bytes.size() - sizeof value, value, std::endian::native);
    };
    (put(values), ...);
    return bytes;
}

class Roundtrip : public testing::Test {
protected:
    // Begins a recording with one event per PMU, with attr.type from 24 and ids from kId.
    void begin(uint64_t sample_type = kSampleType, const std::vector<std::string> &pmus = {kPmu},
               const std::string &emulated = "")
    {
        std::vector<perfdata::WriterEvent> events;
        perfdata::HostInfo host;
        for (const std::string &pmu : pmus) {
            const auto i = static_cast<uint32_t>(events.size());
            perfdata::WriterEvent event{
                std::vector<std::byte>(128), {kId + i}, pmu + "/" + terms_ + "/"};
            store<uint32_t>(event.attr.data() + perfdata::kAttrType, 24 + i, std::endian::native);
            store<uint64_t>(event.attr.data() + perfdata::kAttrConfig1, config1_,
                            std::endian::native);
            store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
            store<uint64_t>(event.attr.data() + perfdata::kAttrSampleType, sample_type,
                            std::endian::native);
            store<uint64_t>(event.attr.data() + perfdata::kAttrFlags, uint64_t{1} << 18,
                            std::endian::native);
            events.push_back(std::move(event));
            host.pmus.push_back({24 + i, pmu});
            if (pmu == emulated)
                host.caps.push_back({pmu, {{"source", "model"}}});
        }
        writer_ = std::make_unique<perfdata::Writer>(
            perfdata::Writer::create(file_, events, host).value());
    }
    void aux_record(uint64_t offset, uint64_t size, uint64_t flags)
    {
        put(packed(uint32_t{PERF_RECORD_AUX}, uint16_t{0}, uint16_t{48}, offset, size, flags,
                   uint64_t{0}, kId));
    }
    void aux_data(uint64_t offset, Bytes data)
    {
        perfdata::AuxtraceRecord trace;
        trace.offset = offset;
        trace.reference = kId;
        EXPECT_TRUE(writer_->auxtrace(trace, data, {}));
    }
    void sample(const std::vector<std::byte> &record, uint64_t id = kId)
    {
        size_t raw = 12 + record.size();
        put(packed(uint32_t{PERF_RECORD_SAMPLE}, uint16_t{0},
                   static_cast<uint16_t>(8 + 16 + 4 + raw), id, uint64_t{0},
                   static_cast<uint32_t>(raw), uint64_t{0}, uint32_t{PMUKIT_RAW_TAG_CXL_HMU}));
        put(record);
    }
    void put(const std::vector<std::byte> &bytes) { EXPECT_TRUE(writer_->records(bytes)); }
    void end()
    {
        EXPECT_TRUE(writer_->finish());
        writer_.reset();
    }

    // Runs a subcommand and stores its standard output in out_. Returns the exit status that main()
    // would return.
    template <typename Command>
    int run(Command command)
    {
        std::string path = folder_.path("out");
        Fd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        Output out(fd.get(), path);
        testing::internal::CaptureStderr();
        Result<int> status = command(out);
        EXPECT_TRUE(out.finish());
        err_ = testing::internal::GetCapturedStderr() + (status ? "" : status.error().message);
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        out_ = text.str();
        return status ? *status : kExitFailed;
    }
    int dump()
    {
        return run([this](Output &out) { return run_dump({file_}, out); });
    }
    int report(bool json = true) { return report(json, {}, "dpa"); }
    int report(bool json, std::optional<std::string> cxl_topology, const std::string &by)
    {
        ReportOptions options;
        options.cxl_topology = std::move(cxl_topology);
        options.by = by;
        options.input = file_;
        options.json = json;
        options.source = source_;
        int status = run([&options](Output &out) { return run_report(options, out); });
        if (json)
            json_ = nlohmann::json::parse(out_, nullptr, false);
        return status;
    }
    static bool holds(const std::string &text, const std::string &part)
    {
        return text.find(part) != std::string::npos;
    }

    TestFolder folder_;
    std::string file_ = folder_.path("perf.data"), out_, err_;
    nlohmann::json json_;
    std::optional<std::string> source_ = "model";  // argument of --source
    std::unique_ptr<perfdata::Writer> writer_;
    std::string terms_;     // in the names of the events
    uint64_t config1_ = 0;  // of the events
};

TEST_F(Roundtrip, DumpPrintsRecordsInTheTextOfTheCxlHmuRfc)
{
    begin();
    std::vector<std::byte> record = record_of(0, 0, 0, {0x10283, 0x20364});
    aux_record(0, record.size(), 0);
    aux_data(0, record);
    end();
    EXPECT_EQ(dump(), kExitGood) << err_;
    std::string after_place = out_.substr(out_.find('\n') + 1);
    EXPECT_EQ(after_place,
              ". ... CXL_HMU data: size 72 bytes\n"
              "Header 0: units: 2 counter_width 10\n"
              "Header 1 : deadbeef\n"
              "Header 2 : 3e8\n"
              "Header 3 : c\n"
              "Header 4 : 0\n"
              "Header 5 : 0\n"
              "Header 6 : 0\n"
              "0000000000010283\n"
              "0000000000020364\n");
    EXPECT_TRUE(holds(out_, "# cxl_hmu_mem0.0.0 cpu 0: AUX offset 0x0"));
}

TEST_F(Roundtrip, AuxAndSamplesGiveTheSameReport)
{
    std::vector<std::byte> first = record_of(0, 0, 0, {0x10002, 0x20005}),
                           second = record_of(1, 0, 0, {0x10002});
    begin();
    aux_record(0, first.size() + second.size(), 0);
    std::vector<std::byte> both = first;
    both.insert(both.end(), second.begin(), second.end());
    aux_data(0, Bytes(both).first(24));  // a record may continue in the next buffer
    aux_data(24, Bytes(both).subspan(24));
    end();
    EXPECT_EQ(report(), kExitGood) << err_;
    nlohmann::json by_aux = json_;

    begin();
    sample(first);
    sample(second);
    end();
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_, by_aux);

    EXPECT_EQ(json_["source"], "model");
    const nlohmann::json &pmu = json_["pmus"][0];
    EXPECT_EQ(pmu["pmu"], kPmu);
    EXPECT_EQ(pmu["unit_bytes"], 4096);
    EXPECT_EQ(pmu["records"], 2);
    EXPECT_EQ(pmu["entries"], 3);
    EXPECT_EQ(pmu["hot"], nlohmann::json::parse(R"([
            {"dpa":8192,"accesses":5,"epochs":1,"share":0.5555555555555556,"share_sum":0.5555555555555556},
            {"dpa":4096,"accesses":4,"epochs":2,"share":0.4444444444444444,"share_sum":1.0}])"));
}

TEST_F(Roundtrip, EmulatedDeviceIsMarkedSourceModelButTheRealDeviceIsNot)
{
    const std::string real = "cxl_hmu_mem1.0.0";
    source_.reset();
    begin(kSampleType, {kPmu, real}, kPmu);
    sample(record_of(0, 0, 0, {0x10002}));
    sample(record_of(0, 0, 0, {0x20005}), kId + 1);
    end();
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["pmus"][0]["source"], "model");
    EXPECT_EQ(json_["pmus"][1]["source"], nullptr);
    EXPECT_EQ(json_["source"], "model") << "something in it is";
    EXPECT_EQ(report(false), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, std::string(kPmu) + "  unit 4 KiB  downsampling 1  source=model\n"));
    EXPECT_TRUE(holds(out_, real + "  unit 4 KiB  downsampling 1\n")) << out_;
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, std::string("# ") + kPmu + ": source=model: the device was emulated"));
    EXPECT_FALSE(holds(out_, real + ": source=model"));

    ExportOptions options;
    options.input = file_;
    options.format = "csv";
    options.driver = "cxl_hmu";
    options.output = folder_.path("rows");
    EXPECT_EQ(run([&options](Output &out) { return run_export(options, out); }), kExitGood);
    std::ifstream in(options.output);
    std::string head, first, second;
    std::getline(in, head);
    std::getline(in, first);
    std::getline(in, second);
    EXPECT_TRUE(first.starts_with("model,")) << first;
    EXPECT_TRUE(second.starts_with(",")) << second;
}

TEST_F(Roundtrip, DumpBeginsWithSourceModelIfAllDevicesWereEmulated)
{
    source_.reset();
    begin(kSampleType, {kPmu}, kPmu);
    sample(record_of(0, 0, 0, {0x10002}));
    end();
    EXPECT_EQ(dump(), kExitGood) << err_;
    EXPECT_TRUE(out_.starts_with("# source=model: the device was emulated\n")) << out_;
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_["pmus"][0]["source"], "model");
}

TEST_F(Roundtrip, JsonReportCountsResetsInvalidEntriesAndRecordsWithoutUnitSize)
{
    begin();
    sample(record_of(0, 0, PMUKIT_CXL_HMU_F_RESET, {0x10002, 0x20005}));
    std::vector<std::byte> vast = record_of(
        1, 0, PMUKIT_CXL_HMU_F_RESET | PMUKIT_CXL_HMU_F_ALWAYS_ON, {0x10001, ~uint64_t{0}});
    store_le(vast.data() + 3 * 8,
             uint64_t{20});  // units of 1 MiB: the address of the last entry exceeds 64 bits
    sample(vast);
    sample(packed(uint64_t{1 | 16 << 16}, uint64_t{PMUKIT_CXL_HMU_MARK}, uint64_t{0x30001}));
    end();
    report();
    const nlohmann::json &pmu = json_["pmus"][0];
    EXPECT_EQ(pmu["always_on"], true);
    EXPECT_EQ(pmu["units"], 3);
    EXPECT_EQ(pmu["accesses"], 7);
    EXPECT_EQ(pmu["resets"], 2);
    EXPECT_EQ(pmu["invalid"], 1);
    EXPECT_EQ(pmu["without_unit"], 1);
    EXPECT_EQ(pmu["left_out"]["units"], 0);
}

// A record as in the CXL HMU RFC has no unit size; the event asked for units of 4 KiB.
TEST_F(Roundtrip, RecordsWithoutUnitSizeHaveTheUnitOfTheirEvent)
{
    const std::pair<const char *, uint64_t> kCases[] = {{"hotness_granual=12,type=0", 0},
                                                        {"", uint64_t{12} << 32}};
    for (const auto &[terms, config1] : kCases) {
        terms_ = terms;
        config1_ = config1;
        begin();
        sample(packed(uint64_t{1 | 16 << 16}, uint64_t{PMUKIT_CXL_HMU_MARK}, uint64_t{0x30001}));
        end();
        report();
        const nlohmann::json &pmu = json_["pmus"][0];
        EXPECT_EQ(pmu["without_unit"], 0) << terms;
        EXPECT_EQ(pmu["unit_bytes"], 4096) << terms;
        EXPECT_EQ(pmu["hot"][0]["dpa"], 0x3000) << terms;
    }
}

// Adds more units than the list keeps, each in one epoch, and then one of the last units again.
TEST_F(Roundtrip, ReportCountsUnitsThatDidNotFitTheHotList)
{
    constexpr uint64_t kPerRecord = 1024;
    constexpr uint64_t kAll = decode::cxl_hmu::HotList::kMostUnits + kPerRecord;
    begin();
    uint64_t offset = 0, sequence = 0;
    for (uint64_t unit = 0; unit < kAll; unit += kPerRecord) {
        std::vector<uint64_t> entries(kPerRecord);
        for (uint64_t i = 0; i < kPerRecord; i++)
            entries[i] = (unit + i) << 16 | 3;
        const std::vector<std::byte> record = record_of(sequence++, 0, 0, entries);
        aux_record(offset, record.size(), 0);
        aux_data(offset, record);
        offset += record.size();
    }
    const std::vector<std::byte> again = record_of(sequence, 0, 0, {(kAll - 1) << 16 | 4});
    aux_record(offset, again.size(), 0);
    aux_data(offset, again);
    end();
    EXPECT_EQ(report(), kExitGood) << err_;
    const nlohmann::json &pmu = json_["pmus"][0];
    EXPECT_EQ(pmu["entries"], kAll + 1);
    EXPECT_EQ(pmu["accesses"], 3 * kAll + 4);
    EXPECT_EQ(pmu["hot"][0]["dpa"], (kAll - 1) << 12);
    EXPECT_EQ(pmu["hot"][0]["accesses"], 7);
    const uint64_t left_out = kAll - uint64_t{pmu["units"]};
    EXPECT_GT(left_out, 0U);
    EXPECT_EQ(pmu["left_out"]["units"], left_out);
    EXPECT_EQ(pmu["left_out"]["accesses"], 3 * left_out);
    EXPECT_EQ(pmu["left_out"]["most_short_accesses"], 3);
    EXPECT_EQ(report(false), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "a listed unit may lack up to 3 accesses and 1 epochs")) << out_;
}

TEST_F(Roundtrip, SamplesFromInjectGiveTheReportOfDriverSamples)
{
    const std::vector<std::byte> first = record_of(0, 0, 0, {0x10002, 0x20005}),
                                 second = record_of(1, 0, 0, {0x10002});
    begin();
    sample(first);
    sample(second);
    end();
    ASSERT_EQ(report(), kExitGood) << err_;
    const nlohmann::json by_samples = json_;

    begin(kSampleType & ~uint64_t{PERF_SAMPLE_RAW});
    aux_record(0, first.size() + second.size(), 0);
    std::vector<std::byte> both = first;
    append(both, second);
    aux_data(0, Bytes(both).first(24));  // a record may continue in the next buffer
    aux_data(24, Bytes(both).subspan(24));
    end();
    const InjectOptions options{file_, folder_.path("injected")};
    EXPECT_EQ(run([&options](Output &out) { return run_inject(options, out); }), kExitGood) << err_;
    file_ = options.output;
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(json_, by_samples);
}

// Both AUX records follow all AUX data. pmukit merge writes such files, because it delays records
// with a time until it has written older records.
TEST_F(Roundtrip, InjectedSamplesHaveTheTimeOfTheirAuxRecord)
{
    begin(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
    const std::vector<std::byte> record = record_of(0, 0, 0, {0x10002});
    aux_data(0, record);
    aux_data(record.size(), record);
    for (const uint64_t round : {0, 1})
        put(packed(uint32_t{PERF_RECORD_AUX}, uint16_t{0}, uint16_t{56}, round * record.size(),
                   uint64_t{record.size()}, uint64_t{0}, 10 + round, uint64_t{0}, kId));
    end();
    const InjectOptions options{file_, folder_.path("injected")};
    ASSERT_EQ(run([&options](Output &out) { return run_inject(options, out); }), kExitGood) << err_;
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(options.output);
    std::vector<uint64_t> times;
    for (perfdata::Record in; reader->next(in);)
        if (in.type == PERF_RECORD_SAMPLE)
            times.push_back(reader->time_of(in).value_or(0));
    EXPECT_EQ(times, (std::vector<uint64_t>{10, 11}));
}

TEST_F(Roundtrip, EveryKindOfLossIsReported)
{
    begin();
    std::vector<std::byte> record =
        record_of(2, 9, PMUKIT_CXL_HMU_F_OVERFLOW | PMUKIT_CXL_HMU_F_TRUNCATED, {0x10002});
    aux_record(0, record.size() + 64, PERF_AUX_FLAG_TRUNCATED);
    aux_data(0, record);
    put(packed(uint32_t{PERF_RECORD_LOST}, uint16_t{0}, uint16_t{40}, kId, uint64_t{3}, uint64_t{0},
               kId));
    put(packed(uint32_t{PERF_RECORD_LOST_SAMPLES}, uint16_t{0}, uint16_t{32}, uint64_t{4},
               uint64_t{0}, kId));  // PERF_RECORD_LOST above counts 3 of these 4
    end();
    EXPECT_EQ(report(), kExitGood) << "a loss that was counted is no damage: " << err_;
    const nlohmann::json &pmu = json_["pmus"][0];
    EXPECT_EQ(pmu["lost"], 9);
    EXPECT_EQ(pmu["truncated"], 1);
    EXPECT_EQ(pmu["overflows"], 1);
    EXPECT_EQ(pmu["sequence_gaps"], 2);
    EXPECT_EQ(json_["lost_samples"], 4);
    EXPECT_EQ(json_["lost_aux_bytes"], 64);
    EXPECT_EQ(json_["aux_truncations"], 1);
    EXPECT_EQ(report(false), kExitGood);
    for (const char *line :
         {"9 entries were lost", "2 records are missing", "1 time the hot list was full",
          "64 bytes of AUX data", "4 samples or records"})
        EXPECT_TRUE(holds(out_, line)) << line << "\n" << out_;
}

TEST_F(Roundtrip, TableShowsTheHottestUnitsFirst)
{
    begin();
    sample(record_of(0, 0, 0, {0x10001, 0x40003}));
    end();
    EXPECT_EQ(report(false), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "source=model")) << out_;
    EXPECT_TRUE(holds(out_, "0x0000000000004000-0x0000000000004fff")) << out_;
    EXPECT_LT(out_.find("0x0000000000004000"), out_.find("0x0000000000001000"));
    EXPECT_TRUE(holds(out_, "75.0%")) << out_;
    EXPECT_TRUE(holds(out_, "nothing lost")) << out_;
}

// Two devices are interleaved every 256 bytes, from host address 4 GiB on. The 16 pieces of a unit
// of 4 KiB are therefore spread over 8 KiB of host addresses.
class RoundtripPlaces : public Roundtrip {
protected:
    void SetUp() override
    {
        topology::put_region(tree_, {.ways = 2, .root_ways = 2, .dpa_bytes = 0x4000});
        tree_.put("devices/system/memory/block_size_bytes", "1000000\n");
        tree_.folder("devices/system/memory/memory256/node1");
        tree_.put("devices/virtual/memory_tiering/memory_tier5/nodelist", "1\n");
        begin();
        sample(record_of(0, 0, 0, {0x10001, 0x20003, 0x90002}));
        end();
    }

    TestFolder tree_;
};

TEST_F(RoundtripPlaces, JsonHasHostAddressNodeAndTierOfUnits)
{
    EXPECT_EQ(report(true, tree_.dir(), "dpa"), kExitGood) << err_;
    const nlohmann::json hot = json_["pmus"][0]["hot"];
    ASSERT_EQ(hot.size(), 3U);
    EXPECT_EQ(hot[0], (nlohmann::json{{"dpa", 0x2000},
                                      {"accesses", 3},
                                      {"epochs", 1},
                                      {"hpa", 0x100004000},
                                      {"hpa_bytes", 0x2000},
                                      {"hpa_pieces", 16},
                                      {"node", 1},
                                      {"tier", 5},
                                      {"share", 0.5},
                                      {"share_sum", 0.5}}));
    // The second unit is past the range that the HDM decoder maps.
    EXPECT_EQ(hot[1]["dpa"], 0x9000);
    EXPECT_TRUE(hot[1]["hpa"].is_null());
    EXPECT_TRUE(hot[1]["node"].is_null());
    EXPECT_EQ(json_["units_without_hpa"], 1);
    EXPECT_EQ(json_["assumptions"].size(), 1U);  // one assumption, because the tree has no CEDT
    EXPECT_FALSE(json_.contains("by_hpa"));
}

TEST_F(RoundtripPlaces, TablesShowHostAddressNodeAndTierOfUnits)
{
    EXPECT_EQ(report(false, tree_.dir(), "dpa"), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "0x0000000100004000-0x0000000100005fff      16     1     5")) << out_;
    EXPECT_TRUE(
        holds(out_, "1 unit has no host address; first reason: mem0: no decoder has DPA 0x9000"))
        << out_;
    EXPECT_TRUE(holds(out_, "assumed to be modulo")) << out_;
    EXPECT_EQ(report(false, tree_.dir(), "hpa"), kExitGood) << err_;
    EXPECT_FALSE(holds(out_, "DPA range")) << out_;
    EXPECT_LT(out_.find("0x0000000100004000"), out_.find("0x0000000100002000"));
}

TEST_F(RoundtripPlaces, ByNodeReportSumsTheAccessesOfEachNode)
{
    EXPECT_EQ(report(true, tree_.dir(), "node"), kExitGood) << err_;
    const nlohmann::json nodes = json_["by_node"];
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(
        nodes[0],
        (nlohmann::json{{"node", 1}, {"tier", 5}, {"units", 2}, {"accesses", 4}, {"epochs", 2}}));
    EXPECT_TRUE(nodes[1]["node"].is_null());
    EXPECT_EQ(nodes[1]["accesses"], 2);
}

TEST_F(RoundtripPlaces, ReportWithoutTopologyHasNoHostAddresses)
{
    EXPECT_EQ(report(), kExitGood) << err_;
    EXPECT_EQ(
        json_["pmus"][0]["hot"][0],
        (nlohmann::json{
            {"dpa", 0x2000}, {"accesses", 3}, {"epochs", 1}, {"share", 0.5}, {"share_sum", 0.5}}));
    EXPECT_FALSE(json_.contains("units_without_hpa"));
    EXPECT_EQ(report(true, std::nullopt, "node"), kExitFailed);
    EXPECT_TRUE(holds(err_, "--cxl-topology")) << err_;
}

TEST_F(RoundtripPlaces, ReportsAMalformedTopologyFileAndContinues)
{
    tree_.put("bus/cxl/devices/region0/size", "much\n");
    EXPECT_EQ(report(false, tree_.dir(), "dpa"), kExitGood) << err_;
    EXPECT_TRUE(holds(out_, "bus/cxl/devices/region0/size: 'much' is not a number")) << out_;
    EXPECT_TRUE(holds(out_, "units have no host address")) << out_;
}

TEST_F(Roundtrip, SamplesWithoutPayloadAreRejectedWithAMessageThatNamesOptionR)
{
    begin(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU);
    put(packed(uint32_t{PERF_RECORD_SAMPLE}, uint16_t{0}, uint16_t{24}, kId, uint64_t{0}));
    end();
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_TRUE(holds(err_, "recorded without -R, so 1 samples")) << err_;
    EXPECT_EQ(report(), kExitFailed);
    EXPECT_TRUE(holds(err_, "recorded without -R")) << err_;
}

TEST_F(Roundtrip, MessageAboutOrdinarySamplesNamesTheCommandsThatShowThem)
{
    begin(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU, {"software"});
    put(packed(uint32_t{PERF_RECORD_SAMPLE}, uint16_t{0}, uint16_t{24}, kId, uint64_t{0}));
    end();
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_TRUE(holds(err_, "no PMU of pmukit")) << err_;
    EXPECT_EQ(report(), kExitGood);
    EXPECT_TRUE(holds(err_, "no PMU of pmukit")) << err_;
    EXPECT_TRUE(holds(err_, "perf report")) << err_;
    EXPECT_TRUE(holds(err_, "pmukit export --format folded")) << err_;
}

TEST_F(Roundtrip, ShowsTheCompleteRecordsOfATruncatedFileAndExits1)
{
    begin();
    for (uint64_t i = 0; i < 3; i++)
        sample(record_of(i, 0, 0, {0x10002}));
    end();
    // Truncates in the third sample: file header, id and attribute precede two samples of 104
    // bytes.
    fs::resize_file(file_, perfdata::kFileHeaderBytes + 8 + 144 + 2 * 104 + 50);
    EXPECT_EQ(report(), kExitFailed);
    EXPECT_TRUE(holds(err_, "50 bytes after it are lost")) << err_;
    ASSERT_EQ(json_["pmus"].size(), 1U);
    EXPECT_EQ(json_["pmus"][0]["pmu"], "type24") << "the names of PMUs stand at the end";
    EXPECT_EQ(json_["pmus"][0]["records"], 2);
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_TRUE(holds(out_, "0000000000010002")) << out_;
}

TEST_F(Roundtrip, DamagedRecordsAreReportedAsSkipped)
{
    begin();
    std::vector<std::byte> record = record_of(0, 0, 0, {0x10002});
    aux_data(0, std::vector<std::byte>(16, std::byte{0xff}));
    aux_data(16, record);
    end();
    EXPECT_EQ(report(), kExitFailed);
    EXPECT_EQ(json_["pmus"][0]["skipped_bytes"], 16);
    EXPECT_EQ(json_["pmus"][0]["records"], 1);
    EXPECT_EQ(dump(), kExitFailed);
    EXPECT_TRUE(holds(out_, "# skipped 16 bytes at 0x0")) << out_;
}

TEST_F(Roundtrip, OutputToAFullDiskIsAnError)
{
    Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    Output out(full.get(), "standard output");
    out.text("x");
    EXPECT_FALSE(out.finish());
}

}  // namespace
}  // namespace pmukit::cli
