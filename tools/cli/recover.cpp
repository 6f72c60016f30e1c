// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit recover: reports what remains of a damaged recording, and writes it as a clean file.
#include "perfdata/recover.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/counted.hpp"
#include "cli/commands.hpp"
#include "console/temp_file.hpp"
#include "console/terminal.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {
namespace {

void print_part(const perfdata::DamagedRecording::Part &part, Output &out)
{
    const perfdata::Recovery &found = part.found;
    if (found.missing) {
        out.print("{}: is missing\n", part.path);
        return;
    }
    out.print("{}: kept {}, {} of them AUX buffers\n", part.path, counted(found.records, "records"),
              found.aux_buffers);
    for (const perfdata::ByteRange &range : found.lost)
        out.print("{}: lost {}, [{:#x}, {:#x})\n", part.path,
                  counted(range.end - range.begin, "bytes"), range.begin, range.end);
    if (!found.header_whole)
        out.print("{}: the header was not finished: names of PMUs and hosts may be lost\n",
                  part.path);
    if (found.clean())
        out.print("{}: nothing is lost\n", part.path);
}

nlohmann::ordered_json json_of(const perfdata::DamagedRecording::Part &part)
{
    const perfdata::Recovery &found = part.found;
    nlohmann::ordered_json lost = nlohmann::ordered_json::array();
    for (const perfdata::ByteRange &range : found.lost)
        lost.push_back({{"begin", range.begin}, {"end", range.end}});
    return {{"path", part.path},
            {"records", found.records},
            {"aux_buffers", found.aux_buffers},
            {"lost", lost},
            {"header_whole", found.header_whole},
            {"missing", found.missing}};
}

void tell_programs(const perfdata::DamagedRecording &recording, const RecoverOptions &options,
                   Output &out)
{
    nlohmann::ordered_json json = {{"parts", nlohmann::ordered_json::array()},
                                   {"clean", recording.clean()},
                                   {"written", nullptr}};
    for (const perfdata::DamagedRecording::Part &part : recording.parts())
        json["parts"].push_back(json_of(part));
    if (!options.output.empty())
        json["written"] = options.output;
    print_json(json, out);
}

// Returns the size of a file; 0 if it is unknown, as for a directory.
uint64_t bytes_of_file(const std::string &path)
{
    std::error_code failure;
    const uint64_t bytes = std::filesystem::file_size(path, failure);
    return failure ? 0 : bytes;
}

Result<perfdata::DamagedRecording> look_through(const std::string &path)
{
    Progress progress("looking through " + path, bytes_of_file(path));
    return perfdata::DamagedRecording::open(path, [&](uint64_t bytes) { progress.at(bytes); });
}

Result<perfdata::Writer> write(const perfdata::DamagedRecording &recording,
                               const RecoverOptions &options)
{
    Progress progress("writing " + options.output, bytes_of_file(options.input));
    return recording.write(options.output, [&](uint64_t bytes) { progress.at(bytes); });
}

}  // namespace

Result<int> run_recover(const RecoverOptions &options, Output &out)
{
    if (can_be_read_once_only(options.input))
        return Error{Errc::kUsage, "recover reads its input more than once; name a file with -i"};
    if (Result<void> begun =
            begin_output(options.output, {options.input}, kRecordings, options.force);
        !begun)
        return begun.error();
    Result<perfdata::DamagedRecording> recording = look_through(options.input);
    if (!recording)
        return explain_open(options.input, recording.error());
    if (!options.json)
        for (const perfdata::DamagedRecording::Part &part : recording->parts())
            print_part(part, out);
    const int status = recording->clean() ? kExitGood : kExitFailed;
    std::optional<perfdata::Writer> written;
    if (!options.output.empty()) {
        Result<perfdata::Writer> file = write(*recording, options);
        if (!file)
            return file.error();
        written.emplace(std::move(*file));
        if (!options.json)
            out.print("{}: written\n", options.output);
    }
    if (options.json)
        tell_programs(*recording, options, out);
    return written ? named_last(*written, status) : status;
}

}  // namespace pmukit::cli
