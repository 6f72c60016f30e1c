// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A decoder for each stream of AUX data, started where its data begins.
#pragma once

#include <map>
#include <utility>

#include "session/recording.hpp"

namespace pmukit::cli {

// Each: a decoder (start(), data(), loss(), end()), or what has the decoder().
template <typename Each>
class StreamMap {
public:
    // The Each of this stream; a new one is made of args.
    template <typename... Args>
    Each &of(const Stream &stream, Args &&...args)
    {
        return streams_.try_emplace(stream, std::forward<Args>(args)...).first->second;
    }
    // The same of AUX data; the decoder of a new one starts at offset.
    template <typename... Args>
    Each &begin_at(const Stream &stream, uint64_t offset, Args &&...args)
    {
        auto [at, fresh] = streams_.try_emplace(stream, std::forward<Args>(args)...);
        if (fresh)
            decoder_of(at->second).start(offset);
        return at->second;
    }
    // nullptr: nothing of this stream came yet.
    Each *find(const Stream &stream)
    {
        const auto at = streams_.find(stream);
        return at == streams_.end() ? nullptr : &at->second;
    }
    // Its data has begun.
    Each &at(const Stream &stream) { return streams_.at(stream); }
    void data(const Stream &stream, Bytes data) { decoder_of(at(stream)).data(data); }
    // Before its first data nothing is there that could lose.
    void loss(const Stream &stream, uint64_t bytes)
    {
        if (Each *each = find(stream))
            decoder_of(*each).loss(bytes);
    }
    // No more data of any stream.
    void end()
    {
        for (auto &[stream, each] : streams_)
            decoder_of(each).end();
    }
    // By event, CPU and thread.
    const std::map<Stream, Each> &all() const { return streams_; }
    std::map<Stream, Each> &all() { return streams_; }

private:
    static auto &decoder_of(Each &each)
    {
        if constexpr (requires { each.decoder(); })
            return each.decoder();
        else
            return each;
    }

    std::map<Stream, Each> streams_;
};

}  // namespace pmukit::cli
