// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/access_reader.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"

namespace pmukit::models::cxl_hmu {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = 256;  // LineFile::kMaxLineBytes
constexpr uint64_t kMaxWidth = 64;
constexpr std::string_view kFirstLines[] = {"# pmukit access log 1\n", "# pmukit source log 1\n"};

// The value of each hexadecimal digit; kNoDigit: any other character.
constexpr uint8_t kNoDigit = 16;
constexpr std::array<uint8_t, 256> kDigits = [] {
    std::array<uint8_t, 256> digits{};
    digits.fill(kNoDigit);
    for (unsigned i = 0; i < 10; i++)
        digits['0' + i] = static_cast<uint8_t>(i);
    for (unsigned i = 0; i < 6; i++)
        digits['a' + i] = digits['A' + i] = static_cast<uint8_t>(10 + i);
    return digits;
}();

// Takes a number from the start of the text. nullopt: no digit, or more than 64 bits.
std::optional<uint64_t> take_number(std::string_view &text, unsigned base)
{
    uint64_t value = 0;
    size_t at = 0;
    for (; at < text.size(); at++) {
        const uint8_t digit = kDigits[static_cast<uint8_t>(text[at])];
        if (digit >= base)
            break;
        if (value > (UINT64_MAX - digit) / base)
            return std::nullopt;
        value = value * base + digit;
    }
    text.remove_prefix(at);
    return at ? std::optional(value) : std::nullopt;
}

bool take(std::string_view &text, std::string_view word)
{
    if (!text.starts_with(word))
        return false;
    text.remove_prefix(word.size());
    return true;
}

}  // namespace

std::optional<Request> parse_access_line(std::string_view line)
{
    Request access;
    access.write = line.starts_with('W');
    if (!take(line, access.write ? "W 0x" : "R 0x"))
        return std::nullopt;
    const std::optional<uint64_t> dpa = take_number(line, 16);
    if (!dpa || !take(line, " "))
        return std::nullopt;
    const std::optional<uint64_t> width = take_number(line, 10);
    if (!width || *width == 0 || *width > kMaxWidth)
        return std::nullopt;
    access.dpa = *dpa;
    access.tee = take(line, " T");
    return line.empty() ? std::optional(access) : std::nullopt;
}

bool begins_as_access_log(std::string_view text)
{
    return std::ranges::any_of(kFirstLines,
                               [text](std::string_view line) { return text.starts_with(line); });
}

Result<AccessReader> AccessReader::open(const std::string &path)
{
    const std::string name = path == "-" ? "standard input" : path;
    Fd file(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return system_error(name, errno);
    AccessReader reader(name, std::move(file));
    while (reader.pending().find('\n') == std::string_view::npos &&
           reader.pending().size() < kMaxLineBytes) {
        const Result<bool> more = reader.fill();
        if (!more)
            return more.error();
        if (!*more)
            break;
    }
    if (!begins_as_access_log(reader.pending()))
        return Error{Errc::kUnsupported,
                     name + ": not an access log: its first line is not '# pmukit access log 1'"};
    return reader;
}

// Reads more bytes behind the unread ones. Returns false at the end of the file.
Result<bool> AccessReader::fill()
{
    buffer_.resize(kBufferBytes);
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    for (;;) {
        const ssize_t got = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error(name_, errno);
        end_ += static_cast<size_t>(got);
        return got != 0;
    }
}

Result<size_t> AccessReader::read(std::span<Request> into)
{
    size_t taken = 0;
    while (taken < into.size()) {
        const size_t bytes = pending().find('\n');
        if (bytes == std::string_view::npos && pending().size() < kMaxLineBytes) {
            const Result<bool> more = fill();
            if (!more)
                return more.error();
            if (*more)
                continue;
            is_cut_ = !pending().empty();
            return taken;
        }
        line_++;
        const std::string_view line = pending().substr(0, std::min(bytes, kMaxLineBytes));
        const bool is_comment = bytes <= kMaxLineBytes && (line.empty() || line.front() == '#');
        const std::optional<Request> access =
            bytes <= kMaxLineBytes ? parse_access_line(line) : std::nullopt;
        if (!access && !is_comment)
            return Error{Errc::kDamaged,
                         fmt::format("{}:{}: '{}' is not an access: R|W 0x<dpa> <width> [T]", name_,
                                     line_, escape(line))};
        begin_ += bytes + 1;
        if (access)
            into[taken++] = *access;
    }
    return taken;
}

}  // namespace pmukit::models::cxl_hmu
