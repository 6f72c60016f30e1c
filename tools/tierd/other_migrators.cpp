// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tierd/other_migrators.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::tierd {
namespace {

namespace fs = std::filesystem;

// The content of a small file without blanks at its ends; empty if it cannot be read.
std::string word_of(const fs::path &path)
{
    const Result<std::string> text = read_small_file(path);
    return text ? std::string(trim(*text)) : std::string();
}

std::vector<fs::path> folders_in(const fs::path &folder)
{
    std::vector<fs::path> found;
    std::error_code ended;
    for (fs::directory_iterator entry(folder, ended), end; !ended && entry != end;
         entry.increment(ended))
        if (entry->is_directory(ended))
            found.push_back(entry->path());
    return found;
}

bool migrates(const fs::path &kdamond)
{
    for (const fs::path &context : folders_in(kdamond / "contexts"))
        for (const fs::path &scheme : folders_in(context / "schemes"))
            if (word_of(scheme / "action").starts_with("migrate_"))
                return true;
    return false;
}

}  // namespace

std::vector<std::string> other_migrators(const std::string &proc_root, const std::string &sys_root)
{
    std::vector<std::string> found;
    const std::string balancing = word_of(proc_root + "/sys/kernel/numa_balancing");
    if (!balancing.empty() && balancing != "0")
        found.push_back("NUMA balancing of the kernel migrates pages (mode " + balancing +
                        "): sysctl kernel.numa_balancing=0");
    for (const fs::path &kdamond : folders_in(sys_root + "/kernel/mm/damon/admin/kdamonds")) {
        const fs::path state = kdamond / "state";
        if (word_of(state) == "on" && migrates(kdamond))
            found.push_back("DAMON has a scheme that migrates pages: echo off > " + state.string());
    }
    return found;
}

Result<Fd> lock_file(const std::string &path)
{
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!file)
        return system_error(path, errno);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
        return file;
    if (errno == EWOULDBLOCK)
        return Error{Errc::kBusy, path + " is locked: another pmukit tierd runs"};
    return system_error(path, errno);
}

}  // namespace pmukit::tierd
