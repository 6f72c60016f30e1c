// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Listens on a UNIX socket and serves one device to one client at a time. Use:
//
//     auto server = Server::listen(path);            // Result<std::unique_ptr<Server>>
//     Model model(server.value()->host());           // the model asks the machine through Host
//     server.value()->run(model, Server::Until::kStopped);
//
// and from a signal handler: server->stop().
#pragma once

#include <memory>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "vfu/device.hpp"
#include "vfu/session.hpp"

namespace pmukit::vfu {

class Server {
public:
    enum class Until {
        kStopped,      // clients come and go
        kClientLeaves  // one client only
    };

    // A socket file whose server is dead is replaced; one that still answers is kBusy.
    static Result<std::unique_ptr<Server>> listen(const std::string &path);

    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server();  // removes the socket file

    // Valid as long as the server. Before run() nothing is mapped and interrupts are dropped.
    Host &host() { return session_; }

    // Returns when stop() was called or, with kClientLeaves, when the client has gone. Each client
    // finds the device as after power-on: a new client is a new machine.
    Result<void> run(Device &device, Until until);

    // Ends run() from any thread or signal handler.
    void stop() noexcept;

private:
    Server(std::string path, Fd listener, Fd stop_event);
    Result<void> serve_client();

    std::string path_;
    Fd listener_;
    Fd stop_event_;  // becomes readable by stop() and stays so
    Session session_;
};

}  // namespace pmukit::vfu
