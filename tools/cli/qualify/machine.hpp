// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Access to device memory, MSRs and CPUID of a machine. The root is a parameter, so that tests can
// use a tree of files. In such a tree, device memory is a file, MSR n is at byte 8 n of
// dev/cpu/N/msr, and the file "cpuid" has the output of `cpuid -r`.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cli/doctor_host.hpp"

namespace pmukit::cli::qualify {

// Mapped device memory. Each access has exactly the requested width. Outside the window, reads
// return all ones and writes have no effect, as on a bus.
class Window {
public:
    Window() = default;
    Window(std::byte *mapping, size_t mapped, size_t skip)
        : mapping_(mapping), mapped_(mapped), skip_(skip)
    {
    }
    Window(Window &&other) noexcept
        : mapping_(std::exchange(other.mapping_, nullptr)),
          mapped_(other.mapped_),
          skip_(other.skip_)
    {
    }
    Window &operator=(Window &&other) noexcept
    {
        std::swap(mapping_, other.mapping_);
        std::swap(mapped_, other.mapped_);
        std::swap(skip_, other.skip_);
        return *this;
    }
    ~Window();

    size_t size() const { return mapped_ - skip_; }
    template <std::unsigned_integral T>
    T read(uint64_t offset) const
    {
        return has(offset, sizeof(T)) ? *at<T>(offset) : static_cast<T>(~T{0});
    }
    template <std::unsigned_integral T>
    void write(uint64_t offset, T value) const
    {
        if (has(offset, sizeof(T)))
            *at<T>(offset) = value;
    }

private:
    bool has(uint64_t offset, size_t bytes) const
    {
        return mapping_ && offset <= size() && bytes <= size() - offset;
    }
    template <typename T>
    volatile T *at(uint64_t offset) const
    {
        return reinterpret_cast<volatile T *>(mapping_ + skip_ + offset);
    }

    std::byte *mapping_ = nullptr;
    size_t mapped_ = 0, skip_ = 0;
};

// Restores the value of a register at the end of a scope.
template <std::unsigned_integral T>
class PutBack {
public:
    PutBack(const Window &window, uint64_t offset)
        : window_(window), offset_(offset), before_(window.read<T>(offset))
    {
    }
    PutBack(const PutBack &) = delete;
    PutBack &operator=(const PutBack &) = delete;
    ~PutBack() { window_.write<T>(offset_, before_); }
    T before() const { return before_; }

private:
    const Window &window_;
    uint64_t offset_;
    T before_;
};

struct CpuidLeaf {
    uint32_t eax, ebx, ecx, edx;
};

enum class Access { kRead, kReadWrite };

class Machine {
public:
    explicit Machine(Host host, bool active = false, bool full = false)
        : host_(std::move(host)), active_(active), full_(full)
    {
    }

    const Host &host() const { return host_; }
    bool active() const { return active_; }
    // True if results may contain memory addresses.
    bool full() const { return full_; }

    // Maps a file of device memory (sys/bus/pci/devices/*/resourceN or dev/mem) from `offset`.
    Result<Window> map(const std::string &name, uint64_t offset, size_t bytes, Access access) const;
    // Maps a range of physical addresses.
    Result<Window> memory(uint64_t address, size_t bytes, Access access) const
    {
        return map("dev/mem", address, bytes, access);
    }

    Result<uint64_t> msr(unsigned cpu, uint32_t number) const;
    // Before the first write to an MSR of this machine, prints that it taints the kernel.
    // Errc::kDenied: the kernel lets no program write MSRs; Errc::kIo: the MSR refuses the value.
    Result<void> write_msr(unsigned cpu, uint32_t number, uint64_t value) const;
    // nullopt: the CPU does not exist or has no CPUID.
    std::optional<CpuidLeaf> cpuid(unsigned cpu, uint32_t leaf, uint32_t subleaf = 0) const;
    // True if CPUID reports a hypervisor.
    bool is_virtual() const;
    // True if CPUID reports that QEMU emulates the processor (TCG).
    bool is_emulated() const;
    std::vector<unsigned> cpus() const;  // online CPUs

    // Names of the regions in /proc/iomem by which drivers have claimed any of these addresses.
    // nullopt: the kernel hides the regions from this user.
    std::optional<std::vector<std::string>> claims(uint64_t first, uint64_t last) const;
    // True if any of these addresses is RAM.
    bool is_ram(uint64_t first, uint64_t last) const;
    // True if resctrl is mounted in the mount namespace of this process or of PID 1.
    bool resctrl_mounted() const;

private:
    struct Region {
        uint64_t first, last;
        std::string name;
    };
    std::vector<Region> regions() const;
    CpuidLeaf first_cpuid(uint32_t leaf) const;  // of the first online CPU; zeros: no CPUID

    Host host_;
    bool active_, full_;
    mutable bool warned_of_taint_ = false;
};

}  // namespace pmukit::cli::qualify
