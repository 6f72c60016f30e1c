// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/file.hpp"
#include "perfdata/new_file.hpp"

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
        return Error{Errc::kIo, path + ": is there already; name a new folder"};
    Folder folder(path, perfdata::NewFile::part_name(path));
    if (::mkdir(folder.part_.c_str(), 0700) == 0)
        return folder;
    Error error = system_error(path, errno);
    folder.part_.clear();  // not ours
    return error;
}

Folder::Folder(Folder &&other) noexcept
    : path_(std::move(other.path_)), part_(std::exchange(other.part_, {}))
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
    if (::rename(part_.c_str(), path_.c_str()) != 0)
        return system_error(path_, errno);
    part_.clear();
    return {};
}

}  // namespace pmukit::exporter
