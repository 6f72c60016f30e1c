// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Converts trace entries to samples, each with one record as the kernel driver writes it
// (include/uapi/pmukit/hisi_ptt.h). AUX data has no sequence numbers and loss counts, so they are
// counted here.
#include <algorithm>
#include <iterator>

#include "base/saturate.hpp"
#include "cli/drivers/hisi_ptt/handlers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {
namespace {

namespace ptt = decode::hisi_ptt;

class StreamSamples final : public ptt::RunSink {
public:
    // All streams share the buffer `raw`, because there may be many streams.
    StreamSamples(RawSink &sink, const Stream &stream, std::vector<std::byte> &raw)
        : sink_(sink), stream_(stream), raw_(raw), framer_(*this, layout_of(stream).format)
    {
    }
    StreamSamples(const StreamSamples &) = delete;
    StreamSamples &operator=(const StreamSamples &) = delete;

    ptt::Framer &decoder() { return framer_; }

    // Call before an AUX buffer of this size. No record continues in the next buffer.
    void begin(uint64_t bytes) { left_ = bytes; }
    // Call after all data.
    void entries_lost(const perfdata::LostEntries &lost)
    {
        framer_.end();
        give();
        add_to(lost_, lost.count());
        at_least_ |= lost.at_least() ? PMUKIT_HISI_PTT_F_AT_LEAST : 0;
        flags_ |= PMUKIT_HISI_PTT_F_TRUNCATED;
    }
    void data(Bytes bytes)
    {
        left_ -= bytes.size();
        framer_.data(bytes);
        if (left_ == 0)
            give();
    }
    // A loss after the last entry is reported in a record without entries.
    void finish()
    {
        framer_.end();
        give();
        if (flags_ != 0)
            put_record();
    }

    void run(ptt::Format format, uint64_t offset, Bytes packets) override
    {
        if (format != format_)
            give();
        format_ = format;
        const size_t most = PMUKIT_HISI_PTT_DATA_BYTES;
        while (!packets.empty()) {
            const Bytes part = packets.first(std::min(most - entries_.size(), packets.size()));
            if (entries_.empty())
                entries_at_ = offset;
            append(entries_, part);
            packets = packets.subspan(part.size());
            offset += part.size();
            if (entries_.size() == most)
                give();
        }
    }
    void skipped(uint64_t, uint64_t bytes) override { sink_.skipped(bytes); }
    // The format of the lost entries is unknown, so the last format is assumed.
    void lost(uint64_t, uint64_t bytes) override
    {
        give();
        add_to(lost_, bytes / packet_bytes(format_));
        at_least_ |= bytes == 0 ? PMUKIT_HISI_PTT_F_AT_LEAST : 0;
        flags_ |= PMUKIT_HISI_PTT_F_TRUNCATED;
    }

private:
    void give()
    {
        if (!entries_.empty())
            put_record();
    }
    void put_record()
    {
        const size_t entry = packet_bytes(format_);
        const auto at = entries_.empty() ? std::nullopt : std::optional(entries_at_);
        const uint64_t words[] = {
            uint64_t{entries_.size() / entry} << PMUKIT_HISI_PTT_W0_ENTRIES_SHIFT |
                uint64_t{entry} << PMUKIT_HISI_PTT_W0_ENTRY_BYTES_SHIFT |
                uint64_t{PMUKIT_HISI_PTT_EXTRA_WORDS} << PMUKIT_HISI_PTT_W0_EXTRA_WORDS_SHIFT,
            uint64_t{PMUKIT_HISI_PTT_MARK},
            sink_.time_ns(stream_, at),
            flags_ | at_least_,
            sequence_++,
            lost_};
        raw_.assign(sizeof(pmukit_raw_header) + sizeof words, std::byte{0});
        store_le<uint32_t>(raw_.data() + offsetof(pmukit_raw_header, tag), PMUKIT_RAW_TAG_HISI_PTT);
        for (size_t i = 0; i < std::size(words); i++)
            store_le(raw_.data() + sizeof(pmukit_raw_header) + 8 * i, words[i]);
        append(raw_, entries_);
        sink_.raw(stream_, at, raw_);
        flags_ = 0;
        entries_.clear();
    }

    RawSink &sink_;
    Stream stream_;
    std::vector<std::byte> &raw_;
    ptt::Framer framer_;
    ptt::Format format_ = ptt::Format::k4dw;
    uint64_t left_ = 0;
    uint64_t sequence_ = 0, lost_ = 0, flags_ = 0, at_least_ = 0;
    uint64_t entries_at_ = 0;  // stream offset of the first of entries_
    std::vector<std::byte> entries_;
};

class HisiPttInject final : public DriverInject {
public:
    explicit HisiPttInject(RawSink &sink) : sink_(sink) {}

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t size) override
    {
        streams_.begin_at(stream, offset, sink_, stream, raw_).begin(size);
    }
    void aux(const Stream &stream, Bytes data) override { streams_.at(stream).data(data); }
    void aux_entries(const Stream &stream, std::optional<uint64_t> base) override
    {
        streams_.at(stream).decoder().align(base);
    }
    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        streams_.begin_at(stream, offset, sink_, stream, raw_).decoder().loss(bytes);
    }
    // Losses that are not certain to be entries stay in LOST and LOST_SAMPLES of the output.
    void entries_lost(const Stream &stream, const perfdata::LostEntries &lost) override
    {
        StreamSamples *samples = streams_.find(stream);
        if (!samples || lost.count() == 0)
            return;
        samples->entries_lost(lost);
        sink_.entries_accounted(stream.event);
    }
    void finish() override
    {
        for (auto &[stream, samples] : streams_.all())
            samples.finish();
    }

private:
    RawSink &sink_;
    std::vector<std::byte> raw_;
    StreamMap<StreamSamples> streams_;
};

}  // namespace

std::unique_ptr<DriverInject> make_hisi_ptt_inject(const Recording &, RawSink &sink)
{
    return std::make_unique<HisiPttInject>(sink);
}

}  // namespace pmukit::cli
