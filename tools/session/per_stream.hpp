// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What units do alike with AUX data: a decoder for each stream, started where its data begins.
#pragma once

#include <map>

#include "session/recording.hpp"

namespace pmukit::cli {

// Role: what the command wants of a unit. Each: made of To, where its records go, and of the
// stream; has the decoder().
template <typename Role, typename Each, typename To>
class PerStream : public Role {
public:
    explicit PerStream(To to) : to_(to) {}
    PerStream(const PerStream &) = delete;
    PerStream &operator=(const PerStream &) = delete;

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        auto [at, fresh] = streams_.try_emplace(stream, to_, stream);
        if (fresh)
            at->second.decoder().start(offset);
    }
    void aux(const Stream &stream, Bytes data) override { of(stream).decoder().data(data); }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        if (auto at = streams_.find(stream); at != streams_.end())
            at->second.decoder().loss(bytes);
    }

protected:
    To &to() { return to_; }
    // Its aux_begin() has been.
    Each &of(const Stream &stream) { return streams_.at(stream); }
    // No more data. Then what each has come to.
    const std::map<Stream, Each> &end_streams()
    {
        for (auto &[stream, each] : streams_)
            each.decoder().end();
        return streams_;
    }

private:
    To to_;
    std::map<Stream, Each> streams_;
};

// An Each that is its decoder and nothing more; sink_of() says what that gives its records to.
template <typename Decoder>
class PlainDecoder {
public:
    template <typename To>
    PlainDecoder(To &to, const Stream &stream) : decoder_(to.sink_of(stream))
    {
    }
    Decoder &decoder() { return decoder_; }

private:
    Decoder decoder_;
};

}  // namespace pmukit::cli
