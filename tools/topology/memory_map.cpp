// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/memory_map.hpp"

#include <bit>
#include <vector>

#include "base/number.hpp"
#include "topology/attribute.hpp"

namespace pmukit::topology {
namespace {

// Reads the block size, which the kernel shows in hexadecimal without 0x.
Result<std::optional<uint64_t>> read_block_bytes(const std::string &path)
{
    Result<std::optional<std::string>> text = read_optional_attribute(path);
    if (!text)
        return text.error();
    if (!*text)
        return std::optional<uint64_t>();
    Result<uint64_t> bytes = parse_u64("0x" + **text);
    if (!bytes || !std::has_single_bit(*bytes) || *bytes < 4096)
        return wrong_value(path, **text, "is not the size of a memory block");
    return std::optional<uint64_t>(*bytes);
}

// Returns the node of a memory block. The block has a link (in a saved copy, a folder) for each
// node whose memory it contains; the result is nullopt for several nodes.
Result<std::optional<uint32_t>> node_of_block(const std::string &path)
{
    Result<std::vector<std::string>> names = list_folder(path);
    if (!names)
        return names.error();
    std::optional<uint32_t> found;
    for (const std::string &name : *names) {
        std::optional<uint32_t> node = number_after("node", name);
        if (node && found)
            return std::optional<uint32_t>();
        if (node)
            found = node;
    }
    return found;
}

// Returns the names in a folder; none if the folder does not exist.
Result<std::vector<std::string>> names_if_any(const std::string &path)
{
    Result<std::vector<std::string>> names = list_folder(path);
    if (!names && names.error().code == Errc::kNotFound)
        return std::vector<std::string>();
    return names;
}

}  // namespace

Result<MemoryMap> MemoryMap::read(const std::string &dir)
{
    MemoryMap map;
    if (Result<void> good = map.read_blocks(dir + "/devices/system/memory"); !good)
        return good.error();
    if (Result<void> good = map.read_tiers(dir + "/devices/virtual/memory_tiering"); !good)
        return good.error();
    return map;
}

Result<void> MemoryMap::read_blocks(const std::string &dir)
{
    Result<std::optional<uint64_t>> block_bytes = read_block_bytes(dir + "/block_size_bytes");
    if (!block_bytes)
        return block_bytes.error();
    if (!*block_bytes)
        return {};
    Result<std::vector<std::string>> names = names_if_any(dir);
    if (!names)
        return names.error();
    for (const std::string &name : *names) {
        std::optional<uint32_t> block = number_after("memory", name);
        if (!block)
            continue;
        Result<std::optional<uint32_t>> node = node_of_block(joined(dir, name));
        if (!node)
            return node.error();
        if (*node)
            block_node_[*block] = **node;
    }
    block_bytes_ = **block_bytes;
    return {};
}

Result<void> MemoryMap::read_tiers(const std::string &dir)
{
    Result<std::vector<std::string>> names = names_if_any(dir);
    if (!names)
        return names.error();
    for (const std::string &name : *names) {
        std::optional<uint32_t> tier = number_after("memory_tier", name);
        if (!tier)
            continue;
        const std::string path = joined(joined(dir, name), "nodelist");
        Result<std::string> text = read_attribute(path);
        if (!text)
            return text.error();
        Result<std::vector<int>> nodes = parse_cpulist(*text);  // same format as a CPU list
        if (!nodes)
            return wrong_value(path, *text, "is not a list of nodes such as 0-1,3");
        for (int node : *nodes)
            node_tier_[static_cast<uint32_t>(node)] = *tier;
    }
    return {};
}

std::optional<uint32_t> MemoryMap::node_of(uint64_t hpa, uint64_t bytes) const
{
    if (!block_bytes_ || !bytes || hpa > UINT64_MAX - (bytes - 1))
        return std::nullopt;
    const uint64_t last = (hpa + (bytes - 1)) / block_bytes_;
    auto at = block_node_.find(hpa / block_bytes_);
    if (at == block_node_.end())
        return std::nullopt;
    const uint32_t node = at->second;
    for (uint64_t block = at->first; block <= last; block++, ++at)
        if (at == block_node_.end() || at->first != block || at->second != node)
            return std::nullopt;
    return node;
}

std::optional<uint32_t> MemoryMap::tier_of(uint32_t node) const
{
    auto at = node_tier_.find(node);
    return at == node_tier_.end() ? std::nullopt : std::optional<uint32_t>(at->second);
}

}  // namespace pmukit::topology
