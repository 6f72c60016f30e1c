// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/component_registers.hpp"

#include <fmt/core.h>

namespace pmukit::models::cxl_hmu {

namespace {

// Offset of the CXL.cachemem primary range in the component registers.
constexpr uint64_t kCachemem = 0x1000;
constexpr uint64_t kCachememBytes = 0x1000;

// Offsets below are relative to kCachemem. Capability header and array (section 8.2.4.1).
constexpr uint32_t kCachememId = 1;
constexpr uint32_t kRasId = 2;
constexpr uint32_t kHdmId = 5;
constexpr size_t kRas = 0x80;
constexpr size_t kHdm = 0x100;

constexpr uint32_t capability(uint32_t id, uint32_t version, size_t offset)
{
    return id | version << 16 | static_cast<uint32_t>(offset) << 20;
}

// Errors that a type 3 device can report (section 8.2.4.17).
constexpr uint32_t kUncorrectable = 0x0001cfff;
constexpr uint32_t kCorrectable = 0x0000007f;

// HDM decoder capability (section 8.2.4.20).
constexpr size_t kFirstDecoder = kHdm + 0x10;
constexpr size_t kDecoderBytes = 0x20;
constexpr size_t kDecoderSizeLow = 0x08;
constexpr size_t kDecoderSizeHigh = 0x0c;
constexpr size_t kDecoderControl = 0x10;
constexpr uint32_t kLockOnCommit = 1u << 8;
constexpr uint32_t kCommit = 1u << 9;
constexpr uint32_t kCommitted = 1u << 10;
constexpr uint32_t kError = 1u << 11;
constexpr uint32_t kHostOnly = 1u << 12;
constexpr uint32_t kInterleave = 0xff;        // fields of interleave granularity and ways
constexpr uint32_t kAddressLow = 0xf0000000;  // addresses are multiples of 256 MiB

constexpr size_t decoder_at(unsigned decoder)
{
    return kFirstDecoder + decoder * kDecoderBytes;
}

}  // namespace

ComponentRegisters::ComponentRegisters(vfu::Host &host) : host_(host), cachemem_(kCachememBytes)
{
    constexpr uint32_t kCapabilities = 2;
    cachemem_.place(0x0, 4, kCachememId | 1u << 16 | 1u << 20 | kCapabilities << 24);
    cachemem_.place(0x4, 4, capability(kRasId, 2, kRas));
    cachemem_.place(0x8, 4, capability(kHdmId, 1, kHdm));
    place_ras();
    place_decoders();
}

// Places the RAS registers. The model has no errors, so status, first error pointer and header log
// stay zero.
void ComponentRegisters::place_ras()
{
    cachemem_.place(kRas + 0x00, 4, 0, 0, kUncorrectable);            // uncorrectable status
    cachemem_.place(kRas + 0x04, 4, kUncorrectable, kUncorrectable);  // uncorrectable mask
    cachemem_.place(kRas + 0x08, 4, kUncorrectable, kUncorrectable);  // uncorrectable severity
    cachemem_.place(kRas + 0x0c, 4, 0, 0, kCorrectable);              // correctable status
    cachemem_.place(kRas + 0x10, 4, kCorrectable, kCorrectable);      // correctable mask
}

void ComponentRegisters::place_decoders()
{
    // This code in the decoder count field means two decoders.
    constexpr uint32_t kCount = 1;
    static_assert(kDecoders == 2 * kCount);
    // Interleaving is supported on address bits 11:8 and 14:12.
    cachemem_.place(kHdm + 0x0, 4, kCount | 1u << 8 | 1u << 9);
    // The bits for poison on decode error and for HDM decoder enable are writable.
    cachemem_.place(kHdm + 0x4, 4, 0, 0x3);
    for (unsigned i = 0; i < kDecoders; i++) {
        const size_t at = decoder_at(i);
        cachemem_.place(at + 0x00, 4, 0, kAddressLow);  // base
        cachemem_.place(at + 0x04, 4, 0, ~0u);
        cachemem_.place(at + kDecoderSizeLow, 4, 0, kAddressLow);
        cachemem_.place(at + kDecoderSizeHigh, 4, 0, ~0u);
        cachemem_.place(at + kDecoderControl, 4, 0,
                        kInterleave | kLockOnCommit | kCommit | kHostOnly);
        cachemem_.place(at + 0x14, 4, 0, kAddressLow);  // DPA skip
        cachemem_.place(at + 0x18, 4, 0, ~0u);
    }
}

uint64_t ComponentRegisters::read(uint64_t offset, unsigned width)
{
    if (width < 4 || offset % width != 0) {
        host_.log(
            fmt::format("component registers: read of {} bytes at {:#x}, ignored", width, offset));
        return ~uint64_t{0};
    }
    if (offset < kCachemem || offset >= kCachemem + kCachememBytes)
        return 0;
    return cachemem_.read(offset - kCachemem, width);
}

void ComponentRegisters::write(uint64_t offset, unsigned width, uint64_t value)
{
    if (width < 4 || offset % width != 0) {
        host_.log(
            fmt::format("component registers: write of {} bytes at {:#x}, dropped", width, offset));
        return;
    }
    if (offset < kCachemem || offset >= kCachemem + kCachememBytes)
        return;
    for (unsigned done = 0; done < width; done += 4)
        write_dword(offset - kCachemem + done, static_cast<uint32_t>(value >> (8 * done)));
}

void ComponentRegisters::write_dword(size_t offset, uint32_t value)
{
    if (offset < kFirstDecoder || offset >= decoder_at(kDecoders)) {
        cachemem_.write(offset, 4, value);
        return;
    }
    write_decoder(static_cast<unsigned>((offset - kFirstDecoder) / kDecoderBytes), offset, value);
}

bool ComponentRegisters::committed(unsigned decoder) const
{
    return (cachemem_.read(decoder_at(decoder) + kDecoderControl, 4) & kCommitted) != 0;
}

// The addresses of a committed decoder are read-only; with Lock On Commit the whole decoder is
// read-only until reset.
void ComponentRegisters::write_decoder(unsigned decoder, size_t offset, uint32_t value)
{
    const size_t control_at = decoder_at(decoder) + kDecoderControl;
    const bool locked = (cachemem_.read(control_at, 4) & kLockOnCommit) != 0;
    if (committed(decoder) && (offset != control_at || locked)) {
        host_.log(fmt::format("HDM decoder {}: write to a committed decoder, dropped", decoder));
        return;
    }
    cachemem_.write(offset, 4, value);
    if (offset == control_at)
        update_commit(decoder);
}

// The bit COMMITTED follows the bit COMMIT when it is set and when it is cleared. Decoders must be
// committed in order, and need a size.
void ComponentRegisters::update_commit(unsigned decoder)
{
    const size_t at = decoder_at(decoder);
    const uint32_t control =
        static_cast<uint32_t>(cachemem_.read(at + kDecoderControl, 4)) & ~(kCommitted | kError);
    const bool sized = cachemem_.read(at + kDecoderSizeLow, 8) != 0;
    const bool in_order = decoder == 0 || committed(decoder - 1);
    uint32_t outcome = 0;
    if ((control & kCommit) != 0)
        outcome = sized && in_order ? kCommitted : kError;
    cachemem_.set(at + kDecoderControl, 4, control | outcome);
}

}  // namespace pmukit::models::cxl_hmu
