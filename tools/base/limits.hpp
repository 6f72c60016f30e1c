// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Memory limits in bytes: each table that grows with a recording has a row here. base_test compares
// the rows with Documentation/process/limits.rst.
#pragma once

#include <cstddef>

// LIMIT(name, bytes, what is stored, what happens above the limit)
#define PMUKIT_LIMITS(LIMIT)                                                                      \
    LIMIT(kEvents, 16 << 20, "events: attributes, names, names of PMUs",                          \
          "a file is refused; of a pipe they are left out, which is said")                        \
    LIMIT(kIds, 4 << 20, "ids of events", "a file is refused; of a pipe the event is left out")   \
    LIMIT(kFront, 8 << 20, "records of a pipe before the first of the kernel",                    \
          "left out, which is said")                                                              \
    LIMIT(kFeature, 16 << 20, "a section of the header", "not read, which is said")               \
    LIMIT(kFeatures, 64 << 20, "all sections of the header", "not read, which is said")           \
    LIMIT(kCaps, 1 << 20, "what PMUs say of themselves", "not read, which is said")               \
    LIMIT(kStreams, 8 << 20, "streams of AUX data, and their losses",                             \
          "data of further streams is of one that is unknown; losses stand where they are "       \
          "announced")                                                                            \
    LIMIT(kHeld, 16 << 20, "data of a pipe before the record that says how to read it",           \
          "read as if one run had brought it")                                                    \
    LIMIT(kChains, 8 << 20, "hisi_ptt: where runs of entries begin in AUX data",                  \
          "nothing is known of where further ones begin")                                         \
    LIMIT(kAnnounced, 24 << 20, "whose AUX data is, by ranges",                                   \
          "further data is of no thread, which is said")                                          \
    LIMIT(kWindow, 128 << 20, "what packed records repeat of those before", "damage")             \
    LIMIT(kThreads, 40 << 20, "programs: names, forks, maps",                                     \
          "left out, which is said with exit status 1")                                           \
    LIMIT(kSymbols, 12 << 20, "names of functions of programs",                                   \
          "files are read again; one with more has none, which is said")                          \
    LIMIT(kInlines, 6 << 20, "inlined functions: where they are in debug information",            \
          "files are read again; of a file with more none are shown, which is said")              \
    LIMIT(kUnwinding, 8 << 20, "call frame information that libdw keeps", "read again")           \
    LIMIT(kFrames, 4 << 20, "what lies at addresses of call chains", "found anew")                \
    LIMIT(kStubs, 8 << 20, "names of the stubs of a program", "further ones have none")           \
    LIMIT(kQueue, 32 << 20, "records that are put in the order of time",                          \
          "given before their time, which is said")                                               \
    LIMIT(kWaiting, 8 << 20, "samples that wait for the user part of their chain",                \
          "given without it, which is said")                                                      \
    LIMIT(kCounts, 8 << 20, "what counters of groups had last, by thread",                        \
          "samples of further ones are left out, which is said")                                  \
    LIMIT(kTracing, 16 << 20, "formats of tracepoints, in copies", "an error")                    \
    LIMIT(kStacks, 8 << 20, "stacks that are counted, and lines of them",                         \
          "written as they are, so that lines repeat")                                            \
    LIMIT(kUnits, 32 << 20, "cxl_hmu: hot units of a device",                                     \
          "the colder half is left out, which is said")                                           \
    LIMIT(kRanges, 8 << 20, "hisi_ptt: address ranges", "counted together")                       \
    LIMIT(kRequesters, 16 << 20, "hisi_ptt: events, requesters, requests that wait",              \
          "requesters are counted together, requests not followed; data of further events is "    \
          "left out, which is said, with exit status 1")                                          \
    LIMIT(kMonitors, 16 << 20, "cache_qos: monitors, their names and readings",                   \
          "readings of further ones are left out, which is said")                                 \
    LIMIT(kLines, 16 << 20, "a picture over time, by address", "rows become wider, or none more") \
    LIMIT(kPage, 8 << 20, "figures of a page", "left out, which is said")                         \
    LIMIT(kJoin, 24 << 20, "join: hot units, ranges and requesters, groups",                      \
          "not joined, which is said")

namespace pmukit::limits {

#define PMUKIT_LIMIT(name, bytes, what, beyond) constexpr size_t name = size_t{bytes};
PMUKIT_LIMITS(PMUKIT_LIMIT)
#undef PMUKIT_LIMIT

}  // namespace pmukit::limits
