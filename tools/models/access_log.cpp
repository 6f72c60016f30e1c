// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/access_log.hpp"

#include <charconv>
#include <string_view>
#include <utility>

namespace pmukit::models {

namespace {

constexpr size_t kLineBytes = 32;  // "W 0x" + 16 digits + " " + 10 digits + newline is 32 at most
constexpr std::string_view kFirstLine = "# pmukit access log 1\n";

}  // namespace

Result<AccessLog> AccessLog::create(const std::string &path)
{
    Result<LineFile> file = LineFile::create("access log", path);
    if (!file)
        return file.error();
    AccessLog log;
    log.file_ = std::move(file).value();
    log.file_.append(kFirstLine);
    return log;
}

void AccessLog::add(char kind, uint64_t dpa, unsigned width, uint64_t &tally)
{
    tally++;
    if (!file_.is_open())
        return;
    char line[kLineBytes] = {kind, ' ', '0', 'x'};
    char *const end = line + sizeof line;
    char *at = std::to_chars(line + 4, end, dpa, 16).ptr;
    *at++ = ' ';
    at = std::to_chars(at, end, width).ptr;
    *at++ = '\n';
    file_.append({line, static_cast<size_t>(at - line)});
}

}  // namespace pmukit::models
