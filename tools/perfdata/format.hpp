// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Constants of the perf.data format that <linux/perf_event.h> lacks, from
// tools/perf/Documentation/perf.data-file-format.txt in the kernel source. The others come from the
// kernel header.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>

namespace pmukit::perfdata {

constexpr uint64_t kMagic = 0x32454c4946524550ULL;  // "PERFILE2" read as little-endian
constexpr size_t kFileHeaderBytes = 104;
constexpr size_t kPipeHeaderBytes = 16;
constexpr size_t kRecordHeaderBytes = 8;
constexpr size_t kMaxRecordBytes = 65528;  // the largest multiple of 8 in 16 bits
constexpr size_t kSectionBytes = 16;       // offset, size
constexpr size_t kFeatureBits = 256;

// Kernel records and sample bits that the oldest supported <linux/perf_event.h> lacks.
constexpr uint32_t kRecordCallchainDeferred = 22;
constexpr uint64_t kContextUserDeferred =
    static_cast<uint64_t>(-640);                         // PERF_CONTEXT_USER_DEFERRED
constexpr uint64_t kBranchHwIndex = uint64_t{1} << 17;   // PERF_SAMPLE_BRANCH_HW_INDEX
constexpr uint64_t kBranchCounters = uint64_t{1} << 19;  // PERF_SAMPLE_BRANCH_COUNTERS
constexpr uint64_t kBranchEntryBytes = 24;               // from, to, flags

// Records that perf itself adds to those of the kernel, as of Linux 7.2.
enum UserRecord : uint32_t {
    kHeaderAttr = 64,
    kHeaderEventType = 65,
    kHeaderTracingData = 66,
    kHeaderBuildId = 67,
    kFinishedRound = 68,
    kIdIndex = 69,
    kAuxtraceInfo = 70,
    kAuxtrace = 71,
    kAuxtraceError = 72,
    kThreadMap = 73,
    kCpuMap = 74,
    kStatConfig = 75,
    kStat = 76,
    kStatRound = 77,
    kEventUpdate = 78,
    kTimeConv = 79,
    kHeaderFeature = 80,
    kCompressed = 81,
    kFinishedInit = 82,
    kCompressed2 = 83,
    kBpfMetadata = 84,
    kSchedstatCpu = 85,
    kSchedstatDomain = 86,
};

enum Feature : unsigned {
    kFeatTracingData = 1,
    kFeatBuildId = 2,
    kFeatHostname = 3,
    kFeatOsRelease = 4,
    kFeatVersion = 5,
    kFeatArch = 6,
    kFeatNrCpus = 7,
    kFeatCpuDesc = 8,
    kFeatCpuId = 9,
    kFeatTotalMem = 10,
    kFeatCmdline = 11,
    kFeatEventDesc = 12,
    kFeatCpuTopology = 13,
    kFeatNumaTopology = 14,
    kFeatBranchStack = 15,
    kFeatPmuMappings = 16,
    kFeatGroupDesc = 17,
    kFeatAuxtrace = 18,
    kFeatStat = 19,
    kFeatCache = 20,
    kFeatSampleTime = 21,
    kFeatMemTopology = 22,
    kFeatClockId = 23,
    kFeatDirFormat = 24,
    kFeatBpfProgInfo = 25,
    kFeatBpfBtf = 26,
    kFeatCompressed = 27,
    kFeatCpuPmuCaps = 28,
    kFeatClockData = 29,
    kFeatHybridTopology = 30,
    kFeatPmuCaps = 31,
    kFeatCpuDomainInfo = 32,
    kFeatEMachine = 33,
    kFeatClnSize = 34,
};

// Offsets in struct perf_event_attr. The struct itself is not used: the file may have another byte
// order, or be older or newer than the build's header.
enum AttrOffset : size_t {
    kAttrType = 0,
    kAttrSize = 4,
    kAttrConfig = 8,
    kAttrSamplePeriod = 16,
    kAttrSampleType = 24,
    kAttrReadFormat = 32,
    kAttrFlags = 40,
    kAttrBpType = 52,
    kAttrConfig1 = 56,
    kAttrConfig2 = 64,
    kAttrBranchSampleType = 72,
    kAttrSampleRegsUser = 80,
    kAttrSampleStackUser = 88,
    kAttrClockId = 92,
    kAttrSampleRegsIntr = 96,
    kAttrAuxSampleSize = 112,
    kAttrConfig3 = 128,
    kAttrConfig4 = 136,
};
constexpr size_t kAttrMinBytes = 64;    // PERF_ATTR_SIZE_VER0
constexpr size_t kAttrMaxBytes = 4096;  // the kernel's limit: one page
// Bits of the flags word, in little-endian bit numbering.
constexpr unsigned kAttrFlagFreq = 10;
constexpr unsigned kAttrFlagSampleIdAll = 18;
constexpr unsigned kAttrFlagUseClockId = 25;

}  // namespace pmukit::perfdata
