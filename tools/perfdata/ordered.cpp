// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/ordered.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {

bool OrderedReader::later(const Kept &a, const Kept &b)
{
    return std::tie(a.time_ns, a.sequence) > std::tie(b.time_ns, b.sequence);
}

void OrderedReader::keep(const Record &record, uint64_t time_ns)
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
    heap_.push_back({time_ns, sequence_++, kept, block});
    std::push_heap(heap_.begin(), heap_.end(), later);
    newest_ns_ = std::max(newest_ns_, time_ns);
}

// The caller is done with the record that was given last.
void OrderedReader::release()
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

void OrderedReader::give(Record &into)
{
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Kept &kept = heap_.back();
    late_ += kept.time_ns < given_ns_;
    given_ns_ = std::max(given_ns_, kept.time_ns);
    given_ = kept.block;
    into = kept.record;
    heap_.pop_back();
}

// Blocks count whole: one record may keep one alive.
bool OrderedReader::full() const
{
    return blocks_.size() * block_bytes() + heap_.size() * sizeof(Kept) > max_bytes_;
}

bool OrderedReader::may_give() const
{
    return !heap_.empty() && (ended_ || heap_.front().time_ns <= round_ns_ || full());
}

Result<bool> OrderedReader::next(Record &into)
{
    release();
    for (;;) {
        if (may_give()) {
            give(into);
            return true;
        }
        if (ended_)
            return false;
        Result<bool> more = reader_.next(into);
        if (!more)
            return more;
        if (!*more) {
            ended_ = true;
            continue;
        }
        std::optional<uint64_t> time_ns =
            into.type < kHeaderAttr ? reader_.time_of(into) : std::nullopt;
        // 0 and -1: made up by perf, or of an event whose clock was not read.
        if (!time_ns || *time_ns == 0 || *time_ns == UINT64_MAX) {
            if (into.type == kFinishedRound)
                round_ns_ = std::exchange(next_round_ns_, newest_ns_);
            return true;
        }
        keep(into, *time_ns);
    }
}

}  // namespace pmukit::perfdata
