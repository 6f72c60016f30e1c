// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace pmukit::exporter {
namespace {

// Larger than the buffer of NewFile, so that NewFile writes it without another copy.
constexpr size_t kBufferBytes = (size_t{1} << 20) + (size_t{256} << 10);

}  // namespace

TextFile::TextFile(perfdata::NewFile file)
    : file_(std::move(file)), buffer_(new char[kBufferBytes]), size_(kBufferBytes)
{
}

Result<TextFile> TextFile::create(const std::string &path, const std::string &shown)
{
    if (path == "-") {
        Fd fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
        if (!fd)
            return system_error("standard output", errno);
        return TextFile(perfdata::NewFile::into(std::move(fd), "standard output"));
    }
    Result<perfdata::NewFile> file =
        perfdata::NewFile::create_shown(path, shown.empty() ? path : shown);
    if (!file)
        return file.error();
    return TextFile(std::move(*file));
}

void TextFile::make_room(size_t bytes)
{
    flush();
    if (bytes <= size_)
        return;
    buffer_.reset(new char[bytes]);
    size_ = bytes;
}

void TextFile::flush()
{
    if (state_ && used_ != 0)
        state_ = file_.put(as_bytes({buffer_.get(), used_}));
    used_ = 0;
}

void TextFile::text(std::string_view text)
{
    char *at = room(text.size());
    std::memcpy(at, text.data(), text.size());
    wrote(at + text.size());
}

Result<void> TextFile::finish()
{
    flush();
    if (!state_)
        return state_;
    return file_.finish();
}

}  // namespace pmukit::exporter
