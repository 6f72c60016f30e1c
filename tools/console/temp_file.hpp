// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Removes an unfinished output when the program is interrupted: a partial file would look like a
// recording that can be recovered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// Removes the unfinished file of this output (perfdata::NewFile), or the unfinished folder of the
// same name, when a signal ends the program. A program has one output.
void remove_when_killed(const std::string &output);

// What an output may replace: see Documentation/decisions/0017-files-of-others.rst.
struct Replaceable {
    std::string_view what;  // as in "is not a recording"
    // front: the first kFrontBytes of a file, or the whole file. nullptr: the output is a folder,
    // or its file is not replaced.
    bool (*is_one)(std::string_view front);
    bool may_be_fifo = true;
};
constexpr size_t kFrontBytes = 4096;

// True if the file begins as a recording of either byte order, also of a pipe.
bool is_recording(std::string_view front);
constexpr Replaceable kRecordings{"a recording", is_recording, false};

// The first bytes of a regular file; an error if it is another kind of file.
Result<std::string> read_front_of(const std::string &path);

// Call first in a command that writes an output. Returns an error if
//   - the output is one of the inputs, also by another name or a link, or is in an input that is a
//     directory, or is standard input ("-" among the inputs), because the input would be replaced;
//   - the output is an existing file that is neither empty nor of the kind `over`. `force`: may be,
//     unless it is below one of `trees`: directories that the command reads, of any depth. "/" is
//     not one of them, because every output is below it;
//   - the output cannot be written: a mount point, a device (perfdata::Destination), or a FIFO if
//     the kind `over` needs a file.
// `output` is empty or "-" if the command writes no file. Empty inputs and trees are ignored.
Result<void> begin_output(const std::string &output, const std::vector<std::string> &inputs,
                          const Replaceable &over, bool force,
                          const std::vector<std::string> &trees = {});

// For signal handlers: removes the file or folder that remove_when_killed() named, if any.
void remove_temp_file();

// Call last in a command, after all its output, so that no allocation can fail between naming the
// file and returning the status. `file` is a complete perfdata::Writer or NewFile. Returns
// `status`, or an error if the file cannot be named.
template <typename File>
Result<int> named_last(File &file, int status)
{
    if (Result<void> named = file.finish(); !named)
        return named.error();
    return status;
}

}  // namespace pmukit::cli
