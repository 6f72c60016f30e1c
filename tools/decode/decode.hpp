// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How bytes reach a decoder: start, then data and losses in order, then end. A record may straddle
// two pieces of data; a loss between them breaks it. What a decoder makes of the bytes goes to the
// sink of its driver. A decoder knows no files, prints nothing and keeps no globals.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace pmukit::decode {

class Decoder {
public:
    virtual ~Decoder() = default;
    // A new stream begins at this offset; whatever was unfinished of the last one is forgotten.
    virtual void start(uint64_t offset) = 0;
    // The next bytes of the stream. They are only borrowed for the call.
    virtual void data(Bytes bytes) = 0;
    // Bytes of the stream that never arrived. 0: some, their number is unknown; the offset does not
    // move then.
    virtual void loss(uint64_t bytes) = 0;
    // No more bytes: an unfinished record is reported as skipped.
    virtual void end() = 0;
};

}  // namespace pmukit::decode
