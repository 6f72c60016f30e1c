// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit recover: what of a damaged recording is still there, and a clean file of it.
#include "perfdata/recover.hpp"

#include "base/file.hpp"
#include "cli/commands.hpp"
#include "cli/recording.hpp"

namespace pmukit::cli {

Result<int> run_recover(const RecoverOptions &options, Output &out)
{
    Result<MappedFile> file = MappedFile::open(options.input);
    if (!file)
        return file.error();
    Result<perfdata::Recovery> found = perfdata::find_records(file->bytes());
    if (!found)
        return in_file(options.input, found.error());

    out.print("{}: kept {} records, {} of them AUX buffers\n", options.input, found->records,
              found->aux_buffers);
    for (const perfdata::ByteRange &range : found->lost)
        out.print("{}: lost {} bytes, [{:#x}, {:#x})\n", options.input, range.end - range.begin,
                  range.begin, range.end);
    if (!found->header_whole)
        out.print("{}: the header was not finished: names of PMUs and hosts may be lost\n",
                  options.input);
    if (found->clean())
        out.print("{}: nothing is lost\n", options.input);
    if (!options.output.empty()) {
        Result<void> written = perfdata::write_recovered(file->bytes(), *found, options.output);
        if (!written)
            return written.error();
        out.print("{}: written\n", options.output);
    }
    return found->clean() ? kExitGood : kExitFailed;
}

}  // namespace pmukit::cli
