// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A library for LD_PRELOAD, in which `new` throws std::bad_alloc for allocation number
// NO_MEMORY_FROM (environment variable) and all later ones. With it, tests can make any allocation
// fail, which a memory limit does not allow. If NO_SHARED_MAPS is set, mmap() of a file that is to
// be written fails, too.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

bool is_granted()
{
    static const char *const first = std::getenv("NO_MEMORY_FROM");
    static const long granted = first ? std::atol(first) : 0;
    static std::atomic<long> count;
    return ++count < granted || granted == 0;
}

}  // namespace

extern "C" void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE) &&
        std::getenv("NO_SHARED_MAPS")) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return reinterpret_cast<void *>(::syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}

extern "C" void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return mmap(at, bytes, protection, flags, fd, offset);
}

void *operator new(std::size_t bytes)
{
    if (is_granted())
        if (void *at = std::malloc(bytes ? bytes : 1))
            return at;
    throw std::bad_alloc();
}

void operator delete(void *at) noexcept
{
    std::free(at);
}

void operator delete(void *at, std::size_t) noexcept
{
    std::free(at);
}
