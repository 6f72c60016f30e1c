// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Interface of a decoder. The caller calls start(), then data() and loss() in stream order, then
// end(). A record may span two calls of data(); with a loss between them, the record is skipped.
// The decoder of a driver passes its results to a sink of that driver. A decoder reads no files,
// prints nothing and has no globals.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace pmukit::decode {

class Decoder {
public:
    virtual ~Decoder() = default;
    // Begins a new stream at this offset. An incomplete record of the previous stream is dropped.
    virtual void start(uint64_t offset) = 0;
    // Passes the next bytes of the stream. They must stay valid only during the call.
    virtual void data(Bytes bytes) = 0;
    // Reports that this number of bytes of the stream is missing here. 0: an unknown number; the
    // offset in the stream does not change.
    virtual void loss(uint64_t bytes) = 0;
    // Ends the stream. An incomplete record at its end is reported as skipped.
    virtual void end() = 0;
};

}  // namespace pmukit::decode
