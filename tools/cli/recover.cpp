// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit recover: what of a damaged recording is still there, and a clean file of it.
#include "perfdata/recover.hpp"

#include "cli/commands.hpp"
#include "cli/recording.hpp"
#include "cli/unfinished.hpp"

namespace pmukit::cli {
namespace {

void print_part(const perfdata::DamagedRecording::Part &part, Output &out)
{
    const perfdata::Recovery &found = part.found;
    out.print("{}: kept {} records, {} of them AUX buffers\n", part.path, found.records,
              found.aux_buffers);
    for (const perfdata::ByteRange &range : found.lost)
        out.print("{}: lost {} bytes, [{:#x}, {:#x})\n", part.path, range.end - range.begin,
                  range.begin, range.end);
    if (!found.header_whole)
        out.print("{}: the header was not finished: names of PMUs and hosts may be lost\n",
                  part.path);
    if (found.clean())
        out.print("{}: nothing is lost\n", part.path);
}

}  // namespace

Result<int> run_recover(const RecoverOptions &options, Output &out)
{
    if (options.input == "-")
        return Error{Errc::kUsage, "recover reads its input more than once; name a file with -i"};
    Result<perfdata::DamagedRecording> recording = perfdata::DamagedRecording::open(options.input);
    if (!recording)
        return explain_open(options.input, recording.error());
    for (const perfdata::DamagedRecording::Part &part : recording->parts())
        print_part(part, out);
    if (!options.output.empty()) {
        remove_when_killed(options.output);
        if (Result<void> written = recording->write(options.output); !written)
            return written.error();
        out.print("{}: written\n", options.output);
    }
    return recording->clean() ? kExitGood : kExitFailed;
}

}  // namespace pmukit::cli
