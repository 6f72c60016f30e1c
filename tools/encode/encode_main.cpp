// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit-encode [--force] CASE FILE        writes the recording of a case
// pmukit-encode --commands CASE            lists the commands with expected output, one per line
// pmukit-encode --expected COMMAND CASE    prints the expected output of a command
#include <cstdio>
#include <string>

#include "base/file.hpp"
#include "console/temp_file.hpp"
#include "encode/encode.hpp"

namespace {

using namespace pmukit;

constexpr int kExitFailed = 1, kExitUsage = 2;

Result<encode::Case> read_case(const std::string &path)
{
    Result<MappedFile> file = MappedFile::open(path);
    if (!file)
        return file.error();
    const Bytes bytes = file->bytes();
    Result<encode::Case> made = encode::parse_case(
        std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
    if (!made)
        return Error{made.error().code, path + ", " + made.error().message};
    return made;
}

int fail(const Error &error)
{
    std::fprintf(stderr, "pmukit-encode: %s\n", error.message.c_str());
    return error.code == Errc::kUsage ? kExitUsage : kExitFailed;
}

int print_expected(const encode::Case &what, const std::string &command)
{
    for (const encode::Expectation &expected : what.expected)
        if (expected.command == command) {
            std::fputs(expected.text.c_str(), stdout);
            return 0;
        }
    return fail({Errc::kUsage, "the case expects nothing of '" + command + "'"});
}

int write_case(const std::string &from, const std::string &to, bool force)
{
    if (Result<void> begun = cli::begin_output(to, {from}, cli::kRecordings, force); !begun)
        return fail(begun.error());
    const Result<encode::Case> what = read_case(from);
    if (!what)
        return fail(what.error());
    const Result<void> written = encode::write_recording(*what, to);
    return written ? 0 : fail(written.error());
}

}  // namespace

int main(int argc, char **argv)
{
    const std::string first = argc > 1 ? argv[1] : "";
    const bool force = first == "--force" && argc == 4;
    const bool commands = first == "--commands" && argc == 3;
    const bool expected = first == "--expected" && argc == 4;
    if (force || (argc == 3 && !first.starts_with("-")))
        return write_case(argv[argc - 2], argv[argc - 1], force);
    if (!commands && !expected) {
        std::fprintf(stderr,
                     "usage: pmukit-encode [--force] CASE FILE | --commands CASE | "
                     "--expected COMMAND CASE\n");
        return kExitUsage;
    }
    const Result<encode::Case> what = read_case(argv[argc - 1]);
    if (!what)
        return fail(what.error());
    if (expected)
        return print_expected(*what, argv[2]);
    for (const encode::Expectation &each : what->expected)
        std::printf("%s\n", each.command.c_str());
    return 0;
}
