// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/trace_engine.hpp"

#include <algorithm>

namespace pmukit::models::hisi_ptt {

namespace {

constexpr unsigned kTraceVector = 0;

}  // namespace

void TraceEngine::power_on()
{
    const TraceCounts counts = counts_;
    base_ = {};
    size_bytes_ = run_bytes_ = 0;
    stop();
    status_ = 0;
    mask_ = kTraceIntBuffers.limit();
    reset_pointer();
    counts_ = counts;
}

// A size that exceeds the offset field of the write status means that the trace has no buffer.
void TraceEngine::start()
{
    running_ = true;
    run_bytes_ = size_bytes_ <= kTraceWriteStatusBytes.limit() ? size_bytes_ : 0;
    used_bytes_ = used_bytes_ < run_bytes_ ? used_bytes_ : 0;
    run_base_ = base_[buffer_];
    begun_ = run_entries_ = 0;
}

void TraceEngine::stop()
{
    running_ = false;
    if (fill_)
        end_fill();
}

void TraceEngine::reset_pointer()
{
    if (fill_)
        end_fill();
    buffer_ = 0;
    used_bytes_ = 0;
    run_base_ = base_[0];
}

bool TraceEngine::put(Bytes entry)
{
    bool written = run_bytes_ > 0;
    // If the buffer size is no multiple of the entry size, the rest of an entry is written to the
    // next buffer.
    while (run_bytes_ > 0 && !entry.empty()) {
        const size_t piece = std::min<size_t>(entry.size(), run_bytes_ - used_bytes_);
        written = write(entry.first(piece), piece == entry.size()) && written;
        entry = entry.subspan(piece);
    }
    (written ? counts_.entries : counts_.lost)++;
    return written;
}

uint64_t TraceEngine::put_many(Bytes entries, uint32_t entry_bytes)
{
    const uint64_t written_before = counts_.entries;
    while (!entries.empty()) {
        const uint64_t whole = std::min<uint64_t>(entries.size() / entry_bytes,
                                                  (run_bytes_ - used_bytes_) / entry_bytes);
        const uint64_t bytes = std::max<uint64_t>(whole, 1) * entry_bytes;
        if (whole == 0)
            put(entries.first(bytes));
        else
            (write(entries.first(bytes), whole) ? counts_.entries : counts_.lost) += whole;
        entries = entries.subspan(bytes);
    }
    return counts_.entries - written_before;
}

// The position advances before the DMA write: the host may show the write as a packet, which
// calls this function again.
bool TraceEngine::write(Bytes piece, uint64_t entries)
{
    if (used_bytes_ == 0 || !fill_)
        begin_fill();
    const uint64_t address = run_base_ + used_bytes_;
    const unsigned buffer = buffer_;
    used_bytes_ += static_cast<uint32_t>(piece.size());
    fill_->bytes += static_cast<uint32_t>(piece.size());
    fill_->entries += entries;
    run_entries_ += entries;
    const bool full = used_bytes_ == run_bytes_;
    if (full) {
        buffer_ = (buffer_ + 1) % kBuffers;
        used_bytes_ = 0;
        end_fill();
    }
    const bool written = host_.dma_write(address, piece);
    if (full)
        complete(buffer);
    return written;
}

void TraceEngine::begin_fill()
{
    const bool unread = (status_ >> buffer_ & 1) != 0;
    if (used_bytes_ == 0) {
        run_base_ = base_[buffer_];
        counts_.overruns += unread;
    }
    fill_ = Fill{.number = begun_++,
                 .buffer = buffer_,
                 .address = run_base_ + used_bytes_,
                 .first_entry = run_entries_,
                 .begin_ns = host_.now_ns(),
                 .overwrites_unread = unread};
}

void TraceEngine::end_fill()
{
    fill_->end_ns = host_.now_ns();
    fills_.push_back(*fill_);
    fill_.reset();
}

void TraceEngine::complete(unsigned buffer)
{
    counts_.buffers++;
    status_ |= 1u << buffer;
    if ((status_ & ~mask_) != 0)
        send();
}

void TraceEngine::send()
{
    counts_.messages++;
    host_.raise(kTraceVector);
}

uint32_t TraceEngine::write_status() const
{
    return kTraceWriteStatusBytes.put(used_bytes_) | kTraceWriteStatusBuffer.put(buffer_);
}

void TraceEngine::clear_status(uint32_t bits)
{
    status_ &= ~bits;
}

// Unmasking a pending status bit sends its message.
void TraceEngine::set_mask(uint32_t mask)
{
    const uint32_t before = status_ & ~mask_;
    mask_ = mask & kTraceIntBuffers.limit();
    if ((status_ & ~mask_ & ~before) != 0)
        send();
}

}  // namespace pmukit::models::hisi_ptt
