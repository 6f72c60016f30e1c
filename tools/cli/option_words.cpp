// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/option_words.hpp"

#include <algorithm>
#include <string_view>

namespace pmukit::cli {
namespace {

constexpr std::string_view kEndOfOptions = "--";

bool takes_value(const CLI::App &command, const std::string &option)
{
    const CLI::Option *known = command.get_option_no_throw(option);
    return known && known->get_items_expected_max() > 0;
}

// Whether the value of the option is the word behind this one.
bool has_value_behind(const std::string &word, const CLI::App &command)
{
    if (word.starts_with(kEndOfOptions))
        return word.find('=') == std::string::npos && takes_value(command, word);
    // Several letters, of which the last may have its value in the same word: -ag, -m64, -o file
    for (size_t i = 1; i < word.size(); i++)
        if (takes_value(command, std::string("-") + word[i]))
            return i + 1 == word.size();
    return false;
}

}  // namespace

size_t first_word(const std::vector<std::string> &words, const CLI::App &command)
{
    size_t at = 0;
    while (at < words.size() && words[at] != kEndOfOptions && words[at] != "-" &&
           words[at].starts_with('-'))
        at += has_value_behind(words[at], command) ? 2 : 1;
    return std::min(at, words.size());
}

std::vector<std::string> with_marked_command(const std::vector<std::string> &words,
                                             const CLI::App &app)
{
    const auto at = words.begin() + 1;
    const auto name = at + static_cast<ptrdiff_t>(first_word({at, words.end()}, app));
    if (name == words.end())
        return words;
    const auto named = app.get_subcommands(
        [&name](const CLI::App *command) { return command->get_name() == *name; });
    if (named.empty() || !named.front()->get_option_no_throw("command"))
        return words;
    const auto own = name + 1;
    const auto program =
        own + static_cast<ptrdiff_t>(first_word({own, words.end()}, *named.front()));
    if (program == words.end() || *program == kEndOfOptions || *program == "-")
        return words;
    std::vector<std::string> marked(words.begin(), program);
    marked.emplace_back(kEndOfOptions);
    marked.insert(marked.end(), program, words.end());
    return marked;
}

}  // namespace pmukit::cli
