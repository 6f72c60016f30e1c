// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Memory limits in bytes: each table that grows with a recording has a row here. base_test compares
// the rows with Documentation/process/limits.rst.
#pragma once

#include <cstddef>

// LIMIT(name, bytes, what is stored, what happens above the limit)
#define PMUKIT_LIMITS(LIMIT)                                                                      \
    LIMIT(kEvents, 16 << 20, "events: attributes, names, names of PMUs",                          \
          "a file is rejected; in a pipe, further events are dropped and reported")               \
    LIMIT(kIds, 4 << 20, "ids of events", "a file is rejected; in a pipe, the event is dropped")  \
    LIMIT(kFront, 8 << 20, "pipe: records before the first record of the kernel",                 \
          "dropped and reported")                                                                 \
    LIMIT(kFeature, 16 << 20, "one section of the header", "not read; reported")                  \
    LIMIT(kFeatures, 64 << 20, "all sections of the header", "not read; reported")                \
    LIMIT(kCaps, 1 << 20, "capabilities of PMUs", "not read; reported")                           \
    LIMIT(kStreams, 8 << 20, "streams of AUX data, and their losses",                             \
          "data of further streams belongs to an unknown stream; their losses are reported at "   \
          "the AUX records")                                                                      \
    LIMIT(kHeld, 16 << 20, "pipe: data before the record that defines its format",                \
          "decoded as the data of one run")                                                       \
    LIMIT(kChains, 8 << 20, "hisi_ptt: starts of runs of entries in AUX data",                    \
          "further starts are unknown")                                                           \
    LIMIT(kAnnounced, 24 << 20, "threads of AUX data, by ranges",                                 \
          "further data belongs to no thread; reported")                                          \
    LIMIT(kWindow, 128 << 20, "window of compressed records", "damage")                           \
    LIMIT(kThreads, 24 << 20, "programs: names, forks, maps",                                     \
          "dropped and reported; exit status 1")                                                  \
    LIMIT(kCgroups, 4 << 20, "names of cgroups", "dropped and reported; exit status 1")           \
    LIMIT(kSymbols, 12 << 20, "names of functions of programs",                                   \
          "files are read again; a larger file has no names, which is reported")                  \
    LIMIT(kKallsyms, 24 << 20, "names of functions of the kernel (--kallsyms)", "an error")       \
    LIMIT(kInlines, 6 << 20, "inlined functions: their places in debug information",              \
          "files are read again; a larger file has no inlined functions, which is reported")      \
    LIMIT(kUnwinding, 8 << 20, "call frame information that libdw stores", "read again")          \
    LIMIT(kFrames, 4 << 20, "symbols of addresses in call chains", "looked up again")             \
    LIMIT(kStubs, 8 << 20, "names of the stubs of a program", "further stubs have no name")       \
    LIMIT(kQueue, 32 << 20, "records that wait to be sorted by time",                             \
          "returned too early; reported")                                                         \
    LIMIT(kWaiting, 8 << 20, "samples that wait for the user part of their call chain",           \
          "returned without it; reported")                                                        \
    LIMIT(kCounts, 8 << 20, "last counts of groups, by thread",                                   \
          "samples of further threads are dropped and reported")                                  \
    LIMIT(kTracing, 16 << 20, "copies of tracepoint formats", "an error")                         \
    LIMIT(kStacks, 8 << 20, "counted stacks, and their lines",                                    \
          "written without counting, so that lines repeat")                                       \
    LIMIT(kTraceNames, 4 << 20, "perfetto-trace: names, and curves of monitors",                  \
          "names are written again; further monitors have no curve")                              \
    LIMIT(kUnits, 32 << 20, "cxl_hmu: hot units of a device",                                     \
          "the colder half is dropped and reported")                                              \
    LIMIT(kRanges, 8 << 20, "hisi_ptt: address ranges", "counted together")                       \
    LIMIT(kRequesters, 16 << 20, "hisi_ptt: events, requesters, outstanding requests",            \
          "requesters are counted together, requests not matched; data of further events is "     \
          "dropped and reported, with exit status 1")                                             \
    LIMIT(kMonitors, 16 << 20, "cache_qos: monitors, their names and readings",                   \
          "readings of further monitors are dropped and reported")                                \
    LIMIT(kLines, 16 << 20, "a figure over time, by address",                                     \
          "rows cover more addresses, or no row is added")                                        \
    LIMIT(kPage, 8 << 20, "figures of a page", "dropped and reported")                            \
    LIMIT(kJoin, 24 << 20, "join: hot units, ranges and requesters, groups",                      \
          "not joined; reported")                                                                 \
    LIMIT(kWhatIf, 256 << 20, "what-if: units and pages, counters, for all combinations",         \
          "an error")                                                                             \
    LIMIT(kPolicy, 64 << 20, "what-if: pages that policies remember, for all combinations",       \
          "the older half is forgotten")                                                          \
    LIMIT(kFastPages, 64 << 20, "tierd: pages of the fast node", "further pages are not demoted") \
    LIMIT(kHotPages, 32 << 20, "tierd: hot pages of an interval",                                 \
          "further pages are not promoted; reported")

namespace pmukit::limits {

#define PMUKIT_LIMIT(name, bytes, what, beyond) constexpr size_t name = size_t{bytes};
PMUKIT_LIMITS(PMUKIT_LIMIT)
#undef PMUKIT_LIMIT

}  // namespace pmukit::limits
