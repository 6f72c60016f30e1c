// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/channel.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>

namespace pmukit::vfu {
namespace {

constexpr size_t kKernelMaxFds = 253;  // SCM_MAX_FD: limit of one sendmsg()
constexpr size_t kMaxUnclaimedFds = 2 * kKernelMaxFds;

}  // namespace

Channel::Channel(Fd socket) : socket_(std::move(socket)), buffer_(wire::kMaxMessageBytes)
{
    received_.reserve(kMaxUnclaimedFds);
    handed_out_.reserve(kMaxUnclaimedFds);
    unsent_.reserve(wire::kMaxMessageBytes);
}

// Closing a stream socket with unread data resets the connection, on which QEMU (11.1) fails an
// assertion. After the shutdown no more data can arrive.
Channel::~Channel()
{
    shutdown(socket_.get(), SHUT_RDWR);
    while (recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0)
        continue;
}

// Moves an incomplete message at the end of the buffer to its front.
void Channel::compact()
{
    if (begin_ == 0)
        return;
    std::copy(buffer_.begin() + static_cast<ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
}

Channel::Fill Channel::fill()
{
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * kKernelMaxFds)];

    compact();
    iovec into{buffer_.data() + end_, buffer_.size() - end_};
    msghdr header{};
    header.msg_iov = &into;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;

    const ssize_t size = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? Fill::kNothing : Fill::kClosed;
    end_ += static_cast<size_t>(size);
    const bool fds_whole = take_fds(header, position_ + (end_ - begin_));
    if (size == 0)
        return Fill::kClosed;
    return fds_whole ? Fill::kData : Fill::kFdsLost;
}

// Returns false if descriptors were lost: the process is at its limit of open files, or the client
// sent more than any message carries.
bool Channel::take_fds(::msghdr &header, uint64_t chunk_end)
{
    bool whole = (header.msg_flags & MSG_CTRUNC) == 0;

    for (cmsghdr *part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int raw;
            std::memcpy(&raw, CMSG_DATA(part) + i * sizeof raw, sizeof raw);
            Fd fd(raw);
            if (received_.size() < kMaxUnclaimedFds)
                received_.push_back({std::move(fd), chunk_end});
            else
                whole = false;
        }
    }
    return whole;
}

Channel::Next Channel::next(Message &message)
{
    handed_out_.clear();
    const Bytes there = Bytes(buffer_).subspan(begin_, end_ - begin_);
    const auto header = wire::get<wire::Header>(there);
    if (!header)
        return Next::kIncomplete;
    if (header->size_bytes < sizeof(wire::Header) || header->size_bytes > wire::kMaxMessageBytes)
        return Next::kMalformed;
    if (header->size_bytes > there.size())
        return Next::kIncomplete;

    begin_ += header->size_bytes;
    position_ += header->size_bytes;
    auto not_ours = received_.begin();
    for (; not_ours != received_.end() && not_ours->chunk_end <= position_; ++not_ours)
        handed_out_.push_back(std::move(not_ours->fd));
    received_.erase(received_.begin(), not_ours);

    message.header = *header;
    message.body = there.subspan(sizeof(wire::Header), header->size_bytes - sizeof(wire::Header));
    message.fds = handed_out_;
    return Next::kMessage;
}

// Returns the number of bytes sent, 0 if the socket is full; nullopt if the client is gone.
std::optional<size_t> Channel::send_some(Bytes bytes)
{
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int))] = {};
    iovec from{const_cast<std::byte *>(bytes.data()), bytes.size()};
    msghdr header{};
    header.msg_iov = &from;
    header.msg_iovlen = 1;
    if (unsent_fd_ >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        cmsghdr *part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(part), &unsent_fd_, sizeof unsent_fd_);
    }
    for (;;) {
        const ssize_t sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0)
            unsent_fd_ = -1;
        if (sent >= 0)
            return static_cast<size_t>(sent);
        if (errno == EAGAIN)
            return 0;
        if (errno != EINTR)
            return std::nullopt;
    }
}

bool Channel::send(Bytes message, int fd)
{
    assert(!has_unsent());
    unsent_fd_ = fd;
    const std::optional<size_t> sent = send_some(message);
    if (!sent)
        return false;
    const Bytes rest = message.subspan(*sent);
    unsent_.assign(rest.begin(), rest.end());
    unsent_begin_ = 0;
    return true;
}

bool Channel::flush()
{
    const std::optional<size_t> sent = send_some(Bytes(unsent_).subspan(unsent_begin_));
    if (!sent)
        return false;
    unsent_begin_ += *sent;
    return true;
}

}  // namespace pmukit::vfu
