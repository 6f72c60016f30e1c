// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A connected stream socket cut into vfio-user messages. Reads as much as has come in one system
// call; allocates only when constructed. Checks sizes and nothing else.
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

// Borrowed from the channel: good until its next call. A descriptor may be moved out, the others
// are closed.
struct Message {
    wire::Header header{};
    Bytes body{};
    std::span<Fd> fds{};
};

class Channel {
public:
    explicit Channel(Fd socket);
    // The client finds the end of the stream, never a reset connection, whatever is unread.
    ~Channel();

    int fd() const { return socket_.get(); }

    enum class Fill {
        kData,
        kNothing,  // nothing has come, or a signal came instead
        kFdsLost,  // descriptors that came could not be kept: any message may lack some
        kClosed    // by the other side, or the socket is broken
    };
    Fill fill();

    enum class Next {
        kMessage,
        kIncomplete,  // fill() first
        kMalformed    // the stream makes no sense any more: close it
    };
    Next next(Message &message);

    // Bytes of a message whose rest has not come yet.
    size_t buffered_bytes() const { return end_ - begin_; }

    // Sends without waiting; what the socket does not take is kept, one message at most: send
    // nothing more until flush() has sent it. A descriptor goes with the first byte of its message;
    // it must stay open until then. False: the client is gone.
    [[nodiscard]] bool send(Bytes message, int fd = -1);
    [[nodiscard]] bool flush();
    bool has_unsent() const { return unsent_begin_ < unsent_.size(); }

private:
    struct ReceivedFd {
        Fd fd;
        uint64_t chunk_end;  // position in the stream
    };

    bool take_fds(::msghdr &header, uint64_t chunk_end);
    void compact();
    std::optional<size_t> send_some(Bytes bytes);

    Fd socket_;
    std::vector<std::byte> buffer_;
    size_t begin_ = 0;
    size_t end_ = 0;
    uint64_t position_ = 0;  // of buffer_[begin_] in the stream

    std::vector<std::byte> unsent_;
    size_t unsent_begin_ = 0;
    int unsent_fd_ = -1;

    // Descriptors come with a chunk of the stream, and Linux ends a chunk with the send that
    // carried them: they belong to the message in which the chunk ends.
    std::vector<ReceivedFd> received_;
    std::vector<Fd> handed_out_;
};

}  // namespace pmukit::vfu
