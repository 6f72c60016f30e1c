// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Codes: Linux 7.2, tools/perf/pmu-events/arch/x86/{sapphirerapids,graniterapids}/uncore-*.json.
// Constraints: Linux 7.2, arch/x86/events/intel/uncore_snbep.c.
#include "models/uncore_pmon/unit_types.hpp"

#include "models/uncore_pmon/uncore_pmon_regs.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

// DDR. The low six bits of a CAS event's umask select the kind of access, the upper two the pseudo
// channel. A Granite Rapids IMC has one event per subchannel. Consecutive lines alternate between
// subchannels first, then between pseudo channels.
constexpr std::array<uint8_t, kLanes> kPseudoChannels = {0x40, 0x80, 0x40, 0x80};
constexpr std::array<uint8_t, kLanes> kSubchannel0 = {0x40, 0, 0x80, 0};
constexpr std::array<uint8_t, kLanes> kSubchannel1 = {0, 0x40, 0, 0x80};
constexpr std::array<uint8_t, kLanes> kSprQueues = {0x01, 0x02, 0x01, 0x02};
constexpr std::array<uint8_t, kLanes> kGnrQueues = {0x10, 0x40, 0x20, 0x80};

constexpr EventRule kImcSpr[] = {
    {.event = 0x01, .signal = Signal::kHclk, .umask = Umask::kNone},
    {.event = 0x01, .signal = Signal::kDclk, .any = 0x01},
    {.event = 0x05, .signal = Signal::kReadCas, .any = 0x01, .lane = kPseudoChannels},
    {.event = 0x05, .signal = Signal::kUnderfillCas, .any = 0x04, .lane = kPseudoChannels},
    {.event = 0x05, .signal = Signal::kWriteCas, .any = 0x10, .lane = kPseudoChannels},
    {.event = 0x10, .signal = Signal::kReadQueued, .lane = kSprQueues},
    {.event = 0x20, .signal = Signal::kWriteQueued, .lane = kSprQueues},
};

constexpr EventRule kImcGnr[] = {
    {.event = 0x01, .signal = Signal::kHclk, .umask = Umask::kNone},
    {.event = 0x01, .signal = Signal::kDclk, .any = 0x01},
    {.event = 0x05, .signal = Signal::kReadCas, .any = 0x01, .lane = kSubchannel0},
    {.event = 0x05, .signal = Signal::kUnderfillCas, .any = 0x04, .lane = kSubchannel0},
    {.event = 0x05, .signal = Signal::kWriteCas, .any = 0x10, .lane = kSubchannel0},
    {.event = 0x06, .signal = Signal::kReadCas, .any = 0x01, .lane = kSubchannel1},
    {.event = 0x06, .signal = Signal::kUnderfillCas, .any = 0x04, .lane = kSubchannel1},
    {.event = 0x06, .signal = Signal::kWriteCas, .any = 0x10, .lane = kSubchannel1},
    {.event = 0x10, .signal = Signal::kReadQueued, .lane = kGnrQueues},
    {.event = 0x22, .signal = Signal::kWriteQueued, .lane = kGnrQueues},
};

// Events of the packing buffers: TxC to the device, RxC from the device. REQ also counts responses.
constexpr EventRule kCxlcmRules[] = {
    {.event = 0x01, .signal = Signal::kLinkClk, .any = 0x02},
    {.event = 0x02, .signal = Signal::kM2sRequest, .any = 0x08},
    {.event = 0x02, .signal = Signal::kM2sData, .any = 0x10},
    {.event = 0x41, .signal = Signal::kS2mResponse, .any = 0x08},
    {.event = 0x41, .signal = Signal::kS2mData, .any = 0x10},
};
constexpr Constraint kCxlcmConstraints[] = {
    {0x02, 0x0f}, {0x05, 0x0f}, {0x40, 0xf0}, {0x41, 0xf0},
    {0x42, 0xf0}, {0x43, 0xf0}, {0x4b, 0xf0}, {0x52, 0xf0},
};

constexpr EventRule kCxldpRules[] = {
    {.event = 0x01, .signal = Signal::kUclk, .any = 0x01},
    {.event = 0x02, .signal = Signal::kM2sRequest, .any = 0x10},
    {.event = 0x02, .signal = Signal::kM2sData, .any = 0x20},
};

// Only the code of the clock is published. Reads and writes have the codes of the similar unit
// B2CMI, without the channel in the umask's extension.
constexpr EventRule kB2cxlRules[] = {
    {.event = 0x01, .signal = Signal::kUclk, .umask = Umask::kIgnored},
    {.event = 0x24, .signal = Signal::kM2sRequest, .any = 0x04},
    {.event = 0x25, .signal = Signal::kM2sData, .any = 0x10},
};

constexpr EventRule kUnknownRules[] = {
    {.event = 0x01, .signal = Signal::kUclk, .umask = Umask::kIgnored},
};

// Clocks in MHz, rounded: DCLK is a quarter of the data rate of DDR5-4800, HCLK is half of DCLK.
// The others are the flit rate of the link at 32 GT/s and the clock of the mesh.
constexpr Clock kClocks[] = {
    {Signal::kDclk, 1200},
    {Signal::kHclk, 600},
    {Signal::kLinkClk, 1000},
    {Signal::kUclk, 2000},
};

}  // namespace

constinit const UnitType kImc = {"imc", kTypeImc, 4, 0x40, 0x08, 0x5c, 4, true, kImcSpr, kImcGnr};
constinit const UnitType kCxlcm = {
    "cxlcm",     kTypeCxlcm,       8, 0x10, 0x50, 0x98, 8, false, kCxlcmRules,
    kCxlcmRules, kCxlcmConstraints};
constinit const UnitType kCxldp = {"cxldp", kTypeCxldp, 4,     0x10,        0x50,
                                   0x98,    8,          false, kCxldpRules, kCxldpRules};
constinit const UnitType kB2cxl = {"b2cxl", kTypeB2cxl, 4,     0x10,        0x50,
                                   0x98,    8,          false, kB2cxlRules, kB2cxlRules};
// A type that no known processor has.
constinit const UnitType kUnknown = {"unknown", 99, 2,     0x10,          0x20,
                                     0x30,      4,  false, kUnknownRules, kUnknownRules};

const UnitType *find_type(std::string_view name)
{
    for (const UnitType *type : {&kImc, &kCxlcm, &kCxldp, &kB2cxl, &kUnknown})
        if (type->name == name)
            return type;
    return nullptr;
}

std::span<const Clock> clocks()
{
    return kClocks;
}

uint64_t Clock::ticks_until(uint64_t now_ns) const
{
    constexpr uint64_t kNsPerUs = 1000;
    return now_ns / kNsPerUs * mhz + now_ns % kNsPerUs * mhz / kNsPerUs;
}

}  // namespace pmukit::models::uncore_pmon
