// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "base/fd.hpp"
#include "base/file.hpp"

namespace pmukit::cli {
namespace {

bool is_file(const std::string &path, struct stat &status)
{
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_same_file(const std::string &path, const struct stat &other)
{
    struct stat status {};
    return is_file(path, status) && status.st_dev == other.st_dev && status.st_ino == other.st_ino;
}

// Of either byte order, by their first bytes.
bool is_recording(const std::string &path)
{
    constexpr std::string_view kMagic = "PERFILE2", kMagicOfOtherOrder = "2ELIFREP";
    std::array<char, kMagic.size()> front{};
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::string_view read(front.data(), front.size());
    return fd && ::read(fd.get(), front.data(), front.size()) == ssize_t{kMagic.size()} &&
           (read == kMagic || read == kMagicOfOtherOrder);
}

}  // namespace

Result<void> claim_output(const std::string &path, const std::vector<std::string> &command)
{
    struct stat status {};
    if (!is_file(path, status))
        return {};
    for (size_t i = 1; i < command.size(); i++) {
        const std::string &word = command[i];
        // in.txt, --file=in.txt
        if (is_same_file(word, status) || is_same_file(word.substr(word.find('=') + 1), status))
            return Error{Errc::kUsage, "-o " + path +
                                           ": the command has this file among its words (" + word +
                                           "); give the recording another name"};
    }
    if (status.st_size != 0 && !is_recording(path))
        return Error{Errc::kUsage,
                     "-o " + path +
                         ": there is a file of this name that is no recording, and it "
                         "is not overwritten; give the recording another name"};
    return {};
}

Result<void> keep_earlier(const std::string &path)
{
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return {};
    if (::rename(path.c_str(), (path + ".old").c_str()) != 0)
        return system_error(path + ".old", errno);
    return {};
}

}  // namespace pmukit::cli
