// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Translates hot units of device memory to host address, NUMA node and memory tier. Unknown values
// are absent.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "console/output.hpp"
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"
#include "session/recording.hpp"
#include "topology/memory_map.hpp"
#include "topology/translate.hpp"

namespace pmukit::cli {

struct Placement {
    std::optional<topology::HpaRange> hpa;
    std::optional<uint32_t> node, tier;
};

class Placer {
public:
    // dir: /sys, or a saved copy of it. host: the host that dir describes, if PMU names of a merged
    // recording end with @HOST; may be empty.
    static Result<Placer> open(const std::string &dir, std::string host = {});
    // Checks that dir describes the host of the recording. host: argument of --host; empty: the
    // option is not given. Returns a usage error if the recording is of another host or of several
    // hosts.
    static Result<Placer> open_for(const Recording &recording, const std::string &dir,
                                   const std::string &host);

    Placement place(std::string_view pmu, uint64_t dpa, uint64_t bytes) const;
    // Like place(), for a host address.
    Placement place_host(uint64_t hpa, uint64_t bytes) const;
    // Why a unit has no host address; nullopt: it has one.
    std::optional<std::string> why_not(std::string_view pmu, uint64_t dpa, uint64_t bytes) const;
    const std::vector<std::string> &assumptions() const { return translator_.assumptions(); }

private:
    Placer(std::string host, topology::Translator translator, topology::MemoryMap memory)
        : host_(std::move(host)), translator_(std::move(translator)), memory_(std::move(memory))
    {
    }
    std::string memdev_of(std::string_view pmu) const;

    std::string host_;  // name after @ in PMU names of merged recordings
    topology::Translator translator_;
    topology::MemoryMap memory_;
};

// Heat of one place, summed over all devices and events of a recording.
struct HotPlace {
    Placement at;
    uint64_t accesses = 0, epochs = 0, units = 0;
    bool has_accesses = false;  // false: all devices were in always-on mode
};

enum class PlaceKey { kHpa, kNode };

class PlaceHeat {
public:
    PlaceHeat(const Placer &placer, PlaceKey key) : placer_(placer), key_(key) {}

    void add(const std::string &pmu, const decode::cxl_hmu::HotList &list);
    // Sorted by accesses, then by epochs. Units without a host address share one place.
    std::vector<HotPlace> hottest() const;
    // Units without a host address, and the reason for the first.
    uint64_t lost_units() const { return lost_units_; }
    const std::string &first_reason() const { return first_reason_; }

private:
    using Key = std::pair<std::optional<uint64_t>, uint64_t>;

    Key key_of(const Placement &at) const;

    const Placer &placer_;
    PlaceKey key_;
    std::map<Key, HotPlace> places_;
    uint64_t lost_units_ = 0;
    std::string first_reason_;
};

// "5", or "-" if unknown.
std::string or_dash(std::optional<uint64_t> number);
// "0x..-0x..", or "-".
std::string range_or_dash(const std::optional<topology::HpaRange> &range);

}  // namespace pmukit::cli
