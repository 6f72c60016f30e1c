// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For `make corpus`, and to look into a difference.
//   perf_text FILE                   a recording in the words of `perf report -D`
//   perf_text --header FILE          in those of `perf report --header-only -I`
//   perf_text --plain, --plain-header  what perf said, from standard input, without what is left
//   out perf_text --bare FILE COPY       a copy without sections, whose size of records is true
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "base/file.hpp"
#include "perfdata/perf_text.hpp"

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

int print(const std::string &path, bool header)
{
    Result<Reader> reader = Reader::open_path(path);
    if (!reader)
        return fail(reader.error());
    Result<std::string> text = testing::perf_text(*reader);
    if (!text)
        return fail(text.error());
    std::cout << (header ? testing::perf_header_text(*reader) : *text);
    return 0;
}

}  // namespace

int main(int argc, char **argv)
{
    const std::string first = argc > 1 ? argv[1] : "";
    if (argc == 2 && (first == "--plain" || first == "--plain-header")) {
        const std::string said(std::istreambuf_iterator<char>(std::cin), {});
        std::cout << (first == "--plain" ? testing::plain_perf_text(said)
                                         : testing::plain_perf_header(said));
        return 0;
    }
    if (argc == 4 && first == "--bare")
        return copy_bare(argv[2], argv[3]);
    if (argc == 2)
        return print(first, false);
    if (argc == 3 && first == "--header")
        return print(argv[2], true);
    std::fprintf(stderr,
                 "usage: perf_text [--header] FILE | perf_text --plain[-header] |\n"
                 "       perf_text --bare FILE COPY\n");
    return 2;
}
