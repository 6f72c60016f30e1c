// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/bar_memory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace pmukit::vfu {

Result<BarMemory> BarMemory::create(uint64_t size_bytes)
{
    const auto refused = [size_bytes] {
        return Error{Errc::kEnvironment, fmt::format("cannot make {} bytes of shared memory: {}",
                                                     size_bytes, std::strerror(errno))};
    };
    Fd fd(memfd_create("pmukit-bar", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0 ||
        fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return refused();
    void *at = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED)
        return refused();
    return BarMemory(std::move(fd), {static_cast<std::byte *>(at), size_bytes});
}

BarMemory::BarMemory(BarMemory &&other) noexcept
    : fd_(std::move(other.fd_)), bytes_(std::exchange(other.bytes_, {}))
{
}

BarMemory::~BarMemory()
{
    if (!bytes_.empty())
        munmap(bytes_.data(), bytes_.size());
}

}  // namespace pmukit::vfu
