// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The drivers of the suite: what of each the commands know. A driver's folder, drivers/<driver>/,
// has its description; the list of all is in drivers.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/doctor_checks.hpp"
#include "cli/driver_handlers.hpp"
#include "cli/export/driver_export.hpp"
#include "cli/top/live_driver.hpp"
#include "record/event_string.hpp"
#include "session/driver.hpp"

namespace pmukit::cli {

// A driver of the kernel's own that takes the devices of ours, or is needed by it.
struct OtherDriver {
    std::string_view what;
    bool (*is_here)(const Host &host);
    Health health;
    std::string_view fix;
};

// What a driver lacks is nullptr, or empty.
struct DriverDescription {
    std::string_view name;                            // that of its module and of its folders
    std::span<const std::string_view> modules;        // pmukit_common aside
    std::span<const std::string_view> counting_pmus;  // PMUs that only count: how names begin

    // Its PMUs that record. nullptr: all of its PMUs only count.
    const Driver *recorded;
    std::string_view example_terms;   // of the line that `pmukit list` shows
    std::optional<int> record_clock;  // of times in its records, CLOCK_*; none: that of the event

    // Of a recording
    std::unique_ptr<DriverDump> (*dump)(const Recording &, const DumpOptions &, Output &);
    ReportResult (*report)(const Recording &, const ReportOptions &);
    std::unique_ptr<DriverInject> (*inject)(const Recording &, RawSink &);
    std::unique_ptr<DriverExport> (*make_export)(RowsOut &);
    std::string_view export_table;  // as exporter::find_table() has it
    std::unique_ptr<LiveDriver> (*live)(PmuNames);
    const char *trace_event;  // of tracefs, that `live` reads

    // While recording: names in an event become numbers. root: as record::kSysfsPmus.
    Result<void> (*resolve)(record::EventString &event, const std::string &root);
    size_t aux_bytes;  // of the AUX area where the user asks for none; 0: as any event's

    // For `pmukit doctor`
    std::span<const OtherDriver> others;
    void (*check)(const Host &, std::vector<Finding> &);
    // Terms of an event that can be opened. nullptr: example_terms.
    Result<std::string> (*probe_terms)(const Host &, const std::string &pmu);
};

// By name.
std::span<const DriverDescription *const> drivers();
// Those that record, for the session.
Drivers recorded_drivers();
// Of a PMU that records. nullptr: none of ours.
const DriverDescription *recorder_of_pmu(std::string_view pmu);
// nullptr: none of this name.
const DriverDescription *driver_of_name(std::string_view name);

// One handler for each driver that has this one: route(router, &DriverDescription::dump, ...)
template <typename Handler, typename Make, typename... Args>
void add_handlers(DriverRouter<Handler> &router, Make DriverDescription::*make, Args &&...args)
{
    for (const DriverDescription *driver : drivers())
        if (driver->*make)
            router.add(*driver->recorded, (driver->*make)(args...));
}

}  // namespace pmukit::cli
