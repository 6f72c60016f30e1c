// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_cpio.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <utility>

namespace pmukit::vm {

namespace {

// In the archive, each header with its name, and each content, is padded to a multiple of 4 bytes.
constexpr size_t kAlign = 4;

void pad(std::string &archive)
{
    archive.append((kAlign - archive.size() % kAlign) % kAlign, '\0');
}

}  // namespace

void CpioWriter::entry(std::string_view path, uint32_t mode, std::string_view content,
                       uint32_t major, uint32_t minor)
{
    // Fields: magic, inode, mode, uid, gid, links, mtime, size, device numbers of the file system,
    // device numbers of a device file, size of the name, checksum
    archive_ += fmt::format(
        "070701{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}",
        ++inode_, mode, 0, 0, 1, 0, content.size(), 0, 0, major, minor, path.size() + 1, 0);
    archive_ += path;
    archive_ += '\0';
    pad(archive_);
    archive_ += content;
    pad(archive_);
}

void CpioWriter::parents(std::string_view path)
{
    size_t slash = path.rfind('/');
    if (slash != std::string_view::npos)
        folder(path.substr(0, slash));
}

void CpioWriter::folder(std::string_view path)
{
    if (!folders_.emplace(path).second)
        return;
    parents(path);
    entry(path, S_IFDIR | 0755, {}, 0, 0);
}

void CpioWriter::file(std::string_view path, std::string_view content, bool executable)
{
    parents(path);
    entry(path, S_IFREG | (executable ? 0755 : 0644), content, 0, 0);
}

void CpioWriter::link(std::string_view path, std::string_view target)
{
    parents(path);
    entry(path, S_IFLNK | 0777, target, 0, 0);
}

void CpioWriter::character_device(std::string_view path, uint32_t major, uint32_t minor)
{
    parents(path);
    entry(path, S_IFCHR | 0600, {}, major, minor);
}

std::string CpioWriter::finish()
{
    entry("TRAILER!!!", 0, {}, 0, 0);
    folders_.clear();
    inode_ = 0;
    return std::exchange(archive_, {});
}

}  // namespace pmukit::vm
