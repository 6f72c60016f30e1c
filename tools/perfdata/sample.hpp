// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Every field of PERF_RECORD_SAMPLE, and the sample_id at the end of every other kernel record if
// sample_id_all is set. Layout: perf_event_open(2).
//
// A Sample borrows from the record's body and is valid as long as the record. Only single words are
// copied, and nothing is allocated.
#pragma once

#include <linux/perf_event.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "perfdata/attr.hpp"

namespace pmukit::perfdata {

// 64-bit words of the file's byte order, borrowed, at any alignment.
class WordView {
public:
    WordView() = default;
    WordView(Bytes bytes, std::endian order) : bytes_(bytes), order_(order) {}

    size_t size() const { return bytes_.size() / sizeof(uint64_t); }
    bool empty() const { return size() == 0; }
    uint64_t operator[](size_t i) const
    {
        return load<uint64_t>(bytes_.data() + i * sizeof(uint64_t), order_);
    }
    WordView first(size_t words) const
    {
        return WordView(bytes_.first(words * sizeof(uint64_t)), order_);
    }
    WordView from(size_t first) const
    {
        return WordView(bytes_.subspan(first * sizeof(uint64_t)), order_);
    }

private:
    Bytes bytes_;
    std::endian order_ = std::endian::little;
};

struct SampleId {
    std::optional<uint64_t> id;
    std::optional<uint64_t> time_ns;
    std::optional<uint32_t> pid, tid;
    std::optional<uint32_t> cpu;
    std::optional<uint64_t> stream_id;
};

// Counts of an event, or of each event of a group (PERF_FORMAT_GROUP).
class CountView {
public:
    struct Count {
        uint64_t value = 0;
        std::optional<uint64_t> id, lost;
    };
    CountView() = default;
    // words: exactly the words that read_format implies.
    CountView(WordView words, uint64_t read_format) : words_(words), format_(read_format) {}

    size_t size() const;
    Count operator[](size_t i) const;
    std::optional<uint64_t> time_enabled_ns() const;
    std::optional<uint64_t> time_running_ns() const;

private:
    size_t times() const;
    size_t words_per_count() const;
    std::optional<uint64_t> time(uint64_t which) const;

    WordView words_;
    uint64_t format_ = 0;
};

class BranchView {
public:
    struct Branch {
        uint64_t from, to,
            flags;  // flags: bits of struct perf_branch_entry, in the recording machine's order
    };
    BranchView() = default;
    BranchView(WordView words, WordView counters, std::optional<uint64_t> hw_index)
        : words_(words), counters_(counters), hw_index_(hw_index)
    {
    }

    size_t size() const { return words_.size() / 3; }
    Branch operator[](size_t i) const
    {
        return {words_[3 * i], words_[3 * i + 1], words_[3 * i + 2]};
    }
    // PERF_SAMPLE_BRANCH_COUNTERS: one word per branch, or empty.
    WordView counters() const { return counters_; }
    std::optional<uint64_t> hw_index() const { return hw_index_; }

private:
    WordView words_, counters_;
    std::optional<uint64_t> hw_index_;
};

struct Registers {
    uint64_t abi = 0;   // enum perf_sample_regs_abi; 0: no registers
    uint64_t mask = 0;  // mask of registers, lowest bit first; values has one word per bit
    WordView values;
};

// A field that the event did not request is nullopt or empty.
struct Sample {
    SampleId sample_id;
    std::optional<uint64_t> ip, addr;
    std::optional<uint64_t> period;
    CountView counts;    // PERF_SAMPLE_READ
    WordView callchain;  // addresses, with PERF_CONTEXT_* marks between them
    std::optional<Bytes> raw;
    BranchView branches;
    Registers user_regs, intr_regs;
    Bytes user_stack;                  // the bytes that were really copied (dyn_size)
    std::optional<uint64_t> weight;    // PERF_SAMPLE_WEIGHT, or the three weights of WEIGHT_STRUCT
    std::optional<uint64_t> data_src;  // union perf_mem_data_src as one word
    std::optional<uint64_t> transaction;
    std::optional<uint64_t> phys_addr;
    std::optional<uint64_t> cgroup;
    std::optional<uint64_t> data_page_bytes, code_page_bytes;
    Bytes aux;  // PERF_SAMPLE_AUX
};

// Parses many samples: reuses one Sample and writes only the fields of the event, which halves the
// time for a small sample.
class SampleParser {
public:
    SampleParser();
    SampleParser(SampleParser &&) noexcept;
    SampleParser &operator=(SampleParser &&) noexcept;
    ~SampleParser();

    // The result is borrowed until the next call. nullptr: the body is too short for its attribute.
    const Sample *parse(Bytes body, const Attr &attr, std::endian order);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// nullopt: the body is too short for its attribute.
std::optional<Sample> parse_sample(Bytes body, const Attr &attr, std::endian order);
std::optional<SampleId> parse_sample_id(Bytes body, const Attr &attr, std::endian order);

// The one-word fields that compose_sample() supports, and PERF_SAMPLE_RAW.
constexpr uint64_t kComposable = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
                                 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                                 PERF_SAMPLE_RAW;
// Returns the body of a sample. Fields that `sample_id` lacks are 0; the period is 1. sample_type:
// bits of kComposable. nullopt: the body is too long for a record.
std::optional<std::vector<std::byte>> compose_sample(uint64_t sample_type,
                                                     const SampleId &sample_id, Bytes raw,
                                                     std::endian order);

// Size of the sample_id at the end of a record; 0 without sample_id_all.
size_t trailer_bytes(const Attr &attr);

// Byte offset of the event id, from the start of a sample or from the end of another record.
// nullopt: no id.
std::optional<size_t> sample_id_position(uint64_t sample_type);
std::optional<size_t> trailer_id_position(uint64_t sample_type);
// Byte offset of the cgroup id in this sample. nullopt: the sample has none, or is too short.
std::optional<size_t> sample_cgroup_position(Bytes body, const Attr &attr, std::endian order);
// Byte offset of the time, counted as that of the id.
std::optional<size_t> sample_time_position(uint64_t sample_type);
std::optional<size_t> trailer_time_position(uint64_t sample_type);

}  // namespace pmukit::perfdata
