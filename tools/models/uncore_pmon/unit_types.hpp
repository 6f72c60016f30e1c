// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Unit types: number of counters, register offsets, and which event counts which signal.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace pmukit::models::uncore_pmon {

enum class Platform : uint8_t { kSpr, kGnr };

// Signals of a unit. A cache line has 64 bytes.
enum class Signal : uint8_t {
    kDclk,  // clock ticks
    kHclk,
    kLinkClk,
    kUclk,
    kReadCas,       // a line read from DDR for a request
    kUnderfillCas,  // a line read to complete a partial write
    kWriteCas,      // a line written to DDR
    kReadQueued,    // insert into the read pending queue
    kWriteQueued,   // insert into the write pending queue
    kM2sRequest,    // CXL.mem: read request
    kM2sData,       // write request with data
    kS2mData,       // read data
    kS2mResponse,   // write completion
};

inline constexpr unsigned kLanes = 4;
inline constexpr std::array<uint8_t, kLanes> kEveryLane = {0xff, 0xff, 0xff, 0xff};

struct Happening {
    Signal signal;
    unsigned lane = 0;  // DDR: line number modulo 4
    uint64_t count = 1;
};

enum class Umask : uint8_t {
    kSome,  // a bit of `any` and a bit of the lane's mask are set
    kNone,  // the umask is zero
    kIgnored,
};

struct EventRule {
    uint8_t event;
    Signal signal;
    Umask umask = Umask::kSome;
    uint8_t any = 0xff;
    std::array<uint8_t, kLanes> lane = kEveryLane;
};

// An event that only some counters can count, one bit per counter.
struct Constraint {
    uint8_t event;
    uint8_t counters;
};

struct UnitType {
    std::string_view name;
    uint16_t id;
    uint8_t counters;
    uint8_t control0;  // bytes from the unit's control
    uint8_t counter0;
    uint8_t status;
    uint8_t control_bytes;  // size and stride of a control: 4 or 8
    bool fixed;             // has a fixed counter
    std::span<const EventRule> spr;
    std::span<const EventRule> gnr;
    std::span<const Constraint> constraints{};

    std::span<const EventRule> rules(Platform platform) const
    {
        return platform == Platform::kGnr ? gnr : spr;
    }
};

extern const UnitType kImc, kCxlcm, kCxldp, kB2cxl, kUnknown;
const UnitType *find_type(std::string_view name);  // nullptr: unknown name

struct Clock {
    Signal signal;
    uint64_t mhz;

    uint64_t ticks_until(uint64_t now_ns) const;  // ticks since time 0
};
std::span<const Clock> clocks();

}  // namespace pmukit::models::uncore_pmon
