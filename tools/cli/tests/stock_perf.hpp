// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: runs commands, and stock perf of each kernel version, which `make setup` installs for
// the guests in PMUKIT_CACHE. perf uses the libraries of its own tree.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace pmukit::stock {

struct Said {
    int status = -1;
    std::string text;  // standard output and error
};

inline Said run(const std::string &command)
{
    Said said;
    FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
    char chunk[4096];
    while (size_t got = std::fread(chunk, 1, sizeof chunk, pipe))
        said.text.append(chunk, got);
    said.status = ::pclose(pipe);
    return said;
}

constexpr const char *kKernels[] = {"6.1", "6.12", "7.2"};

// Returns the start of a command line that runs perf; the caller appends the arguments. Returns an
// empty text if perf of this kernel is not installed.
inline std::string perf(const std::string &kernel)
{
    const char *cache = std::getenv("PMUKIT_CACHE"), *home = std::getenv("HOME");
    const std::string tree =
        (cache ? std::string(cache) : std::string(home ? home : "") + "/.cache/pmukit") +
        "/guests/" + kernel;
    if (!std::filesystem::exists(tree + "/usr/bin/perf"))
        return {};
    return tree + "/lib64/ld-linux-x86-64.so.2 --library-path " + tree +
           "/usr/lib/x86_64-linux-gnu " + tree + "/usr/bin/perf ";
}

// Returns a suffix for a test name, such as "perf6_12".
inline std::string name_of(const char *kernel)
{
    std::string name = kernel;
    name[name.find('.')] = '_';
    return "perf" + name;
}

}  // namespace pmukit::stock
