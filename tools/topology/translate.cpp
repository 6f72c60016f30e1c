// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/translate.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace pmukit::topology {
namespace {

template <typename T>
const T *find_named(const std::vector<T> &all, std::string_view name)
{
    auto at = std::ranges::find(all, name, &T::name);
    return at == all.end() ? nullptr : &*at;
}

bool holds(uint64_t start, uint64_t bytes, uint64_t address)
{
    return address >= start && address - start < bytes;
}

const RootDecoder *root_of(const std::vector<RootDecoder> &roots, const Region &region)
{
    auto at = std::ranges::find_if(roots, [&region](const RootDecoder &root) {
        return holds(root.start, root.bytes, region.start) &&
               holds(root.start, root.bytes, region.start + (region.bytes - 1));
    });
    return at == roots.end() ? nullptr : &*at;
}

Error unusable(const Region &region, const std::string &why)
{
    return Error{Errc::kUnsupported,
                 fmt::format("{}: no translation possible: {}", region.name, why)};
}

// Returns why the endpoint's range differs from the region's; empty if they are equal.
std::string decodes_otherwise(const EndpointDecoder &endpoint, const Region &region)
{
    constexpr uint64_t k4GiB = uint64_t{4} << 30;
    const uint64_t start = region.start + region.cache_bytes;
    const uint64_t bytes = region.bytes - region.cache_bytes;
    const bool same_start = !endpoint.start || *endpoint.start == start;
    if (same_start && (!endpoint.bytes || *endpoint.bytes == bytes))
        return {};
    // Linux makes the region as large as the window, which ends at the MMIO hole of the host; the
    // endpoint decoders end at a multiple of 256 MiB times the ways.
    if (same_start && start == 0 && *endpoint.bytes > bytes && bytes < k4GiB)
        return fmt::format("decodes {:#x} bytes, the region ends at {:#x} (low memory hole)",
                           *endpoint.bytes, bytes);
    // With normalized addressing (AMD) the endpoints decode separate addresses from 0, which only
    // the firmware can translate to host addresses. Linux does not show whether
    // addressing is normalized.
    if (!same_start && *endpoint.start == 0)
        return "decodes other addresses than the region (normalized addressing)";
    if (!same_start)
        return fmt::format("decodes from {:#x}, the region begins at {:#x}", *endpoint.start,
                           start);
    return fmt::format("decodes {:#x} bytes, the region has {:#x}", *endpoint.bytes, bytes);
}

}  // namespace

Translator::Translator(CxlDevices devices, const std::optional<Cedt> &cedt)
    : devices_(std::move(devices))
{
    if (cedt)
        assumptions_ = cedt->skipped;
    for (const LeftOut &one : devices_.left_out)
        assumptions_.push_back(fmt::format("{} ignored: {}", one.name, one.why.message));
    for (const Region &region : devices_.regions)
        plans_.push_back(plan_of(region, cedt));
}

Result<Translator::Plan> Translator::plan_of(const Region &region, const std::optional<Cedt> &cedt)
{
    if (!region.committed)
        return unusable(region, "the region is not committed");
    Plan plan;
    plan.region = &region;
    if (Result<void> found = find_targets(plan); !found)
        return found.error();
    const RootDecoder *root = root_of(devices_.roots, region);
    if (!root)
        return unusable(region, "no root decoder holds the region" + left_out("decoder"));
    Result<std::vector<uint64_t>> maps = xor_maps_of(region, *root, cedt);
    if (!maps)
        return maps.error();
    plan.set = {
        region.start + region.cache_bytes, region.granularity, static_cast<unsigned>(region.ways),
        static_cast<unsigned>(root->ways), root->granularity,  std::move(*maps)};
    if (Result<void> good = check(plan.set); !good)
        return unusable(region, good.error().message);
    // The rows must be whole and end within the region: this ensures that no sum below overflows 64
    // bits.
    const uint64_t bytes = region.bytes - region.cache_bytes;
    const uint64_t root_rows = root->granularity << plan.set.xor_maps.size();
    if (plan.dpa_bytes % region.granularity || plan.dpa_bytes > bytes / region.ways ||
        (!plan.set.xor_maps.empty() && plan.dpa_bytes * region.ways % root_rows))
        return unusable(region,
                        fmt::format("{:#x} bytes of each device do not fit in it", plan.dpa_bytes));
    return plan;
}

Result<void> Translator::find_targets(Plan &plan) const
{
    const Region &region = *plan.region;
    for (const std::string &name : region.targets) {
        const EndpointDecoder *endpoint = find_named(devices_.endpoints, name);
        if (!endpoint || endpoint->region != region.name)
            return unusable(region, fmt::format("its target '{}' is missing or in another region{}",
                                                name, left_out(name)));
        if (std::ranges::find(plan.targets, endpoint) != plan.targets.end())
            return unusable(region, fmt::format("its target '{}' is listed twice", name));
        if (const std::string why = decodes_otherwise(*endpoint, region); !why.empty())
            return unusable(region, fmt::format("{} {}", name, why));
        if (!plan.targets.empty() && endpoint->dpa_bytes != plan.dpa_bytes)
            return unusable(region, "its targets differ in size");
        plan.dpa_bytes = endpoint->dpa_bytes;
        plan.targets.push_back(endpoint);
    }
    return {};
}

Result<std::vector<uint64_t>> Translator::xor_maps_of(const Region &region, const RootDecoder &root,
                                                      const std::optional<Cedt> &cedt)
{
    const std::vector<uint64_t> none;
    const unsigned needed = xor_map_count(static_cast<unsigned>(root.ways));
    if (!needed)
        return none;
    const FixedWindow *window = nullptr;
    if (cedt)
        for (const FixedWindow &one : cedt->windows)
            if (one.start == root.start && one.bytes == root.bytes)
                window = &one;
    if (!window && cedt && !cedt->skipped.empty())
        return unusable(region, fmt::format("the CEDT has no valid window of {}: {}", root.name,
                                            cedt->skipped.front()));
    if (!window) {
        assumptions_.push_back(fmt::format(
            "{}: interleave arithmetic unknown, assumed to be modulo: no CEDT that has {}",
            region.name, root.name));
        return none;
    }
    if (window->arithmetic == Arithmetic::kModulo)
        return none;
    if (window->arithmetic == Arithmetic::kUnknown)
        return unusable(region, "the CEDT has an unknown arithmetic for its window");
    if (window->ways != root.ways || window->granularity != root.granularity)
        return unusable(region,
                        fmt::format("CEDT and {} differ in ways or granularity", root.name));
    for (const XorMaps &maps : cedt->xor_maps)
        if (maps.granularity == root.granularity && maps.maps.size() >= needed)
            return std::vector<uint64_t>(maps.maps.begin(), maps.maps.begin() + needed);
    return unusable(region, "the CEDT has no XOR maps for its window");
}

// Returns the end of an error message: why the first object whose name has this prefix was left
// out; empty if none was.
std::string Translator::left_out(std::string_view prefix) const
{
    for (const LeftOut &one : devices_.left_out)
        if (!prefix.empty() && one.name.starts_with(prefix))
            return fmt::format("; {} was ignored: {}", one.name, one.why.message);
    return {};
}

const Result<Translator::Plan> *Translator::find_plan(std::string_view region) const
{
    const Region *found = find_named(devices_.regions, region);
    return found ? &plans_[static_cast<size_t>(found - devices_.regions.data())] : nullptr;
}

Result<HpaRange> Translator::hpa_of(std::string_view memdev, uint64_t dpa, uint64_t bytes) const
{
    auto endpoint = std::ranges::find_if(devices_.endpoints, [&](const EndpointDecoder &one) {
        return one.memdev == memdev && holds(one.dpa, one.dpa_bytes, dpa);
    });
    if (endpoint == devices_.endpoints.end())
        return Error{Errc::kNotFound, fmt::format("{}: no decoder has DPA {:#x}{}", memdev, dpa,
                                                  left_out("decoder"))};
    const uint64_t offset = dpa - endpoint->dpa;
    if (bytes == 0 || bytes > endpoint->dpa_bytes - offset)
        return Error{Errc::kUnsupported, fmt::format("{}: {:#x} bytes at DPA {:#x} leave {}",
                                                     memdev, bytes, dpa, endpoint->name)};
    if (endpoint->region.empty())
        return Error{Errc::kNotFound,
                     fmt::format("{}: {} is in no region", memdev, endpoint->name)};
    const Result<Plan> *found = find_plan(endpoint->region);
    if (!found)
        return Error{Errc::kNotFound, fmt::format("{}: {} does not exist{}", memdev,
                                                  endpoint->region, left_out(endpoint->region))};
    if (!*found)
        return found->error();

    const Plan &plan = **found;
    auto target = std::ranges::find(plan.targets, &*endpoint);
    if (target == plan.targets.end())
        return unusable(*plan.region, fmt::format("{} is not one of its targets", endpoint->name));
    const Interleave &set = plan.set;
    const uint64_t first = offset / set.granularity;
    const uint64_t chunks = (offset + (bytes - 1)) / set.granularity - first + 1;
    const auto range = [&plan](uint64_t start, uint64_t length, uint64_t pieces) {
        HpaRange hpa{start, length, pieces, plan.region->name, {}};
        if (plan.region->cache_bytes)
            hpa.alias = start - plan.region->cache_bytes;
        return hpa;
    };
    if (chunks == 1 || set.ways == 1)
        return range(
            topology::hpa_of(set, {static_cast<unsigned>(target - plan.targets.begin()), offset}),
            bytes, 1);
    const uint64_t row_bytes = set.granularity * set.ways;
    return range(set.base + first * row_bytes, chunks * row_bytes, chunks);
}

Result<DpaPlace> Translator::dpa_of(uint64_t hpa) const
{
    auto region = std::ranges::find_if(
        devices_.regions, [hpa](const Region &one) { return holds(one.start, one.bytes, hpa); });
    if (region == devices_.regions.end())
        return Error{Errc::kNotFound,
                     fmt::format("no region has HPA {:#x}{}", hpa, left_out("region"))};
    const Result<Plan> &found = plans_[static_cast<size_t>(region - devices_.regions.begin())];
    if (!found)
        return found.error();
    const Plan &plan = *found;
    if (hpa < plan.set.base)
        return Error{Errc::kNotFound,
                     fmt::format("{}: HPA {:#x} is in its extended linear cache, an alias of {:#x}",
                                 region->name, hpa, hpa + region->cache_bytes)};
    if (!holds(plan.set.base, plan.dpa_bytes * plan.set.ways, hpa))
        return Error{Errc::kNotFound,
                     fmt::format("{}: HPA {:#x} is on none of its devices", region->name, hpa)};
    const Place place = place_of(plan.set, hpa);
    const EndpointDecoder &endpoint = *plan.targets[place.position];
    return DpaPlace{endpoint.memdev, endpoint.name, region->name, endpoint.dpa + place.offset};
}

}  // namespace pmukit::topology
