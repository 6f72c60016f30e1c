// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Sources of the records that `pmukit top` shows and `pmukit tierd` acts on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/driver_handlers.hpp"
#include "cli/top/live_driver.hpp"

namespace pmukit::cli {

// Takes the records of a feed that reads a recording.
class FeedSink {
public:
    virtual ~FeedSink() = default;
    virtual DriverSink &sink() = 0;
    // Call with the recording before its first data.
    virtual void name_by(const Recording *recording) = 0;
};

// Has one LiveDriver per driver of pmukit: the driver's view in pmukit top. If a recording is read,
// the object also has the recording, to find the names of PMUs.
class LiveDrivers final : public FeedSink {
public:
    LiveDrivers();
    LiveDrivers(const LiveDrivers &) = delete;
    LiveDrivers &operator=(const LiveDrivers &) = delete;

    DriverRouter<LiveDriver> &router() { return router_; }
    const DriverRouter<LiveDriver> &router() const { return router_; }
    DriverSink &sink() override { return router_; }
    void name_by(const Recording *recording) override { recording_ = recording; }

private:
    DriverRouter<LiveDriver> router_;
    const Recording *recording_ = nullptr;
};

class LiveFeed {
public:
    virtual ~LiveFeed() = default;
    virtual std::string_view name() const = 0;
    virtual int fd() const = 0;  // is readable when take() has data
    // Reads the data that is available. Returns false at the end of the data.
    virtual Result<bool> take() = 0;
    // Stops the feed's recorder or events, and reads the data still in flight.
    virtual Result<void> finish() = 0;
    virtual std::vector<LiveLoss> losses() const = 0;
    // Returns the source of the devices, such as "model"; nullopt if the feed does not know it.
    virtual std::optional<std::string> source() const { return std::nullopt; }
    // True if all drivers whose data is read mark their losses.
    virtual bool marks_losses() const { return true; }
};

struct FeedOptions {
    std::vector<std::string> events;  // events to open; empty: only events of other processes
    std::vector<std::string> command;
    std::string source;
    int command_output;                         // descriptor for the output of the command
    std::vector<std::string> recorder_words{};  // options of record, written in full
};

// Reads a recording in pipe format from standard input.
Result<std::unique_ptr<LiveFeed>> make_input_feed(FeedSink &sink);
// Starts a recorder and reads its recording, with AUX data.
Result<std::unique_ptr<LiveFeed>> make_recorder_feed(FeedSink &sink, const FeedOptions &options);
// Reads the trace events of the drivers through BPF.
Result<std::unique_ptr<LiveFeed>> make_bpf_feed(LiveDrivers &live, const FeedOptions &options);

}  // namespace pmukit::cli
