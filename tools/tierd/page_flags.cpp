// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tierd/page_flags.hpp"

#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.hpp"

namespace pmukit::tierd {
namespace {

constexpr uint64_t kBlock = 512;
// include/linux/kernel-page-flags.h of Linux has it outside of the interface for programs.
constexpr unsigned kKpfMlocked = 33;

constexpr uint64_t bit(unsigned number)
{
    return uint64_t{1} << number;
}
constexpr uint64_t kHead = bit(KPF_COMPOUND_HEAD), kTail = bit(KPF_COMPOUND_TAIL);
// Without KPF_KSM: Linux 6.10 and later set it for each anonymous page, until a fix. Pages of KSM
// that several processes map are left out, because they are not mapped exclusively.
constexpr uint64_t kStays = bit(KPF_UNEVICTABLE) | bit(kKpfMlocked) | bit(KPF_HUGE) |
                            bit(KPF_HWPOISON) | bit(KPF_ZERO_PAGE);

}  // namespace

Result<PageFlags> PageFlags::open(const std::string &path)
{
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return system_error(path, errno);
    return PageFlags(std::move(file), path);
}

Result<void> PageFlags::read_block(uint64_t first)
{
    flags_.resize(kBlock);
    const ssize_t got = ::pread(file_.get(), flags_.data(), kBlock * sizeof flags_[0],
                                static_cast<off_t>(first * sizeof flags_[0]));
    if (got < 0)
        return system_error(path_, errno);
    flags_.resize(static_cast<size_t>(got) / sizeof flags_[0]);
    first_ = first;
    return {};
}

Result<Folio> PageFlags::folio_of(uint64_t frame)
{
    const uint64_t block = frame / kBlock * kBlock;
    if (flags_.empty() || first_ != block)
        if (Result<void> read = read_block(block); !read)
            return read.error();
    size_t at = frame - block;
    if (at >= flags_.size())  // memory that was unplugged
        return Folio{frame, 1, true};
    if (!(flags_[at] & (kHead | kTail)))
        return Folio{frame, 1, (flags_[at] & kStays) != 0};
    while (at > 0 && (flags_[at] & kTail))
        at--;
    size_t end = at + 1;
    while (end < flags_.size() && (flags_[end] & kTail))
        end++;
    const bool stays = ((flags_[at] | flags_[frame - block]) & kStays) != 0;
    return Folio{block + at, end - at, stays};
}

}  // namespace pmukit::tierd
