// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Layout: perf_event_open(2) and perf.data-file-format.txt.
#include "perfdata/translate.hpp"

#include <linux/perf_event.h>

#include "base/bytes.hpp"
#include "perfdata/format.hpp"
#include "perfdata/sample.hpp"

namespace pmukit::perfdata {
namespace {

// kStream: the id of the kernel's event, which for an inherited event is not in the header.
enum class Kind { kId, kStream, kThread, kCpu, kRing, kCgroup, kTime };

struct Field {
    uint32_t type;
    size_t at;  // offset in the body
    Kind kind;
};

constexpr Field kFields[] = {
    {PERF_RECORD_MMAP, 0, Kind::kThread},
    {PERF_RECORD_MMAP, 4, Kind::kThread},
    {PERF_RECORD_MMAP2, 0, Kind::kThread},
    {PERF_RECORD_MMAP2, 4, Kind::kThread},
    {PERF_RECORD_LOST, 0, Kind::kId},
    {PERF_RECORD_COMM, 0, Kind::kThread},
    {PERF_RECORD_COMM, 4, Kind::kThread},
    {PERF_RECORD_EXIT, 0, Kind::kThread},
    {PERF_RECORD_EXIT, 4, Kind::kThread},
    {PERF_RECORD_EXIT, 8, Kind::kThread},
    {PERF_RECORD_EXIT, 12, Kind::kThread},
    {PERF_RECORD_EXIT, 16, Kind::kTime},
    {PERF_RECORD_FORK, 0, Kind::kThread},
    {PERF_RECORD_FORK, 4, Kind::kThread},
    {PERF_RECORD_FORK, 8, Kind::kThread},
    {PERF_RECORD_FORK, 12, Kind::kThread},
    {PERF_RECORD_FORK, 16, Kind::kTime},
    {PERF_RECORD_THROTTLE, 0, Kind::kTime},
    {PERF_RECORD_THROTTLE, 8, Kind::kId},
    {PERF_RECORD_THROTTLE, 16, Kind::kStream},
    {PERF_RECORD_UNTHROTTLE, 0, Kind::kTime},
    {PERF_RECORD_UNTHROTTLE, 8, Kind::kId},
    {PERF_RECORD_UNTHROTTLE, 16, Kind::kStream},
    {PERF_RECORD_READ, 0, Kind::kThread},
    {PERF_RECORD_READ, 4, Kind::kThread},
    {PERF_RECORD_ITRACE_START, 0, Kind::kThread},
    {PERF_RECORD_ITRACE_START, 4, Kind::kThread},
    {PERF_RECORD_SWITCH_CPU_WIDE, 0, Kind::kThread},
    {PERF_RECORD_SWITCH_CPU_WIDE, 4, Kind::kThread},
    {PERF_RECORD_NAMESPACES, 0, Kind::kThread},
    {PERF_RECORD_NAMESPACES, 4, Kind::kThread},
    {PERF_RECORD_CGROUP, 0, Kind::kCgroup},
    {kHeaderBuildId, 0, Kind::kThread},
    {kEventUpdate, 8, Kind::kId},
    {kAuxtrace, 16, Kind::kId},  // event id from pmukit's writer; no id in other files
    {kAuxtrace, 24, Kind::kRing},
    {kAuxtrace, 28, Kind::kThread},
    {kAuxtrace, 32, Kind::kCpu},
    {kAuxtraceError, 8, Kind::kCpu},
    {kAuxtraceError, 12, Kind::kThread},
    {kAuxtraceError, 16, Kind::kThread},
    {kAuxtraceError, 32, Kind::kTime},
    {kStat, 0, Kind::kId},
    {kStat, 8, Kind::kCpu},
};

class Patch {
public:
    Patch(std::span<std::byte> body, std::endian order, const Translation &translation)
        : body_(body), order_(order), translation_(translation)
    {
    }

    void field(size_t at, Kind kind)
    {
        const Translation &to = translation_;
        switch (kind) {
            case Kind::kId:
            case Kind::kStream:
                return word(at, [&](uint64_t id) { return id_of(id, kind); });
            case Kind::kCgroup:
                return word(at, [&](uint64_t id) { return id == 0 ? id : in(to.cgroups, id); });
            case Kind::kTime:
                return word(at, [&to](uint64_t time) {
                    return time == 0 || time == UINT64_MAX ? time : time + to.time_shift_ns;
                });
            case Kind::kThread:
                return half(at, [&](uint32_t tid) {
                    return tid == 0 || tid == UINT32_MAX ? tid : in(to.threads, tid);
                });
            case Kind::kCpu:
                return half(
                    at, [&](uint32_t cpu) { return cpu == UINT32_MAX ? cpu : in(to.cpus, cpu); });
            case Kind::kRing:
                return half(at, [&](uint32_t ring) { return in(to.rings, ring); });
        }
    }
    // False if a number belongs to another input.
    bool valid() const { return valid_; }
    size_t size() const { return body_.size(); }
    uint64_t word_at(size_t at) const
    {
        return fits(at, 8) ? load<uint64_t>(body_.data() + at, order_) : 0;
    }

private:
    uint64_t id_of(uint64_t id, Kind kind)
    {
        const Translation &to = translation_;
        const uint64_t *const found = to.ids.find(id);
        const bool taken =
            !found && to.all_ids && to.all_ids->find(id) && !(to.is_own && to.is_own(id));
        valid_ = valid_ && (!taken || kind == Kind::kStream);
        return found ? *found : id;
    }
    template <typename T>
    T in(const Translation::Range &range, T number)
    {
        valid_ = valid_ && number < range.size;
        return static_cast<T>(number + range.shift);
    }
    bool fits(size_t at, size_t bytes) const
    {
        return at <= body_.size() && body_.size() - at >= bytes;
    }
    template <typename Change>
    void word(size_t at, Change change)
    {
        if (fits(at, 8))
            store(body_.data() + at, change(load<uint64_t>(body_.data() + at, order_)), order_);
    }
    template <typename Change>
    void half(size_t at, Change change)
    {
        if (fits(at, 4))
            store(body_.data() + at, change(load<uint32_t>(body_.data() + at, order_)), order_);
    }

    std::span<std::byte> body_;
    std::endian order_;
    const Translation &translation_;
    bool valid_ = true;
};

// Words at the start of a sample, and words of the trailer of other records. Both arrays are in the
// order of the words in a record.
struct Word {
    uint64_t bit;
    bool of_interest;
    Kind kind;
};
constexpr Word kSampleWords[] = {
    {PERF_SAMPLE_IDENTIFIER, true, Kind::kId},
    {PERF_SAMPLE_IP, false, {}},
    {PERF_SAMPLE_TID, true, Kind::kThread},
    {PERF_SAMPLE_TIME, true, Kind::kTime},
    {PERF_SAMPLE_ADDR, false, {}},
    {PERF_SAMPLE_ID, true, Kind::kId},
    {PERF_SAMPLE_STREAM_ID, true, Kind::kStream},
    {PERF_SAMPLE_CPU, true, Kind::kCpu},
    {PERF_SAMPLE_PERIOD, false, {}},
};
constexpr Word kTrailerWords[] = {
    {PERF_SAMPLE_TID, true, Kind::kThread}, {PERF_SAMPLE_TIME, true, Kind::kTime},
    {PERF_SAMPLE_ID, true, Kind::kId},      {PERF_SAMPLE_STREAM_ID, true, Kind::kStream},
    {PERF_SAMPLE_CPU, true, Kind::kCpu},    {PERF_SAMPLE_IDENTIFIER, true, Kind::kId},
};

// Translates the words of interest from `at` on; returns the offset after all words.
size_t patch_words(Patch &patch, size_t at, std::span<const Word> words, uint64_t sample_type)
{
    for (const Word &word : words) {
        if (!(sample_type & word.bit))
            continue;
        if (word.of_interest)
            patch.field(at, word.kind);
        if (word.bit == PERF_SAMPLE_TID)  // pid and tid
            patch.field(at + 4, word.kind);
        at += 8;
    }
    return at;
}

// Translates the ids in the counts of an event or of a group (read_format).
void patch_counts(Patch &patch, size_t at, uint64_t format)
{
    if (!(format & PERF_FORMAT_ID))
        return;
    const size_t times = 8 * (((format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0) +
                              ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0));
    if (!(format & PERF_FORMAT_GROUP))
        return patch.field(at + 8 + times, Kind::kId);
    const size_t each = 16 + (format & PERF_FORMAT_LOST ? 8 : 0);
    const uint64_t count = patch.word_at(at);
    at += 8 + times;
    for (uint64_t i = 0; i < count && at + 16 <= patch.size(); i++, at += each)
        patch.field(at + 8, Kind::kId);
}

// Translates the entries of an ID_INDEX: id, ring, CPU and thread, one word each.
void patch_id_index(Patch &patch, std::endian order)
{
    constexpr size_t kEntryBytes = 32;
    const size_t low = order == std::endian::little ? 0 : 4;  // offset of the lower half of a word
    const uint64_t count = patch.word_at(0);
    size_t at = 8;
    for (uint64_t i = 0; i < count && patch.size() - at >= kEntryBytes; i++, at += kEntryBytes) {
        patch.field(at, Kind::kId);
        patch.field(at + 8 + low, Kind::kRing);
        patch.field(at + 16 + low, Kind::kCpu);
        patch.field(at + 24 + low, Kind::kThread);
    }
}

}  // namespace

bool translate(uint32_t type, std::span<std::byte> body, const Attr &attr, std::endian order,
               const Translation &translation)
{
    Patch patch(body, order, translation);
    for (const Field &field : kFields)
        if (field.type == type)
            patch.field(field.at, field.kind);
    if (type == kIdIndex) {
        patch_id_index(patch, order);
    } else if (type == PERF_RECORD_SAMPLE) {
        const size_t end = patch_words(patch, 0, kSampleWords, attr.sample_type);
        if (attr.sample_type & PERF_SAMPLE_READ)
            patch_counts(patch, end, attr.read_format);
        if (const auto at = sample_cgroup_position(body, attr, order))
            patch.field(*at, Kind::kCgroup);
    } else {
        if (type == PERF_RECORD_READ)
            patch_counts(patch, 8, attr.read_format);
        const size_t trailer = trailer_bytes(attr);
        if (type < kHeaderAttr && trailer <= body.size())
            patch_words(patch, body.size() - trailer, kTrailerWords, attr.sample_type);
    }
    return patch.valid();
}

}  // namespace pmukit::perfdata
