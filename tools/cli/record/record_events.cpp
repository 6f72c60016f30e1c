// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_events.hpp"

#include <algorithm>

#include "cli/drivers.hpp"

namespace pmukit::cli {

Result<void> resolve_names(record::EventString &event, const std::string &root)
{
    const DriverDescription *driver = recorder_of_pmu(event.pmu);
    return driver && driver->resolve ? driver->resolve(event, root) : Result<void>();
}

std::optional<size_t> usual_aux_pages(const std::vector<record::EventString> &events,
                                      size_t page_bytes)
{
    size_t bytes = 0;
    for (const record::EventString &event : events)
        if (const DriverDescription *driver = recorder_of_pmu(event.pmu))
            bytes = std::max(bytes, driver->aux_bytes);
    return bytes ? std::optional(std::max<size_t>(1, bytes / page_bytes)) : std::nullopt;
}

std::optional<AuxtraceInfo> auxtrace_info_of(const std::vector<EventOfPmu> &events)
{
    std::optional<AuxtraceInfo> info;
    for (const EventOfPmu &event : events) {
        const DriverDescription *driver = recorder_of_pmu(event.pmu);
        const uint32_t type = driver ? driver->recorded->auxtrace_type : 0;
        if (type == 0 || (info && info->type != type))
            return std::nullopt;
        if (info)
            continue;
        info = AuxtraceInfo{type, {event.type}};
        const auto word_of = driver->recorded->auxtrace_word;
        if (const uint64_t word = word_of ? word_of(event.config, event.has_pattern) : 0; word != 0)
            info->words.push_back(word);
    }
    return info;
}

}  // namespace pmukit::cli
