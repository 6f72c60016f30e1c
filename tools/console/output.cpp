// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/output.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "console/exit_status.hpp"
#include "console/inherited.hpp"
#include "console/json_writer.hpp"
#include "console/temp_file.hpp"

namespace pmukit::cli {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr size_t kDirectBytes = size_t{32} << 10;  // longer texts are written without a copy

}  // namespace

void Output::text(std::string_view text)
{
    if (text.size() >= kDirectBytes) {
        flush();
        write(text);
        return;
    }
    buffer_ += text;
    flush_when_full();
}

void Output::hex16_line(uint64_t value)
{
    constexpr char kDigits[] = "0123456789abcdef";
    char line[17];
    for (int i = 15; i >= 0; i--, value >>= 4)
        line[i] = kDigits[value & 15];
    line[16] = '\n';
    buffer_.append(line, sizeof line);
    flush_when_full();
}

void Output::paint(Paint paint, std::string_view text)
{
    constexpr std::string_view kColors[] = {"\033[32m", "\033[33m", "\033[31m", "\033[1m"};
    if (!color_)
        return this->text(text);
    append(buffer_, "{}{}\033[0m", kColors[static_cast<size_t>(paint)], text);
    flush_when_full();
}

void Output::flush_when_full()
{
    if (buffer_.size() >= kBufferBytes)
        flush();
}

void Output::write(std::string_view text)
{
    if (!state_)
        return;
    state_ = write_all(fd_, as_bytes(text), name_);
    if (reader_left() && ends_with_reader_)
        end_without_reader();
}

void Output::flush()
{
    write(buffer_);
    buffer_.clear();
}

Result<void> Output::finish()
{
    flush();
    return state_;
}

void print_json(const nlohmann::ordered_json &json, Output &out)
{
    JsonWriter writer(out);
    writer.members(json);
    writer.finish();
}

Result<perfdata::NewFile> unnamed_file(const std::string &path, const std::vector<Bytes> &content)
{
    remove_when_killed(path);
    Result<perfdata::NewFile> file = perfdata::NewFile::create(path);
    if (!file)
        return file;
    Result<void> done;
    for (const Bytes piece : content)
        if (done)
            done = file->put(piece);
    if (done)
        done = file->complete();
    if (!done)
        return done.error();
    return file;
}

Result<void> write_new_file(const std::string &path, Bytes content)
{
    Result<perfdata::NewFile> file = unnamed_file(path, {content});
    return file ? file->finish() : file.error();
}

void end_without_reader()
{
    remove_temp_file();
    restore_inherited();
    ::raise(SIGPIPE);
    ::_exit(kExitFailed);  // the caller of the program ignores or blocks the signal
}

bool is_standard_output(const std::string &path)
{
    struct stat named {};
    struct stat out {};
    return path == "-" ||
           (::stat(path.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &out) == 0 &&
            named.st_dev == out.st_dev && named.st_ino == out.st_ino && !S_ISREG(out.st_mode));
}

void warn(const std::string &message)
{
    // An error here cannot be reported anywhere.
    (void)static_cast<bool>(write_all(
        STDERR_FILENO, as_bytes("pmukit: " + escape(message, "\n\t") + "\n"), "standard error"));
}

}  // namespace pmukit::cli
