// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Several devices in one process: each on a separate UNIX socket, all on one thread, so that models
// may call each other without locks. Use:
//
//     auto chassis = Chassis::create();              // Result<std::unique_ptr<Chassis>>
//     auto slot = chassis.value()->add_slot({path}); // Result<Slot *>
//     Model model(slot.value()->host());             // the model's access to the guest
//     slot.value()->insert(model);
//     chassis.value()->run(Chassis::Until::kStopped);
//
// and from a signal handler: chassis->stop().
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "vfu/device.hpp"
#include "vfu/session.hpp"
#include "vfu/traffic.hpp"

namespace pmukit::vfu {

struct SlotOptions {
    std::string socket_path;
    std::optional<LinkPlace> link{};  // no value: a root-complex integrated endpoint
    LinkTiming timing{};
};

// The slot of one device: a listening socket and at most one client at a time.
class Slot {
public:
    Slot(const Slot &) = delete;
    Slot &operator=(const Slot &) = delete;
    ~Slot();  // removes the socket file

    // The host is valid as long as the slot. Before run() no guest memory is mapped, and interrupts
    // are dropped.
    Host &host() { return session_; }
    // Call once, before run(). The device must outlive run().
    void insert(Device &device);

private:
    friend class Chassis;
    Slot(std::string path, Fd listener);

    bool empty() const { return !session_.attached(); }
    bool has_more() const { return session_.has_more(); }
    bool had_client() const { return had_client_; }
    pollfd poll_entry(uint64_t now_ns) const;
    std::optional<uint64_t> run_until_now();
    Result<void> on_ready();
    Result<void> accept_client();

    std::string path_;
    Fd listener_;
    Session session_;
    bool inserted_ = false;
    bool had_client_ = false;
    uint64_t next_accept_ns_ = 0;
};

class Chassis {
public:
    enum class Until {
        kStopped,      // run() returns after stop(); clients may come and go
        kClientsLeave  // run() returns when every slot has had a client, and none has one now
    };

    static Result<std::unique_ptr<Chassis>> create();

    Chassis(const Chassis &) = delete;
    Chassis &operator=(const Chassis &) = delete;

    // Starts listening. Replaces a socket file whose server is dead. Returns kBusy if a process
    // still uses the file; that process notices nothing. The slot lives as long as the chassis.
    Result<Slot *> add_slot(const SlotOptions &options);

    // Observers of this object see the packets of all slots that have a link.
    Traffic &traffic() { return traffic_; }

    // Each slot serves one client after the other, independent of other slots. Each client finds
    // the device in its power-on state. Every slot must have a device.
    Result<void> run(Until until);

    // Ends run() from any thread or signal handler.
    void stop() noexcept;

private:
    explicit Chassis(Fd stop_event) : stop_event_(std::move(stop_event)) {}

    bool all_left() const;
    std::optional<uint64_t> run_devices();
    Result<void> serve(std::span<const pollfd> ready);

    Fd stop_event_;  // readable after stop()
    Traffic traffic_;
    std::vector<Session *> sessions_;  // sessions of the slots
    std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace pmukit::vfu
