// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For every case of tools/encode/testdata, all table formats must have the same rows. The cases
// contain the expected JSON lines as text.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/export/export.hpp"
#include "cli/tests/csv_records.hpp"
#include "cli/tests/perfetto_trace.hpp"
#include "cli/tests/profile.hpp"
#include "encode/encode.hpp"
#include "export/writer.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;
using Fields = std::map<std::string, std::string>;        // known fields of a row, by name
using Rows = std::map<std::string, std::vector<Fields>>;  // rows by table

std::vector<std::string> cases()
{
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(CASES_FOLDER))
        names.push_back(entry.path().stem());
    std::ranges::sort(names);
    return names;
}

std::string content_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Rows of_jsonl(const std::string &path)
{
    Rows rows;
    std::istringstream in(content_of(path));
    for (std::string line; std::getline(in, line);) {
        const nlohmann::json object = nlohmann::json::parse(line);
        Fields fields;
        for (const auto &[name, value] : object.items())
            fields[name] = value.is_string() ? value.get<std::string>() : value.dump();
        const std::string table = fields["table"];
        fields.erase("table");
        rows[table].push_back(fields);
    }
    return rows;
}

Rows of_csv(const std::string &folder)
{
    Rows rows;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
        if (entry.path().stem() == "schema")
            continue;
        const auto records = csv_records(content_of(entry.path()));
        for (size_t i = 1; i < records.size(); i++) {
            Fields fields;
            EXPECT_EQ(records[i].size(), records[0].size()) << entry.path();
            for (size_t column = 0; column < records[i].size(); column++)
                if (records[i][column])
                    fields[*records[0][column]] = *records[i][column];
            rows[entry.path().stem()].push_back(fields);
        }
    }
    return rows;
}

// Converts a value in SQLite to text. Addresses are numbers in SQLite and hexadecimal in the text.
std::string text_of(const exporter::Column &column, sqlite3_stmt *row, int place)
{
    const auto *text = reinterpret_cast<const char *>(sqlite3_column_text(row, place));
    if (column.kind != exporter::Kind::kAddress)
        return text;
    return fmt::format("{:#x}", static_cast<uint64_t>(sqlite3_column_int64(row, place)));
}

Rows of_sqlite(const std::string &path)
{
    Rows rows;
    sqlite3 *database = nullptr;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    for (const exporter::Table &table : exporter::tables()) {
        sqlite3_stmt *select = nullptr;
        const std::string words = fmt::format("SELECT * FROM {0}", table.name);
        EXPECT_EQ(sqlite3_prepare_v2(database, words.c_str(), -1, &select, nullptr), SQLITE_OK);
        while (sqlite3_step(select) == SQLITE_ROW) {
            Fields fields;
            for (size_t i = 0; i < table.columns.size(); i++) {
                const int place = static_cast<int>(i);
                EXPECT_EQ(sqlite3_column_name(select, place), table.columns[i].name);
                if (sqlite3_column_type(select, place) != SQLITE_NULL)
                    fields[std::string(table.columns[i].name)] =
                        text_of(table.columns[i], select, place);
            }
            rows[std::string(table.name)].push_back(fields);
        }
        sqlite3_finalize(select);
    }
    sqlite3_close(database);
    return rows;
}

// Parses the output of babeltrace2: "[time] (+delta) table: { name = value, ... }".
Rows of_ctf(const std::string &folder)
{
    Rows rows;
    FILE *pipe = ::popen(("babeltrace2 " + folder).c_str(), "r");
    std::string text;
    char chunk[4096];
    while (size_t got = std::fread(chunk, 1, sizeof chunk, pipe))
        text.append(chunk, got);
    EXPECT_EQ(::pclose(pipe), 0);
    const std::regex line_form(R"re((\w+): \{ (.*) \})re");
    const std::regex field_form(R"re((\w+) = (?:"([^"]*)"|(\w+)))re");
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        std::smatch parts;
        EXPECT_TRUE(std::regex_search(line, parts, line_form)) << line;
        const exporter::Table *table = exporter::find_table(parts[1].str());
        EXPECT_NE(table, nullptr) << line;
        if (!table)
            continue;
        const std::string body = parts[2];
        std::map<std::string, std::string> all;
        for (std::sregex_iterator at(body.begin(), body.end(), field_form), end; at != end; ++at)
            all[(*at)[1]] = (*at)[3].matched ? (*at)[3].str() : (*at)[2].str();
        const uint64_t known = std::stoull(all.at("known"), nullptr, 16);
        Fields fields;
        for (size_t i = 0; i < table->columns.size(); i++) {
            const exporter::Column &column = table->columns[i];
            const std::string &value = all.at(std::string(column.name));
            if (known >> i & 1)
                fields[std::string(column.name)] =
                    column.kind == exporter::Kind::kAddress
                        ? fmt::format("{:#x}", std::stoull(value, nullptr, 16))
                        : value;
        }
        rows[parts[1]].push_back(fields);
    }
    return rows;
}

Rows sorted(Rows rows)
{
    for (auto &[table, all] : rows)
        std::ranges::sort(all);
    return rows;
}

class ExportCase : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override
    {
        const Result<std::string> text = read_small_file(CASES_FOLDER "/" + GetParam() + ".case");
        ASSERT_TRUE(text);
        const Result<encode::Case> what = encode::parse_case(*text);
        ASSERT_TRUE(what) << what.error().message;
        ASSERT_TRUE(encode::write_recording(*what, recording()));
    }

    std::string recording() const { return folder_.path("data"); }
    // Exports the input, and returns the path of the output.
    std::string exported(const std::string &format, const std::string &input,
                         const std::string &driver = "")
    {
        ExportOptions options;
        options.input = input;
        options.output = folder_.path(format + driver);
        options.format = format;
        options.driver = driver;
        options.source = "model";
        folder_.remove(format + driver);
        const Fd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        Output out(nothing.get(), "nothing");
        status_ = run_export(options, out);
        return options.output;
    }

    TestFolder folder_;
    Result<int> status_ = 0;
};
INSTANTIATE_TEST_SUITE_P(All, ExportCase, ::testing::ValuesIn(cases()),
                         [](const auto &name) { return name.param; });

TEST_P(ExportCase, HasTheSameRowsInEveryFormat)
{
    const Rows rows = of_jsonl(exported("jsonl", recording()));
    ASSERT_TRUE(status_) << status_.error().message;
    EXPECT_FALSE(rows.empty());
    for (const auto &[table, all] : rows)
        for (const Fields &fields : all)
            EXPECT_EQ(fields.at("source"), "model") << table;
    EXPECT_EQ(of_csv(exported("csv", recording())), rows);
    EXPECT_EQ(of_sqlite(exported("sqlite", recording())), rows);
}

TEST_P(ExportCase, BabeltraceReadsTheSameRowsFromCtf)
{
    const Rows rows = of_jsonl(exported("jsonl", recording()));
    const std::string folder = exported("ctf", recording());
    ASSERT_TRUE(status_) << status_.error().message;
    EXPECT_EQ(sorted(of_ctf(folder)), sorted(rows)) << "streams are in the order of time";
}

TEST_P(ExportCase, ExportsOnlyTheRequestedTable)
{
    const Rows rows = of_jsonl(exported("jsonl", recording()));
    for (const auto &[table, all] : rows) {
        const Rows alone = of_jsonl(exported("jsonl", recording(), table));
        ASSERT_EQ(alone.size(), 1U);
        EXPECT_EQ(alone.begin()->second, all);
        EXPECT_EQ(csv_records(content_of(exported("csv", recording(), table))).size(),
                  all.size() + 1);
    }
}

TEST_P(ExportCase, FilesAreReadableOnlyByTheirOwner)
{
    namespace fs = std::filesystem;
    const mode_t before = ::umask(022);
    for (const char *format :
         {"jsonl", "csv", "sqlite", "perfetto", "perfetto-trace", "ctf", "parquet"}) {
        const std::string output = exported(format, recording());
        if (!status_ && status_.error().code == Errc::kUnsupported)
            continue;  // pmukit was built without this format
        EXPECT_TRUE(status_) << status_.error().message;
        std::vector<fs::path> made = {output};
        if (fs::is_directory(output))
            for (const auto &entry : fs::recursive_directory_iterator(output))
                made.push_back(entry.path());
        for (const fs::path &path : made)
            EXPECT_EQ(
                fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all),
                fs::perms::none)
                << path;
    }
    ::umask(before);
}

TEST_P(ExportCase, CopyOfARecordingHasTheSameRowsAndAnotherRecordingDoesNot)
{
    const std::string rows = content_of(exported("jsonl", recording()));
    const std::string copy = folder_.path("copy");
    fs::copy_file(recording(), copy);
    fs::last_write_time(copy, fs::file_time_type::clock::now() - std::chrono::hours(48));
    EXPECT_EQ(content_of(exported("jsonl", copy)), rows);
    std::ofstream(copy, std::ios::app | std::ios::binary) << '\0';
    const Rows other = of_jsonl(exported("jsonl", copy));
    const std::string id =
        of_jsonl(exported("jsonl", recording())).at("recording").at(0).at("recording");
    for (const auto &[table, all] : other)
        for (const Fields &fields : all)
            EXPECT_NE(fields.at("recording"), id) << table;
}

// schema.csv must describe all columns, so that a folder of tables can be read without this suite.
TEST_P(ExportCase, CsvFolderDescribesItsColumns)
{
    const auto records = csv_records(content_of(exported("csv", recording()) + "/schema.csv"));
    size_t line = 1;
    for (const exporter::Table &table : exporter::tables())
        for (const exporter::Column &column : table.columns) {
            ASSERT_LT(line, records.size());
            EXPECT_EQ(records[line][0], "3");
            EXPECT_EQ(records[line][1], table.name);
            EXPECT_EQ(records[line][2], column.name);
            EXPECT_EQ(records[line][3], column.meaning);
            line++;
        }
    EXPECT_EQ(line, records.size());
}

// Samples and their periods by command, address and event. The event of imc is trace_imc, and each
// of its samples is one event.
using Sums = std::map<std::array<std::string, 3>, std::pair<uint64_t, uint64_t>>;

Sums sums_of(const Rows &rows)
{
    Sums sums;
    const auto add = [&](const Fields &row, const std::string &event, uint64_t period) {
        const auto comm = row.find("comm");
        auto &sum = sums[{comm == row.end() ? "[unknown]" : comm->second, row.at("ip"), event}];
        sum.first++;
        sum.second += period;
    };
    for (const auto &[table, all] : rows)
        for (const Fields &row : all)
            if (table == "imc")
                add(row, "trace_imc", 1);
            else if (table == "samples")
                add(row, row.at("event"), std::stoull(row.at("period")));
    return sums;
}

Sums sums_of(const testing::Profile &profile)
{
    Sums sums;
    for (const testing::ProfileSample &sample : profile.samples)
        for (const std::string &type : profile.types) {
            const uint64_t period = sample.values.at(type);
            if (type == "samples" || period == 0)
                continue;
            auto &sum =
                sums[{sample.texts.at("comm"), fmt::format("{:#x}", sample.stack.at(0).address),
                      type.starts_with("trace_imc") ? "trace_imc" : type}];
            sum.first += sample.values.at("samples");
            sum.second += period;
        }
    return sums;
}

TEST_P(ExportCase, PprofHasTheSamplesOfTheRows)
{
    const Rows rows = of_jsonl(exported("jsonl", recording()));
    const std::string bytes = content_of(exported("pprof", recording()));
    const testing::Profile profile = testing::ProfileReader::read(bytes);
    EXPECT_EQ(sums_of(profile), sums_of(rows));
    EXPECT_EQ(profile.comments, (std::vector<std::string>{"pmukit", "source=model"}));
    const Fields &about = rows.at("recording").at(0);
    EXPECT_EQ(profile.time_ns, about.contains("wall_ns") ? std::stoull(about.at("wall_ns")) : 0);
}

// Each row must be one instant event, on a track that has a name.
TEST_P(ExportCase, PerfettoHasOneEventPerRow)
{
    const Rows rows = of_jsonl(exported("jsonl", recording()));
    const nlohmann::json trace =
        nlohmann::json::parse(content_of(exported("perfetto", recording())));
    std::map<std::string, size_t> instants;
    std::set<std::pair<int, int>> named;
    for (const nlohmann::json &event : trace.at("traceEvents")) {
        const std::pair<int, int> track = {event.at("pid"), event.at("tid")};
        if (event.at("ph") == "M") {
            named.insert(track);
            continue;
        }
        EXPECT_TRUE(named.contains(track)) << event;
        EXPECT_TRUE(event.at("ts").is_number()) << event;
        EXPECT_TRUE(event.at("args").is_object()) << event;
        if (event.at("ph") == "i") {
            instants[event.at("cat")]++;
            EXPECT_FALSE(event.at("name").get<std::string>().empty());
        } else {
            EXPECT_EQ(event.at("ph"), "C") << event;
        }
    }
    for (const auto &[table, all] : rows)
        EXPECT_EQ(instants[table], all.size()) << table;
}

// The number that JSON has for this time, in microseconds: it has fewer digits than the time.
double json_time(uint64_t time_ns)
{
    return std::strtod(fmt::format("{}.{:03}", time_ns / 1000, time_ns % 1000).c_str(), nullptr);
}

// An event as one line, of the JSON trace or of Perfetto's own format.
std::string line_of(const std::string &track, const std::string &category, const std::string &name,
                    double time, const std::map<std::string, std::string> &args)
{
    std::string line = fmt::format("{} {} {} {:a}", track, category, name, time);
    for (const auto &[key, value] : args)
        line += fmt::format(" {}={}", key, value);
    return line;
}

// The instants of a JSON trace. Those of losses are on a track of that name.
std::multiset<std::string> lines_of(const nlohmann::json &trace)
{
    std::map<std::pair<int, int>, std::string> tracks;
    std::multiset<std::string> lines;
    for (const nlohmann::json &event : trace.at("traceEvents")) {
        const std::pair<int, int> track = {event.at("pid"), event.at("tid")};
        if (event.at("ph") == "M" && event.at("name") == "thread_name")
            tracks[track] = event.at("args").at("name");
        if (event.at("ph") != "i")
            continue;
        std::map<std::string, std::string> args;
        for (const auto &[key, value] : event.at("args").items())
            args[key] = value.is_string() ? value.get<std::string>() : value.dump();
        const bool is_loss = event.at("cat") == "losses";
        lines.insert(line_of(is_loss ? "losses" : tracks.at(track), event.at("cat"),
                             event.at("name"), event.at("ts").get<double>(), args));
    }
    return lines;
}

std::multiset<std::string> lines_of(const testing::PerfettoTraceFile &trace)
{
    std::multiset<std::string> lines;
    for (const testing::TraceEvent &event : trace.events)
        if (event.type == 3)
            lines.insert(line_of(trace.tracks.at(event.track), event.category, event.name,
                                 json_time(event.time_ns), event.args));
    return lines;
}

TEST_P(ExportCase, PerfettoTraceHasTheEventsOfTheJsonTrace)
{
    const testing::PerfettoTraceFile trace =
        testing::TraceReader::read(content_of(exported("perfetto-trace", recording())));
    const nlohmann::json json =
        nlohmann::json::parse(content_of(exported("perfetto", recording())));
    EXPECT_EQ(lines_of(trace), lines_of(json));
    std::multiset<std::string> curves, wanted;
    for (const testing::TraceEvent &event : trace.events)
        if (event.type == 4 && trace.tracks.at(event.track) == "accesses")
            curves.insert(fmt::format("{:a} {}", json_time(event.time_ns), event.value));
    for (const nlohmann::json &event : json.at("traceEvents"))
        if (event.at("ph") == "C")
            wanted.insert(fmt::format("{:a} {}", event.at("ts").get<double>(),
                                      event.at("args").at("accesses").get<uint64_t>()));
    EXPECT_EQ(curves, wanted);
}

// A curve for each monitor, L3 and kind of value, with all readings that have one.
TEST_P(ExportCase, PerfettoTraceHasACurveForEachMonitorOfCacheQos)
{
    std::map<std::string, std::multiset<uint64_t>> curves, wanted;
    const testing::PerfettoTraceFile trace =
        testing::TraceReader::read(content_of(exported("perfetto-trace", recording())));
    for (const testing::TraceEvent &event : trace.events)
        if (event.type == 4 && trace.tracks.at(event.track) != "accesses")
            curves[trace.tracks.at(event.track)].insert(event.value);
    const Rows rows = of_jsonl(exported("jsonl", recording()));
    if (const auto readings = rows.find("cache_qos"); readings != rows.end())
        for (const Fields &row : readings->second)
            if (row.contains("bytes"))
                wanted[fmt::format("{} L3 {} monitor {}{}{}", row.at("event"), row.at("domain"),
                                   row.at("monitor"),
                                   row.contains("life") ? "#" + row.at("life") : "",
                                   row.contains("name") ? " " + row.at("name") : "")]
                    .insert(std::stoull(row.at("bytes")));
    EXPECT_EQ(curves, wanted);
}

// A writer keeps at most 4 MiB of names; here are 6 MiB.
TEST(PerfettoTrace, WritesNamesAgainIfTheyExceedTheLimit)
{
    const TestFolder folder;
    auto writer = exporter::make_perfetto_trace({folder.path("trace"), nullptr, "", ""});
    ASSERT_TRUE(writer);
    const exporter::Table &table = *exporter::find_table("samples");
    const std::vector<exporter::Value> origin(exporter::kOriginColumns);
    std::vector<exporter::Value> row(table.columns.size() - origin.size());
    exporter::Value &sym = row[exporter::column_of(table, "sym") - origin.size()];
    constexpr size_t kRows = 60000;
    for (size_t i = 0; i < kRows; i++) {
        const std::string name = fmt::format("{:0100}", i);
        sym = std::string_view(name);
        (*writer)->rows(table, origin, row);
    }
    ASSERT_TRUE((*writer)->finish());
    const testing::PerfettoTraceFile trace =
        testing::TraceReader::read(content_of(folder.path("trace")));
    ASSERT_EQ(trace.events.size(), kRows);
    for (size_t i = 0; i < kRows; i++)
        ASSERT_EQ(trace.events[i].args.at("sym"), fmt::format("{:0100}", i));
}

// Checks the grammar of OpenMetrics 1.0: adjacent samples of each metric family, samples of
// counters end in _total, and the name of a family ends in its unit.
TEST_P(ExportCase, OpenMetricsIsValidAndHasTheRowCounts)
{
    const Rows rows = of_jsonl(exported("jsonl", recording()));
    const std::string text = content_of(exported("openmetrics", recording()));
    const std::regex sample(
        R"re(([a-z_]+)(\{[a-z_]+="([^"\\\n]|\\[\\"n])*"(,[a-z_]+="([^"\\\n]|\\[\\"n])*")*\})? (\d+)(\.\d{9})?)re");
    std::set<std::string> families, series;
    std::map<std::string, uint64_t> sums;
    std::string family, suffix;
    std::istringstream in(text);
    std::string line, last;
    for (; std::getline(in, line); last = line) {
        EXPECT_NE(last, "# EOF") << "something is behind the end";
        if (line == "# EOF")
            continue;
        if (line.starts_with("# HELP ")) {
            family = line.substr(7, line.find(' ', 7) - 7);
            EXPECT_TRUE(families.insert(family).second) << family << " stands in two places";
            continue;
        }
        if (line.starts_with("# TYPE ")) {
            const bool is_counter = line == "# TYPE " + family + " counter";
            EXPECT_TRUE(is_counter || line == "# TYPE " + family + " gauge") << line;
            EXPECT_EQ(is_counter, family.find("_traffic_") != family.npos) << line;
            suffix = is_counter ? "_total" : "";
            continue;
        }
        if (line.starts_with("# UNIT ")) {
            const std::string unit = line.substr(line.rfind(' ') + 1);
            EXPECT_EQ(line, "# UNIT " + family + " " + unit);
            EXPECT_TRUE(family.ends_with("_" + unit)) << line;
            EXPECT_TRUE(unit == "bytes" || unit == "seconds") << line;
            continue;
        }
        std::smatch parts;
        ASSERT_TRUE(std::regex_match(line, parts, sample)) << line;
        EXPECT_EQ(parts[1], family + suffix);
        EXPECT_EQ(parts[7].matched, family.ends_with("_seconds")) << line;
        EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
        sums[family] += std::stoull(parts[6]);
    }
    EXPECT_EQ(last, "# EOF");
    EXPECT_TRUE(text.ends_with("\n"));
    EXPECT_TRUE(families.contains("pmukit_losses")) << "0 is not absence";
    const std::multimap<std::string, std::string> counted = {{"cxl_hmu", "pmukit_cxl_hmu_entries"},
                                                             {"hisi_ptt", "pmukit_hisi_ptt_tlps"},
                                                             {"imc", "pmukit_imc_samples"},
                                                             {"losses", "pmukit_loss_reports"},
                                                             {"losses", "pmukit_losses"}};
    for (const auto &[table, metric] : counted)
        EXPECT_EQ(sums[metric], rows.contains(table) ? rows.at(table).size() : 0) << metric;
}

// Returns the amount of the loss of this kind; nothing if there is not exactly one.
std::string amount_of_loss(const Rows &rows, const std::string &kind)
{
    std::vector<std::string> amounts;
    if (const auto losses = rows.find("losses"); losses != rows.end())
        for (const Fields &loss : losses->second)
            if (loss.at("kind") == kind)
                amounts.push_back(loss.at("amount"));
    return amounts.size() == 1 ? amounts.front() : std::string();
}

// The end of the records by the header of a file; 0 for a pipe.
uint64_t end_of_records(const std::string &path)
{
    const Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    return reader->is_pipe() ? 0 : reader->data_end();
}

// A file truncated at any offset must give complete rows, and not more rows than the whole file.
// What it lacks is a loss.
TEST_P(ExportCase, ExportOfATruncatedFileHasCompleteRowsAndNoMoreThanTheWholeFile)
{
    const std::string whole = content_of(recording()), part = folder_.path("part");
    const Rows all = of_jsonl(exported("jsonl", recording()));
    const uint64_t end = end_of_records(recording());
    for (size_t bytes = 0; bytes < whole.size(); bytes += 13) {
        std::ofstream(part, std::ios::binary) << whole.substr(0, bytes);
        const std::string path = exported("jsonl", part);
        if (!status_) {
            EXPECT_FALSE(fs::exists(path)) << bytes;
            continue;
        }
        const Rows part_rows = of_jsonl(path);
        EXPECT_EQ(amount_of_loss(part_rows, "truncated"),
                  bytes < end ? std::to_string(end - bytes) : std::string())
            << bytes;
        for (const auto &[table, rows] : part_rows)
            if (table != "losses" && all.contains(table)) {
                EXPECT_LE(rows.size(), all.at(table).size()) << bytes;
            }
    }
}

}  // namespace
}  // namespace pmukit::cli
