// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// QEMU's control socket (QMP): devices that are plugged and unplugged while the guest runs.
// Protocol: docs/interop/qmp-spec.rst of QEMU; one JSON object a line.
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
    // Each answer may take so long.
    explicit Monitor(Fd socket, std::chrono::milliseconds limit = std::chrono::seconds(20))
        : socket_(std::move(socket)), limit_(limit)
    {
    }

    // A device as -device takes it in JSON. One of the same name that is still leaving is waited
    // for: its slot is free only then.
    Result<void> plug(std::string_view device_json);

    // The guest is asked to let go of it; it leaves when the guest has.
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
