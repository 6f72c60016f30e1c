// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A decoder for each stream of AUX data, started where its data begins.
#pragma once

#include <utility>

#include "base/stable_map.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

// Each is the state of one stream: a decoder (with start(), data(), loss() and end()), or a class
// that provides decoder().
template <typename Each>
class StreamMap {
public:
    StreamMap() = default;
    StreamMap(const StreamMap &) = delete;
    StreamMap &operator=(const StreamMap &) = delete;

    // Returns the Each of this stream. If there is none, constructs one from args.
    template <typename... Args>
    Each &of(const Stream &stream, Args &&...args)
    {
        Each *const each = find(stream);
        return each ? *each : make(stream, std::forward<Args>(args)...);
    }
    // Like of(), for AUX data: the decoder of a new Each starts at offset.
    template <typename... Args>
    Each &begin_at(const Stream &stream, uint64_t offset, Args &&...args)
    {
        if (Each *const each = find(stream))
            return *each;
        Each &fresh = make(stream, std::forward<Args>(args)...);
        decoder_of(fresh).start(offset);
        return fresh;
    }
    // nullptr: no data of this stream yet.
    Each *find(const Stream &stream)
    {
        if (last_ && last_->first == stream)
            return &last_->second;
        auto *const known = streams_.find(stream);
        if (!known)
            return nullptr;
        last_ = known;
        return &known->second;
    }
    // Requires that data of the stream has begun.
    Each &at(const Stream &stream) { return *find(stream); }
    void data(const Stream &stream, Bytes data) { decoder_of(at(stream)).data(data); }
    // A loss before the stream's first data is ignored.
    void loss(const Stream &stream, uint64_t bytes)
    {
        if (Each *each = find(stream))
            decoder_of(*each).loss(bytes);
    }
    // Ends all decoders: no stream has more data.
    void end()
    {
        for (auto &[stream, each] : streams_.sorted())
            decoder_of(each).end();
    }
    // Sorted by event, CPU and thread.
    auto all() { return streams_.sorted(); }

private:
    template <typename... Args>
    Each &make(const Stream &stream, Args &&...args)
    {
        last_ = &streams_.try_emplace(stream, std::forward<Args>(args)...).first;
        return last_->second;
    }
    static auto &decoder_of(Each &each)
    {
        if constexpr (requires { each.decoder(); })
            return each.decoder();
        else
            return each;
    }

    StableMap<Stream, Each, StreamHash> streams_;
    // Entry of the last call, because most calls are for the same stream.
    std::pair<const Stream, Each> *last_ = nullptr;
};

}  // namespace pmukit::cli
