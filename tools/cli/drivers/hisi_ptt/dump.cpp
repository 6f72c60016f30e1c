// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Trace entries in the text of `perf report -D` of Linux 7.2 or 6.12. If every piece of data begins
// with an entry, the text is the same byte for byte. Otherwise perf prints bytes that are not an
// entry as if they were one, while this dump skips them and prints a line with #. With --tlp each
// entry is one line with the meaning of its TLP.
#include <algorithm>
#include <optional>
#include <utility>

#include "cli/drivers/hisi_ptt/handlers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_dump.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {
namespace {

namespace ptt = decode::hisi_ptt;

struct RecordFlag {
    uint64_t flag;
    const char *text;
};
constexpr RecordFlag kRecordFlags[] = {
    {PMUKIT_HISI_PTT_F_OVERRUN, "overwritten in the device's buffers"},
    {PMUKIT_HISI_PTT_F_TRUNCATED, "entries are missing before this record"},
    {PMUKIT_HISI_PTT_F_RESET, "the device lost its configuration"},
    {PMUKIT_HISI_PTT_F_FILTER_GONE, "the traced function was removed"},
};

// Prints the entries of one stream. Offsets count from the beginning of the piece of data (an AUX
// buffer or a sample) in which an entry begins.
class StreamText final : public ptt::RunSink {
public:
    StreamText(Output &out, ptt::DumpText &text, bool tlps, const ptt::Layout &layout)
        : out_(out), text_(text), tlps_(tlps), layout_(layout), framer_(*this, layout.format)
    {
    }
    StreamText(const StreamText &) = delete;
    StreamText &operator=(const StreamText &) = delete;

    void begin(uint64_t offset)
    {
        if (!started_)
            framer_.start(offset);
        started_ = true;
        before_ = piece_;
        piece_ = offset;
    }
    void align(std::optional<uint64_t> base) { framer_.align(base); }
    // Call after each piece. The framer holds back bytes until later data shows whether they are an
    // entry. settle() makes it decide now, so that the bytes are printed with their piece.
    void settle() { framer_.settle(); }
    void data(Bytes bytes) { framer_.data(bytes); }
    void loss(uint64_t bytes) { framer_.loss(bytes); }
    uint64_t finish()
    {
        if (started_)
            framer_.end();
        return skipped_bytes_;
    }

    void run(ptt::Format format, uint64_t offset, Bytes packets) override
    {
        if (tlps_)
            return print_tlps(format, offset, packets);
        const size_t most = ptt::DumpText::kMaxPackets * packet_bytes(format);
        while (!packets.empty()) {
            print_high_half(in_piece(offset) >> 32);
            const Bytes part = packets.first(std::min(most, packets.size()));
            out_.text(text_.lines(format, static_cast<uint32_t>(in_piece(offset)), part));
            packets = packets.subspan(part.size());
            offset += part.size();
        }
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes_ += bytes;
        out_.print("# skipped {} bytes at {:#x}: no entry\n", bytes, in_piece(offset));
    }
    void lost(uint64_t, uint64_t) override {}  // printed by aux_loss()

private:
    uint64_t in_piece(uint64_t offset) const
    {
        return offset - (offset >= piece_ ? piece_ : before_);
    }
    // The line of an entry shows the low 32 bits of the offset. When the high 32 bits change, they
    // are printed on a line of their own.
    void print_high_half(uint64_t half)
    {
        if (half != high_half_)
            out_.print("# following offsets are relative to {:#x}00000000\n", half);
        high_half_ = half;
    }
    void print_tlps(ptt::Format format, uint64_t offset, Bytes packets)
    {
        for (size_t at = 0; at < packets.size(); at += packet_bytes(format)) {
            const ptt::Packet packet =
                ptt::unpack({format, layout_.wide_tags}, offset + at, packets.data() + at, clock_);
            out_.print("{:#010x} {:>12} {}{}\n", in_piece(packet.offset), packet.time,
                       ptt::tlp_text(parse_tlp(packet)), packet.strongly_ordered ? " so" : "");
        }
    }

    Output &out_;
    ptt::DumpText &text_;  // shared by all streams, because its buffer is large
    bool tlps_;
    bool started_ = false;
    uint64_t piece_ = 0, before_ = 0;  // offset of the current and of the previous piece of data
    uint64_t high_half_ = 0;
    uint64_t skipped_bytes_ = 0;
    ptt::Clock clock_;
    ptt::Layout layout_;
    ptt::Framer framer_;
};

class HisiPttDump final : public DriverDump {
public:
    HisiPttDump(const Recording &recording, const DumpOptions &options, Output &out)
        : recording_(recording),
          out_(out),
          tlps_(options.tlp),
          lines_(options.perf == "6.12" ? ptt::PerfText::kLinux6_12 : ptt::PerfText::kLinux7_2)
    {
    }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                   uint64_t size) override
    {
        if (StreamText *before = streams_.find(stream))
            before->settle();
        say_headers();
        print_piece(recording_, stream, fmt::format("AUX offset {:#x}, ", offset), file_offset,
                    out_);
        piece_bytes_ = size;
        text(stream).begin(offset);
    }
    void aux(const Stream &stream, Bytes data) override
    {
        if (const uint64_t size = std::exchange(piece_bytes_, 0))
            print_size(data, size);
        text(stream).data(data);
    }
    void aux_entries(const Stream &stream, std::optional<uint64_t> base) override
    {
        text(stream).align(base);
    }
    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        print_loss(recording_, stream, offset, bytes, out_);
        if (StreamText *text = streams_.find(stream))
            text->loss(bytes);
    }
    void aux_unknown_loss(const Stream &stream, uint64_t offset) override
    {
        print_unknown_loss(recording_, stream, offset, out_);
        if (StreamText *text = streams_.find(stream))
            text->loss(0);
    }
    void entries_lost(const Stream &stream, const perfdata::LostEntries &lost) override
    {
        out_.print("# {}: {}, in all\n", recording_.pmu_name(stream.event),
                   counted_text(lost.count(), lost.at_least(), kEntriesLost));
    }
    void sample(const Stream &stream, uint64_t file_offset, Bytes words) override;
    uint64_t finish() override
    {
        uint64_t skipped = skipped_bytes_;
        for (auto &[stream, text] : streams_.all())
            skipped += text.finish();
        return skipped;
    }

private:
    StreamText &text(const Stream &stream)
    {
        return streams_.of(stream, out_, lines_, tlps_, layout_of(stream));
    }
    // Prints the size like perf, which takes the format from the first dword and counts whole
    // entries.
    void print_size(Bytes data, uint64_t size)
    {
        const bool wide = data.size() >= sizeof(uint32_t) && ptt::is_8dw(data.data());
        const size_t entry = packet_bytes(wide ? ptt::Format::k8dw : ptt::Format::k4dw);
        out_.print(".\n. ... HISI PTT data: size {} bytes\n", size / entry * entry);
    }
    void say_headers()
    {
        const std::string text = headers_text(recording_);
        if (!text.empty() && !std::exchange(said_headers_, true))
            out_.print("# {}\n", text);
    }
    void print_record(const ptt::Record &record)
    {
        if (record.sequence)
            out_.print("# record {}, {}\n", *record.sequence,
                       counted_text(record.lost.value_or(0),
                                    (record.flags & PMUKIT_HISI_PTT_F_AT_LEAST) != 0,
                                    "entries lost so far"));
        for (const RecordFlag &known : kRecordFlags)
            if (record.flags & known.flag)
                out_.print("# {}\n", known.text);
    }

    const Recording &recording_;
    Output &out_;
    bool tlps_;
    uint64_t piece_bytes_ = 0;  // size of a piece of data whose first bytes have not arrived
    uint64_t skipped_bytes_ = 0;
    bool said_headers_ = false;
    ptt::DumpText lines_;
    StreamMap<StreamText> streams_, samples_;
};

void HisiPttDump::sample(const Stream &stream, uint64_t file_offset, Bytes words)
{
    say_headers();
    print_piece(recording_, stream, "sample, ", file_offset, out_);
    const std::optional<ptt::Record> record = ptt::parse_record(words);
    if (!record) {
        skipped_bytes_ += words.size();
        out_.print("# skipped {} bytes: no record\n", words.size());
        return;
    }
    print_record(*record);
    if (record->entries.empty())
        return;
    print_size(record->entries, record->entries.size());
    samples_.of(stream, out_, lines_, tlps_, layout_of(stream))
        .run(record->format, 0, record->entries);
}

}  // namespace

std::unique_ptr<DriverDump> make_hisi_ptt_dump(const Recording &recording,
                                               const DumpOptions &options, Output &out)
{
    return std::make_unique<HisiPttDump>(recording, options, out);
}

}  // namespace pmukit::cli
