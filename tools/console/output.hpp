// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Buffered output that remembers errors: a full disk makes the command fail.
#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/escape.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "perfdata/output/new_file.hpp"

namespace pmukit::cli {

enum class Paint { kGreen, kYellow, kRed, kBold };

class Output {
public:
    Output(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    // Writes a text as it is.
    void text(std::string_view text);
    // Formats values. Texts among them may come from a file or a device: they are escaped, line
    // ends too.
    template <typename... Args>
    void print(fmt::format_string<Args...> format, const Args &...args)
    {
        put(format, escaped(args)...);
    }
    // Writes a text in a color if set_color() has turned colors on.
    void paint(Paint paint, std::string_view text);
    void set_color(bool on) { color_ = on; }
    // Writes sixteen hexadecimal digits and a newline; the hot path of pmukit dump.
    void hex16_line(uint64_t value);

    // True if a write failed because the reader of the output, such as a pager, has exited.
    bool reader_left() const { return !state_ && state_.error().code == Errc::kReaderLeft; }
    // If `ends` is true, a write to a pipe without a reader ends the program by
    // end_without_reader().
    void end_with_reader(bool ends) { ends_with_reader_ = ends; }
    // Must be called at the end: only its result shows whether everything was written.
    Result<void> finish();

private:
    template <typename T>
    static decltype(auto) escaped(const T &value)
    {
        if constexpr (std::convertible_to<const T &, std::string_view>)
            return escape(value);
        else
            return (value);
    }
    template <typename... Args>
    void put(fmt::string_view format, const Args &...args)
    {
        append_values(buffer_, format, fmt::make_format_args(args...));
        flush_when_full();
    }
    void flush_when_full();
    void flush();
    void write(std::string_view text);

    int fd_;
    std::string name_;
    bool color_ = false, ends_with_reader_ = false;
    std::string buffer_;
    Result<void> state_;
};

// The version is raised when a field of any JSON output changes its name or meaning, or is removed.
constexpr int kJsonSchemaVersion = 2;

// Prints an object in one line, with schema_version before its fields. Documentation/json.rst lists
// the fields; json_writer.hpp is for long objects.
void print_json(const nlohmann::ordered_json &json, Output &out);

// Writes the content into an unfinished file, to which the caller gives its name with finish(). A
// signal that ends the program before removes the unfinished file (remove_when_killed()).
Result<perfdata::NewFile> unnamed_file(const std::string &path, const std::vector<Bytes> &content);
// Writes a file with this content under its final name.
Result<void> write_new_file(const std::string &path, Bytes content);

// Ends the program by SIGPIPE and without a message, as other programs do, when `head` or the like
// has closed the pipe of an output. Removes the unfinished file (remove_when_killed()).
[[noreturn]] void end_without_reader();

// True for "-" and for a path, such as /dev/stdout, of the pipe or device that is standard output.
// A command that writes a file there must not print text, which would get into the middle of the
// file.
bool is_standard_output(const std::string &path);

// Prints one line on standard error. All diagnostics of the program use it.
void warn(const std::string &message);

}  // namespace pmukit::cli
