// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>

#include "base/number.hpp"
#include "record/pfm_events.hpp"

namespace pmukit::record {
namespace {

constexpr std::string_view kMarks = "{,}";

Error bad_list(std::string_view list, size_t at, const std::string &why)
{
    return Error{Errc::kUsage,
                 "--pfm-events '" + std::string(list) + "': character " + std::to_string(at + 1) +
                     ": " + why,
                 at};
}

// Parses the list from left to right, and notes the offset of each name.
class ListParser {
public:
    explicit ListParser(std::string_view list) : list_(list) {}

    Result<std::vector<PfmName>> parse()
    {
        while (at_ < list_.size()) {
            const size_t end = std::min(list_.find_first_of(kMarks, at_), list_.size());
            if (Result<void> taken = name(end); !taken)
                return taken.error();
            if (end == list_.size())
                break;
            if (Result<void> taken = mark(end); !taken)
                return taken.error();
            at_ = end + 1;
        }
        if (open_)
            return bad_list(list_, *open_, "the '}' that closes this group is missing");
        if (names_.empty() || wants_name_)
            return bad_list(list_, list_.empty() ? 0 : list_.size() - 1, "a name is missing");
        return std::move(names_);
    }

private:
    Result<void> name(size_t end)
    {
        const std::string_view word = trim(list_.substr(at_, end - at_));
        if (word.empty())
            return {};
        const size_t at = static_cast<size_t>(word.data() - list_.data());
        if (!wants_name_)
            return bad_list(list_, at, "a comma is missing before this name");
        names_.push_back({std::string(word), at, leader_});
        if (open_ && !leader_)
            leader_ = names_.size() - 1;
        wants_name_ = false;
        return {};
    }

    Result<void> mark(size_t at)
    {
        const char mark = list_[at];
        if (mark == '{') {
            if (open_ || !wants_name_)
                return bad_list(
                    list_, at, "a group can begin only after a comma and not inside another group");
            open_ = at;
            return {};
        }
        if (wants_name_)
            return bad_list(list_, at, "a name is missing before this");
        if (mark == ',') {
            wants_name_ = true;
            return {};
        }
        if (!open_)
            return bad_list(list_, at, "there is no '{' for this");
        open_.reset();
        leader_.reset();
        return {};
    }

    std::string_view list_;
    size_t at_ = 0;
    bool wants_name_ = true;
    std::optional<size_t> open_, leader_;
    std::vector<PfmName> names_;
};

}  // namespace

Result<std::vector<PfmName>> parse_pfm_list(std::string_view list)
{
    return ListParser(list).parse();
}

}  // namespace pmukit::record
