// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A trace in Perfetto's own format (protos/perfetto/trace/ of github.com/google/perfetto), for
// ui.perfetto.dev and trace_processor. The fields of a row are the debug annotations of its
// instant. Losses have a track of their own, and each value of a monitor of cache_qos is a curve.
#ifdef PMUKIT_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "base/saturate.hpp"
#include "base/text.hpp"
#include "export/perfetto_tracks.hpp"
#include "export/protobuf.hpp"
#include "export/text.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

// Numbers of fields, by their message.
enum TraceField : uint32_t { kPacket = 1 };
enum PacketField : uint32_t {
    kTimestamp = 8,
    kSequence = 10,
    kTrackEvent = 11,
    kInternedData = 12,
    kSequenceFlags = 13,
    kCompressedPackets = 50,
    kTrackDescriptor = 60
};
enum EventField : uint32_t {
    kCategoryId = 3,
    kAnnotation = 4,
    kType = 9,
    kNameId = 10,
    kTrackOfEvent = 11,
    kCounterValue = 30
};
enum AnnotationField : uint32_t {
    kAnnotationNameId = 1,
    kUnsigned = 3,
    kPointer = 7,
    kStringId = 17
};
enum DescriptorField : uint32_t {
    kUuid = 1,
    kTrackName = 2,
    kProcess = 3,
    kThread = 4,
    kParent = 5,
    kCounter = 8
};
enum ProcessField : uint32_t { kPid = 1, kProcessName = 6 };
enum ThreadField : uint32_t { kPidOfThread = 1, kTid = 2, kThreadName = 5 };
enum CounterField : uint32_t { kUnitName = 6 };
// InternedData, and the messages in it.
enum NamesField : uint32_t {
    kCategories = 1,
    kEventNames = 2,
    kAnnotationNames = 3,
    kStrings = 29
};
enum NameField : uint32_t { kId = 1, kText = 2 };
enum EventType : uint64_t { kInstant = 3, kPoint = 4 };
enum SequenceFlag : uint64_t { kNamesBegin = 1, kNeedsNames = 2 };

constexpr uint64_t kOnlySequence = 1;
// A compressed packet may have at most 512 KiB.
constexpr size_t kMostPackets = size_t{256} << 10;

// The uuids of processes, threads, and other tracks.
uint64_t uuid_of_process(uint64_t process)
{
    return process << 32;
}
uint64_t uuid_of_thread(const Track &track)
{
    return track.process << 32 | (track.thread + 1);
}
uint64_t uuid_of_other(uint64_t number)
{
    return uint64_t{1} << 63 | number;
}

// Packets whose names have numbers. A name is written once, in the first packet that uses it. If
// the names exceed their limit, they begin anew.
class Packets {
public:
    explicit Packets(TextFile file) : file_(std::move(file)) { file_.text(front()); }

    // The first packet, by which a file of this writer is recognized: a track without events.
    static std::string front();

    uint64_t name(NamesField field, std::string_view text);
    void descriptor(const Message &descriptor) { put(packet(), kTrackDescriptor, descriptor); }
    void event(uint64_t time_ns, const Message &event);
    const Result<void> &state() const { return file_.state(); }
    Result<void> finish()
    {
        flush();
        return file_.finish();
    }

private:
    static Message packet();
    void put(Message packet, PacketField field, const Message &content);
    void flush();

    TextFile file_;
    std::map<NamesField, std::map<std::string, uint64_t, std::less<>>> names_;
    size_t names_bytes_ = 0;
    Message fresh_;  // names that no packet has yet
    bool begins_ = true;
    std::string waiting_;
};

Message Packets::packet()
{
    Message packet;
    packet.number(kSequence, kOnlySequence);
    return packet;
}

std::string Packets::front()
{
    Message descriptor, packet = Packets::packet(), whole;
    descriptor.number(kUuid, uuid_of_other(0));
    descriptor.text(kTrackName, "pmukit");
    packet.message(kTrackDescriptor, descriptor);
    whole.message(kPacket, packet);
    return whole.bytes();
}

uint64_t Packets::name(NamesField field, std::string_view text)
{
    auto &ids = names_[field];
    if (const auto known = ids.find(text); known != ids.end())
        return known->second;
    names_bytes_ += text.size() + kNodeBytes + sizeof(*ids.begin());
    const uint64_t id = ids.emplace(text, ids.size() + 1).first->second;
    Message name;
    name.number(kId, id);
    name.text(kText, text);
    fresh_.message(field, name);
    return id;
}

void Packets::event(uint64_t time_ns, const Message &event)
{
    Message packet = Packets::packet();
    packet.number(kTimestamp, time_ns);
    packet.number(kSequenceFlags, begins_ ? kNamesBegin | kNeedsNames : kNeedsNames);
    if (!fresh_.bytes().empty())
        packet.message(kInternedData, fresh_);
    fresh_.clear();
    begins_ = false;
    put(std::move(packet), kTrackEvent, event);
    if (names_bytes_ > limits::kTraceNames) {
        names_.clear();
        names_bytes_ = 0;
        begins_ = true;
    }
}

void Packets::put(Message packet, PacketField field, const Message &content)
{
    packet.message(field, content);
    Message whole;
    whole.message(kPacket, packet);
    waiting_ += whole.bytes();
    if (waiting_.size() >= kMostPackets)
        flush();
}

void Packets::flush()
{
#ifdef PMUKIT_ZLIB
    std::string packed(::compressBound(waiting_.size()), '\0');
    uLongf size = packed.size();
    if (::compress2(reinterpret_cast<Bytef *>(packed.data()), &size,
                    reinterpret_cast<const Bytef *>(waiting_.data()), waiting_.size(),
                    Z_BEST_SPEED) == Z_OK) {
        packed.resize(size);
        Message packet, whole;
        packet.text(kCompressedPackets, packed);
        whole.message(kPacket, packet);
        waiting_ = whole.bytes();
    }
#endif
    file_.text(waiting_);
    waiting_.clear();
}

std::string text_of(Kind kind, const Value &value)
{
    if (is_text(kind))
        return valid_utf8(value.text());
    char text[kMostDigits];
    return {text, put_plain(text, kind, value)};
}

class PerfettoTrace final : public Writer {
public:
    explicit PerfettoTrace(TextFile file) : packets_(std::move(file)) {}

    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return packets_.state(); }
    Result<void> finish() override { return packets_.finish(); }

private:
    Track &track_of(Values origin);
    std::optional<uint64_t> curve(const Track &track, const std::string &name,
                                  std::string_view unit);
    void put_instant(const Table &table, const TraceColumns &columns, Track &track);
    void put_point(std::optional<uint64_t> curve, uint64_t time_ns, uint64_t value);
    void put_monitor(const Table &table, const Track &track);
    void annotate(Message &event, const Column &column, const Value &value);

    Packets packets_;
    std::map<const Table *, TraceColumns> columns_;
    Tracks tracks_;
    // Numbers of tracks that are not a process or thread. Key: process and name.
    std::map<std::pair<uint64_t, std::string>, uint64_t> others_;
    Budget others_left_{limits::kTraceNames};
    std::vector<Value> row_;
};

Track &PerfettoTrace::track_of(Values origin)
{
    const Tracks::Found found = tracks_.find(origin);
    if (!found.process_name.empty()) {
        Message process, descriptor;
        process.number(kPid, found.track.process);
        process.text(kProcessName, valid_utf8(found.process_name));
        descriptor.number(kUuid, uuid_of_process(found.track.process));
        descriptor.message(kProcess, process);
        packets_.descriptor(descriptor);
    }
    if (!found.thread_name.empty()) {
        Message thread, descriptor;
        thread.number(kPidOfThread, found.track.process);
        thread.number(kTid, found.track.thread);
        thread.text(kThreadName, found.thread_name);
        descriptor.number(kUuid, uuid_of_thread(found.track));
        descriptor.number(kParent, uuid_of_process(found.track.process));
        descriptor.message(kThread, thread);
        packets_.descriptor(descriptor);
    }
    return found.track;
}

// Returns the uuid of a track of values below the process; without a unit, of a track of instants.
// nullopt: it is new, and all others fill the limit.
std::optional<uint64_t> PerfettoTrace::curve(const Track &track, const std::string &name,
                                             std::string_view unit)
{
    const std::pair<uint64_t, std::string> key(track.process, name);
    if (const auto known = others_.find(key); known != others_.end())
        return uuid_of_other(known->second);
    if (!others_left_.take(name.size() + kNodeBytes + sizeof(*others_.begin())))
        return std::nullopt;
    const uint64_t uuid = uuid_of_other(others_.emplace(key, others_.size() + 1).first->second);
    Message descriptor;
    descriptor.number(kUuid, uuid);
    descriptor.number(kParent, uuid_of_process(track.process));
    descriptor.text(kTrackName, valid_utf8(name));
    if (!unit.empty()) {
        Message counter;
        counter.text(kUnitName, unit);
        descriptor.message(kCounter, counter);
    }
    packets_.descriptor(descriptor);
    return uuid;
}

void PerfettoTrace::annotate(Message &event, const Column &column, const Value &value)
{
    Message annotation;
    annotation.number(kAnnotationNameId, packets_.name(kAnnotationNames, column.name));
    if (column.kind == Kind::kNumber)
        annotation.number(kUnsigned, value.number());
    else if (column.kind == Kind::kAddress)
        annotation.number(kPointer, value.number());
    else
        annotation.number(kStringId, packets_.name(kStrings, text_of(column.kind, value)));
    event.message(kAnnotation, annotation);
}

void PerfettoTrace::put_instant(const Table &table, const TraceColumns &columns, Track &track)
{
    const bool is_loss = table.name == "losses";
    Message event;
    event.number(kType, kInstant);
    const std::optional<uint64_t> losses = is_loss ? curve(track, "losses", "") : std::nullopt;
    event.number(kTrackOfEvent, losses.value_or(uuid_of_thread(track)));
    event.number(kCategoryId, packets_.name(kCategories, table.name));
    if (const Value &name = row_[columns.name]; name.known)
        event.number(kNameId,
                     packets_.name(kEventNames, text_of(table.columns[columns.name].kind, name)));
    for (size_t i = kOriginColumns; i < row_.size(); i++)
        if (row_[i].known)
            annotate(event, table.columns[i], row_[i]);
    packets_.event(time_of(track, row_, columns), event);
}

void PerfettoTrace::put_point(std::optional<uint64_t> curve, uint64_t time_ns, uint64_t value)
{
    if (!curve)
        return;
    Message event;
    event.number(kType, kPoint);
    event.number(kTrackOfEvent, *curve);
    event.number(kCounterValue, value);
    packets_.event(time_ns, event);
}

// A value of a monitor of cache_qos: one curve for each monitor, L3 and kind of value.
void PerfettoTrace::put_monitor(const Table &table, const Track &track)
{
    static const size_t kMonitor = column_of(table, "monitor"), kLife = column_of(table, "life"),
                        kDomain = column_of(table, "domain"), kEvent = column_of(table, "event"),
                        kBytes = column_of(table, "bytes"), kName = column_of(table, "name");
    if (!row_[kBytes].known)
        return;
    const auto number = [this](size_t column) { return std::to_string(row_[column].number()); };
    std::string name = std::string(row_[kEvent].text()) + " L3 " + number(kDomain) + " monitor " +
                       number(kMonitor);
    if (row_[kLife].known)
        name += "#" + number(kLife);
    if (row_[kName].known)
        name += " " + std::string(row_[kName].text());
    put_point(curve(track, name, "bytes"), row_[kTime].known ? row_[kTime].number() : 0,
              row_[kBytes].number());
}

void PerfettoTrace::rows(const Table &table, Values common, Values rest)
{
    const TraceColumns &columns = columns_.try_emplace(&table, table).first->second;
    Track &track = track_of(common);
    row_.resize(table.columns.size());
    std::ranges::copy(common, row_.begin());
    const size_t width = row_.size() - common.size();
    std::optional<uint64_t> sum;  // nullopt: no row has a value
    for (size_t at = 0; at < rest.size() && packets_.state(); at += width) {
        std::ranges::copy(rest.subspan(at, width),
                          row_.begin() + static_cast<ptrdiff_t>(common.size()));
        put_instant(table, columns, track);
        if (columns.sum != kNoColumn && row_[columns.sum].known)
            sum = add_or_max(sum.value_or(0), row_[columns.sum].number());
        if (table.name == "cache_qos")
            put_monitor(table, track);
    }
    if (sum)
        put_point(curve(track, std::string(table.columns[columns.sum].name), "accesses"),
                  time_of(track, row_, columns), *sum);
}

}  // namespace

bool is_perfetto_trace(std::string_view front)
{
    return front.starts_with(Packets::front());
}

WriterResult make_perfetto_trace(const Output &output)
{
    Result<TextFile> file = TextFile::create(output.path);
    if (!file)
        return file.error();
    return WriterResult(std::make_unique<PerfettoTrace>(std::move(*file)));
}

}  // namespace pmukit::exporter
