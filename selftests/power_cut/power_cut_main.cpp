// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// power_cut LOG BEGIN SEED IMAGE: writes to the file IMAGE what a disk contains after a power cut
// at a moment that SEED determines. BEGIN is the content of the disk at the begin of LOG. No cut is
// before the first mark. Prints one line:
//   cut: requests=213 of=512 flushed=210 lost_blocks=3 mark=4
// The last mark before the cut is 4. Exit codes: 0 success, 2 wrong usage or unreadable input.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <utility>
#include <vector>

#include "base/number.hpp"
#include "disk_log.hpp"

namespace {

using namespace pmukit;
using power_cut::Request;

constexpr int kExitUsage = 2;

Result<std::vector<std::byte>> read_bytes(const char *path)
{
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    std::vector<std::byte> bytes(in ? static_cast<size_t>(in.tellg()) : 0);
    in.seekg(0);
    in.read(reinterpret_cast<char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return in ? Result<std::vector<std::byte>>(std::move(bytes))
              : Error{Errc::kIo, fmt::format("{}: cannot read", path)};
}

Result<void> write_bytes(const char *path, Bytes bytes)
{
    std::ofstream to(path, std::ios::binary | std::ios::trunc);
    to.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
    return to.flush() ? Result<void>() : Error{Errc::kIo, fmt::format("{}: cannot write", path)};
}

Result<void> make_image(char **words)
{
    const auto log = read_bytes(words[0]);
    if (!log)
        return log.error();
    auto image = read_bytes(words[1]);
    if (!image)
        return image.error();
    const Result<uint64_t> seed = parse_u64(words[2]);
    if (!seed)
        return seed.error();
    const auto requests = power_cut::parse_log(*log);
    if (!requests)
        return requests.error();
    const auto first = std::ranges::find_if(
        *requests, [](const Request &request) { return power_cut::mark_of(request).has_value(); });
    if (first == requests->end())
        return Error{Errc::kDamaged, fmt::format("{}: the log has no mark", words[0])};
    const power_cut::Cut cut =
        power_cut::make_cut(*requests, static_cast<size_t>(first - requests->begin()), *seed);
    const auto lost = power_cut::apply(*requests, cut, *image);
    if (!lost)
        return lost.error();
    uint64_t mark = 0;
    for (const Request &request : std::span(*requests).first(cut.requests))
        mark = power_cut::mark_of(request).value_or(mark);
    fmt::print("cut: requests={} of={} flushed={} lost_blocks={} mark={}\n", cut.requests,
               requests->size(), cut.flushed, *lost, mark);
    return write_bytes(words[3], *image);
}

}  // namespace

int main(int argc, char **argv)
{
    if (argc != 5) {
        fmt::print(stderr, "usage: power_cut LOG BEGIN SEED IMAGE\n");
        return kExitUsage;
    }
    try {
        if (auto done = make_image(argv + 1); !done) {
            fmt::print(stderr, "power_cut: {}\n", done.error().message);
            return kExitUsage;
        }
    } catch (const std::exception &failure) {  // only libraries throw exceptions
        std::fprintf(stderr, "power_cut: %s\n", failure.what());
        return kExitUsage;
    }
    return 0;
}
