// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/ordered.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "perfdata/format.hpp"
#include "perfdata/time_queue.hpp"

namespace pmukit::perfdata {

bool TimeQueue::later(const Kept &a, const Kept &b)
{
    return std::tie(a.time_ns, a.sequence) > std::tie(b.time_ns, b.sequence);
}

void TimeQueue::keep(const Record &record, uint64_t time_ns)
{
    const size_t size = record.body.size();
    if (blocks_.empty() || block_bytes() - blocks_.back()->used < size) {
        auto block = std::make_unique<Block>();
        block->bytes = std::make_unique_for_overwrite<std::byte[]>(block_bytes());
        blocks_.push_back(std::move(block));
    }
    Block *block = blocks_.back().get();
    std::byte *to = block->bytes.get() + block->used;
    if (size != 0)
        std::memcpy(to, record.body.data(), size);
    block->used += size;
    block->records++;

    Record kept = record;
    kept.body = Bytes(to, size);
    const Kept next{time_ns, sequence_++, kept, block};
    if (run_.empty() || time_ns >= run_.back().time_ns) {
        run_.push_back(next);
    } else {
        heap_.push_back(next);
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    newest_ns_ = std::max(newest_ns_, time_ns);
}

// Releases the memory of the record that was returned last: the caller no longer uses it.
void TimeQueue::release()
{
    if (!given_)
        return;
    if (--given_->records == 0) {
        given_->used = 0;
        if (given_ != blocks_.back().get())
            std::erase_if(blocks_, [this](const auto &block) { return block.get() == given_; });
    }
    given_ = nullptr;
}

// True if the stored records take more than max_bytes_. Counts whole blocks, because a single
// record keeps its block allocated.
bool TimeQueue::full() const
{
    const size_t records = run_.size() + heap_.size();
    return blocks_.size() * block_bytes() + records * sizeof(Kept) > max_bytes_;
}

// nullptr: the queue is empty.
const TimeQueue::Kept *TimeQueue::oldest() const
{
    if (heap_.empty())
        return run_.empty() ? nullptr : &run_.front();
    return run_.empty() || later(run_.front(), heap_.front()) ? &heap_.front() : &run_.front();
}

void TimeQueue::end_round()
{
    round_ns_ = std::exchange(next_round_ns_, newest_ns_);
}

bool TimeQueue::give(Record &into)
{
    release();
    const Kept *kept = oldest();
    if (!kept || !(ended_ || kept->time_ns <= round_ns_ || full()))
        return false;
    late_ += kept->time_ns < given_ns_;
    given_ns_ = std::max(given_ns_, kept->time_ns);
    given_ = kept->block;
    into = kept->record;
    if (!run_.empty() && kept == &run_.front()) {
        run_.pop_front();
    } else {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
    }
    return true;
}

std::optional<uint64_t> kernel_time_ns(const Record &record, const Reader &reader)
{
    const std::optional<uint64_t> time_ns =
        record.type < kHeaderAttr ? reader.time_of(record) : std::nullopt;
    return time_ns && *time_ns != 0 && *time_ns != UINT64_MAX ? time_ns : std::nullopt;
}

struct __attribute__((visibility("hidden"))) OrderedReader::State {
    State(Reader &reader, size_t max_bytes) : reader_(reader), queue_(max_bytes) {}
    bool next(Record &into);

    Reader &reader_;
    TimeQueue queue_;
    std::function<void(const Record &)> each_;
    bool ended_ = false;
};

bool OrderedReader::State::next(Record &into)
{
    for (;;) {
        if (queue_.give(into))
            return true;
        if (ended_)
            return false;
        if (!reader_.next(into)) {
            if (reader_.error())
                return false;
            ended_ = true;
            queue_.end();
            continue;
        }
        if (each_)
            each_(into);
        const std::optional<uint64_t> time_ns = kernel_time_ns(into, reader_);
        if (!time_ns) {
            if (into.type == kFinishedRound)
                queue_.end_round();
            return true;
        }
        queue_.keep(into, *time_ns);
    }
}

OrderedReader::OrderedReader(Reader &reader, size_t max_bytes)
    : state_(std::make_unique<State>(reader, max_bytes))
{
}
OrderedReader::OrderedReader(OrderedReader &&) noexcept = default;
OrderedReader &OrderedReader::operator=(OrderedReader &&) noexcept = default;
OrderedReader::~OrderedReader() = default;

bool OrderedReader::next(Record &into)
{
    return state_->next(into);
}

const std::optional<Error> &OrderedReader::error() const
{
    return state_->reader_.error();
}

uint64_t OrderedReader::late_records() const
{
    return state_->queue_.late_records();
}

void OrderedReader::on_read(std::function<void(const Record &)> each)
{
    state_->each_ = std::move(each);
}

}  // namespace pmukit::perfdata
