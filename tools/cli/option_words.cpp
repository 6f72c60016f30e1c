// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/option_words.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "cli/perf_options.hpp"

namespace pmukit::cli {
namespace {

constexpr std::string_view kEndOfOptions = "--";

bool takes_value(const CLI::Option &option)
{
    return option.get_items_expected_max() > 0;
}

bool is_option(const std::string &word)
{
    return word.size() > 1 && word.starts_with('-');
}

// An option of a pmukit command, or an option of perf that pmukit rejects.
struct Known {
    std::string full;  // such as -g or --output
    bool takes_value = false;
    const PerfOption *refused = nullptr;
};

Known known_as(const CLI::Option &option)
{
    const bool has_name = !option.get_lnames().empty();
    return {has_name ? "--" + option.get_lnames().front() : "-" + option.get_snames().front(),
            takes_value(option)};
}

// Returns the error for an option without a value. CLI11 would take the next option as the value,
// so that -o -e EVENT would write a file called -e.
Error no_value(const std::string &option, const std::string &next)
{
    return Error{Errc::kUsage,
                 option + ": its value is missing" + (next.empty() ? "" : " before " + next)};
}

// Checks the options of a command that takes no workload.
Result<void> check_values(const std::vector<std::string> &words, size_t at, const CLI::App &command)
{
    for (; at < words.size() && words[at] != kEndOfOptions; at++) {
        const CLI::Option *option =
            is_option(words[at]) ? command.get_option_no_throw(words[at]) : nullptr;
        if (!option || !takes_value(*option))
            continue;
        const std::string next = ++at < words.size() ? words[at] : "";
        if (is_option(next) && command.get_option_no_throw(next.substr(0, next.find('='))))
            return no_value(known_as(*option).full, next);
    }
    return {};
}

class Words {
public:
    Words(const std::vector<std::string> &words, size_t at, const CLI::App &command)
        : words_(words),
          at_(at),
          command_(command),
          refused_(refused_options(command.get_name())),
          done_(words.begin(), words.begin() + static_cast<ptrdiff_t>(at))
    {
    }

    Result<std::vector<std::string>> arrange()
    {
        for (; at_ < words_.size() && is_option(words_[at_]) && words_[at_] != kEndOfOptions; at_++)
            if (Result<void> done = words_[at_].starts_with(kEndOfOptions)
                                        ? long_option(words_[at_])
                                        : letters(words_[at_]);
                !done)
                return done.error();
        if (at_ < words_.size() && words_[at_] != kEndOfOptions && words_[at_] != "-")
            done_.emplace_back(kEndOfOptions);
        done_.insert(done_.end(),
                     words_.begin() + static_cast<ptrdiff_t>(std::min(at_, words_.size())),
                     words_.end());
        return std::move(done_);
    }

private:
    std::optional<Known> letter(char of) const
    {
        if (const CLI::Option *own = command_.get_option_no_throw(std::string("-") + of))
            return known_as(*own);
        const auto refused = std::ranges::find(refused_, of, &PerfOption::letter);
        if (refused == refused_.end())
            return std::nullopt;
        return Known{std::string("-") + of, refused->takes == Takes::kValue, &*refused};
    }

    // Finds a long option by its name or by an unambiguous prefix of it.
    std::optional<Known> name(const std::string &text) const
    {
        std::vector<Known> begin_so;
        for (const CLI::Option *own : command_.get_options())
            for (const std::string &known : own->get_lnames()) {
                if (known == text)
                    return Known{"--" + known, takes_value(*own)};
                if (known.starts_with(text))
                    begin_so.push_back({"--" + known, takes_value(*own)});
            }
        for (const PerfOption &known : refused_) {
            const Known found{"--" + std::string(known.name), known.takes == Takes::kValue, &known};
            if (known.name == text)
                return found;
            if (known.name.starts_with(text))
                begin_so.push_back(found);
        }
        return begin_so.size() == 1 ? std::optional(begin_so.front()) : std::nullopt;
    }

    // True for --no-NAME of an option that pmukit does not have: without NAME is what it does.
    bool is_off_anyway(std::string_view text) const
    {
        constexpr std::string_view kNo = "no-";
        return text.starts_with(kNo) && std::ranges::find(refused_, text.substr(kNo.size()),
                                                          &PerfOption::name) != refused_.end();
    }

    Result<void> long_option(const std::string &word)
    {
        const size_t equals = word.find('=');
        const std::string text = word.substr(kEndOfOptions.size(), equals - kEndOfOptions.size());
        const std::optional<Known> known = name(text);
        if (!known && is_off_anyway(text))
            return {};
        if (!known) {
            done_.push_back(word);
            return {};
        }
        if (equals == word.npos)
            return take(*known, {});
        return take(*known, word.substr(equals + 1));
    }

    Result<void> letters(const std::string &word)
    {
        for (size_t i = 1; i < word.size(); i++) {
            const std::optional<Known> known = letter(word[i]);
            if (!known) {
                done_.push_back("-" + word.substr(i));
                return {};
            }
            const bool has_value = known->takes_value && i + 1 < word.size();
            if (Result<void> taken =
                    take(*known, has_value ? std::optional(word.substr(i + 1)) : std::nullopt);
                !taken || known->takes_value)
                return taken;
        }
        return {};
    }

    // Writes an option in full. `value` is the value in the same word as the option; nullopt if
    // that word has no value.
    Result<void> take(const Known &known, std::optional<std::string> value)
    {
        if (known.refused)
            return Error{Errc::kUsage,
                         known.refused->written() + ": " + std::string(known.refused->instead)};
        if (!value && known.takes_value) {
            if (at_ + 1 == words_.size() || is_option(words_[at_ + 1]))
                return no_value(known.full, at_ + 1 < words_.size() ? words_[at_ + 1] : "");
            value = words_[++at_];
        }
        const bool in_one_word = value && !value->empty() && known.full.starts_with(kEndOfOptions);
        done_.push_back(in_one_word ? known.full + "=" + *value : known.full);
        if (value && !in_one_word)
            done_.push_back(*value);
        return {};
    }

    const std::vector<std::string> &words_;
    size_t at_;
    const CLI::App &command_;
    std::span<const PerfOption> refused_;
    std::vector<std::string> done_;
};

// Index of the subcommand's name, which follows the global options.
size_t command_at(const std::vector<std::string> &words, const CLI::App &app)
{
    size_t at = 1;
    while (at < words.size() && is_option(words[at])) {
        const CLI::Option *known = app.get_option_no_throw(words[at]);
        at += known && takes_value(*known) ? 2 : 1;
    }
    return at;
}

}  // namespace

Result<std::vector<std::string>> arranged(const std::vector<std::string> &words,
                                          const CLI::App &app)
{
    const size_t at = command_at(words, app);
    if (at >= words.size())
        return words;
    const auto named = app.get_subcommands(
        [&](const CLI::App *command) { return command->get_name() == words[at]; });
    if (named.empty())
        return words;
    if (!named.front()->get_option_no_throw("command")) {
        const Result<void> good = check_values(words, at + 1, *named.front());
        return good ? Result<std::vector<std::string>>(words) : good.error();
    }
    return Words(words, at + 1, *named.front()).arrange();
}

}  // namespace pmukit::cli
