// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the CXL devices, decoders and regions of a machine (Documentation/ABI/testing/sysfs-bus-cxl
// of Linux), from live sysfs or from a saved copy in regular files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::topology {

struct Memdev {
    std::string name;                   // for example mem0
    std::optional<uint32_t> numa_node;  // node of the device, not of its memory
    std::optional<uint64_t> serial, ram_bytes;
};

// An endpoint decoder that decodes a part of its device.
struct EndpointDecoder {
    std::string name;    // for example decoder4.0
    std::string memdev;  // for example mem0; empty: unknown
    std::string mode;    // ram or pmem
    std::string region;  // for example region0; empty: no region
    uint64_t dpa = 0, dpa_bytes = 0;
    // Host physical addresses that the decoder decodes. Only root may read the start.
    std::optional<uint64_t> start, bytes;
};

// A region that has host physical addresses.
struct Region {
    std::string name;  // for example region0
    std::string mode;
    bool committed = true;
    uint64_t start = 0, bytes = 0;
    uint64_t ways = 0, granularity = 0;
    uint64_t cache_bytes = 0;          // extended linear cache at the start of the region
    std::vector<std::string> targets;  // endpoint decoders by position; empty: none assigned
};

struct RootDecoder {
    std::string name;  // for example decoder0.0
    uint64_t start = 0, bytes = 0;
    uint64_t ways = 0, granularity = 0;
    std::vector<uint64_t> targets;  // ids of the host bridges
};

// A device, decoder or region that is left out because an attribute is wrong or missing.
struct LeftOut {
    std::string name;
    Error why;
};

struct CxlDevices {
    std::vector<Memdev> memdevs;
    std::vector<EndpointDecoder> endpoints;
    std::vector<Region> regions;
    std::vector<RootDecoder> roots;
    std::vector<LeftOut> left_out;  // contained in none of the lists above
};

// Reads DIR/bus/cxl/devices or, if that does not exist, DIR itself. Checks each object on its own;
// the Translator checks that the objects fit together. Returns an Error if the caller may not read
// the tree, or if no object is valid.
Result<CxlDevices> read_cxl_devices(const std::string &dir);

}  // namespace pmukit::topology
