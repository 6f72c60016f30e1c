// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "mutate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>

namespace pmukit::mutants {
namespace {

// Returns the end of the comment, string or preprocessor line that begins at `at`, or `at` if code
// begins there.
size_t skip_non_code(std::string_view text, size_t at)
{
    auto behind = [&](std::string_view closing, size_t from) {
        size_t end = text.find(closing, from);
        return end == std::string_view::npos ? text.size() : end + closing.size();
    };
    if (text.substr(at, 2) == "//")
        return std::min(text.find('\n', at), text.size());
    if (text.substr(at, 2) == "/*")
        return behind("*/", at + 2);
    bool digit_separator = at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0;
    if (text[at] == '"' || (text[at] == '\'' && !digit_separator)) {
        size_t i = at + 1;
        while (i < text.size() && text[i] != text[at] && text[i] != '\n')
            i += text[i] == '\\' ? 2 : 1;
        return std::min(i + 1, text.size());
    }
    bool line_starts = at == 0 || text[at - 1] == '\n';
    if (line_starts && text[at] == '#') {
        size_t end = text.find('\n', at);
        while (end != std::string_view::npos && text[end - 1] == '\\')
            end = text.find('\n', end + 1);
        return std::min(end, text.size());
    }
    return at;
}

// Returns the text with its comments, strings and preprocessor lines blanked. The length stays the
// same, so that positions in both texts agree.
std::string code_only(std::string_view text)
{
    std::string code(text);
    for (size_t at = 0; at < text.size();) {
        size_t end = skip_non_code(text, at);
        for (size_t i = at; i < end; i++)
            if (code[i] != '\n')
                code[i] = ' ';
        at = std::max(end, at + 1);
    }
    return code;
}

// The position after the bracket that closes the one at `open`.
std::optional<size_t> behind_bracket(std::string_view code, size_t open)
{
    int depth = 0;
    for (size_t i = open; i < code.size(); i++) {
        if (code[i] == '(')
            depth++;
        if (code[i] == ')' && --depth == 0)
            return i + 1;
    }
    return std::nullopt;
}

struct Range {
    size_t at;
    size_t length;
};

// Arguments of a call whose brackets are [open, end).
std::vector<Range> arguments(std::string_view code, size_t open, size_t end)
{
    std::vector<Range> list;
    int depth = 0;
    size_t start = open + 1;
    for (size_t i = open; i < end; i++) {
        char c = code[i];
        depth += c == '(' || c == '[' || c == '{';
        depth -= c == ')' || c == ']' || c == '}';
        if ((c == ',' && depth == 1) || i + 1 == end) {
            list.push_back({start, i - start});
            start = i + 1;
        }
    }
    return list;
}

struct Source {
    std::string_view text;
    std::string code;
};

template <typename Found>
void for_each_match(const Source &source, const std::regex &pattern, Found found)
{
    for (auto hit = std::sregex_iterator(source.code.begin(), source.code.end(), pattern);
         hit != std::sregex_iterator(); ++hit)
        found(*hit);
}

// Replaces min(a, b) by (a), and by (b), to remove the clamp.
void drop_clamps(const Source &source, std::vector<Mutant> &out)
{
    static const std::regex kClamp(R"(\b(?:std::)?(min|max|clamp)(_t)?(?:<[\w ]+>)?\()");
    for_each_match(source, kClamp, [&](const std::smatch &hit) {
        auto at = static_cast<size_t>(hit.position());
        size_t open = at + static_cast<size_t>(hit.length()) - 1;
        auto end = behind_bracket(source.code, open);
        if (!end)
            return;
        auto args = arguments(source.code, open, *end);
        size_t first = hit[2].matched ? 1 : 0;
        if (args.size() < first + 2)
            return;
        size_t choices = hit[1] == "clamp" ? 1 : 2;
        for (size_t i = first; i < first + choices; i++) {
            std::string value(source.text.substr(args[i].at, args[i].length));
            out.push_back({"drop-clamp", at, *end - at, "(" + value + ")"});
        }
    });
}

// Replaces FIELD_GET(A, x) by FIELD_GET(B, x), where B is the next mask used in the file.
void swap_fields(const Source &source, std::vector<Mutant> &out)
{
    static const std::regex kField(R"(\bFIELD_(?:GET|PREP)\((\w+))");
    std::vector<std::string> masks;
    for_each_match(source, kField, [&](const std::smatch &hit) {
        if (std::ranges::find(masks, hit[1].str()) == masks.end())
            masks.push_back(hit[1]);
    });
    if (masks.size() < 2)
        return;
    for_each_match(source, kField, [&](const std::smatch &hit) {
        auto next = static_cast<size_t>(std::ranges::find(masks, hit[1].str()) - masks.begin() + 1);
        out.push_back({"swap-field", static_cast<size_t>(hit.position(1)),
                       static_cast<size_t>(hit.length(1)), masks[next % masks.size()]});
    });
}

// Makes the condition of `if (bad) return ...` false.
void drop_checks(const Source &source, std::vector<Mutant> &out)
{
    static const std::regex kIf(R"(\bif \()");
    static const std::regex kLeaves(R"(^\s*\{?\s*(?:return|continue|break|goto)\b)");
    for_each_match(source, kIf, [&](const std::smatch &hit) {
        size_t open = static_cast<size_t>(hit.position() + hit.length()) - 1;
        auto end = behind_bracket(source.code, open);
        if (!end ||
            !std::regex_search(source.code.begin() + static_cast<std::ptrdiff_t>(*end),
                               source.code.end(), kLeaves, std::regex_constants::match_continuous))
            return;
        std::string condition(source.text.substr(open, *end - open));
        if (condition.find(';') != std::string::npos)  // if (init; condition)
            return;
        out.push_back({"drop-check", open, *end - open, "(0 && " + condition + ")"});
    });
}

struct Rewrite {
    std::string_view kind;
    std::string_view before;
    std::string_view after;
};

// Blanks on both sides exclude templates, pointers and shifts.
constexpr std::array kRewrites = {
    Rewrite{"shift-compare", " >= ", " > "},  Rewrite{"shift-compare", " > ", " >= "},
    Rewrite{"shift-compare", " <= ", " < "},  Rewrite{"shift-compare", " < ", " <= "},
    Rewrite{"shift-compare", " == ", " != "}, Rewrite{"shift-compare", " != ", " == "},
    Rewrite{"flip-logic", " && ", " || "},    Rewrite{"flip-logic", " || ", " && "},
    Rewrite{"off-by-one", " + 1", " + 0"},    Rewrite{"off-by-one", " - 1", " - 0"},
};

void rewrite(const Source &source, std::vector<Mutant> &out)
{
    for (const Rewrite &rule : kRewrites)
        for (size_t at = source.code.find(rule.before); at != std::string::npos;
             at = source.code.find(rule.before, at + 1)) {
            size_t end = at + rule.before.size();
            bool number_goes_on = rule.kind == "off-by-one" && end < source.code.size() &&
                                  (std::isalnum(static_cast<unsigned char>(source.code[end])) ||
                                   source.code[end] == '.');
            if (!number_goes_on)
                out.push_back({rule.kind, at, rule.before.size(), std::string(rule.after)});
        }
}

// Removes statements such as x |= y; x &= ~y; x += y; x++; so that state is never updated, or a W1C
// bit is never cleared.
void drop_updates(const Source &source, std::vector<Mutant> &out)
{
    static const std::regex kUpdate(
        R"(\n[ \t]+([\w\->.\[\]*]+ (?:\||&|\+|-)= [^;\n]+|[\w\->.\[\]]+(?:\+\+|--)|(?:\+\+|--)[\w\->.\[\]]+);)");
    for_each_match(source, kUpdate, [&](const std::smatch &hit) {
        out.push_back({"drop-update", static_cast<size_t>(hit.position(1)),
                       static_cast<size_t>(hit.length(1)), ""});
    });
}

std::string_view trimmed(std::string_view line)
{
    size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos)
        return {};
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

struct Line {
    size_t at;
    std::string_view text;
};

std::vector<Line> lines_of(std::string_view text)
{
    std::vector<Line> lines;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back({at, text.substr(at, end - at)});
        at = end + 1;
    }
    return lines;
}

// Returns the rest of the line if the line begins with the word.
std::optional<std::string> after_word(std::string_view line, std::string_view word)
{
    if (!line.starts_with(word) || (line.size() > word.size() && line[word.size()] != ' '))
        return std::nullopt;
    return std::string(trimmed(line.substr(word.size())));
}

Error bad_line(size_t number, const std::string &why)
{
    return Error{Errc::kDamaged, "line " + std::to_string(number) + ": " + why};
}

Result<void> check_whole(const std::vector<HandMutant> &list, size_t number)
{
    if (list.empty())
        return {};
    const HandMutant &last = list.back();
    if (last.file.empty() || last.tests.empty() || last.before.empty())
        return bad_line(number,
                        "mutant '" + last.name + "' needs file, tests and at least one '-' line");
    return {};
}

// Adds a line to the mutant. Returns false if it is not a field of a mutant.
bool take_field(HandMutant &mutant, std::string_view line)
{
    if (auto file = after_word(line, "file"))
        mutant.file = *file;
    else if (auto tests = after_word(line, "tests"))
        mutant.tests = *tests;
    else if (auto before = after_word(line, "-"))
        mutant.before.push_back(*before);
    else if (auto after = after_word(line, "+"))
        mutant.after.push_back(*after);
    else
        return false;
    return true;
}

bool same_lines(const std::vector<Line> &lines, size_t first,
                const std::vector<std::string> &wanted)
{
    if (wanted.size() > lines.size() - first)
        return false;
    for (size_t i = 0; i < wanted.size(); i++)
        if (trimmed(lines[first + i].text) != wanted[i])
            return false;
    return true;
}

}  // namespace

std::vector<Mutant> list_mutants(std::string_view text)
{
    Source source{text, code_only(text)};
    std::vector<Mutant> out;
    drop_clamps(source, out);
    swap_fields(source, out);
    drop_checks(source, out);
    rewrite(source, out);
    drop_updates(source, out);
    return out;
}

std::string mutated(std::string_view text, const Mutant &mutant)
{
    return std::string(text.substr(0, mutant.at)) + mutant.with +
           std::string(text.substr(mutant.at + mutant.length));
}

size_t line_of(std::string_view text, size_t at)
{
    return static_cast<size_t>(std::ranges::count(text.substr(0, at), '\n')) + 1;
}

Result<std::vector<HandMutant>> parse_hand_mutants(std::string_view text)
{
    std::vector<HandMutant> list;
    size_t number = 0;
    for (const Line &raw : lines_of(text)) {
        number++;
        std::string_view line = trimmed(raw.text);
        if (line.empty() || line.starts_with('#'))
            continue;
        if (auto name = after_word(line, "mutant")) {
            if (auto whole = check_whole(list, number); !whole)
                return whole.error();
            list.push_back({*name, "", "", {}, {}});
            continue;
        }
        if (list.empty() || !take_field(list.back(), line))
            return bad_line(number, "expected mutant, file, tests, '-' or '+'");
    }
    if (auto whole = check_whole(list, number); !whole)
        return whole.error();
    return list;
}

Result<std::string> mutated(std::string_view text, const HandMutant &mutant)
{
    std::vector<Line> lines = lines_of(text);
    std::optional<size_t> found;
    for (size_t first = 0; first < lines.size(); first++) {
        if (!same_lines(lines, first, mutant.before))
            continue;
        if (found)
            return Error{Errc::kDamaged,
                         mutant.name + ": its lines occur more than once in " + mutant.file};
        found = first;
    }
    if (!found)
        return Error{Errc::kDamaged,
                     mutant.name + ": its lines are not in " + mutant.file + " any more"};

    const Line &last = lines[*found + mutant.before.size() - 1];
    std::string with;
    for (const std::string &line : mutant.after)
        with += (with.empty() ? "" : "\n") + line;
    size_t at = lines[*found].at;
    return mutated(text, Mutant{"hand", at, last.at + last.text.size() - at, with});
}

}  // namespace pmukit::mutants
