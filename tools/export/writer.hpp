// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes tables to files, one writer per format. An output gets its name when it is complete: a
// writer that is destroyed without finish() removes what it wrote.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "export/schema.hpp"

namespace pmukit::exporter {

class Writer : public RowSink {
public:
    // The first write error; nothing is written after it.
    virtual const Result<void> &state() const = 0;
    // Call after all rows.
    virtual Result<void> finish() = 0;
};

using WriterResult = Result<std::unique_ptr<Writer>>;

// path: "-" is standard output, for formats that are one stream of bytes. only: the only table that
// will be written; nullptr: all tables.
struct Output {
    std::string path;
    const Table *only = nullptr;
    std::string date;  // of the recording, YYYY-MM-DD, for folders by date; empty: unknown
    std::string name;  // unique name of the recording, for folders that recordings share
};

// RFC 4180, one file per table: with `only` the output is a file, otherwise a folder of files.
WriterResult make_csv(const Output &output);
// One object per row, whose member "table" names the table; unknown values are omitted.
WriterResult make_jsonl(const Output &output);
WriterResult make_sqlite(const Output &output);
// Chrome's trace events, for ui.perfetto.dev.
WriterResult make_perfetto(const Output &output);
// A folder with a CTF trace, written by libbabeltrace2.
WriterResult make_ctf(const Output &output);
// Hive partitions, which contain the files of many recordings.
WriterResult make_parquet(const Output &output);
// Appended to the path of a Parquet output: the folder of files that are not complete yet.
constexpr const char *kStagedName = "/_unfinished";
// Sums, for Prometheus' textfile collector.
WriterResult make_openmetrics(const Output &output);

struct Format {
    std::string_view name;
    std::string_view meaning;  // for --help
    bool to_stream;            // can be written to "-"
    bool into_folder;          // adds files to an existing folder
    WriterResult (*make)(const Output &output);
};
std::span<const Format> formats();
// nullptr: no format has this name.
const Format *find_format(std::string_view name);

}  // namespace pmukit::exporter
