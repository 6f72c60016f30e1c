// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes tables to files. There is one writer per format. An output gets its final name when it is
// complete. If a writer is destroyed without finish(), it removes what it wrote.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "export/schema.hpp"

namespace pmukit::exporter {

class Writer : public RowSink {
public:
    // Call before the rows. Formats with a file per table create the file, even if no row follows.
    virtual void begin_table(const Table &) {}
    // Returns the first write error. After an error, nothing more is written.
    virtual const Result<void> &state() const = 0;
    // Call this after the last row. The output then gets its final name.
    virtual Result<void> finish() = 0;
};

using WriterResult = Result<std::unique_ptr<Writer>>;

// path: "-" is standard output, for formats that are one stream of bytes. only: if not nullptr,
// only this table is written.
struct Output {
    std::string path;
    const Table *only = nullptr;
    // Date (UTC) on which the recording began as YYYY-MM-DD, for formats with a folder per date;
    // empty: unknown.
    std::string date;
    // Unique name of the recording, for formats in which recordings share folders.
    std::string name;
};

// CSV (RFC 4180), one file per table. With `only`, the output is one file; otherwise it is a folder
// of files.
WriterResult make_csv(const Output &output);
// JSON lines: one object per row. Its member "table" names the table; unknown values are omitted.
WriterResult make_jsonl(const Output &output);
WriterResult make_sqlite(const Output &output);
// Chrome's trace events, for ui.perfetto.dev.
WriterResult make_perfetto(const Output &output);
// A trace in the format of Perfetto (Protocol Buffers).
WriterResult make_perfetto_trace(const Output &output);
bool is_perfetto_trace(std::string_view front);
// A folder with a CTF trace, written by libbabeltrace2.
WriterResult make_ctf(const Output &output);
// Parquet files in Hive partitions. The folders contain the files of many recordings.
WriterResult make_parquet(const Output &output);
// Suffix for the path of a Parquet output. It gives the folder of the files that are not complete.
constexpr const char *kStagedName = "/_unfinished";
// Sums in the OpenMetrics format, for Prometheus' textfile collector.
WriterResult make_openmetrics(const Output &output);

// Number in the header of a SQLite database that names its application, "pmuk". SQLite's file
// format: the database header, offset 68.
constexpr uint32_t kSqliteApplication = 0x706d756b;

struct Format {
    std::string_view name;
    std::string_view meaning;  // the text for --help
    bool to_stream;            // the format can be written to standard output ("-")
    bool into_folder;          // the writer adds files to an existing folder
    WriterResult (*make)(const Output &output);
    // True if the first bytes of a file are those of a file that this writer made. nullptr: the
    // output is a folder.
    bool (*is_one)(std::string_view front);
};
std::span<const Format> formats();
// Returns nullptr if no format has this name.
const Format *find_format(std::string_view name);

}  // namespace pmukit::exporter
