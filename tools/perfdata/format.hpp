// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The numbers of the perf.data format that <linux/perf_event.h> does not give:
// tools/perf/Documentation/ perf.data-file-format.txt in the kernel source. What the kernel header
// gives is taken from there.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>

namespace pmukit::perfdata {

constexpr uint64_t kMagic = 0x32454c4946524550ULL;  // "PERFILE2" read as little-endian
constexpr size_t kFileHeaderBytes = 104;
constexpr size_t kPipeHeaderBytes = 16;
constexpr size_t kRecordHeaderBytes = 8;
constexpr size_t kSectionBytes = 16;  // offset, size
constexpr size_t kFeatureBits = 256;

// Records that perf itself adds to those of the kernel.
enum UserRecord : uint32_t {
    kHeaderAttr = 64,
    kHeaderTracingData = 66,
    kFinishedRound = 68,
    kAuxtraceInfo = 70,
    kAuxtrace = 71,
    kHeaderFeature = 80,
    kCompressed = 81,
    kFinishedInit = 82,
    kCompressed2 = 83,
};

enum Feature : unsigned {
    kFeatHostname = 3,
    kFeatOsRelease = 4,
    kFeatVersion = 5,
    kFeatArch = 6,
    kFeatNrCpus = 7,
    kFeatCmdline = 11,
    kFeatEventDesc = 12,
    kFeatPmuMappings = 16,
    kFeatAuxtrace = 18,
};

// Where the fields of struct perf_event_attr are. The struct itself is not used: the file may be of
// another byte order, and older or newer than the header we were built with.
enum AttrOffset : size_t {
    kAttrType = 0,
    kAttrSize = 4,
    kAttrConfig = 8,
    kAttrSamplePeriod = 16,
    kAttrSampleType = 24,
    kAttrReadFormat = 32,
    kAttrFlags = 40,
    kAttrConfig1 = 56,
    kAttrConfig2 = 64,
};
constexpr size_t kAttrMinBytes = 64;           // PERF_ATTR_SIZE_VER0
constexpr size_t kAttrMaxBytes = 4096;         // what the kernel accepts at most: one page
constexpr unsigned kAttrFlagSampleIdAll = 18;  // bit of the flags word

}  // namespace pmukit::perfdata
