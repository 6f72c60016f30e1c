// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>

namespace pmukit::vfu {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

Error system_error(Errc code, const char *what, const std::string &path)
{
    return Error{code, fmt::format("{} {}: {}", what, path, std::strerror(errno))};
}

std::optional<sockaddr_un> socket_address(const std::string &path)
{
    sockaddr_un address{};
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return std::nullopt;
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    return address;
}

// A socket file nobody listens on refuses; anything else is not ours to remove (a plain file
// refuses too, hence the look at its type).
bool is_dead_socket(const sockaddr_un &address)
{
    struct stat status {};
    if (::lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return probe &&
           ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) !=
               0 &&
           errno == ECONNREFUSED;
}

bool bind_to(int fd, const sockaddr_un &address)
{
    return ::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
}

enum class Wake { kReadable, kTime, kStop, kFailed };

// Waits for the socket, the stop event or the deadline (nanoseconds of CLOCK_MONOTONIC).
Wake wait_for(int fd, int stop_fd, std::optional<uint64_t> deadline_ns, uint64_t now_ns)
{
    timespec timeout{};
    if (deadline_ns && *deadline_ns > now_ns) {
        timeout.tv_sec = static_cast<time_t>((*deadline_ns - now_ns) / kNsPerSecond);
        timeout.tv_nsec = static_cast<long>((*deadline_ns - now_ns) % kNsPerSecond);
    }
    pollfd fds[] = {{fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
    const int ready = ppoll(fds, 2, deadline_ns ? &timeout : nullptr, nullptr);

    if (ready < 0)
        return errno == EINTR ? Wake::kTime : Wake::kFailed;
    if (fds[1].revents)
        return Wake::kStop;
    return fds[0].revents ? Wake::kReadable : Wake::kTime;
}

}  // namespace

Server::Server(std::string path, Fd listener, Fd stop_event)
    : path_(std::move(path)), listener_(std::move(listener)), stop_event_(std::move(stop_event))
{
}

Server::~Server()
{
    ::unlink(path_.c_str());
}

Result<std::unique_ptr<Server>> Server::listen(const std::string &path)
{
    const std::optional<sockaddr_un> address = socket_address(path);
    if (!address)
        return Error{Errc::kUsage, fmt::format("socket path '{}' is empty or too long", path)};

    Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    Fd stop_event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!listener || !stop_event)
        return system_error(Errc::kIo, "cannot make a socket for", path);

    bool bound = bind_to(listener.get(), *address);
    if (!bound && errno == EADDRINUSE) {
        if (!is_dead_socket(*address))
            return Error{Errc::kBusy, fmt::format("{} is in use", path)};
        ::unlink(path.c_str());
        bound = bind_to(listener.get(), *address);
    }
    if (!bound)
        return system_error(Errc::kIo, "cannot bind", path);
    if (::listen(listener.get(), 1) != 0) {
        Error error = system_error(Errc::kIo, "cannot listen on", path);
        ::unlink(path.c_str());
        return error;
    }
    return std::unique_ptr<Server>(new Server(path, std::move(listener), std::move(stop_event)));
}

void Server::stop() noexcept
{
    signal_eventfd(stop_event_.get());
}

Result<void> Server::run(Device &device, Until until)
{
    session_.bind(device);
    for (;;) {
        const Wake wake = wait_for(listener_.get(), stop_event_.get(), std::nullopt, 0);
        if (wake == Wake::kStop)
            return {};
        if (wake == Wake::kFailed)
            return system_error(Errc::kIo, "cannot wait on", path_);
        if (wake == Wake::kTime)
            continue;

        Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client) {
            if (errno == ECONNABORTED || errno == EINTR)
                continue;
            return system_error(Errc::kIo, "cannot accept on", path_);
        }
        session_.attach(std::move(client));
        Result<void> served = serve_client();
        session_.detach();
        if (!served || until == Until::kClientLeaves)
            return served;
    }
}

Result<void> Server::serve_client()
{
    for (;;) {
        const std::optional<uint64_t> deadline = session_.run_device_until_now();
        switch (wait_for(session_.fd(), stop_event_.get(), deadline, session_.now_ns())) {
            case Wake::kReadable:
                if (!session_.on_readable())
                    return {};
                break;
            case Wake::kTime:
                break;
            case Wake::kStop:
                return {};  // run() sees it too
            case Wake::kFailed:
                return system_error(Errc::kIo, "cannot wait on", path_);
        }
    }
}

}  // namespace pmukit::vfu
