// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/placement.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/escape.hpp"
#include "base/number.hpp"
#include "base/saturate.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

namespace pmukit::cli {
namespace {

// Host that a folder describes. Empty: the folder is a saved copy, whose host is unknown.
std::string host_of(const std::string &dir)
{
    std::error_code failure;
    utsname names{};
    const bool is_here = std::filesystem::equivalent(dir, "/sys", failure);
    return is_here && ::uname(&names) == 0 ? names.nodename : "";
}

uint64_t unit_bytes_of(const decode::cxl_hmu::HotList &list)
{
    return list.totals().unit_log2 ? uint64_t{1} << *list.totals().unit_log2 : 0;
}

}  // namespace

Result<Placer> Placer::open_for(const Recording &recording, const std::string &dir,
                                const std::string &host)
{
    const std::string &all = recording.reader().hostname();
    // `pmukit merge` joins the names of hosts with '+'.
    const std::vector<std::string_view> hosts = split(all, '+');
    const auto refused = [&](const std::string &option, std::string_view why) {
        return Error{Errc::kUsage, fmt::format("{}: {} is of {}; {}", option, recording.path(),
                                               escape(all), why)};
    };
    if (!host.empty() && !all.empty() && std::ranges::find(hosts, host) == hosts.end())
        return refused("--host " + host, "name that");
    if (host.empty() && hosts.size() > 1)
        return refused("--cxl-topology " + dir, "name the host of this topology with --host");
    if (const std::string here = host_of(dir);
        host.empty() && !here.empty() && !all.empty() && all != here)
        return refused("--cxl-topology " + dir, "that is of " + here +
                                                    ": give a copy of the other's, or --host " +
                                                    all + " where both are one machine");
    return open(dir, host.empty() ? all : host);
}

Result<Placer> Placer::open(const std::string &dir, std::string host)
{
    Result<topology::CxlDevices> devices = topology::read_cxl_devices(dir);
    if (!devices)
        return devices.error();
    Result<topology::MemoryMap> memory = topology::MemoryMap::read(dir);
    if (!memory)
        return memory.error();
    return Placer(std::move(host),
                  topology::Translator(std::move(*devices), topology::read_cedt(dir)),
                  std::move(*memory));
}

// Memory device of a PMU: mem0 for cxl_hmu_mem0.1.2. Empty: not a device of this host.
std::string Placer::memdev_of(std::string_view pmu) const
{
    const size_t at = pmu.find('@');
    if (!pmu.starts_with(decode::cxl_hmu::kPmuPrefix) ||
        (at != pmu.npos && pmu.substr(at + 1) != host_))
        return {};
    pmu.remove_prefix(decode::cxl_hmu::kPmuPrefix.size());
    return fmt::format("mem{}", pmu.substr(0, pmu.find('.')));
}

Placement Placer::place(std::string_view pmu, uint64_t dpa, uint64_t bytes) const
{
    Placement placement;
    Result<topology::HpaRange> hpa = translator_.hpa_of(memdev_of(pmu), dpa, bytes);
    if (!hpa)
        return placement;
    placement.hpa = *hpa;
    placement.node = memory_.node_of(hpa->start, hpa->bytes);
    if (placement.node)
        placement.tier = memory_.tier_of(*placement.node);
    return placement;
}

Placement Placer::place_host(uint64_t hpa, uint64_t bytes) const
{
    Placement placement;
    placement.hpa = topology::HpaRange{hpa, bytes, 1, {}};
    placement.node = memory_.node_of(hpa, bytes);
    if (placement.node)
        placement.tier = memory_.tier_of(*placement.node);
    return placement;
}

std::optional<std::string> Placer::why_not(std::string_view pmu, uint64_t dpa, uint64_t bytes) const
{
    const std::string memdev = memdev_of(pmu);
    if (memdev.empty())
        return fmt::format("{}: not of {}", escape(pmu), host_.empty() ? "this host" : host_);
    Result<topology::HpaRange> hpa = translator_.hpa_of(memdev, dpa, bytes);
    if (hpa)
        return std::nullopt;
    return hpa.error().message;
}

PlaceHeat::Key PlaceHeat::key_of(const Placement &at) const
{
    if (key_ == PlaceKey::kNode)
        return {at.node ? std::optional<uint64_t>(*at.node) : std::nullopt, 0};
    return at.hpa ? Key{at.hpa->start, at.hpa->bytes} : Key{};
}

void PlaceHeat::add(const std::string &pmu, const decode::cxl_hmu::HotList &list)
{
    const uint64_t unit_bytes = unit_bytes_of(list);
    for (const decode::cxl_hmu::HotUnit &unit : list.all()) {
        const Placement at = placer_.place(pmu, unit.dpa, unit_bytes);
        if (!at.hpa && lost_units_++ == 0)
            first_reason_ = placer_.why_not(pmu, unit.dpa, unit_bytes).value_or("");
        HotPlace &place = places_[key_of(at)];
        place.at = at;
        add_to(place.accesses, unit.accesses);
        add_to(place.epochs, unit.epochs);
        place.units++;
        place.has_accesses |= !list.totals().always_on;
    }
}

std::vector<HotPlace> PlaceHeat::hottest() const
{
    std::vector<HotPlace> hot;
    for (const auto &[key, place] : places_) {
        hot.push_back(place);
        if (key_ == PlaceKey::kNode)
            // A node may have several address ranges, so the result has no address.
            hot.back().at.hpa.reset();
    }
    std::ranges::stable_sort(hot, [](const HotPlace &a, const HotPlace &b) {
        return std::tie(a.accesses, a.epochs) > std::tie(b.accesses, b.epochs);
    });
    return hot;
}

std::string or_dash(std::optional<uint64_t> number)
{
    return number ? std::to_string(*number) : "-";
}

std::string range_or_dash(const std::optional<topology::HpaRange> &range)
{
    return range ? fmt::format("{:#018x}-{:#018x}", range->start, range->start + (range->bytes - 1))
                 : "-";
}

}  // namespace pmukit::cli
