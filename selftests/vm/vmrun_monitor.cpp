// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_monitor.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace pmukit::vm {

using nlohmann::json;
using std::chrono::steady_clock;

namespace {

constexpr size_t kLongestLine = 1 << 20;

Error failure(std::string_view what)
{
    return Error{Errc::kEnvironment, fmt::format("QEMU's monitor: {}", what)};
}

// Returns the value of a string member, or an empty string if the object has no such string.
std::string text_in(const json &object, const char *name)
{
    auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<Monitor> Monitor::connect(const std::filesystem::path &socket)
{
    sockaddr_un address{};
    const std::string path = socket.string();
    if (path.size() >= sizeof address.sun_path)
        return failure(path + " is too long");
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        return failure(fmt::format("{}: {}", path, std::strerror(errno)));
    return Monitor(std::move(fd));
}

// Reads QEMU's greeting and negotiates capabilities, which QEMU requires before any other command.
Result<void> Monitor::open()
{
    if (opened_)
        return {};
    auto greeting = next_message();
    if (!greeting)
        return greeting.error();
    if (!greeting->contains("QMP"))
        return failure("it does not speak QMP");
    opened_ = true;
    return command({{"execute", "qmp_capabilities"}});
}

Result<void> Monitor::plug(std::string_view device_json)
{
    const json device = json::parse(device_json, nullptr, false);
    if (!device.is_object())
        return failure("a device that is no JSON object");
    while (leaving_.contains(text_in(device, "id")))
        if (auto message = next_message(); !message)
            return message.error();
    return command({{"execute", "device_add"}, {"arguments", device}});
}

Result<void> Monitor::unplug(std::string_view id)
{
    leaving_.emplace(id);
    auto asked = command({{"execute", "device_del"}, {"arguments", {{"id", id}}}});
    if (!asked)
        leaving_.erase(leaving_.find(id));
    return asked;
}

Result<void> Monitor::command(const json &command)
{
    if (auto ready = open(); !ready)
        return ready;
    if (auto sent = send(command.dump() + "\n"); !sent)
        return sent;
    for (;;) {
        auto message = next_message();
        if (!message)
            return message.error();
        if (auto error = message->find("error"); error != message->end())
            return failure(error->is_object() ? text_in(*error, "desc") : error->dump());
        if (message->contains("return"))
            return {};
    }
}

Result<void> Monitor::send(const std::string &line)
{
    for (size_t sent = 0; sent < line.size();) {
        const ssize_t count =
            ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return failure(std::strerror(errno));
        sent += static_cast<size_t>(count);
    }
    return {};
}

Result<json> Monitor::next_message()
{
    auto line = next_line();
    if (!line)
        return line.error();
    json message = json::parse(*line, nullptr, false);
    if (!message.is_object())
        return failure("it said something else than a JSON object");
    heed_event(message);
    return message;
}

void Monitor::heed_event(const json &message)
{
    if (auto data = message.find("data");
        text_in(message, "event") == "DEVICE_DELETED" && data != message.end())
        leaving_.erase(text_in(*data, "device"));
}

Result<std::string> Monitor::next_line()
{
    const auto end = steady_clock::now() + limit_;
    for (;;) {
        if (size_t at = unread_.find('\n'); at != std::string::npos) {
            std::string line = unread_.substr(0, at);
            unread_.erase(0, at + 1);
            return line;
        }
        // Even after the deadline, poll() runs with a timeout of 0 ms, so that data that has
        // arrived is read.
        const auto left = std::max(
            std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()),
            std::chrono::milliseconds(0));
        pollfd wait_for{socket_.get(), POLLIN, 0};
        const int ready = ::poll(&wait_for, 1, static_cast<int>(left.count()));
        if ((ready == 0 && left.count() == 0) || unread_.size() > kLongestLine)
            return failure("no answer in time");
        if (ready <= 0)
            continue;
        char bytes[4096];
        const ssize_t count = ::recv(socket_.get(), bytes, sizeof bytes, 0);
        if (count == 0 || (count < 0 && errno != EINTR))
            return failure("it hung up");
        if (count > 0)
            unread_.append(bytes, static_cast<size_t>(count));
    }
}

}  // namespace pmukit::vm
