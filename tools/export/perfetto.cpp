// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Trace events as JSON for ui.perfetto.dev and chrome://tracing, in Chromium's Trace Event Format.
// Each PMU of a host is a process, each of its CPUs is a thread, and each row is an instant with
// its fields as arguments. The time of a row with a column of ticks (an entry of hisi_ptt) is the
// time of the first row of its track plus one nanosecond per tick.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/saturate.hpp"
#include "export/text.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

constexpr size_t kNoColumn = SIZE_MAX;

// How the rows of a table are presented: which column names an instant, and which column is drawn
// as a curve.
struct Look {
    std::string_view table, name;
    // Column that is drawn as a curve. A point of the curve is the sum over one call of rows();
    // rows without a value have no point.
    std::string_view sum;
    // Column with a time in ticks, which is finer than time_ns.
    std::string_view ticks;
};
constexpr Look kLooks[] = {
    {"cache_qos", "event", "", ""},    {"cxl_hmu", "dpa", "accesses", ""},
    {"hisi_ptt", "type", "", "ticks"}, {"imc", "mode", "", ""},
    {"losses", "kind", "", ""},        {"recording", "recording", "", ""},
    {"samples", "event", "", ""},
};

struct Places {
    explicit Places(const Table &table)
    {
        const Look &look = *std::ranges::find(kLooks, table.name, &Look::table);
        const auto place = [&](std::string_view column) {
            return column.empty() ? kNoColumn : column_of(table, column);
        };
        name = place(look.name);
        sum = place(look.sum);
        ticks = place(look.ticks);
    }
    size_t name, sum, ticks;
};

class Perfetto final : public Writer {
public:
    explicit Perfetto(TextFile file) : file_(std::move(file))
    {
        file_.text("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    }

    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return file_.state(); }
    Result<void> finish() override
    {
        file_.text("\n]}\n");
        return file_.finish();
    }

private:
    struct Track {
        uint64_t process, thread;
        // time_ns and ticks of the first row.
        std::optional<std::pair<uint64_t, uint64_t>> anchor;
    };
    Track &track_of(Values origin);
    void name_track(const char *what, const Track &track, const std::string &name);
    uint64_t time_of(Track &track, const Places &places);
    char *begin_event(char *at, const char *phase, const Track &track, uint64_t time_ns);
    size_t most_bytes() const;
    void put_instant(const Table &table, const Places &places, Track &track);
    void put_point(const Table &table, size_t column, const Track &track, uint64_t time_ns,
                   uint64_t value);

    TextFile file_;
    bool is_first_ = true;
    std::map<const Table *, Places> places_;
    // Key: host and PMU.
    std::map<std::pair<std::string, std::string>, uint64_t> processes_;
    std::map<std::tuple<uint64_t, uint64_t>, Track> tracks_;
    std::vector<Value> row_;
};

std::string escaped(std::string_view text)
{
    std::string to(text.size() * kMostEscaped, '\0');
    to.resize(static_cast<size_t>(put_json_escaped(to.data(), text) - to.data()));
    return to;
}

std::string text_or_none(const Value &value)
{
    return value.known ? std::string(value.text()) : std::string();
}

Perfetto::Track &Perfetto::track_of(Values origin)
{
    const std::string host = text_or_none(origin[kHost]), pmu = text_or_none(origin[kPmu]);
    const auto [process, fresh] = processes_.try_emplace({host, pmu}, processes_.size() + 1);
    const uint64_t thread = origin[kCpu].known ? origin[kCpu].number() + 1 : 0;
    const auto [at, begins] = tracks_.try_emplace({process->second, thread});
    Track &track = at->second;
    track.process = process->second;
    track.thread = thread;
    const bool emulated = origin[kSource].known;
    if (fresh)
        name_track("process_name", track,
                   (pmu.empty() ? "recording" : pmu) + (host.empty() ? "" : " on " + host) +
                       (emulated ? " source=" + std::string(origin[kSource].text()) : ""));
    if (begins)
        name_track("thread_name", track,
                   thread ? "cpu " + std::to_string(thread - 1) : std::string("all"));
    return track;
}

void Perfetto::name_track(const char *what, const Track &track, const std::string &name)
{
    file_.text(std::string(is_first_ ? "\n" : ",\n") + "{\"ph\":\"M\",\"name\":\"" + what +
               "\",\"pid\":" + std::to_string(track.process) + ",\"tid\":" +
               std::to_string(track.thread) + ",\"args\":{\"name\":\"" + escaped(name) + "\"}}");
    is_first_ = false;
}

uint64_t Perfetto::time_of(Track &track, const Places &places)
{
    const uint64_t time_ns = row_[kTime].known ? row_[kTime].number() : 0;
    if (places.ticks == kNoColumn)
        return time_ns;
    const uint64_t ticks = row_[places.ticks].number();
    if (!track.anchor)
        track.anchor = {time_ns, ticks};
    const auto [first_ns, first_ticks] = *track.anchor;
    return ticks >= first_ticks ? first_ns + (ticks - first_ticks) : first_ns;
}

size_t Perfetto::most_bytes() const
{
    constexpr size_t kFrame = 160, kField = 48;
    size_t most = kFrame + row_.size() * kField;
    for (const Value &value : row_)
        // The text can occur twice: as the name and as an argument.
        most += 2 * kMostEscaped * size_t{value.bytes};
    return most;
}

// Begins an event. Its time is in microseconds, with nanoseconds as decimals.
char *Perfetto::begin_event(char *at, const char *phase, const Track &track, uint64_t time_ns)
{
    at = put_text(at, is_first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
    is_first_ = false;
    at = put_text(put_text(at, phase), "\",\"ts\":");
    at = put_decimal(at, time_ns / 1000);
    const uint64_t rest = time_ns % 1000;
    const char digits[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
    at = put_text(at, {digits, sizeof digits});
    at = put_decimal(put_text(at, ",\"pid\":"), track.process);
    return put_decimal(put_text(at, ",\"tid\":"), track.thread);
}

void Perfetto::put_instant(const Table &table, const Places &places, Track &track)
{
    char *at =
        begin_event(file_.room(most_bytes()), "i\",\"s\":\"t", track, time_of(track, places));
    const auto put_value = [&](size_t column) {
        const Kind kind = table.columns[column].kind;
        at = kind == Kind::kText ? put_json_escaped(at, row_[column].text())
                                 : put_plain(at, kind, row_[column]);
    };
    at = put_text(put_text(at, ",\"cat\":\""), table.name);
    at = put_text(at, "\",\"name\":\"");
    if (row_[places.name].known)
        put_value(places.name);
    at = put_text(at, "\",\"args\":{");
    bool is_first = true;
    for (size_t i = kOriginColumns; i < row_.size(); i++) {
        if (!row_[i].known)
            continue;
        const bool quoted = table.columns[i].kind != Kind::kNumber;
        at = put_text(put_text(at, is_first ? "\"" : ",\""), table.columns[i].name);
        at = put_text(at, quoted ? "\":\"" : "\":");
        put_value(i);
        if (quoted)
            *at++ = '"';
        is_first = false;
    }
    file_.wrote(put_text(at, "}}"));
}

void Perfetto::put_point(const Table &table, size_t column, const Track &track, uint64_t time_ns,
                         uint64_t value)
{
    const std::string_view name = table.columns[column].name;
    char *at = begin_event(file_.room(most_bytes()), "C", track, time_ns);
    at = put_text(put_text(at, ",\"name\":\""), name);
    at = put_text(put_text(at, "\",\"args\":{\""), name);
    file_.wrote(put_text(put_decimal(put_text(at, "\":"), value), "}}"));
}

void Perfetto::rows(const Table &table, Values common, Values rest)
{
    const Places &places = places_.try_emplace(&table, table).first->second;
    Track &track = track_of(common);
    row_.resize(table.columns.size());
    std::ranges::copy(common, row_.begin());
    const size_t width = row_.size() - common.size();
    std::optional<uint64_t> sum;  // nullopt: no row has a value
    for (size_t at = 0; at < rest.size() && file_.state(); at += width) {
        std::ranges::copy(rest.subspan(at, width),
                          row_.begin() + static_cast<ptrdiff_t>(common.size()));
        put_instant(table, places, track);
        if (places.sum != kNoColumn && row_[places.sum].known)
            sum = add_or_max(sum.value_or(0), row_[places.sum].number());
    }
    if (sum)
        put_point(table, places.sum, track, time_of(track, places), *sum);
}

}  // namespace

WriterResult make_perfetto(const Output &output)
{
    Result<TextFile> file = TextFile::create(output.path);
    if (!file)
        return file.error();
    return WriterResult(std::make_unique<Perfetto>(std::move(*file)));
}

}  // namespace pmukit::exporter
