// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Uses libzstd. A build without libzstd cannot decompress, and the reader reports that.
#include <bit>
#include <cstring>
#include <string>

#include "base/limits.hpp"
#include "perfdata/format.hpp"
#include "perfdata/reader_state.hpp"

#ifdef PMUKIT_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace pmukit::perfdata {
namespace {

// More than twice the largest record, so that data is decompressed in large steps.
constexpr size_t kRoomBytes = size_t{1} << 18;

}  // namespace

#ifdef PMUKIT_ZSTD

struct Unpacker::Stream {
    ZSTD_DStream *zstd = ZSTD_createDStream();
    Stream()
    {
        if (zstd)
            ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, std::bit_width(limits::kWindow) - 1);
    }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    ~Stream() { ZSTD_freeDStream(zstd); }
};

std::unique_ptr<Unpacker> Unpacker::make()
{
    auto stream = std::make_unique<Stream>();
    if (!stream->zstd)
        return nullptr;
    return std::unique_ptr<Unpacker>(new Unpacker(std::move(stream)));
}

// Decompresses until the buffer is full or the compressed bytes are used up.
Result<void> Unpacker::fill()
{
    std::memmove(room_.get(), room_.get() + first_, last_ - first_);
    last_ -= first_;
    first_ = 0;
    ZSTD_inBuffer in{packed_.data(), packed_.size(), 0};
    ZSTD_outBuffer out{room_.get(), kRoomBytes, last_};
    while (out.pos < out.size) {
        const size_t before_in = in.pos, before_out = out.pos;
        size_t result = ZSTD_decompressStream(stream_->zstd, &out, &in);
        if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
            return Error{Errc::kUnsupported,
                         "zstd: packed with a window of more than 128 MiB, which perf record -z "
                         "never does"};
        if (ZSTD_isError(result))
            return Error{Errc::kDamaged, std::string("zstd: ") + ZSTD_getErrorName(result)};
        if (in.pos == before_in && out.pos == before_out)
            break;
    }
    if (in.pos < in.size && out.pos < out.size)
        return Error{Errc::kDamaged, "zstd: the compressed data makes no progress"};
    packed_ = packed_.subspan(in.pos);
    last_ = out.pos;
    more_ = out.pos == out.size;
    return {};
}

#else

struct Unpacker::Stream {};

std::unique_ptr<Unpacker> Unpacker::make()
{
    return nullptr;
}

Result<void> Unpacker::fill()
{
    return {};
}

#endif

Unpacker::Unpacker(std::unique_ptr<Stream> stream)
    : stream_(std::move(stream)), room_(std::make_unique_for_overwrite<std::byte[]>(kRoomBytes))
{
}

Unpacker::~Unpacker() = default;

void Unpacker::start(Bytes packed)
{
    packed_ = packed;
    more_ = true;
    busy_ = true;
}

Result<Bytes> Unpacker::next(std::endian order)
{
    for (;;) {
        if (remainder() >= kRecordHeaderBytes) {
            const std::byte *at = room_.get() + first_;
            size_t size = load<uint16_t>(at + 6, order);
            if (size < kRecordHeaderBytes) {
                busy_ = false;
                return Error{Errc::kDamaged, "an unpacked record claims a size of " +
                                                 std::to_string(size) + " bytes"};
            }
            if (size <= remainder()) {
                first_ += size;
                return Bytes(at, size);
            }
        }
        if (packed_.empty() && !more_) {
            busy_ = false;
            return Bytes();
        }
        if (Result<void> filled = fill(); !filled) {
            busy_ = false;
            return filled.error();
        }
    }
}

}  // namespace pmukit::perfdata
