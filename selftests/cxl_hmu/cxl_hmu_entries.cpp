// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cxl_hmu_entries.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>

namespace pmukit::checker {

namespace {

constexpr std::string_view kLogHead = "# pmukit entries log 1";
constexpr std::string_view kWordsOpen = "words={";
constexpr size_t kEntryDigits = 16;
constexpr size_t kFixedWords = 2;  // words of a record before the extra words
constexpr unsigned kExtraShift = 56;

std::optional<uint64_t> number(std::string_view text, int base)
{
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::optional<uint64_t> entry_line(std::string_view line)
{
    return line.size() == kEntryDigits ? number(line, 16) : std::nullopt;
}

std::vector<std::string> words_of(const std::string &line)
{
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

Error damaged(std::string_view what, size_t line_number, std::string_view line)
{
    return Error{Errc::kDamaged, fmt::format("{}, line {}: '{}'", what, line_number, line)};
}

// `words`: the words of a line "<instance> <epoch> <entry> [dropped]" of the entries log.
bool add_log_line(ModelRun &run, const std::vector<std::string> &words)
{
    bool dropped = words.size() == 4 && words[3] == "dropped";
    if (words.size() != 3 && !dropped)
        return false;
    auto epoch = number(words[1], 10);
    auto entry = entry_line(words[2]);
    if (!epoch || !entry)
        return false;
    run.epochs = std::max(run.epochs, *epoch + 1);
    if (dropped)
        run.dropped++;
    else
        run.entries.push_back(*entry);
    return true;
}

// `text`: the words of a record, as the trace event prints them between braces.
bool add_record(std::vector<uint64_t> &entries, std::string_view text)
{
    std::vector<uint64_t> words;
    while (!text.empty()) {
        std::string_view word = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (word.starts_with("0x"))
            word.remove_prefix(2);
        auto value = number(word, 16);
        if (!value)
            return false;
        words.push_back(*value);
    }
    if (words.size() < kFixedWords)
        return false;
    size_t header = kFixedWords + (words[0] >> kExtraShift);
    if (header > words.size())
        return false;
    entries.insert(entries.end(), words.begin() + static_cast<std::ptrdiff_t>(header), words.end());
    return true;
}

}  // namespace

Result<std::vector<ModelRun>> read_entries_log(std::string_view text, std::string_view instance)
{
    std::istringstream in{std::string(text)};
    std::vector<ModelRun> runs;
    std::string line;
    size_t line_number = 1;
    if (!std::getline(in, line) || line != kLogHead)
        return damaged("entries log", line_number, line);
    std::string enabled = fmt::format("# {} enabled", instance);
    while (std::getline(in, line)) {
        line_number++;
        if (line == enabled)
            runs.emplace_back();
        std::vector<std::string> words = words_of(line);
        if (line.starts_with('#') || words.empty() || words[0] != instance)
            continue;
        if (runs.empty() || !add_log_line(runs.back(), words))
            return damaged("entries log", line_number, line);
    }
    return runs;
}

Result<std::vector<uint64_t>> read_dump(std::string_view text)
{
    std::istringstream in{std::string(text)};
    std::vector<uint64_t> entries;
    bool any_record = false;
    for (std::string line; std::getline(in, line);) {
        any_record = any_record || line.starts_with("Header 0");
        if (auto entry = entry_line(line))
            entries.push_back(*entry);
    }
    if (!any_record)
        return Error{Errc::kNotFound, "dump: no record"};
    return entries;
}

Result<std::vector<uint64_t>> read_trace(std::string_view text)
{
    std::istringstream in{std::string(text)};
    std::vector<uint64_t> entries;
    bool any_record = false;
    size_t line_number = 0;
    for (std::string line; std::getline(in, line);) {
        line_number++;
        size_t open = line.find(kWordsOpen), close = line.rfind('}');
        if (open == std::string::npos)
            continue;
        size_t begin = open + kWordsOpen.size();
        if (close == std::string::npos || close < begin ||
            !add_record(entries, std::string_view(line).substr(begin, close - begin)))
            return damaged("trace", line_number, line);
        any_record = true;
    }
    if (!any_record)
        return Error{Errc::kNotFound, "trace: no record"};
    return entries;
}

Result<LossCase> read_loss_case(std::string_view text)
{
    LossCase seen;
    std::map<std::string, uint64_t *> wanted = {{"enables", &seen.enables},
                                                {"handed", &seen.handed},
                                                {"lost", &seen.lost},
                                                {"overflow", &seen.overflow}};
    std::istringstream in{std::string(text)};
    size_t line_number = 0;
    for (std::string line; std::getline(in, line);) {
        line_number++;
        if (auto entry = entry_line(line)) {
            seen.entries.push_back(*entry);
            continue;
        }
        std::vector<std::string> words = words_of(line);
        auto key = words.size() == 2 ? wanted.find(words[0]) : wanted.end();
        auto value = words.size() == 2 ? number(words[1], 10) : std::nullopt;
        if (key == wanted.end() || !value)
            return damaged("loss case", line_number, line);
        *key->second = *value;
        wanted.erase(key);
    }
    if (!wanted.empty())
        return Error{Errc::kDamaged,
                     fmt::format("loss case: does not say '{}'", wanted.begin()->first)};
    return seen;
}

bool is_subsequence(const std::vector<uint64_t> &part, const std::vector<uint64_t> &whole)
{
    auto at = whole.begin();
    for (uint64_t entry : part) {
        at = std::find(at, whole.end(), entry);
        if (at == whole.end())
            return false;
        ++at;
    }
    return true;
}

Result<ModelRun> join_runs(const std::vector<ModelRun> &runs, size_t first, size_t count)
{
    if (first > runs.size() || count > runs.size() - first)
        return Error{Errc::kNotFound, fmt::format("the model was enabled {} times, not {}",
                                                  runs.size(), first + count)};
    ModelRun sum;
    for (size_t i = first; i < first + count; i++) {
        sum.entries.insert(sum.entries.end(), runs[i].entries.begin(), runs[i].entries.end());
        sum.epochs = std::max(sum.epochs, runs[i].epochs);
        sum.dropped += runs[i].dropped;
    }
    return sum;
}

}  // namespace pmukit::checker
