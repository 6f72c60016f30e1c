// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A client of QEMU's control socket (QMP), which plugs and unplugs devices while the guest runs.
// Protocol: docs/interop/qmp-spec.rst of QEMU; one JSON object per line.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::vm {

class Monitor {
public:
    static Result<Monitor> connect(const std::filesystem::path &socket);
    // `limit` is the timeout for each reply of QEMU.
    explicit Monitor(Fd socket, std::chrono::milliseconds limit = std::chrono::seconds(20))
        : socket_(std::move(socket)), limit_(limit)
    {
    }

    // Plugs a device, which is described in JSON as for QEMU's option -device. If a device of the
    // same name is being unplugged, first waits until that device is gone, because its slot is in
    // use.
    Result<void> plug(std::string_view device_json);

    // Asks the guest to release the device. QEMU removes the device once the guest has released it.
    Result<void> unplug(std::string_view id);

private:
    Result<void> open();
    Result<void> command(const nlohmann::json &command);
    Result<void> send(const std::string &line);
    Result<nlohmann::json> next_message();
    Result<std::string> next_line();
    void heed_event(const nlohmann::json &message);

    Fd socket_;
    std::chrono::milliseconds limit_;
    bool opened_ = false;
    std::string unread_;
    std::set<std::string, std::less<>> leaving_;
};

}  // namespace pmukit::vm
