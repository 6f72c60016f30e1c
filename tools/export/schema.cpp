// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/schema.hpp"

#include <algorithm>
#include <array>

namespace pmukit::exporter {
namespace {

constexpr std::array<Column, kOriginColumns> kOrigin = {{
    {"source", Kind::kWord, "model: the device was emulated; nothing: the recording does not say"},
    {"recording", Kind::kWord, "the recording: 16 digits that a copy has, too; nothing: a pipe"},
    {"host", Kind::kText, "the machine that was recorded"},
    {"boot", Kind::kText, "boot id of its kernel; nothing: the recording does not say"},
    {"driver", Kind::kWord,
     "whose data: the name of a table; nothing: of the recording as a whole"},
    {"pmu", Kind::kText, "the PMU's name in sysfs"},
    {"cpu", Kind::kNumber, "the CPU whose event it was"},
    {"time_ns", Kind::kNumber, "nanoseconds of the recording's clock, see below", true},
    {"wall_ns", Kind::kNumber, "the same since 1970 (UTC); nothing: the recording does not say"},
}};

template <size_t N>
constexpr std::array<Column, kOriginColumns + N> behind_origin(const Column (&own)[N])
{
    std::array<Column, kOriginColumns + N> all{};
    std::ranges::copy(kOrigin, all.begin());
    std::ranges::copy(own, all.begin() + kOriginColumns);
    return all;
}

constexpr auto kCxlHmu = behind_origin({
    {"sequence", Kind::kNumber, "number of the record that brought the entry"},
    {"unit_bytes", Kind::kNumber, "size of the unit of memory"},
    {"downsampling", Kind::kNumber, "accesses that a count of 1 represents"},
    {"flags", Kind::kNumber, "of the record, PMUKIT_CXL_HMU_F_*"},
    {"unit", Kind::kNumber, "number of the unit"},
    {"dpa", Kind::kAddress, "where the unit begins in the device; of records that say unit_bytes",
     true},
    {"count", Kind::kNumber, "as the device counted"},
    {"accesses", Kind::kNumber, "count times downsampling; nothing in always-on mode"},
});

constexpr auto kHisiPtt = behind_origin({
    {"format", Kind::kWord, "4dw or 8dw"},
    {"offset_bytes", Kind::kNumber, "of the entry in its stream"},
    {"ticks", Kind::kNumber, "the device's clock, unwrapped; its unit is not known"},
    {"type", Kind::kWord, "of the TLP: MRd, MWr, CplD ..."},
    {"requester", Kind::kBdf, "function that sent the request", true},
    {"tag", Kind::kNumber, "of the request that it is or answers"},
    {"length_dw", Kind::kNumber, "length in dwords"},
    {"bytes", Kind::kNumber, "of payload that count, or that a read asks for"},
    {"address", Kind::kAddress, "memory, I/O; register of a configuration request", true},
    {"target", Kind::kBdf, "of a configuration request or a message routed by id"},
    {"completer", Kind::kBdf, "of a completion"},
    {"status", Kind::kNumber, "of a completion: 0 success, 1 unsupported, 2 retry, 4 aborted"},
    {"byte_count", Kind::kNumber, "of a completion: bytes still to come, its own included"},
    {"message_code", Kind::kNumber, "of a message"},
    {"traffic_class", Kind::kNumber, "0 to 7"},
    {"pasid", Kind::kNumber, "of a prefix"},
});

constexpr auto kImc = behind_origin({
    {"pid", Kind::kNumber, "process that ran; nothing: it had exited", true},
    {"tid", Kind::kNumber, "thread that ran; nothing: it had exited"},
    {"comm", Kind::kText, "its name at that time; of a pipe, as far as it had come"},
    {"sequence", Kind::kNumber, "number of the sample; nothing in AUX data"},
    {"timebase_ticks", Kind::kNumber, "the processor's clock; nothing in samples without -R"},
    {"mode", Kind::kWord, "kernel, user, guest-kernel or guest-user"},
    {"ip", Kind::kAddress, "where the program was"},
    {"val", Kind::kAddress, "PIDR as the engine wrote it"},
    {"cpmc1", Kind::kNumber, "counter 1"},
    {"cpmc2", Kind::kNumber, "counter 2"},
    {"cpmc3", Kind::kNumber, "counter 3"},
    {"cpmc4", Kind::kNumber, "counter 4"},
});

constexpr auto kCacheQos = behind_origin({
    {"sequence", Kind::kNumber, "number of the reading"},
    {"kind", Kind::kWord, "what the monitor watches: machine, group, task, cpu or cgroup"},
    {"monitor", Kind::kNumber, "its number", true},
    {"domain", Kind::kNumber, "id of the L3"},
    {"event", Kind::kWord, "llc_occupancy, total_bytes, local_bytes or remote_bytes"},
    {"bytes", Kind::kNumber, "the value; an occupancy of now, a sum of the others"},
    {"raw", Kind::kNumber, "the same in units of the hardware"},
    {"bound_bytes", Kind::kNumber,
     "occupancy: the true value is at most this many bytes lower; nothing: resctrl"},
    {"age_ns", Kind::kNumber, "of the oldest part of the value"},
    {"generation", Kind::kNumber, "changes when the monitor's RMIDs change"},
    {"status", Kind::kNumber, "PMUKIT_CACHE_QOS_S_*"},
    {"cache_bytes", Kind::kNumber, "size of the L3, from the last header"},
    {"backend", Kind::kWord, "back-end: msr, sim or other, from the last header"},
    {"name", Kind::kText, "name of the monitor: comm, path or CPUs; nothing: unknown"},
    {"id", Kind::kNumber, "its process, thread or cgroup"},
    {"life", Kind::kNumber, "how often the number of the monitor was given out by then"},
});

constexpr auto kSamples = behind_origin({
    {"event", Kind::kText, "as it was recorded"},
    {"pid", Kind::kNumber, "process that ran; nothing: it had exited", true},
    {"tid", Kind::kNumber, "thread that ran; nothing: it had exited"},
    {"comm", Kind::kText, "its name at that time; of a pipe, as far as it had come"},
    {"mode", Kind::kWord, "kernel, user, guest-kernel, guest-user or hypervisor"},
    {"ip", Kind::kAddress, "where the program was"},
    {"addr", Kind::kAddress, "data address, if the event has one"},
    {"period", Kind::kNumber, "events that the sample represents"},
    {"count", Kind::kNumber, "of the event since it began; of groups (:S)"},
    {"callchain", Kind::kText, "addresses from the innermost, with ; between"},
    {"sym", Kind::kText, "the function at ip; nothing: unknown"},
    {"symoff_bytes", Kind::kNumber, "from the beginning of the function to ip"},
    {"dso", Kind::kText, "the program, library or part of the kernel at ip"},
    {"frames", Kind::kText, "what is at the addresses of callchain: see below"},
    {"cgroup", Kind::kText, "path of the cgroup that ran; nothing: not recorded"},
});

constexpr auto kLosses = behind_origin({
    {"kind", Kind::kWord, "see below", true},
    {"offset_bytes", Kind::kNumber, "where in the stream (damage: in the file)"},
    {"amount", Kind::kNumber, "how much; nothing: unknown"},
    {"measure", Kind::kWord, "of what: bytes, entries, readings, records or samples"},
    {"at_least", Kind::kNumber, "1: the amount is a lower bound; 0: it is exact"},
});

constexpr auto kRecordingRow = behind_origin({
    {"schema", Kind::kNumber, "version of these tables"},
    {"os_release", Kind::kText, "release of the recorded kernel"},
    {"clock", Kind::kText, "clock of time_ns; time_ns and wall_ns of this row are one moment"},
});

constexpr Table kTables[] = {
    {"cache_qos", "readings of cache_qos_aux", kCacheQos},
    {"cxl_hmu", "hot-list entries", kCxlHmu},
    {"hisi_ptt", "TLPs", kHisiPtt},
    {"imc", "samples of trace_imc", kImc},
    {"samples", "ordinary samples of every other event", kSamples},
    {"losses", "everything that is known to be missing", kLosses},
    {"recording", "the recording itself, in one row before all others", kRecordingRow},
};

}  // namespace

std::span<const Table> tables()
{
    return kTables;
}

const Table *find_table(std::string_view name)
{
    const auto found = std::ranges::find(kTables, name, &Table::name);
    return found == std::end(kTables) ? nullptr : found;
}

size_t column_of(const Table &table, std::string_view name)
{
    return static_cast<size_t>(std::ranges::find(table.columns, name, &Column::name) -
                               table.columns.begin());
}

}  // namespace pmukit::exporter
