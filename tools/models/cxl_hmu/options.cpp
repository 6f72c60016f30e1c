// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/options.hpp"

#include <fmt/core.h>

#include <bit>

#include "models/cxl_hmu/counters.hpp"

namespace pmukit::models::cxl_hmu {

namespace {

constexpr uint64_t kMinMemory = 64 << 10;
constexpr uint64_t kMaxMemory = uint64_t{1} << 40;  // 1 TiB: 2^32 units of 256 bytes
constexpr unsigned kMaxBitmapQwords = 64;           // covers 1 TiB
constexpr unsigned kMaxCounters = 1 << 17;          // exceeds the entries of the largest hot list
constexpr unsigned kMaxWays = 64;
constexpr uint64_t kMaxOperationNs = 10'000'000'000;
constexpr unsigned kMaxPaddingQwords = 4096;

Error usage(std::string message)
{
    return Error{Errc::kUsage, std::move(message)};
}

struct Bound {
    const char *option;
    uint64_t value;
    uint64_t min;
    uint64_t max;
};

bool valid_epoch(const EpochLength &epoch)
{
    return epoch_scale_ns(epoch.scale) != 0 && epoch.value >= 1 && epoch.value <= 4095;
}

bool no_epoch(const EpochLength &epoch)
{
    return epoch.scale == 0 && epoch.value == 0;
}

}  // namespace

Result<void> check(const Options &options)
{
    const InstanceParams &p = options.instance;
    const Bound bounds[] = {
        {"--memory", options.memory_bytes, kMinMemory, kMaxMemory},
        {"--chmus", options.chmus, 1, kMaxChmus},
        {"--instances", options.instances, 1, kMaxInstances},
        {"--counters", p.counters.number, 1, kMaxCounters},
        {"--ways", p.counters.ways, 1, kMaxWays},
        {"--hot-list", p.hot_list_entries, kMinHotList, 0xffff},
        {"--bitmap-gib", p.bitmap_qwords * uint64_t{16}, 16, uint64_t{kMaxBitmapQwords} * 16},
        {"--unit-sizes", p.unit_sizes, 1, 0xffffff},
        {"--downsampling", p.downsampling, 1, 0xffff},
        {"--requests", p.requests, 1, 0x3f},
        {"--counter-width", p.counter_width_4k, 1, 28},
        {"--operation-us", p.operation_ns, 0, kMaxOperationNs},
        {"--left-enabling-us", p.left_enabling_ns / 1000, 0, kMaxOperationNs / 1000},
        {"--late-status-us", p.quirks.late_status_ns / 1000, 0, kMaxOperationNs / 1000},
        {"--block-version", options.shape.version, 1, kCommon0Version.limit()},
        {"--bitmap-padding", p.padding_qwords, 0, kMaxPaddingQwords},
    };
    for (const Bound &bound : bounds) {
        if (bound.value < bound.min || bound.value > bound.max)
            return usage(fmt::format("{} {}: must be {} to {}", bound.option, bound.value,
                                     bound.min, bound.max));
    }
    if (!std::has_single_bit(options.memory_bytes))
        return usage(fmt::format("--memory {}: a BAR has a size that is a power of two",
                                 options.memory_bytes));
    if (p.counters.number > p.counters.ways && p.counters.number % p.counters.ways != 0)
        return usage(fmt::format("--counters {}: above --ways {} it must be a multiple of it",
                                 p.counters.number, p.counters.ways));
    if (const bool none = !p.epoch_mode && no_epoch(p.epoch_min) && no_epoch(p.epoch_max);
        !none && (!valid_epoch(p.epoch_min) || !valid_epoch(p.epoch_max) ||
                  p.epoch_min.ns() > p.epoch_max.ns()))
        return usage(
            "--epoch-min, --epoch-max: SCALE:VALUE with scale 1 to 5, value 1 to 4095; "
            "with --no-epoch-mode both may be 0:0");
    if (p.source && !p.has_epochs())
        return usage(
            "--source: makes accesses at the end of an epoch, and epochs of 0:0 have none");
    if (p.source && p.source->room() > p.hot_list_entries - 1)
        return usage(
            fmt::format("--source: room={}: an empty hot list of {} entries has fewer free entries",
                        p.source->room(), p.hot_list_entries));
    if (!p.epoch_mode && !p.always_on_mode)
        return usage("--no-epoch-mode and --no-always-on together leave no mode");
    if (const uint64_t bytes = Chmu::instance_bytes(p, options.shape); bytes > kMaxInstanceBytes)
        return usage(fmt::format(
            "--hot-list {}: {} bytes per instance exceed the maximum of its length register, {}; "
            "with this bitmap {} entries fit, or any number with --far-tables",
            p.hot_list_entries, bytes, kMaxInstanceBytes,
            (kMaxInstanceBytes - p.hot_list_offset()) / 8));
    return {};
}

}  // namespace pmukit::models::cxl_hmu
