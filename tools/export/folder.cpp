// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/file.hpp"

namespace pmukit::exporter {

namespace fs = std::filesystem;

std::string Folder::name_of(std::string path)
{
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    return path;
}

Result<Folder> Folder::create(const std::string &given)
{
    const std::string path = name_of(given);
    std::error_code failure;
    if (fs::exists(fs::symlink_status(path, failure)))
        return Error{Errc::kIo, path + ": already exists; name a new folder"};
    Result<perfdata::Destination> to = perfdata::Destination::of(path);
    if (!to)
        return to.error();
    Folder folder(path, std::move(*to));
    if (::mkdir(folder.part_.c_str(), 0700) == 0)
        return folder;
    Error error = system_error(path, errno);
    // The folder was not created here, so the destructor must not remove it.
    folder.part_.clear();
    return error;
}

Folder::Folder(std::string path, perfdata::Destination to)
    : path_(std::move(path)),
      part_(fmt::format("/proc/self/fd/{}/{}", to.folder(), perfdata::part_of(to.name()))),
      to_(std::move(to))
{
}

Folder::Folder(Folder &&other) noexcept
    : path_(std::move(other.path_)),
      part_(std::exchange(other.part_, {})),
      to_(std::move(other.to_))
{
}

Folder::~Folder()
{
    std::error_code failure;
    if (!part_.empty())
        fs::remove_all(part_, failure);
}

Result<void> Folder::finish()
{
    if (::renameat(AT_FDCWD, part_.c_str(), to_.folder(), to_.name().c_str()) != 0)
        return system_error(path_, errno);
    part_.clear();
    return {};
}

}  // namespace pmukit::exporter
