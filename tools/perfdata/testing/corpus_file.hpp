// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The recordings in testdata/corpus, decompressed, with perf's output for them.
//
//     6.1/callchain.data.zst      a recording by perf 6.1
//     6.1/threads.data/*.zst      a perf.data directory
//     6.1/callchain.text.zst      perf's output: records, then "== header ==" and the header
//     6.1/callchain.script.zst    output of perf script; empty if perf fails
//
// If perf fails, its output begins with a line "== perf ... ==".
#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/test_folder.hpp"

namespace pmukit::perfdata::testing {

struct RecordedFile {
    std::string name;  // file name in the directory; empty: the recording is one file
    std::vector<std::byte> bytes;
    bool is_only_records = false;  // part of a directory: records only, no file header
};

struct Recording {
    std::string name;  // "6.1/callchain"
    std::vector<RecordedFile> parts;
    std::string mark, records, header, script;  // output of perf

    bool perf_fails() const { return !mark.empty(); }
    bool perf_stops_early() const { return mark == "== perf stops early =="; }
    // Writes the recording into the folder and removes the previous one; returns the path.
    std::string unpacked(const TestFolder &folder) const;
};

// "6.1", ...: the directories with the recordings of one perf version.
std::vector<std::string> corpus_folders();
std::vector<Recording> recordings_of(const std::string &folder);

}  // namespace pmukit::perfdata::testing
