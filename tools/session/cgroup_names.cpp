// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/cgroup_names.hpp"

#include <linux/perf_event.h>

#include "base/text.hpp"
#include "perfdata/records.hpp"

namespace pmukit::cli {

void CgroupNames::note(const perfdata::Record &record, std::endian order)
{
    const auto cgroup = record.type == PERF_RECORD_CGROUP
                            ? perfdata::parse_cgroup(record.body, order)
                            : std::nullopt;
    if (!cgroup || paths_.find(cgroup->id))
        return;
    std::string path = shortened(valid_utf8(cgroup->path), kMostPath);
    if (left_.take(sizeof(uint64_t) + sizeof path + path.capacity() + kNodeBytes))
        paths_[cgroup->id] = std::move(path);
    else
        dropped_++;
}

std::string_view CgroupNames::path(uint64_t id) const
{
    const auto *const known = paths_.find(id);
    return known ? std::string_view(known->second) : std::string_view();
}

}  // namespace pmukit::cli
