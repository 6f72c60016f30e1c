// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Removes an unfinished output when the program is interrupted: a partial file would look like a
// recording that can be recovered.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// Removes the unfinished file of this output (perfdata::NewFile), or the unfinished folder of the
// same name, when a signal ends the program. A program has one output.
void remove_when_killed(const std::string &output);

// Call first in a command that writes an output. Returns a usage error if the output is one of the
// inputs, also by another name or a link, because the input would be replaced. `output` is empty or
// "-" if the command writes no file.
Result<void> begin_output(const std::string &output, const std::vector<std::string> &inputs);

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
