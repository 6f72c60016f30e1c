// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Shared by the tests of this component: a device that records its accesses, and a client that can
// send any message, valid or not.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "vfu/config_space.hpp"
#include "vfu/device.hpp"
#include "vfu/wire.hpp"

namespace pmukit::vfu::test {

inline constexpr unsigned kVectors = 4;
inline constexpr uint64_t kBar0Bytes = 0x1000;
// Larger than kMaxTransferBytes, the limit of one message.
inline constexpr uint64_t kBar2Bytes = 0x20000;
inline constexpr uint64_t kMsixTableOffset = 0x800;
inline constexpr uint64_t kMsixPbaOffset = 0xc00;

struct DeviceCall {
    bool write;
    unsigned bar;
    uint64_t offset;
    unsigned width;
    uint64_t value;

    bool operator==(const DeviceCall &) const = default;
};

// BAR 0 with the MSI-X structures in the middle, BAR 2 of 128 KiB. Reads return 0x1122334455667788.
class FakeDevice final : public Device {
public:
    FakeDevice() : config_({.vendor = 0x1234, .device = 0x5678, .class_code = 0x050210})
    {
        config_.add_bar(0, BarKind::kMemory64, kBar0Bytes);
        config_.add_bar(2, BarKind::kMemory64Prefetchable, kBar2Bytes);
        pcie_offset = config_.add_pcie_endpoint();
        msix_offset = config_.add_msix({kVectors, 0, kMsixTableOffset, 0, kMsixPbaOffset});
        aer_offset = config_.add_aer();
    }

    ConfigSpace &config() override { return config_; }
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) override
    {
        calls.push_back({false, bar, offset, width, 0});
        return 0x1122334455667788;
    }
    void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override
    {
        calls.push_back({true, bar, offset, width, value});
    }
    uint64_t peer_read(unsigned bar, uint64_t offset, unsigned width) override
    {
        peer_accesses++;
        return bar_read(bar, offset, width);
    }
    void peer_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override
    {
        peer_accesses++;
        bar_write(bar, offset, width, value);
    }
    bool is_cxl_mem(unsigned bar) const override { return bar == cxl_mem_bar; }
    void reset() override { resets++; }
    std::optional<uint64_t> next_deadline_ns() const override { return deadline_ns; }
    void advance(uint64_t now_ns) override
    {
        advances++;
        if (deadline_ns && now_ns >= *deadline_ns) {
            deadline_ns.reset();
            deadlines_met++;
        }
    }

    uint16_t pcie_offset = 0;
    uint16_t msix_offset = 0;
    uint16_t aer_offset = 0;
    std::vector<DeviceCall> calls;
    unsigned peer_accesses = 0;  // how many of the calls were by DMA of another function
    unsigned resets = 0;
    unsigned advances = 0;
    unsigned deadlines_met = 0;
    std::optional<uint64_t> deadline_ns;
    std::optional<unsigned> cxl_mem_bar;

private:
    ConfigSpace config_;
};

inline Fd make_eventfd()
{
    return Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

// An eventfd at its limit, where a write blocks until the next read.
inline Fd make_full_eventfd()
{
    constexpr uint64_t kMost = 0xffff'ffff'ffff'fffe;
    Fd event(eventfd(0, EFD_CLOEXEC));
    EXPECT_EQ(::write(event.get(), &kMost, sizeof kMost), ssize_t{sizeof kMost});
    return event;
}

// Returns how often an eventfd was signaled since the last call.
inline uint64_t signals(const Fd &event)
{
    uint64_t count = 0;
    return ::read(event.get(), &count, sizeof count) == sizeof count ? count : 0;
}

inline Fd make_memory(size_t size_bytes)
{
    Fd fd(memfd_create("pmukit-test", MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(size_bytes)), 0);
    return fd;
}

// While an object exists the process can open no descriptor; not even poll() works.
class NoNewFiles {
public:
    NoNewFiles()
    {
        EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
        const rlimit none{0, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    NoNewFiles(const NoNewFiles &) = delete;
    NoNewFiles &operator=(const NoNewFiles &) = delete;
    ~NoNewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

template <typename T>
std::vector<std::byte> bytes_of(const T &value)
{
    std::vector<std::byte> bytes(sizeof value);
    wire::put(bytes.data(), value);
    return bytes;
}

inline std::vector<std::byte> operator+(std::vector<std::byte> a, const std::vector<std::byte> &b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct Reply {
    wire::Header header{};
    std::vector<std::byte> body;

    std::errc error() const { return std::errc(static_cast<int>(header.error)); }
    bool good() const { return header.flags == wire::kTypeReply && header.error == 0; }
};

// The client's end of a connection.
class TestClient {
public:
    TestClient() = default;
    explicit TestClient(Fd socket) : socket_(std::move(socket)) {}

    // Creates a connected pair, keeps one end and returns the other.
    Fd connect()
    {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        socket_ = Fd(ends[0]);
        return Fd(ends[1]);
    }
    void leave() { socket_.reset(); }
    int fd() const { return socket_.get(); }

    void send_raw(Bytes bytes, const std::vector<int> &fds = {})
    {
        alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * 64)];
        iovec from{const_cast<std::byte *>(bytes.data()), bytes.size()};
        msghdr header{};
        header.msg_iov = &from;
        header.msg_iovlen = 1;
        if (!fds.empty()) {
            header.msg_control = control;
            header.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
            cmsghdr *part = CMSG_FIRSTHDR(&header);
            part->cmsg_level = SOL_SOCKET;
            part->cmsg_type = SCM_RIGHTS;
            part->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
            std::memcpy(CMSG_DATA(part), fds.data(), sizeof(int) * fds.size());
        }
        ASSERT_EQ(sendmsg(socket_.get(), &header, MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }

    static std::vector<std::byte> message(uint16_t command, const std::vector<std::byte> &body,
                                          uint32_t flags = wire::kTypeRequest, uint16_t id = 1)
    {
        const auto size = static_cast<uint32_t>(sizeof(wire::Header) + body.size());
        return bytes_of(wire::Header{id, command, size, flags, 0}) + body;
    }
    static std::vector<std::byte> message(wire::Command command, const std::vector<std::byte> &body,
                                          uint32_t flags = wire::kTypeRequest, uint16_t id = 1)
    {
        return message(static_cast<uint16_t>(command), body, flags, id);
    }

    // The descriptor received with the last reply.
    Fd take_fd() { return std::move(received_fd_); }

    // Returns nullopt if no complete reply arrives within wait_ms.
    std::optional<Reply> receive(int wait_ms = 0)
    {
        Reply reply;
        if (!read_exactly(&reply.header, sizeof reply.header, wait_ms))
            return std::nullopt;
        reply.body.resize(reply.header.size_bytes - sizeof reply.header);
        if (!read_exactly(reply.body.data(), reply.body.size(), wait_ms))
            return std::nullopt;
        return reply;
    }

    // True once the other side has closed.
    bool closed_by_peer(int wait_ms = 0)
    {
        pollfd waiting{socket_.get(), POLLIN, 0};
        char byte;
        return poll(&waiting, 1, wait_ms) == 1 && recv(socket_.get(), &byte, 1, MSG_DONTWAIT) <= 0;
    }

private:
    ssize_t receive_some(void *into, size_t size)
    {
        alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int))];
        iovec part{into, size};
        msghdr header{};
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        const ssize_t got = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        const cmsghdr *carried = got > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
        if (carried && carried->cmsg_type == SCM_RIGHTS) {
            int raw;
            std::memcpy(&raw, CMSG_DATA(carried), sizeof raw);
            received_fd_ = Fd(raw);
        }
        return got;
    }
    bool read_exactly(void *into, size_t size, int wait_ms)
    {
        auto *at = static_cast<char *>(into);
        while (size > 0) {
            pollfd waiting{socket_.get(), POLLIN, 0};
            if (poll(&waiting, 1, wait_ms) != 1)
                return false;
            const ssize_t got = receive_some(at, size);
            if (got <= 0)
                return false;
            at += got;
            size -= static_cast<size_t>(got);
        }
        return true;
    }

    Fd socket_;
    Fd received_fd_;
};

inline std::vector<std::byte> version_body(std::string_view json = R"({"capabilities":{}})")
{
    std::vector<std::byte> body = bytes_of(wire::Version{0, 0});
    for (const char c : json)
        body.push_back(static_cast<std::byte>(c));
    body.push_back(std::byte{0});
    return body;
}

inline std::vector<std::byte> access_body(uint32_t region, uint64_t offset, uint32_t count,
                                          const std::vector<std::byte> &data = {})
{
    return bytes_of(wire::RegionAccess{offset, region, count}) + data;
}

inline std::vector<std::byte> irqs_body(uint32_t flags, uint32_t start, uint32_t count,
                                        uint32_t index = wire::kIrqMsix)
{
    return bytes_of(wire::IrqSet{sizeof(wire::IrqSet), flags, index, start, count});
}

}  // namespace pmukit::vfu::test
