// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/temp_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "console/signals.hpp"
#include "console/terminal.hpp"
#include "perfdata/new_file.hpp"

namespace pmukit::cli {
namespace {

// Path of the unfinished file or folder, or empty; the only data that signal handlers use.
char unfinished[PATH_MAX];

// Offsets of fields in struct linux_dirent64 of getdents64(2).
constexpr size_t kRecordBytesAt = 16, kNameAt = 19;
constexpr int kMostDepth = 8;  // outputs have four levels: OUT/host=/driver=/date=

bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

// Removes the contents of a folder. Uses only system calls, because a signal handler must not call
// opendir(3).
void empty_folder(int folder, int depth)
{
    char entries[2048];
    for (long got; (got = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
        for (long at = 0; at < got;) {
            const char *name = entries + at + kNameAt;
            uint16_t bytes = 0;
            std::memcpy(&bytes, entries + at + kRecordBytesAt, sizeof bytes);
            at += bytes;
            if (is_dots(name) || ::unlinkat(folder, name, 0) == 0 || depth == kMostDepth)
                continue;
            const int inner = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
            if (inner < 0)
                continue;
            empty_folder(inner, depth + 1);
            ::close(inner);
            ::unlinkat(folder, name, AT_REMOVEDIR);
        }
    }
}

void remove_and_end(int signal)
{
    if (signal == SIGINT && pager_reads())  // Ctrl-C was meant for the pager
        return;
    remove_temp_file();
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

}  // namespace

void remove_temp_file()
{
    if (::unlink(unfinished) == 0 || errno != EISDIR)
        return;
    const int folder = ::open(unfinished, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (folder < 0)
        return;
    empty_folder(folder, 0);
    ::rmdir(unfinished);
}

void remove_when_killed(const std::string &output)
{
    const std::string part = perfdata::NewFile::part_name(output);
    if (part.empty() || part.size() >= sizeof unfinished)
        return;
    std::memcpy(unfinished, part.c_str(), part.size() + 1);
    struct sigaction action {};
    action.sa_handler = remove_and_end;
    action.sa_flags = SA_RESTART;
    for (const int signal : ending_signals())
        if (!is_ignored(signal))
            ::sigaction(signal, &action, nullptr);
}

Result<void> begin_output(const std::string &output, const std::vector<std::string> &inputs)
{
    std::error_code failure;  // set for a missing file, which is equivalent to no input
    for (const std::string &input : inputs)
        if (std::filesystem::equivalent(output, input, failure) &&
            !std::filesystem::is_other(output, failure))
            return Error{Errc::kUsage,
                         output + ": is the input and would be replaced; name another output"};
    if (!output.empty() && output != "-")
        remove_when_killed(output);
    return {};
}

}  // namespace pmukit::cli
