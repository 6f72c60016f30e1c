// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/temp_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "console/signals.hpp"
#include "console/terminal.hpp"
#include "perfdata/output/destination.hpp"
#include "perfdata/output/new_file.hpp"

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

bool is_file(const struct stat &one, const struct stat &other)
{
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// True if the file is this input, or is in it if the input is a directory (a recording of perf
// record --threads).
bool is_read_by(const std::string &input, const struct stat &file)
{
    struct stat status {};
    if ((input == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(input.c_str(), &status)) != 0)
        return false;
    if (!S_ISDIR(status.st_mode))
        return is_file(status, file);
    std::error_code failure;
    for (std::filesystem::directory_iterator entry(input, failure), none; !failure && entry != none;
         entry.increment(failure))
        if (::stat(entry->path().c_str(), &status) == 0 && is_file(status, file))
            return true;
    return false;
}

// True if the file, or the target of this link, is below the directory.
bool is_below(const std::string &tree, const std::string &file)
{
    namespace fs = std::filesystem;
    std::error_code failure;
    const fs::path root = fs::canonical(tree, failure);
    if (failure || root == root.root_path())
        return false;
    const fs::path path = fs::canonical(file, failure);
    return !failure && std::ranges::mismatch(root, path).in1 == root.end();
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

bool is_recording(std::string_view front)
{
    return front.starts_with("PERFILE2") || front.starts_with("2ELIFREP");
}

Result<std::string> read_front_of(const std::string &path)
{
    const Result<Fd> fd = open_for_reading(path);
    if (!fd)
        return fd.error();
    std::string front(kFrontBytes, 0);
    const ssize_t bytes = ::read(fd->get(), front.data(), front.size());
    if (bytes < 0)
        return system_error(path, errno);
    front.resize(static_cast<size_t>(bytes));
    return front;
}

Result<void> begin_output(const std::string &output, const std::vector<std::string> &inputs,
                          const Replaceable &over, bool force,
                          const std::vector<std::string> &trees)
{
    if (output.empty() || output == "-")
        return {};
    struct stat old {};
    // Any other kind of file is refused or written in place.
    const bool exists = ::stat(output.c_str(), &old) == 0;
    const bool replaces = exists && S_ISREG(old.st_mode);
    if (!over.may_be_fifo && exists && S_ISFIFO(old.st_mode))
        return Error{Errc::kUsage, output + perfdata::kNeedsFile};
    for (const std::string &input : inputs)
        if (replaces && is_read_by(input, old))
            return Error{Errc::kUsage,
                         output + ": is the input and would be replaced; name another output"};
    const auto tree = std::ranges::find_if(
        trees, [&](const std::string &each) { return replaces && is_below(each, output); });
    if (replaces && old.st_size != 0 && over.is_one && (!force || tree != trees.end())) {
        const Result<std::string> front = read_front_of(output);
        if (!front || !over.is_one(*front))
            return Error{Errc::kUsage, output + ": exists and is not " + std::string(over.what) +
                                           "; name another output" +
                                           (tree == trees.end() ? ", or replace it with --force"
                                                                : ": " + *tree + " is an input")};
    }
    // A folder is refused, or extended, by the writer of the format.
    if (!(exists && S_ISDIR(old.st_mode)) && !output.ends_with('/'))
        if (const auto to = perfdata::Destination::of(output); !to)
            return to.error();
    remove_when_killed(output);
    return {};
}

}  // namespace pmukit::cli
