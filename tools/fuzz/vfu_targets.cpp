// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs a vfio-user server with a client that sends anything: well-formed messages with arbitrary
// contents, and arbitrary bytes, with and without file descriptors. Every reply of the server must
// be well-formed. The server's device uses the memory and the interrupts that the client provides.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/fd.hpp"
#include "fuzz/script.hpp"
#include "fuzz/targets.hpp"
#include "vfu/session.hpp"

namespace pmukit::fuzz {
namespace {

namespace wire = vfu::wire;

constexpr unsigned kVectors = 4;
constexpr unsigned kMostSteps = 256;
constexpr off_t kMemoryBytes = 0x4000;

// A device that answers a register write with a DMA read and write at the written address, and with
// an interrupt.
class DmaDevice final : public vfu::Device {
public:
    DmaDevice() : config_({.vendor = 0x1234, .device = 0x5678, .class_code = 0x050210})
    {
        config_.add_bar(0, vfu::BarKind::kMemory64, 0x1000);
        config_.add_bar(2, vfu::BarKind::kMemory64Prefetchable, 0x20000);
        config_.add_pcie_endpoint();
        config_.add_msix({kVectors, 0, 0x800, 0, 0xc00});
        config_.add_msi({kVectors, true});
        config_.add_aer();
    }
    void set_host(vfu::Host &host) { host_ = &host; }

    vfu::ConfigSpace &config() override { return config_; }
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) override
    {
        check(bar, offset, width);
        return ~offset;
    }
    void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override
    {
        check(bar, offset, width);
        std::array<std::byte, 64> data{};
        const auto part = std::span(data).first(1 + offset % data.size());
        host_->dma_read(value, part);
        host_->dma_write(value, part);
        host_->raise(static_cast<unsigned>(offset % (kVectors + 1)));
    }
    void reset() override {}
    std::optional<uint64_t> next_deadline_ns() const override { return std::nullopt; }
    void advance(uint64_t) override {}

private:
    void check(unsigned bar, uint64_t offset, unsigned width) const
    {
        const std::optional<vfu::BarInfo> info = bar < vfu::kBars ? config_.bar(bar) : std::nullopt;
        hold(info && (width == 1 || width == 2 || width == 4 || width == 8));
        hold(offset < info->size_bytes && width <= info->size_bytes - offset);
    }

    vfu::ConfigSpace config_;
    vfu::Host *host_ = nullptr;
};

// One session serves the clients of all inputs, one after another, because its limit of log lines
// per second must apply to all inputs together.
vfu::Session &session()
{
    static DmaDevice device;
    static vfu::Session session;
    static const bool bound = [] {
        device.set_host(session);
        session.bind(device);
        return true;
    }();
    (void)bound;
    return session;
}

template <typename T>
void add(std::vector<std::byte> &to, const T &value)
{
    to.resize(to.size() + sizeof value);
    wire::put(to.data() + to.size() - sizeof value, value);
}

class Client {
public:
    explicit Client(Script &script) : script_(script)
    {
        int ends[2];
        hold(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        socket_ = Fd(ends[0]);
        session().attach(Fd(ends[1]));
    }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client() { session().detach(); }

    void run()
    {
        if (script_.below(2))
            send_message(wire::Command::kVersion, version(), 0);
        for (unsigned step = 0; step < kMostSteps && !script_.ended() && session().attached();
             step++) {
            if (script_.below(8) == 0)
                send(script_.take(script_.number(1)), 0);
            else
                say_something();
            serve();
        }
    }

private:
    static std::vector<std::byte> version()
    {
        std::vector<std::byte> body;
        add(body, wire::Version{0, 0});
        for (const char c : {'{', '}', '\0'})
            body.push_back(static_cast<std::byte>(c));
        return body;
    }

    void say_something()
    {
        const auto command = static_cast<wire::Command>(script_.below(16));
        const auto flags = static_cast<uint32_t>(script_.below(4) ? 0 : script_.number(1));
        const auto fds = static_cast<unsigned>(script_.below(4));
        const Bytes body = script_.take(script_.number(1));
        send_message(command, {body.begin(), body.end()}, flags, fds % 3);
    }
    void send_message(wire::Command command, const std::vector<std::byte> &body, uint32_t flags,
                      unsigned fds = 0)
    {
        std::vector<std::byte> message;
        const size_t size = sizeof(wire::Header) + body.size();
        add(message, wire::Header{id_++, static_cast<uint16_t>(command),
                                  static_cast<uint32_t>(size), flags, 0});
        message.insert(message.end(), body.begin(), body.end());
        send(message, fds);
    }
    // Sends the bytes with `fds` file descriptors: the first is a memory file, the second an
    // eventfd.
    void send(Bytes bytes, unsigned fds)
    {
        const std::array<Fd, 2> held = {fds > 0 ? memory() : Fd(),
                                        fds > 1 ? Fd(eventfd(0, EFD_CLOEXEC)) : Fd()};
        alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * 2)] = {};
        iovec from{const_cast<std::byte *>(bytes.data()), bytes.size()};
        msghdr header{};
        header.msg_iov = &from;
        header.msg_iovlen = 1;
        if (fds) {
            header.msg_control = control;
            header.msg_controllen = CMSG_SPACE(sizeof(int) * fds);
            cmsghdr *part = CMSG_FIRSTHDR(&header);
            part->cmsg_level = SOL_SOCKET;
            part->cmsg_type = SCM_RIGHTS;
            part->cmsg_len = CMSG_LEN(sizeof(int) * fds);
            for (unsigned i = 0; i < fds; i++) {
                const int fd = held[i].get();
                std::memcpy(CMSG_DATA(part) + i * sizeof fd, &fd, sizeof fd);
            }
        }
        (void)sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    }
    static Fd memory()
    {
        Fd fd(memfd_create("fuzz", MFD_CLOEXEC));
        hold(ftruncate(fd.get(), kMemoryBytes) == 0);
        return fd;
    }

    // Serves until the session has no more work.
    void serve()
    {
        do {
            session().on_ready();
            take_answers();
        } while (session().attached() &&
                 (session().has_more() || session().poll_events() != POLLIN));
    }
    void take_answers()
    {
        std::array<std::byte, 4096> piece;
        ssize_t size;
        while ((size = recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT)) > 0)
            answers_.insert(answers_.end(), piece.begin(), piece.begin() + size);
        size_t at = 0;
        while (const auto header = wire::get<wire::Header>(Bytes(answers_).subspan(at))) {
            hold((header->flags & wire::kTypeMask) == wire::kTypeReply);
            hold(((header->flags & wire::kError) != 0) == (header->error != 0));
            hold(header->size_bytes >= sizeof *header &&
                 header->size_bytes <= wire::kMaxMessageBytes);
            if (header->size_bytes > answers_.size() - at)
                break;
            at += header->size_bytes;
        }
        answers_.erase(answers_.begin(), answers_.begin() + static_cast<ptrdiff_t>(at));
    }

    Script &script_;
    Fd socket_;
    uint16_t id_ = 0;
    // Replies of the server. The last one may be incomplete.
    std::vector<std::byte> answers_;
};

}  // namespace

void vfu_session(Bytes bytes)
{
    Script script(bytes);
    Client(script).run();
}

}  // namespace pmukit::fuzz
