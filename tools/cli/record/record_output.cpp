// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_output.hpp"

#include <sys/stat.h>

#include <cstdio>

#include "base/file.hpp"
#include "console/temp_file.hpp"
#include "perfdata/output/destination.hpp"

namespace pmukit::cli {
namespace {

std::string old_name(const std::string &path)
{
    return path + ".old";
}

Result<void> rename_to_old(const std::string &path)
{
    if (::rename(path.c_str(), old_name(path).c_str()) != 0)
        return system_error(old_name(path), errno);
    return {};
}

bool is_file(const std::string &path, struct stat &status)
{
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_same_file(const std::string &path, const struct stat &other)
{
    struct stat status {};
    return is_file(path, status) && status.st_dev == other.st_dev && status.st_ino == other.st_ino;
}

bool holds_recording(const std::string &path)
{
    const Result<std::string> front = read_front_of(path);
    return front && is_recording(*front);
}

// Returns the reason why the file must not be replaced; an empty text if the file may be replaced
// or does not exist.
std::string why_kept(const std::string &path, const std::vector<std::string> &command)
{
    struct stat status {};
    if (!is_file(path, status))
        return {};
    for (size_t i = 1; i < command.size(); i++) {
        const std::string &word = command[i];
        // The word may name a file as in.txt or as --file=in.txt.
        if (is_same_file(word, status) || is_same_file(word.substr(word.find('=') + 1), status))
            return "the file is an argument of the command (" + word + ")";
    }
    if (status.st_size != 0 && !holds_recording(path))
        return "a file of this name exists and is not a recording";
    return {};
}

}  // namespace

Result<void> claim_output(const std::string &path, const std::vector<std::string> &command)
{
    if (const std::string why = why_kept(path, command); !why.empty())
        return Error{Errc::kUsage,
                     "-o " + path + ": " + why + ", and it is not overwritten; name another"};
    if (!holds_recording(path))
        return {};
    if (const std::string why = why_kept(old_name(path), command); !why.empty())
        return Error{Errc::kUsage, "-o " + path + ": the earlier recording would become " +
                                       old_name(path) + ", but " + why + "; name another"};
    return {};
}

Result<void> keep_earlier(const std::string &path)
{
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return {};
    return rename_to_old(path);
}

Result<void> keep_link(const std::string &path)
{
    struct stat link {
    }, target{};
    if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode) || !is_file(path, target) ||
        target.st_size == 0)
        return {};
    const Result<perfdata::Destination> to = perfdata::Destination::of(path);
    if (!to)
        return to.error();
    return to->is_open_file() ? Result<void>() : rename_to_old(path);
}

}  // namespace pmukit::cli
