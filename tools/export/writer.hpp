// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tables into files, a writer for each format. An output has its name when it is whole: a writer
// that goes without finish() takes what it wrote with it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "export/schema.hpp"

namespace pmukit::exporter {

class Writer : public RowSink {
public:
    // Error: the first that could not be written; nothing that comes after it is.
    virtual const Result<void> &state() const = 0;
    // All rows were given.
    virtual Result<void> finish() = 0;
};

using WriterResult = Result<std::unique_ptr<Writer>>;

// path: of the output; "-" is standard output, where a format is one stream of bytes. only: the
// one table that will be given; nullptr: all of them.
struct Output {
    std::string path;
    const Table *only = nullptr;
    std::string date;  // of the recording, YYYY-MM-DD, for folders by date; empty: not known
    std::string name;  // that no other recording has, for files beside those of others
};

// RFC 4180, one table a file: with `only` the output is a file, otherwise a folder of them.
WriterResult make_csv(const Output &output);
// One object a row, its table in "table"; what is not known is left out.
WriterResult make_jsonl(const Output &output);
WriterResult make_sqlite(const Output &output);
// Chrome's trace events, for ui.perfetto.dev.
WriterResult make_perfetto(const Output &output);
// A folder with a CTF trace, by libbabeltrace2.
WriterResult make_ctf(const Output &output);
// Folders as Hive has them, in which the files of many recordings lie together.
WriterResult make_parquet(const Output &output);
// Behind the path of an output that is such a folder: where files lie until they are whole.
constexpr const char *kStagedName = "/_unfinished";
// Sums, for Prometheus' textfile collector.
WriterResult make_openmetrics(const Output &output);

struct Format {
    std::string_view name;
    std::string_view meaning;  // for --help
    bool to_stream;            // "-" is a place for it
    bool into_folder;          // adds to what is in a folder
    WriterResult (*make)(const Output &output);
};
std::span<const Format> formats();
// nullptr: there is none of this name.
const Format *find_format(std::string_view name);

}  // namespace pmukit::exporter
