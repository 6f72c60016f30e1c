// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where the records of `pmukit top` come from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/driver_handlers.hpp"
#include "cli/top/live_driver.hpp"

namespace pmukit::cli {

// The views of all drivers, and the recording that knows the names of PMUs while one is read.
class LiveDrivers {
public:
    LiveDrivers();
    LiveDrivers(const LiveDrivers &) = delete;
    LiveDrivers &operator=(const LiveDrivers &) = delete;

    DriverRouter<LiveDriver> &router() { return router_; }
    const DriverRouter<LiveDriver> &router() const { return router_; }
    void name_by(const Recording *recording) { recording_ = recording; }

private:
    DriverRouter<LiveDriver> router_;
    const Recording *recording_ = nullptr;
};

class LiveFeed {
public:
    virtual ~LiveFeed() = default;
    virtual std::string_view name() const = 0;
    virtual int fd() const = 0;  // readable: take() has something to do
    // False: nothing will come any more.
    virtual Result<bool> take() = 0;
    // Ends what was begun for the feed and takes what is still in flight.
    virtual Result<void> finish() = 0;
    virtual std::vector<LiveLoss> losses() const = 0;
    // Where the devices are from, when the records say it.
    virtual std::optional<std::string> source() const { return std::nullopt; }
    // Do all drivers mark what they lose?
    virtual bool marks_losses() const { return true; }
};

struct FeedOptions {
    std::vector<std::string> events;  // to be counted while we look; empty: what others record
    std::vector<std::string> command;
    std::string source;
    int command_output;                         // what the command prints goes there
    std::vector<std::string> recorder_words{};  // options of record, in full
};

// Standard input: a recording in pipe layout.
Result<std::unique_ptr<LiveFeed>> make_input_feed(LiveDrivers &live);
// A recorder of our own, whose AUX data we read.
Result<std::unique_ptr<LiveFeed>> make_recorder_feed(LiveDrivers &live, const FeedOptions &options);
// The trace events of the modules, through BPF.
Result<std::unique_ptr<LiveFeed>> make_bpf_feed(LiveDrivers &live, const FeedOptions &options);

}  // namespace pmukit::cli
