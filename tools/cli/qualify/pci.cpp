// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Sources: include/uapi/linux/pci_regs.h of Linux for layouts, include/linux/ioport.h for flags of
// a resource.
#include "cli/qualify/pci.hpp"

#include <filesystem>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "base/pci_config.hpp"
#include "cli/qualify/check.hpp"

namespace pmukit::cli::qualify {
namespace {

constexpr size_t kStatus = 0x06, kFirstCapability = 0x34, kFirstExtended = 0x100;
constexpr uint16_t kHasCapabilities = 0x10, kDvsec = 0x23;
constexpr uint64_t kFlagMemory = 0x200, kFlagPrefetch = 0x2000;
constexpr int kMostCapabilities = 960;  // more do not fit into configuration space

template <typename T>
T word(const std::string &config, size_t offset)
{
    if (offset > config.size() || sizeof(T) > config.size() - offset)
        return 0;
    return load_le<T>(as_bytes(config).data() + offset);
}

uint32_t number_of(const Host &host, const std::string &file)
{
    const Result<uint64_t> number = parse_u64(host.text(file).value_or(""));
    return number ? static_cast<uint32_t>(*number) : 0;
}

void read_bars(const Host &host, PciFunction &function)
{
    const std::string text = host.text(function.path + "/resource").value_or("");
    size_t index = 0;
    for (std::string_view line : split(text, '\n')) {
        const std::vector<std::string_view> words = split(trim(line), ' ');
        if (index >= function.bars.size() || words.size() != 3)
            return;
        const auto first = parse_u64(words[0]), last = parse_u64(words[1]),
                   flags = parse_u64(words[2]);
        Bar &bar = function.bars[index++];
        if (!first || !last || !flags || *last < *first || *flags == 0)
            continue;
        bar = {*first, *last - *first + 1, (*flags & kFlagMemory) != 0,
               (*flags & kFlagPrefetch) != 0};
    }
}

}  // namespace

uint8_t PciFunction::u8(size_t offset) const
{
    return word<uint8_t>(config, offset);
}

uint16_t PciFunction::u16(size_t offset) const
{
    return word<uint16_t>(config, offset);
}

uint32_t PciFunction::u32(size_t offset) const
{
    return word<uint32_t>(config, offset);
}

std::optional<size_t> PciFunction::capability(uint8_t id) const
{
    if (!(u16(kStatus) & kHasCapabilities))
        return std::nullopt;
    size_t at = u8(kFirstCapability) & ~3u;
    for (int left = kMostCapabilities; at && left; left--, at = u8(at + 1) & ~3u)
        if (u8(at) == id)
            return at;
    return std::nullopt;
}

std::vector<size_t> PciFunction::extended_capabilities(uint16_t id) const
{
    std::vector<size_t> found;
    size_t at = kFirstExtended;
    for (int left = kMostCapabilities; at >= kFirstExtended && left; left--) {
        const uint32_t header = u32(at);
        if (header == 0 || header == ~0u)
            break;
        if ((header & 0xffff) == id)
            found.push_back(at);
        at = header >> 20 & ~3u;
    }
    return found;
}

std::optional<size_t> PciFunction::dvsec(uint16_t dvsec_vendor, uint16_t id) const
{
    for (size_t at : extended_capabilities(kDvsec))
        if (u16(at + 4) == dvsec_vendor && u16(at + 8) == id)
            return at;
    return std::nullopt;
}

unsigned PciFunction::bus() const
{
    const Result<uint64_t> number = parse_u64("0x" + name.substr(name.size() - 7, 2));
    return number ? static_cast<unsigned>(*number) : 0;
}

unsigned PciFunction::devfn() const
{
    const Result<uint64_t> slot = parse_u64("0x" + name.substr(name.size() - 4, 2)),
                           part = parse_u64("0x" + name.substr(name.size() - 1));
    return slot && part ? static_cast<unsigned>(*slot << 3 | *part) : 0;
}

std::string PciFunction::resource(unsigned bar) const
{
    return text_of("{}/resource{}", path, bar);
}

void read_config(const Host &host, PciFunction &function)
{
    if (const Result<std::string> config =
            PciConfigReader::read(host.path(function.path + "/config")))
        function.config = *config;
}

std::vector<PciFunction> pci_functions(const Host &host)
{
    std::vector<PciFunction> functions;
    for (const std::string &name : host.names("sys/bus/pci/devices")) {
        if (name.size() < 12)
            continue;
        PciFunction function;
        function.name = name;
        function.path = "sys/bus/pci/devices/" + name;
        function.vendor = number_of(host, function.path + "/vendor");
        function.device = number_of(host, function.path + "/device");
        function.class_code = number_of(host, function.path + "/class");
        if (const auto driver = host.link(function.path + "/driver"))
            function.driver = std::filesystem::path(*driver).filename().string();
        read_bars(host, function);
        functions.push_back(std::move(function));
    }
    return functions;
}

std::optional<std::string> holder_of(const Machine &machine, const PciFunction &function,
                                     uint64_t first, uint64_t last)
{
    const auto claims = machine.claims(first, last);
    if (!claims)
        return function.name + ": /proc/iomem shows no regions; run as root";
    if (!claims->empty())
        return text_of("{} has claimed the registers of {}", joined(*claims, ", "), function.name);
    return std::nullopt;
}

}  // namespace pmukit::cli::qualify
