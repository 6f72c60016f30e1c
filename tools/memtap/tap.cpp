// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "memtap/tap.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fd.hpp"
#include "base/file.hpp"

namespace pmukit::memtap {

namespace {

constexpr unsigned kMaxLog2Width = 6;  // 64 bytes, the widest register

}  // namespace

Result<Tap> Tap::create(const std::string &path, uint64_t base, uint64_t bytes)
{
    if (bytes == 0 || bytes > uint64_t{1} << kOffsetBits || base > UINT64_MAX - (bytes - 1))
        return Error{Errc::kUsage, path + ": no such range of memory can be tapped"};
    ::unlink(path.c_str());
    const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), sizeof(Layout)) != 0)
        return system_error(path, errno);
    void *at = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED)
        return system_error(path, errno);
    // All bytes of a new file are zero.
    auto *layout = static_cast<Layout *>(at);
    layout->header.base = base;
    layout->header.bytes = bytes;
    layout->header.magic = kMagic;
    return Tap(path, layout, bytes);
}

Tap::Tap(Tap &&other) noexcept
    : path_(std::move(other.path_)),
      layout_(std::exchange(other.layout_, nullptr)),
      bytes_(other.bytes_),
      last_heads_(other.last_heads_),
      refused_(other.refused_)
{
    std::ranges::copy(other.tails_, tails_);
}

Tap::~Tap()
{
    if (!layout_)
        return;
    layout_->header.reader_left.store(1, std::memory_order_release);
    ::munmap(layout_, sizeof(Layout));
    ::unlink(path_.c_str());
}

void Tap::close()
{
    layout_->header.reader_left.store(1, std::memory_order_release);
    std::array<uint64_t, kRings> heads;
    for (unsigned i = 0; i < kRings; i++)
        heads[i] = head_of(i);
    last_heads_ = heads;
}

uint64_t Tap::head_of(unsigned ring) const
{
    return last_heads_ ? (*last_heads_)[ring]
                       : layout_->rings[ring].head.load(std::memory_order_acquire);
}

size_t Tap::take_from(unsigned index, std::span<Access> into)
{
    Ring &ring = layout_->rings[index];
    uint64_t &tail = tails_[index];
    const uint64_t head = head_of(index);
    // The head is invalid: it has decreased, or has passed words that were not read.
    if (head - tail > kRingEntries) {
        refused_++;
        tail = head;
    }
    size_t taken = 0;
    for (; tail != head && taken < into.size(); tail++) {
        const Access access =
            access_of(ring.words[tail % kRingEntries].load(std::memory_order_relaxed));
        if (access.offset < bytes_ && access.log2_width <= kMaxLog2Width)
            into[taken++] = access;
        else
            refused_++;
    }
    ring.tail.store(tail, std::memory_order_release);
    return taken;
}

size_t Tap::take(std::span<Access> into)
{
    size_t taken = 0;
    for (unsigned i = 0; i < kRings && taken < into.size(); i++)
        taken += take_from(i, into.subspan(taken));
    return taken;
}

}  // namespace pmukit::memtap
