// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_text.hpp"

#include <fmt/core.h>

#include <fstream>
#include <iterator>

namespace pmukit::vm {

std::vector<std::string> lines_of(std::string_view text)
{
    std::vector<std::string> lines;
    while (!text.empty()) {
        size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        while (!line.empty() && line.back() == '\r')
            line.remove_suffix(1);
        lines.emplace_back(line);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

std::vector<std::string> words_of(std::string_view text)
{
    constexpr std::string_view kBlanks = " \t";
    std::vector<std::string> words;
    size_t begin = text.find_first_not_of(kBlanks);
    while (begin != std::string_view::npos) {
        size_t end = text.find_first_of(kBlanks, begin);
        words.emplace_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(kBlanks, end);
    }
    return words;
}

Result<std::map<std::string, std::string>> parse_settings(std::string_view text)
{
    std::map<std::string, std::string> settings;
    for (const std::string &line : lines_of(text)) {
        if (line.empty() || line[0] == '#')
            continue;
        size_t equals = line.find('=');
        if (equals == std::string::npos || equals == 0)
            return Error{Errc::kDamaged, fmt::format("'{}' is not NAME=VALUE", line)};
        settings[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return settings;
}

std::string expand(std::string_view text, const std::map<std::string, std::string> &values)
{
    std::string out;
    while (!text.empty()) {
        size_t open = text.find('{');
        size_t close = open == std::string_view::npos ? open : text.find('}', open);
        if (close == std::string_view::npos)
            return out.append(text);
        auto found = values.find(std::string(text.substr(open + 1, close - open - 1)));
        out += text.substr(0, open);
        out += found == values.end() ? text.substr(open, close - open + 1)
                                     : std::string_view(found->second);
        text.remove_prefix(close + 1);
    }
    return out;
}

std::string shell_quote(std::string_view word)
{
    std::string quoted = "'";
    for (char c : word)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

Result<std::string> read_file(const std::filesystem::path &path)
{
    std::ifstream in(path, std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad())
        return Error{Errc::kIo, fmt::format("cannot read {}", path.string())};
    return content;
}

Result<void> write_file(const std::filesystem::path &path, std::string_view content)
{
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out)
        return Error{Errc::kIo, fmt::format("cannot write {}", path.string())};
    return {};
}

}  // namespace pmukit::vm
