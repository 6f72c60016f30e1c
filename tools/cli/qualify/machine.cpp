// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/qualify/machine.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/qualify/check.hpp"
#include "console/output.hpp"

namespace pmukit::cli::qualify {
namespace {

// Parses a hexadecimal number without prefix. nullopt: a character is not a digit.
std::optional<uint64_t> hex(std::string_view digits)
{
    uint64_t value = 0;
    const char *end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value, 16);
    return !digits.empty() && parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value)
                                                                            : std::nullopt;
}

Error map_error(const std::string &path, int error)
{
    if (error == EINVAL)
        return Error{Errc::kBusy, path + ": the kernel keeps this memory to a driver"};
    if (error == EPERM || error == EACCES)
        return Error{Errc::kDenied, path + ": needs root, and a kernel without lockdown"};
    return system_error(path, error);
}

// True for a name such as 0000:7f:00.3.
bool is_pci_address(std::string_view name)
{
    const size_t size = name.size();
    return size >= 12 && name[size - 8] == ':' && name[size - 5] == ':' && name[size - 2] == '.';
}

// True for a region of /proc/iomem that only contains others, and does not claim addresses itself.
bool is_container(std::string_view name)
{
    return name.starts_with("PCI ") || name == "Reserved" || name == "reserved";
}

}  // namespace

Window::~Window()
{
    if (mapping_)
        ::munmap(mapping_, mapped_);
}

Result<Window> Machine::map(const std::string &name, uint64_t offset, size_t bytes,
                            Access access) const
{
    const std::string path = host_.path(name);
    const bool writes = access == Access::kReadWrite && active_;
    const Fd fd(
        ::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_SYNC | O_NONBLOCK | O_CLOEXEC));
    if (!fd)
        return map_error(path, errno);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0)
        return system_error(path, errno);
    const uint64_t end = offset + bytes;
    if (S_ISREG(status.st_mode) && (end < offset || end > static_cast<uint64_t>(status.st_size)))
        return Error{Errc::kTruncated, text_of("{}: ends before byte {:#x}", path, end)};
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t skip = offset % page;
    void *at = ::mmap(nullptr, bytes + skip, writes ? PROT_READ | PROT_WRITE : PROT_READ,
                      MAP_SHARED, fd.get(), static_cast<off_t>(offset - skip));
    if (at == MAP_FAILED)
        return map_error(path, errno);
    return Window(static_cast<std::byte *>(at), bytes + skip, skip);
}

namespace {

struct MsrFile {
    Fd fd;
    off_t at = 0;         // offset of the MSR in the file
    bool device = false;  // false: a file in a copy of a machine
};

Result<MsrFile> open_msr(const Host &host, unsigned cpu, int flags, uint32_t number)
{
    const std::string path = host.path(text_of("dev/cpu/{}/msr", cpu));
    Fd fd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
    if (!fd && errno == ENOENT)
        return Error{Errc::kNotFound, path + ": not there; load the module msr"};
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return map_error(path, errno);
    const bool device = S_ISCHR(status.st_mode);
    return MsrFile{std::move(fd), device ? off_t{number} : off_t{8} * number, device};
}

// Linux, arch/x86/kernel/msr.c: msr_write()
constexpr const char *kTaints =
    "qualify: MSRs are written now. Each write that the kernel accepts sets its taint flag S (CPU "
    "out of specification) until the next boot; its log may show 'Write to unrecognized MSR'";

}  // namespace

Result<uint64_t> Machine::msr(unsigned cpu, uint32_t number) const
{
    const Result<MsrFile> file = open_msr(host_, cpu, O_RDONLY, number);
    if (!file)
        return file.error();
    uint64_t value = 0;
    if (::pread(file->fd.get(), &value, sizeof value, file->at) != sizeof value)
        return Error{Errc::kIo, text_of("MSR {:#x} of CPU {} cannot be read", number, cpu)};
    return value;
}

Result<void> Machine::write_msr(unsigned cpu, uint32_t number, uint64_t value) const
{
    const Result<MsrFile> file = open_msr(host_, cpu, O_WRONLY, number);
    if (!file)
        return file.error();
    if (file->device && !std::exchange(warned_of_taint_, true))
        warn(kTaints);
    const ssize_t written = ::pwrite(file->fd.get(), &value, sizeof value, file->at);
    if (written == sizeof value)
        return {};
    if (written < 0 && errno == EPERM)
        return Error{Errc::kDenied, text_of("MSR {:#x} of CPU {}: the kernel lets no program write "
                                            "MSRs (msr.allow_writes=off, or lockdown)",
                                            number, cpu)};
    return Error{Errc::kIo, text_of("MSR {:#x} of CPU {} refuses {:#x}", number, cpu, value)};
}

namespace {

#if defined(__x86_64__)
std::optional<CpuidLeaf> live_cpuid(unsigned cpu, uint32_t leaf, uint32_t subleaf)
{
    cpu_set_t before, only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    if (::sched_getaffinity(0, sizeof before, &before) != 0 ||
        ::sched_setaffinity(0, sizeof only, &only) != 0)
        return std::nullopt;
    CpuidLeaf found{};
    if (leaf <= static_cast<uint32_t>(__get_cpuid_max(leaf & 0xc0000000, nullptr)))
        __cpuid_count(leaf, subleaf, found.eax, found.ebx, found.ecx, found.edx);
    ::sched_setaffinity(0, sizeof before, &before);
    return found;
}
#else
std::optional<CpuidLeaf> live_cpuid(unsigned, uint32_t, uint32_t)
{
    return std::nullopt;
}
#endif

// The value of a register in a line of `cpuid -r`, such as "eax=0x0000000d".
std::optional<uint32_t> register_of(std::string_view line, std::string_view name)
{
    const size_t at = line.find(std::string(name) + "=0x");
    if (at == line.npos)
        return std::nullopt;
    const std::optional<uint64_t> value = hex(line.substr(at + name.size() + 3, 8));
    return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
}

std::optional<CpuidLeaf> saved_cpuid(const Host &host, unsigned cpu, uint32_t leaf,
                                     uint32_t subleaf)
{
    const std::optional<std::string> file = host.text("cpuid");
    if (!file)
        return std::nullopt;
    const std::string wanted = text_of("{:#010x} {:#04x}:", leaf, subleaf);
    const std::string header = text_of("CPU {}:", cpu);
    bool here = false;
    for (const std::string_view text : split(*file, '\n')) {
        const std::string_view line = trim(text);
        if (line.starts_with("CPU"))
            here = line == header || line == "CPU:";
        if (!here || !line.starts_with(wanted))
            continue;
        const auto a = register_of(line, "eax"), b = register_of(line, "ebx"),
                   c = register_of(line, "ecx"), d = register_of(line, "edx");
        if (a && b && c && d)
            return CpuidLeaf{*a, *b, *c, *d};
    }
    return CpuidLeaf{};
}

}  // namespace

std::optional<CpuidLeaf> Machine::cpuid(unsigned cpu, uint32_t leaf, uint32_t subleaf) const
{
    return host_.live() ? live_cpuid(cpu, leaf, subleaf) : saved_cpuid(host_, cpu, leaf, subleaf);
}

CpuidLeaf Machine::first_cpuid(uint32_t leaf) const
{
    const std::vector<unsigned> all = cpus();
    return all.empty() ? CpuidLeaf{} : cpuid(all.front(), leaf).value_or(CpuidLeaf{});
}

bool Machine::is_virtual() const
{
    return first_cpuid(1).ecx >> 31 & 1;
}

// The signature is "TCGTCGTCGTCG", in EBX, ECX and EDX.
bool Machine::is_emulated() const
{
    constexpr uint32_t kSignature = 0x40000000;
    const CpuidLeaf found = first_cpuid(kSignature);
    return is_virtual() && found.ebx == 0x54474354 && found.ecx == 0x43544743 &&
           found.edx == 0x47435447;
}

std::vector<unsigned> Machine::cpus() const
{
    const Result<std::vector<int>> list =
        parse_cpulist(host_.text("sys/devices/system/cpu/online").value_or("0"));
    return list ? std::vector<unsigned>(list->begin(), list->end()) : std::vector<unsigned>{0};
}

std::vector<Machine::Region> Machine::regions() const
{
    std::vector<Region> found;
    const std::string file = host_.text("proc/iomem").value_or("");
    for (const std::string_view text : split(file, '\n')) {
        const std::string_view line = trim(text);
        const size_t dash = line.find('-'), name = line.find(" : ");
        if (dash == line.npos || name == line.npos || name < dash)
            continue;
        const auto from = hex(line.substr(0, dash)),
                   to = hex(line.substr(dash + 1, name - dash - 1));
        if (from && to)
            found.push_back({*from, *to, std::string(line.substr(name + 3))});
    }
    return found;
}

// The first region with the name of a PCI function is its BAR. A second region with this name is
// the claim of a driver.
std::optional<std::vector<std::string>> Machine::claims(uint64_t first, uint64_t last) const
{
    const std::vector<Region> all = regions();
    if (std::ranges::all_of(all, [](const Region &region) { return region.last == 0; }))
        return std::nullopt;
    std::vector<std::string> names, bars;
    for (const Region &region : all) {
        if (region.first > last || first > region.last)
            continue;
        const bool new_bar =
            is_pci_address(region.name) && std::ranges::find(bars, region.name) == bars.end();
        if (new_bar)
            bars.push_back(region.name);
        else if (!is_container(region.name) && std::ranges::find(names, region.name) == names.end())
            names.push_back(region.name);
    }
    return names;
}

bool Machine::is_ram(uint64_t first, uint64_t last) const
{
    return std::ranges::any_of(regions(), [first, last](const Region &region) {
        return region.name == "System RAM" && region.first <= last && first <= region.last;
    });
}

bool Machine::resctrl_mounted() const
{
    for (const char *name : {"proc/mounts", "proc/1/mounts"}) {
        const std::string mounts = host_.text(name).value_or("");
        for (const std::string_view line : split(mounts, '\n')) {
            const std::vector<std::string_view> words = split(line, ' ');
            if (words.size() > 2 && words[2] == "resctrl")
                return true;
        }
    }
    return false;
}

}  // namespace pmukit::cli::qualify
