// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The CXL devices, decoders and regions of a machine as sysfs shows them
// (Documentation/ABI/testing/sysfs-bus-cxl of Linux), live or from a saved copy in plain files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::topology {

struct Memdev {
    std::string name;                   // mem0
    std::optional<uint32_t> numa_node;  // of the device, not of its memory
    std::optional<uint64_t> serial, ram_bytes;
};

// An endpoint decoder that has a part of its device.
struct EndpointDecoder {
    std::string name;    // decoder4.0
    std::string memdev;  // mem0; empty: unknown
    std::string mode;    // ram, pmem
    std::string region;  // region0; empty: in none
    uint64_t dpa = 0, dpa_bytes = 0;
    std::optional<uint64_t> start,
        bytes;  // the host addresses it decodes; only root may read the start
};

// A region that has host addresses.
struct Region {
    std::string name;  // region0
    std::string mode;
    bool committed = true;
    uint64_t start = 0, bytes = 0;
    uint64_t ways = 0, granularity = 0;
    uint64_t cache_bytes = 0;          // extended linear cache at its beginning
    std::vector<std::string> targets;  // endpoint decoders by position; empty: none yet
};

struct RootDecoder {
    std::string name;  // decoder0.0
    uint64_t start = 0, bytes = 0;
    uint64_t ways = 0, granularity = 0;
    std::vector<uint64_t> targets;  // ids of the host bridges
};

// A device, decoder or region with an attribute that is wrong or missing.
struct LeftOut {
    std::string name;
    Error why;
};

struct CxlDevices {
    std::vector<Memdev> memdevs;
    std::vector<EndpointDecoder> endpoints;
    std::vector<Region> regions;
    std::vector<RootDecoder> roots;
    std::vector<LeftOut> left_out;  // in none of the above
};

// From DIR/bus/cxl/devices, else from DIR itself. Everything found is checked for itself; the
// Translator checks what must fit together. Refused as a whole only where the caller may not read
// it, or where nothing is left.
Result<CxlDevices> read_cxl_devices(const std::string &dir);

}  // namespace pmukit::topology
