// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/chassis.hpp"

#include <fmt/core.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace pmukit::vfu {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kAcceptAgain_ns = 100'000'000;

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

// Returns true for a socket file without a server, for which connect() fails with ECONNREFUSED. The
// function also checks the type of the file, because connect() fails in the same way for a regular
// file. The probe is a datagram socket: its connect() to the stream socket of a live server fails
// with EPROTOTYPE, and the server sees no connection.
bool is_dead_socket(const sockaddr_un &address)
{
    struct stat status {};
    if (::lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    const Fd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return probe &&
           ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) !=
               0 &&
           errno == ECONNREFUSED;
}

bool bind_to(int fd, const sockaddr_un &address)
{
    return ::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
}

// Non-blocking: accept() must not block if the client has left since poll().
Result<Fd> listen_on(const std::string &path)
{
    const std::optional<sockaddr_un> address = socket_address(path);
    if (!address)
        return Error{Errc::kUsage, fmt::format("socket path '{}' is empty or too long", path)};

    Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener)
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
    return listener;
}

// Waits until a descriptor is ready or the deadline (nanoseconds of CLOCK_MONOTONIC) has passed. On
// failure returns false and sets errno.
bool wait_for(std::span<pollfd> fds, std::optional<uint64_t> deadline_ns, uint64_t now_ns)
{
    timespec timeout{};
    if (deadline_ns && *deadline_ns > now_ns) {
        timeout.tv_sec = static_cast<time_t>((*deadline_ns - now_ns) / kNsPerSecond);
        timeout.tv_nsec = static_cast<long>((*deadline_ns - now_ns) % kNsPerSecond);
    }
    if (ppoll(fds.data(), fds.size(), deadline_ns ? &timeout : nullptr, nullptr) >= 0)
        return true;
    for (pollfd &fd : fds)
        fd.revents = 0;
    return errno == EINTR;
}

std::optional<uint64_t> earlier(std::optional<uint64_t> a, std::optional<uint64_t> b)
{
    return a && b ? std::min(a, b) : (a ? a : b);
}

}  // namespace

// A slot

Slot::Slot(std::string path, Fd listener) : path_(std::move(path)), listener_(std::move(listener))
{
    session_.set_name(std::filesystem::path(path_).filename().string() + ": ");
}

Slot::~Slot()
{
    ::unlink(path_.c_str());
}

void Slot::insert(Device &device)
{
    assert(!inserted_);
    session_.bind(device);
    inserted_ = true;
}

// A second client waits in the listener's queue until the first has left.
pollfd Slot::poll_entry(uint64_t now_ns) const
{
    if (session_.attached())
        return {session_.fd(), session_.poll_events(), 0};
    return {now_ns < next_accept_ns_ ? -1 : listener_.get(), POLLIN, 0};
}

// Returns when to call again: 0 for at once, nullopt for never. Without a client the device does
// not advance.
std::optional<uint64_t> Slot::run_until_now()
{
    if (session_.attached()) {
        const std::optional<uint64_t> deadline = session_.run_device_until_now();
        return has_more() ? 0 : deadline;
    }
    return session_.now_ns() < next_accept_ns_ ? std::optional(next_accept_ns_) : std::nullopt;
}

Result<void> Slot::on_ready()
{
    if (!session_.attached())
        return accept_client();
    session_.on_ready();
    return {};
}

Result<void> Slot::accept_client()
{
    Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) {
        session_.attach(std::move(client));
        had_client_ = true;
        return {};
    }
    switch (errno) {
        case EAGAIN:
        case ECONNABORTED:
        case EINTR:
            return {};
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
            // A temporary failure: the other slots continue. The client stays in the queue, so an
            // immediate retry would only use CPU time.
            session_.log(
                fmt::format("cannot accept a client, will retry: {}", std::strerror(errno)));
            next_accept_ns_ = session_.now_ns() + kAcceptAgain_ns;
            return {};
        default:
            return system_error(Errc::kIo, "cannot accept on", path_);
    }
}

// The chassis

Result<std::unique_ptr<Chassis>> Chassis::create()
{
    Fd stop_event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_event)
        return Error{Errc::kIo, fmt::format("cannot make an eventfd: {}", std::strerror(errno))};
    return std::unique_ptr<Chassis>(new Chassis(std::move(stop_event)));
}

Result<Slot *> Chassis::add_slot(const SlotOptions &options)
{
    Result<Fd> listener = listen_on(options.socket_path);
    if (!listener)
        return listener.error();
    std::unique_ptr<Slot> slot(new Slot(options.socket_path, std::move(listener).value()));
    if (options.link)
        slot->session_.set_link(Link(traffic_, *options.link, options.timing));
    slot->session_.set_peers(sessions_);
    sessions_.push_back(&slot->session_);
    slots_.push_back(std::move(slot));
    return slots_.back().get();
}

void Chassis::stop() noexcept
{
    signal_eventfd(stop_event_.get());
}

bool Chassis::all_left() const
{
    return std::ranges::all_of(
        slots_, [](const auto &slot) { return slot->had_client() && slot->empty(); });
}

std::optional<uint64_t> Chassis::run_devices()
{
    std::optional<uint64_t> deadline;
    for (const auto &slot : slots_)
        deadline = earlier(deadline, slot->run_until_now());
    return deadline;
}

Result<void> Chassis::serve(std::span<const pollfd> ready)
{
    for (size_t i = 0; i < slots_.size(); i++) {
        if (!ready[i].revents && !slots_[i]->has_more())
            continue;
        if (Result<void> served = slots_[i]->on_ready(); !served)
            return served;
    }
    return {};
}

Result<void> Chassis::run(Until until)
{
    assert(!slots_.empty());
    assert(std::ranges::all_of(slots_, [](const auto &slot) { return slot->inserted_; }));
    const auto leave = [this](Result<void> result) {
        for (const auto &slot : slots_)
            slot->session_.detach();
        return result;
    };

    // The last descriptor is the stop event.
    std::vector<pollfd> fds(slots_.size() + 1);
    for (;;) {
        const std::optional<uint64_t> deadline = run_devices();
        const uint64_t now_ns = slots_.front()->session_.now_ns();
        for (size_t i = 0; i < slots_.size(); i++)
            fds[i] = slots_[i]->poll_entry(now_ns);
        fds.back() = {stop_event_.get(), POLLIN, 0};

        if (!wait_for(fds, deadline, now_ns))
            return leave(Error{Errc::kIo, fmt::format("cannot wait: {}", std::strerror(errno))});
        if (fds.back().revents)
            return leave({});
        if (Result<void> served = serve(fds); !served)
            return leave(std::move(served));
        if (until == Until::kClientsLeave && all_left())
            return {};
    }
}

}  // namespace pmukit::vfu
