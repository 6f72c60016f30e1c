// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Values that a stream lacks although no record is missing: a read failed, or files of resctrl
// vanished while it was recorded. The recorder ends the name of a group that was removed; the end
// of the default group, which cannot be removed, shows that resctrl was unmounted.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::cli {

enum class Missing { kFailed, kRemoved, kUnmounted };

struct MissingWords {
    const char *sentence;     // follows a count
    std::string_view kind;    // in the table `losses` of export
    bool is_counted = false;  // each is one reading; otherwise their number is unknown
};
// By Missing
constexpr std::array<MissingWords, 3> kMissing = {{
    {"readings are missing: the read failed (error)", "read-failed", true},
    {"groups of resctrl were removed: values after the last reading of each are missing",
     "group-removed"},
    {"times resctrl was unmounted: readings end there", "unmounted"},
}};

using MissingCounts = std::array<uint64_t, kMissing.size()>;  // by Missing

// Needs all records of one stream, in order and without duplicates.
class MissingValues {
public:
    void header(const decode::cache_qos::Header &header)
    {
        of_resctrl_ = header.backend == PMUKIT_CACHE_QOS_BACKEND_RESCTRL;
    }
    // The functions return what the record shows; nullopt: nothing is missing.
    std::optional<Missing> name(const decode::cache_qos::NamePart &part);
    std::optional<Missing> reading(const decode::cache_qos::Reading &reading)
    {
        return reading.status & PMUKIT_CACHE_QOS_S_ERROR ? count(Missing::kFailed) : std::nullopt;
    }
    const MissingCounts &counts() const { return counts_; }

private:
    std::optional<Missing> count(Missing what)
    {
        counts_[static_cast<size_t>(what)]++;
        return what;
    }

    bool of_resctrl_ = false;
    std::optional<uint32_t> default_group_;  // its monitor
    // The last monitor that ended, and its next life: each L3 has the record of the end.
    std::optional<std::pair<uint32_t, uint32_t>> ended_;
    MissingCounts counts_{};
};

inline std::optional<Missing> MissingValues::name(const decode::cache_qos::NamePart &part)
{
    if (!of_resctrl_)
        return std::nullopt;
    if (part.text == "/" && part.parts == 1)
        default_group_ = part.monitor;
    const std::pair end(part.monitor, part.life);
    if (!part.text.empty() || ended_ == end)
        return std::nullopt;
    ended_ = end;
    return count(part.monitor == default_group_ ? Missing::kUnmounted : Missing::kRemoved);
}

}  // namespace pmukit::cli
