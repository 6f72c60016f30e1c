// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Translates device physical addresses to host physical addresses and back, for the regions of one
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "topology/cedt.hpp"
#include "topology/cxl_sysfs.hpp"
#include "topology/interleave.hpp"

namespace pmukit::topology {

// Host addresses of a range of device memory. If the range is larger than the granularity of an
// interleaved region, its pieces alternate with pieces of other devices. Then `start` and `bytes`
// cover the whole rows that contain the range.
struct HpaRange {
    uint64_t start = 0, bytes = 0;
    uint64_t pieces = 1;
    std::string region;
    // Address of the same memory in the cache half of a region with an extended linear cache.
    std::optional<uint64_t> alias = std::nullopt;
};

struct DpaPlace {
    std::string memdev, decoder, region;
    uint64_t dpa = 0;
};

class Translator {
public:
    // Without a CEDT, the arithmetic of a root decoder is unknown. Modulo is assumed, which
    // assumptions() reports.
    Translator(CxlDevices devices, const std::optional<Cedt> &cedt);
    // Plans point to elements of vectors. Moving a vector does not move its elements.
    Translator(Translator &&) = default;
    Translator(const Translator &) = delete;

    // The message of an Error is one line that says why there is no translation.
    Result<HpaRange> hpa_of(std::string_view memdev, uint64_t dpa, uint64_t bytes) const;
    Result<DpaPlace> dpa_of(uint64_t hpa) const;

    const CxlDevices &devices() const { return devices_; }
    // One line for each region whose translation is based on an assumption, for each skipped part
    // of the CEDT, and for each device, decoder and region that was left out.
    const std::vector<std::string> &assumptions() const { return assumptions_; }

private:
    // A region that can be translated, and its targets.
    struct Plan {
        const Region *region = nullptr;
        Interleave set;
        std::vector<const EndpointDecoder *> targets;
        uint64_t dpa_bytes = 0;  // bytes of the region on each target
    };

    Result<Plan> plan_of(const Region &region, const std::optional<Cedt> &cedt);
    Result<void> find_targets(Plan &plan) const;
    Result<std::vector<uint64_t>> xor_maps_of(const Region &region, const RootDecoder &root,
                                              const std::optional<Cedt> &cedt);
    const Result<Plan> *find_plan(std::string_view region) const;
    std::string left_out(std::string_view prefix) const;

    CxlDevices devices_;
    std::vector<Result<Plan>> plans_;  // one element per element of devices_.regions
    std::vector<std::string> assumptions_;
};

}  // namespace pmukit::topology
