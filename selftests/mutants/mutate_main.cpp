// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// mutate list FILE             prints lines "number, kind, line, original text, replacement"
// mutate apply FILE NUMBER     prints FILE with this mutant
// mutate hand-list LIST        prints one line per mutant: name, file, tests
// mutate hand-apply LIST NAME  prints the mutant's file with the mutant
// mutate hand-check LIST       prints nothing if the lines of each mutant are in the tree
// Paths are relative to the working folder.
#include <fmt/core.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>

#include "mutate.hpp"

namespace {

using namespace std::string_view_literals;
using pmukit::Errc;
using pmukit::Error;
using pmukit::Result;
namespace mutants = pmukit::mutants;

Result<std::string> read_file(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    if (!in)
        return Error{Errc::kNotFound, path + ": cannot read"};
    return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string one_line(std::string_view text)
{
    std::string line;
    for (char c : text)
        if (c != '\n' && c != '\t')
            line += c;
        else if (!line.ends_with(' '))
            line += ' ';
    return line;
}

Result<std::string> list(const std::string &path)
{
    auto text = read_file(path);
    if (!text)
        return text;
    std::string out;
    size_t number = 0;
    for (const mutants::Mutant &mutant : mutants::list_mutants(*text))
        out += fmt::format("{}\t{}\t{}\t{}\t{}\n", number++, mutant.kind,
                           mutants::line_of(*text, mutant.at),
                           one_line(std::string_view(*text).substr(mutant.at, mutant.length)),
                           one_line(mutant.with));
    return out;
}

Result<std::string> apply(const std::string &path, std::string_view number)
{
    auto text = read_file(path);
    if (!text)
        return text;
    auto all = mutants::list_mutants(*text);
    size_t wanted = all.size();
    std::from_chars(number.data(), number.data() + number.size(), wanted);
    if (wanted >= all.size())
        return Error{Errc::kUsage,
                     fmt::format("{} has no mutant {}: 0..{}", path, number, all.size())};
    return mutants::mutated(*text, all[wanted]);
}

Result<std::vector<mutants::HandMutant>> read_hand(const std::string &path)
{
    auto text = read_file(path);
    if (!text)
        return text.error();
    auto parsed = mutants::parse_hand_mutants(*text);
    if (!parsed)
        return Error{parsed.error().code, path + ": " + parsed.error().message};
    return parsed;
}

Result<std::string> hand_list(const std::string &path)
{
    auto hand = read_hand(path);
    if (!hand)
        return hand.error();
    std::string out;
    for (const mutants::HandMutant &mutant : *hand)
        out += fmt::format("{}\t{}\t{}\n", mutant.name, mutant.file, mutant.tests);
    return out;
}

Result<std::string> apply_to_its_file(const mutants::HandMutant &mutant)
{
    auto text = read_file(mutant.file);
    if (!text)
        return text;
    return mutants::mutated(*text, mutant);
}

Result<std::string> hand_check(const std::string &path)
{
    auto hand = read_hand(path);
    if (!hand)
        return hand.error();
    for (const mutants::HandMutant &mutant : *hand)
        if (auto text = apply_to_its_file(mutant); !text)
            return text;
    return std::string();
}

Result<std::string> hand_apply(const std::string &path, std::string_view name)
{
    auto hand = read_hand(path);
    if (!hand)
        return hand.error();
    for (const mutants::HandMutant &mutant : *hand)
        if (mutant.name == name)
            return apply_to_its_file(mutant);
    return Error{Errc::kUsage, fmt::format("{} has no mutant '{}'", path, name)};
}

Result<std::string> run(std::span<char *const> words)
{
    auto is = [&](std::string_view verb, size_t count) {
        return words.size() == count && words[1] == verb;
    };
    if (is("list"sv, 3))
        return list(words[2]);
    if (is("apply"sv, 4))
        return apply(words[2], words[3]);
    if (is("hand-list"sv, 3))
        return hand_list(words[2]);
    if (is("hand-apply"sv, 4))
        return hand_apply(words[2], words[3]);
    if (is("hand-check"sv, 3))
        return hand_check(words[2]);
    return Error{Errc::kUsage,
                 "usage: mutate list FILE | apply FILE NUMBER | hand-list LIST | hand-apply LIST "
                 "NAME | hand-check LIST"};
}

}  // namespace

int main(int argc, char **argv)
{
    auto out = run({argv, static_cast<size_t>(argc)});
    if (!out) {
        fmt::print(stderr, "mutate: {}\n", out.error().message);
        return out.error().code == Errc::kUsage ? 2 : 1;
    }
    return std::fwrite(out->data(), 1, out->size(), stdout) == out->size() &&
                   std::fflush(stdout) == 0
               ? 0
               : 1;
}
