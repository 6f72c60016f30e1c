// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/counted.hpp"

#include <algorithm>
#include <span>

namespace pmukit {
namespace {

struct Word {
    std::string_view plural, singular;
};
constexpr Word kNouns[] = {
    {"accesses", "access"},    {"bytes", "byte"},     {"completions", "completion"},
    {"counts", "count"},       {"entries", "entry"},  {"frames", "frame"},
    {"functions", "function"}, {"groups", "group"},   {"losses", "loss"},
    {"monitors", "monitor"},   {"places", "place"},   {"ranges", "range"},
    {"readings", "reading"},   {"records", "record"}, {"requesters", "requester"},
    {"requests", "request"},   {"rows", "row"},       {"samples", "sample"},
    {"stacks", "stack"},       {"threads", "thread"}, {"ticks", "tick"},
    {"times", "time"},         {"TLPs", "TLP"},       {"units", "unit"},
};
constexpr Word kVerbs[] = {
    {"are", "is"},   {"exceed", "exceeds"}, {"follow", "follows"},
    {"have", "has"}, {"held", "held"},      {"were", "was"},
};
// Words before a noun, and between two nouns
constexpr std::string_view kBefore[] = {"further", "more", "non-posted", "or"};

const Word *find(std::span<const Word> words, std::string_view plural)
{
    const auto found = std::ranges::find(words, plural, &Word::plural);
    return found == words.end() ? nullptr : &*found;
}

}  // namespace

std::string counted(uint64_t number, std::string_view text)
{
    // After "of", the number of a noun does not matter: "1 record of unknown types was skipped". A
    // second verb follows "and": "1 byte held no record and was skipped".
    enum { kNoun, kAfterOf, kAfterVerb, kRest } part = number == 1 ? kNoun : kRest;
    std::string all = std::to_string(number);
    std::string_view before;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find_first_of(" ,;:"));
        const Word *const noun = part == kNoun ? find(kNouns, word) : nullptr;
        const bool verb_may_follow = part != kRest && (part != kAfterVerb || before == "and");
        const Word *const verb = verb_may_follow ? find(kVerbs, word) : nullptr;
        all += ' ';
        all += noun ? noun->singular : verb ? verb->singular : word;
        text.remove_prefix(word.size());
        if (verb)
            part = kAfterVerb;
        else if (word == "of" && part == kNoun)
            part = kAfterOf;
        else if (part == kNoun && !noun && std::ranges::find(kBefore, word) == std::end(kBefore))
            part = kRest;
        if (!text.starts_with(' ')) {
            all += text;
            break;
        }
        before = word;
        text.remove_prefix(1);
    }
    return all;
}

}  // namespace pmukit
