// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Trace events as JSON for ui.perfetto.dev and chrome://tracing, in Chromium's Trace Event Format.
// The fields of a row are the arguments of its instant.
#include <algorithm>
#include <map>
#include <optional>

#include "base/saturate.hpp"
#include "export/perfetto_tracks.hpp"
#include "export/text.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

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
    Track &track_of(Values origin);
    void name_track(const char *what, const Track &track, const std::string &name);
    char *begin_event(char *at, const char *phase, const Track &track, uint64_t time_ns);
    size_t most_bytes() const;
    void put_instant(const Table &table, const TraceColumns &columns, Track &track);
    void put_point(const Table &table, size_t column, const Track &track, uint64_t time_ns,
                   uint64_t value);

    TextFile file_;
    bool is_first_ = true;
    std::map<const Table *, TraceColumns> columns_;
    Tracks tracks_;
    std::vector<Value> row_;
};

std::string escaped(std::string_view text)
{
    std::string to(text.size() * kMostEscaped, '\0');
    to.resize(static_cast<size_t>(put_json_escaped(to.data(), text) - to.data()));
    return to;
}

Track &Perfetto::track_of(Values origin)
{
    const Tracks::Found found = tracks_.find(origin);
    if (!found.process_name.empty())
        name_track("process_name", found.track, found.process_name);
    if (!found.thread_name.empty())
        name_track("thread_name", found.track, found.thread_name);
    return found.track;
}

void Perfetto::name_track(const char *what, const Track &track, const std::string &name)
{
    file_.text(std::string(is_first_ ? "\n" : ",\n") + "{\"ph\":\"M\",\"name\":\"" + what +
               "\",\"pid\":" + std::to_string(track.process) + ",\"tid\":" +
               std::to_string(track.thread) + ",\"args\":{\"name\":\"" + escaped(name) + "\"}}");
    is_first_ = false;
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

void Perfetto::put_instant(const Table &table, const TraceColumns &columns, Track &track)
{
    char *at = begin_event(file_.room(most_bytes()), "i\",\"s\":\"t", track,
                           time_of(track, row_, columns));
    const auto put_value = [&](size_t column) {
        const Kind kind = table.columns[column].kind;
        at = kind == Kind::kText ? put_json_escaped(at, row_[column].text())
                                 : put_plain(at, kind, row_[column]);
    };
    at = put_text(put_text(at, ",\"cat\":\""), table.name);
    at = put_text(at, "\",\"name\":\"");
    if (row_[columns.name].known)
        put_value(columns.name);
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
    const TraceColumns &columns = columns_.try_emplace(&table, table).first->second;
    Track &track = track_of(common);
    row_.resize(table.columns.size());
    std::ranges::copy(common, row_.begin());
    const size_t width = row_.size() - common.size();
    std::optional<uint64_t> sum;  // nullopt: no row has a value
    for (size_t at = 0; at < rest.size() && file_.state(); at += width) {
        std::ranges::copy(rest.subspan(at, width),
                          row_.begin() + static_cast<ptrdiff_t>(common.size()));
        put_instant(table, columns, track);
        if (columns.sum != kNoColumn && row_[columns.sum].known)
            sum = add_or_max(sum.value_or(0), row_[columns.sum].number());
    }
    if (sum)
        put_point(table, columns.sum, track, time_of(track, row_, columns), *sum);
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
