// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The recordings in testdata/corpus, unpacked, with what perf says of them.
//
//     6.1/callchain.data.zst      a recording by perf 6.1
//     6.1/threads.data/*.zst      a perf.data directory
//     6.1/callchain.text.zst      perf's words: records, then "== header ==" and the header
//     6.1/callchain.script.zst    those of perf script; empty where perf fails
//
// The words begin with a line "== perf ... ==" where perf fails.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/test_folder.hpp"

namespace pmukit::perfdata::testing {

struct RecordedFile {
    std::string name;  // in the directory; empty: the recording is one file
    std::vector<std::byte> bytes;
    bool is_only_records = false;  // of a directory: without a header of its own
};

struct Recording {
    std::string name;  // "6.1/callchain"
    std::vector<RecordedFile> parts;
    std::string mark, records, header, script;  // perf's words

    bool perf_fails() const { return !mark.empty(); }
    bool perf_stops_early() const { return mark == "== perf stops early =="; }
    // The recording as files in the folder, where the one before was; the path to it.
    std::string unpacked(const TestFolder &folder) const;
};

// "6.1", ...: where the recordings of one perf lie.
std::vector<std::string> corpus_folders();
std::vector<Recording> recordings_of(const std::string &folder);

}  // namespace pmukit::perfdata::testing
