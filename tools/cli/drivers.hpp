// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The drivers of pmukit, as the commands see them. Each driver has a description in its folder,
// drivers/<driver>/; drivers.cpp lists all descriptions.
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
#include "cli/record/source_recorder.hpp"
#include "cli/terms.hpp"
#include "cli/top/live_driver.hpp"
#include "record/event_string.hpp"
#include "session/driver.hpp"

namespace pmukit::cli {

// A driver that is not part of pmukit: one that a driver of pmukit needs, or that competes with it
// for devices.
struct OtherDriver {
    std::string_view what;
    bool (*is_here)(const Host &host);
    Health health;
    std::string_view fix;
};

// What `pmukit list` shows about another source.
struct ListedSource {
    std::string mounted_on;
    std::vector<std::string> events{}, domains{};
    uint64_t rmids = 0;         // 0: unknown
    std::string assign_mode{};  // empty: each RMID has its own counters
    struct Group {
        std::string path, mode, members;
    };
    std::vector<Group> groups{};
    std::string meaning{};
};

// Another part of the kernel that has the data of a driver, without a module of pmukit. It has no
// perf events: pmukit record reads it and writes records of the driver.
struct OtherSource {
    std::string_view name;  // as Driver::other_source
    // True if the source has the hardware now: the module of the driver does not load meanwhile.
    bool (*is_mounted)(const Host &);
    // nullopt: the source is not there.
    std::optional<ListedSource> (*list)(const Host &);
    Result<std::unique_ptr<SourceRecorder>> (*open)(const record::EventString &, const Host &);
};

// A member that does not apply to a driver is nullptr or empty.
struct DriverDescription {
    std::string_view name;                            // also the name of its module and its folders
    std::span<const std::string_view> modules;        // kernel modules, except pmukit_common
    std::span<const std::string_view> counting_pmus;  // name prefixes of PMUs that only count

    // PMUs that record. It is nullptr if all PMUs of the driver only count.
    const Driver *recorded;
    std::span<const Term> terms;      // of the recording PMUs, in the order of format/
    std::string_view example_terms;   // event terms that `pmukit list` shows
    std::optional<int> record_clock;  // CLOCK_* of times in records; nullopt: the event's clock

    // For commands that read a recording
    std::unique_ptr<DriverDump> (*dump)(const Recording &, const DumpOptions &, Output &);
    ReportResult (*report)(const Recording &, const ReportOptions &);
    std::unique_ptr<DriverInject> (*inject)(const Recording &, RawSink &);
    std::unique_ptr<DriverExport> (*make_export)(RowsOut &);
    std::string_view export_table;  // name for exporter::find_table()
    std::unique_ptr<LiveDriver> (*live)(PmuNames);
    const char *trace_event;  // tracefs event that `live` reads

    // For `pmukit record`. resolve() turns names in an event into numbers. root: see
    // record::kSysfsPmus.
    Result<void> (*resolve)(record::EventString &event, const std::string &root);
    size_t aux_bytes;  // default size of the AUX area; 0: the default of all events

    // For `pmukit doctor`
    std::span<const OtherDriver> others;
    void (*check)(const Host &, std::vector<Finding> &);
    // Returns the terms of an event that doctor can open. If this is nullptr, doctor uses
    // example_terms.
    Result<std::string> (*probe_terms)(const Host &, const std::string &pmu);

    const OtherSource *other_source = nullptr;
};

// Sorted by name.
std::span<const DriverDescription *const> drivers();
// The drivers that record, for tools/session.
Drivers recorded_drivers();
// Returns the driver of a PMU that records; nullptr if no driver of pmukit records from this PMU.
const DriverDescription *recorder_of_pmu(std::string_view pmu);
// Returns nullptr if the name is not that of another source.
const OtherSource *other_source_of(std::string_view name);
// Returns a source that is mounted on this machine; nullptr: there is none.
const OtherSource *mounted_source(const Host &host);
// Returns nullptr if no driver has this name.
const DriverDescription *driver_of_name(std::string_view name);

// Adds the handlers of all drivers that have one: add_handlers(router, &DriverDescription::dump,
// ...)
template <typename Handler, typename Make, typename... Args>
void add_handlers(DriverRouter<Handler> &router, Make DriverDescription::*make, Args &&...args)
{
    for (const DriverDescription *driver : drivers())
        if (driver->*make)
            router.add(*driver->recorded, (driver->*make)(args...));
}

}  // namespace pmukit::cli
