// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Buffered output that does not forget errors: a full disk or a closed pipe makes the command fail.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "perfdata/new_file.hpp"

namespace pmukit::cli {

enum class Paint { kGreen, kYellow, kRed, kBold };

class Output {
public:
    Output(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    void text(std::string_view text);
    template <typename... Args>
    void print(fmt::format_string<Args...> format, Args &&...args)
    {
        append(buffer_, format, std::forward<Args>(args)...);
        flush_when_full();
    }
    // Words in a colour of the terminal, if there are colours.
    void set_color(bool on) { color_ = on; }
    std::string painted(Paint paint, std::string_view text) const;
    // Sixteen hexadecimal digits and a newline; the hot path of dump.
    void hex16_line(uint64_t value);

    // The reader of our output has gone: a pager that was closed.
    bool reader_left() const { return reader_left_; }
    // Must be called at the end: only its answer says whether everything was written.
    Result<void> finish();

private:
    void flush_when_full();
    void flush();
    void write(std::string_view text);

    int fd_;
    std::string name_;
    bool color_ = false, reader_left_ = false;
    std::string buffer_;
    Result<void> state_;
};

// What is raised when a field of any JSON output changes its name or meaning, or goes.
constexpr int kJsonSchemaVersion = 2;

// An object with fields, in one line, schema_version before them. Documentation/json.rst has the
// fields, json_writer.hpp writes what is long.
void print_json(const nlohmann::ordered_json &json, Output &out);

// A file of this content, complete but for its name; it goes when the program is killed before.
Result<perfdata::NewFile> unnamed_file(const std::string &path, const std::vector<Bytes> &content);
// The same, with its name.
Result<void> write_new_file(const std::string &path, Bytes content);

// "-", or a path of the same pipe or device as standard output (/dev/stdout): what is printed there
// would stand in the middle of it.
bool is_standard_output(const std::string &path);

// One line on standard error, as every diagnostic of the program.
void warn(const std::string &message);

}  // namespace pmukit::cli
