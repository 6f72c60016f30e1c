// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Sentences that several outputs share, so that all of them use the same words. Those of a loss or
// an error follow a number (counted.hpp).
#pragma once

namespace pmukit::sentences {

// Verdicts
constexpr const char *kNothingLost = "nothing lost";
constexpr const char *kNoLossMarked = "no loss is marked";

// Between the driver and the file
constexpr const char *kLostSamples =
    "samples or records were lost between kernel and recorder; record with a larger -m";
constexpr const char *kLostAux = "bytes of AUX data never reached the file";
constexpr const char *kTruncatedAux =
    "times AUX data was truncated: the area was full (use a larger -m ,AUXPAGES), or the driver "
    "lost data";
constexpr const char *kUnknownAux = "losses of AUX data are of unknown size";
constexpr const char *kThrottled =
    "times an event was throttled: its samples are missing until it continued, their number is "
    "unknown; sample less often (-F, -c)";
constexpr const char *kUnreadable = "records could not be read";

// In the driver or the device
constexpr const char *kMissingRecords = "records are missing (sequence gaps)";
constexpr const char *kMissingSamples = "samples are missing (sequence gaps)";
constexpr const char *kDuplicates = "records were read twice and counted once";
constexpr const char *kLostReadings =
    "records were dropped; use a larger -m ,AUXPAGES or a longer interval";
constexpr const char *kLostEntries = "entries were lost in the driver; record with a larger -m";
constexpr const char *kListFull =
    "times the hot list was full and the device may have dropped units; raise hotness_threshold";
constexpr const char *kWithoutUnit =
    "records have no unit size and were skipped; give --unit-bytes";
constexpr const char *kUnitsLeftOut = "times a cold unit was dropped (limit of units)";
constexpr const char *kSkippedBytes = "bytes held no record and were skipped";
constexpr const char *kSkippedAux = "bytes of AUX data held no record and became no sample";
constexpr const char *kSkippedEntries = "bytes held no entry and were skipped";

}  // namespace pmukit::sentences
