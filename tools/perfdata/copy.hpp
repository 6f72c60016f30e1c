// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Copies a recording to a new file and filters its records. The commands cut, inject, merge and
// recover use this code.
//
//     source ---> what a filter makes of each record ---> Writer
//       |                                                   ^
//       +---- events, header sections, byte order ----------+
//
// The copy always has file layout. Compressed records are decompressed, and a directory of `perf
// record --threads` becomes one file. This header is not installed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::perfdata {

// The events of a reader in the form that a writer takes. In pipe layout, call after
// Reader::read_front().
__attribute__((visibility("hidden"))) std::vector<WriterEvent> events_for_copy(
    const Reader &reader);

// Returns true if a section of the header also applies to a copy. Sections that describe the
// location or encoding of records do not.
__attribute__((visibility("hidden"))) bool is_copied_section(unsigned feature);

// Decides which records of a pipe's header the header of a copy replaces.
class __attribute__((visibility("hidden"))) HeaderOfCopy {
public:
    // The copy has the names that the events of the reader have now.
    explicit HeaderOfCopy(const Reader &from);
    // Call with every record, in order. False for the name of an event that the copy does not have:
    // a recorder may write it after the first samples.
    bool has(const Record &record);

private:
    const Reader &from_;
    std::vector<std::string> names_;  // by event
};

// Called for each record of the source that file layout does not store in the header; a long
// payload arrives in pieces.
using RecordFilter = std::function<Result<void>(const Record &)>;

// Copies the records of one source to a writer.
class __attribute__((visibility("hidden"))) RecordCopier {
public:
    // Without a filter, every record is copied unchanged. The reader and the writer must outlive
    // this object.
    RecordCopier(const Reader &from, Writer &to, RecordFilter filter = {});

    // Call with every record of the source, in order.
    Result<void> record(const Record &record);
    // Call after the last record: copies the sections of the header.
    void finish();

    // Copies from the reader's position to the end of its records, then calls finish().
    static Result<void> run(Reader &from, Writer &to, RecordFilter filter = {});

private:
    const Reader &from_;
    Writer &to_;
    RecordFilter filter_;
    size_t events_;  // number of events that the writer knows
    HeaderOfCopy header_;
    std::vector<std::byte> tracing_data_;
};

}  // namespace pmukit::perfdata
