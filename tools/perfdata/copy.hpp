// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Recordings made of recordings: the one way in which cut, inject, merge and recover write.
//
//     source ---> what a filter makes of each record ---> Writer
//       |                                                   ^
//       +---- events, header sections, byte order ----------+
//
// The copy is of file layout, whatever the source was. Packed records come out unpacked, what
// `perf record --threads` keeps in a directory becomes one file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::perfdata {

// The events of a reader as a writer wants them. In pipe layout after Reader::read_front().
std::vector<WriterEvent> events_for_copy(const Reader &reader);

// Is a section of the header true of a copy as well? Not those that say where or how records lie.
bool is_copied_section(unsigned feature);

// Gets each record that a file may hold; long payloads come in pieces.
using RecordFilter = std::function<Result<void>(const Record &)>;

// The records of one source into a writer.
class RecordCopier {
public:
    // Without a filter every record is copied as it is. The reader and the writer outlive this.
    RecordCopier(const Reader &from, Writer &to, RecordFilter filter = {});

    // Every record of the source, in order.
    Result<void> record(const Record &record);
    // After the last: the header's sections.
    void finish();

    // From where the reader stands to the end of its records, then finish().
    static Result<void> run(Reader &from, Writer &to, RecordFilter filter = {});

private:
    const Reader &from_;
    Writer &to_;
    RecordFilter filter_;
    size_t events_;  // that the writer knows
    std::vector<std::byte> tracing_data_;
};

}  // namespace pmukit::perfdata
