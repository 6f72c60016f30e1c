// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For `make corpus`, and to examine a difference.
//   perf_text FILE                   prints a recording in the format of `perf report -D`
//   perf_text --header FILE          in the format of `perf report --header-only -I`
//   perf_text --script FILE          in the format of `perf script`
//   perf_text --fields FILE          prints the fields for option -F of perf script
//   perf_text --plain, --plain-header, --plain-script
//                                    filters perf's output from standard input: removes lines that
//                                    the formats above omit
//   perf_text --bare FILE COPY       copies FILE without sections, with the real size of the data
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "base/file.hpp"
#include "perfdata/testing/perf_script.hpp"
#include "perfdata/testing/perf_text.hpp"

namespace {

using namespace pmukit;
using namespace pmukit::perfdata;

int fail(const Error &error)
{
    std::fprintf(stderr, "perf_text: %s\n", error.message.c_str());
    return 1;
}

int copy_bare(const std::string &from, const std::string &to)
{
    Result<MappedFile> file = MappedFile::open(from);
    if (!file)
        return fail(file.error());
    Fd fd(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd)
        return fail(system_error(to, errno));
    Result<void> written = write_all(fd.get(), testing::without_sections(file->bytes()), to);
    return written ? 0 : fail(written.error());
}

Result<std::string> header_text(Reader &reader)
{
    // In pipe layout the sections arrive with the records.
    Result<std::string> records = testing::perf_text(reader);
    return records ? testing::perf_header_text(reader) : records;
}

// An option, and the function that prints a file in that format.
struct Words {
    std::string_view option;
    Result<std::string> (*of_file)(Reader &);
};
constexpr Words kWords[] = {
    {"", testing::perf_text},
    {"--header", header_text},
    {"--script", testing::perf_script},
    {"--fields", testing::script_fields},
};
struct Plain {
    std::string_view option;
    std::string (*of_words)(std::string_view);
};
constexpr Plain kPlain[] = {
    {"--plain", testing::plain_perf_text},
    {"--plain-header", testing::plain_perf_header},
    {"--plain-script", testing::plain_perf_script},
};

int print(const Words &words, const std::string &path)
{
    Result<Reader> reader = Reader::open_path(path);
    if (!reader)
        return fail(reader.error());
    Result<std::string> text = words.of_file(*reader);
    if (!text)
        return fail(text.error());
    std::cout << *text;
    return 0;
}

}  // namespace

int main(int argc, char **argv)
{
    const std::string first = argc > 1 ? argv[1] : "";
    for (const Plain &plain : kPlain)
        if (argc == 2 && first == plain.option) {
            const std::string said(std::istreambuf_iterator<char>(std::cin), {});
            std::cout << plain.of_words(said);
            return 0;
        }
    if (argc == 4 && first == "--bare")
        return copy_bare(argv[2], argv[3]);
    for (const Words &words : kWords)
        if (argc == (words.option.empty() ? 2 : 3) && (argc == 2 || first == words.option))
            return print(words, argv[argc - 1]);
    std::fprintf(stderr,
                 "usage: perf_text [--header|--script|--fields] FILE |\n"
                 "       perf_text --plain[-header|-script] | perf_text --bare FILE COPY\n");
    return 2;
}
