// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/attribute.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::topology {
namespace {

constexpr size_t kMaxAttributeBytes = 4096;    // a page, the limit of sysfs
constexpr size_t kMaxNames = size_t{1} << 20;  // more names than a large machine has memory blocks
constexpr size_t kMaxShownBytes = 40;

}  // namespace

Error wrong_value(const std::string &path, std::string_view value, std::string_view how)
{
    std::string shown(value.substr(0, kMaxShownBytes));
    for (char &c : shown)
        if (c < ' ' || c > '~')
            c = '?';
    if (value.size() > kMaxShownBytes)
        shown.append("...");
    Error error = wrong_text(Errc::kDamaged, shown, how);
    error.message.insert(0, path + ": ");
    return error;
}

Result<std::string> read_attribute(const std::string &path)
{
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return system_error(path, errno);
    // In a saved copy, a pipe in place of the file would block the reader forever.
    if (!S_ISREG(status.st_mode))
        return Error{Errc::kDamaged, path + ": not a regular file"};
    Result<std::string> text = read_small_file(path);
    if (!text)
        return text.error();
    if (text->size() > kMaxAttributeBytes)
        return Error{Errc::kDamaged, path + ": longer than any attribute"};
    return std::string(trim(*text));
}

Result<std::optional<std::string>> read_optional_attribute(const std::string &path)
{
    Result<std::string> text = read_attribute(path);
    if (text)
        return std::optional<std::string>(std::move(*text));
    if (text.error().code == Errc::kNotFound)
        return std::optional<std::string>();
    return text.error();
}

Result<std::optional<uint64_t>> read_optional_number(const std::string &path)
{
    Result<std::optional<std::string>> text = read_optional_attribute(path);
    if (!text)
        return text.error();
    if (!*text)
        return std::optional<uint64_t>();
    Result<uint64_t> number = parse_u64(**text);
    if (!number)
        return wrong_value(path, **text, "is not a number of 64 bits");
    return std::optional<uint64_t>(*number);
}

Result<uint64_t> read_number(const std::string &path)
{
    Result<std::optional<uint64_t>> number = read_optional_number(path);
    if (!number)
        return number.error();
    if (!*number)
        return system_error(path, ENOENT);
    return **number;
}

std::string joined(std::string_view dir, std::string_view name)
{
    std::string path(dir);
    path.append("/").append(name);
    return path;
}

bool is_folder(const std::string &path)
{
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<std::vector<std::string>> list_folder(const std::string &path)
{
    auto close = [](DIR *folder) { ::closedir(folder); };
    std::unique_ptr<DIR, decltype(close)> folder(::opendir(path.c_str()), close);
    if (!folder)
        return system_error(path, errno);
    std::vector<std::string> names;
    for (;;) {
        errno = 0;
        const dirent *entry = ::readdir(folder.get());
        if (!entry && errno)
            return system_error(path, errno);
        if (!entry)
            break;
        if (names.size() == kMaxNames)
            return Error{Errc::kDamaged, path + ": too many names"};
        if (entry->d_name[0] != '.')
            names.emplace_back(entry->d_name);
    }
    std::ranges::sort(names);
    return names;
}

std::optional<uint32_t> number_after(std::string_view prefix, std::string_view name)
{
    if (!name.starts_with(prefix))
        return std::nullopt;
    std::string_view digits = name.substr(prefix.size());
    uint32_t value = 0;
    auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc() || end != digits.data() + digits.size())
        return std::nullopt;
    return value;
}

}  // namespace pmukit::topology
