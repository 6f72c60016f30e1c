// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Splits a connected stream socket into vfio-user messages. Reads all available data in one system
// call, allocates only when constructed, and checks sizes only.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "vfu/wire.hpp"

namespace pmukit::vfu {

// A message borrowed from the channel, valid until the next call of a channel function. The caller
// may move descriptors out; the channel closes the descriptors that remain.
struct Message {
    wire::Header header{};
    Bytes body{};
    std::span<Fd> fds{};
};

class Channel {
public:
    explicit Channel(Fd socket);
    // The client sees the end of the stream, not a reset connection, even if data is unread.
    ~Channel();

    int fd() const { return socket_.get(); }

    enum class Fill {
        kData,
        kNothing,  // no data yet, or interrupted by a signal
        kFdsLost,  // received descriptors were lost: any message may lack some
        kClosed    // the client closed the connection, or the socket failed
    };
    Fill fill();

    enum class Next {
        kMessage,
        kIncomplete,  // call fill() first
        kMalformed    // the stream is out of sync; the caller must close it
    };
    Next next(Message &message);

    // Bytes of an incomplete message.
    size_t buffered_bytes() const { return end_ - begin_; }

    // Sends without blocking. Buffers what the socket does not accept, one message at most: call
    // flush() until has_unsent() is false before the next send(). The descriptor is sent with the
    // first byte and must stay open until then. Returns false if the client is gone.
    [[nodiscard]] bool send(Bytes message, int fd = -1);
    [[nodiscard]] bool flush();
    bool has_unsent() const { return unsent_begin_ < unsent_.size(); }

private:
    struct ReceivedFd {
        Fd fd;
        uint64_t chunk_end;  // position in the stream where the received chunk ends
    };

    bool take_fds(::msghdr &header, uint64_t chunk_end);
    void compact();
    std::optional<size_t> send_some(Bytes bytes);

    Fd socket_;
    std::vector<std::byte> buffer_;
    size_t begin_ = 0;
    size_t end_ = 0;
    uint64_t position_ = 0;  // position of buffer_[begin_] in the stream

    std::vector<std::byte> unsent_;
    size_t unsent_begin_ = 0;
    int unsent_fd_ = -1;

    // Linux ends a received chunk with the send that carried descriptors, so the descriptors belong
    // to the message in which the chunk ends.
    std::vector<ReceivedFd> received_;
    std::vector<Fd> handed_out_;
};

}  // namespace pmukit::vfu
