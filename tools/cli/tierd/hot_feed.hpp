// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where `pmukit tierd` gets the hot memory of each interval from: devices, or a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/hot_memory.hpp"

namespace pmukit::cli {

class HotFeed {
public:
    // Called at the end of each interval. Returns false to end the feed.
    using OnInterval = std::function<Result<bool>(HotMemory memory)>;

    virtual ~HotFeed() = default;
    // Returns when the data ends, when stop_fd is readable, or when `on_interval` ends it. The
    // interval in which stop_fd becomes readable is left out.
    virtual Result<void> run(const OnInterval &on_interval) = 0;
    // Hot-list entries that are known to be lost.
    virtual uint64_t lost() const = 0;
};

struct HotFeedOptions {
    std::vector<std::string> events;
    std::string source;  // "model": the devices are emulated
    std::string cxl_topology = "/sys", host;
    uint64_t interval_ns = 1000000000;
    int stop_fd = -1;
};

// Records the events in another process, as `pmukit top --feed aux` does.
Result<std::unique_ptr<HotFeed>> make_live_feed(const HotFeedOptions &options);
// Reads a recording as fast as possible. Its intervals are those of the time stamps of the
// hot lists; intervals without hot units are left out.
Result<std::unique_ptr<HotFeed>> make_replay_feed(const std::string &path,
                                                  const HotFeedOptions &options);

}  // namespace pmukit::cli
