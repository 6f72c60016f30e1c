// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Interface of a decoder: start, then data and losses in order, then end. A record may span two
// pieces of data; a loss between them breaks it. The decoder passes its results to the sink of its
// driver. It reads no files, prints nothing and has no globals.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace pmukit::decode {

class Decoder {
public:
    virtual ~Decoder() = default;
    // A new stream begins at this offset; an incomplete record of the previous stream is dropped.
    virtual void start(uint64_t offset) = 0;
    // The next bytes of the stream. They are only borrowed for the call.
    virtual void data(Bytes bytes) = 0;
    // Bytes of the stream that never arrived. 0: an unknown number, and the offset does not move.
    virtual void loss(uint64_t bytes) = 0;
    // No more bytes: an unfinished record is reported as skipped.
    virtual void end() = 0;
};

}  // namespace pmukit::decode
