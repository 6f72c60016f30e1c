// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/chmu.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace pmukit::models::cxl_hmu {

Chmu::Chmu(const InstanceParams &params, unsigned index, const std::vector<unsigned> &messages,
           vfu::Host &host)
    : instance_bytes_(params.instance_bytes()), index_(index), host_(host)
{
    for (unsigned i = 0; i < messages.size(); i++)
        instances_.push_back(std::make_unique<Instance>(params, fmt::format("chmu{}.{}", index, i),
                                                        messages[i], host));
    for (const auto &instance : instances_) {
        for (const auto &other : instances_) {
            if (other != instance)
                instance->add_sibling(*other);
        }
    }
}

uint64_t Chmu::bytes() const
{
    return kCommonBytes + instances_.size() * instance_bytes_;
}

uint64_t Chmu::read_common(uint64_t offset, unsigned width)
{
    if (width != 8 || offset % 8 != 0) {
        host_.log(fmt::format("chmu{}: read of {} bytes at {:#x}, ignored", index_, width, offset));
        return ~uint64_t{0};
    }
    if (offset == kCommon0)
        return kCommon0Version.put(kCommonVersion) | kCommon0Instances.put(instances_.size());
    return kCommon1InstanceLength.put(instance_bytes_);
}

bool Chmu::in_one_instance(uint64_t offset, unsigned width) const
{
    return offset >= kCommonBytes &&
           (offset - kCommonBytes) % instance_bytes_ + width <= instance_bytes_;
}

uint64_t Chmu::read(uint64_t offset, unsigned width)
{
    if (offset < kCommonBytes)
        return read_common(offset, width);
    if (!in_one_instance(offset, width))
        return ~uint64_t{0};
    offset -= kCommonBytes;
    return instances_[offset / instance_bytes_]->read(offset % instance_bytes_, width);
}

void Chmu::write(uint64_t offset, unsigned width, uint64_t value)
{
    if (!in_one_instance(offset, width)) {
        host_.log(
            fmt::format("chmu{}: write of {} bytes at {:#x}, dropped", index_, width, offset));
        return;
    }
    offset -= kCommonBytes;
    instances_[offset / instance_bytes_]->write(offset % instance_bytes_, width, value);
}

void Chmu::reset()
{
    for (const auto &instance : instances_)
        instance->reset();
}

void Chmu::request(const Request &request)
{
    for (const auto &instance : instances_)
        instance->request(request);
}

std::optional<uint64_t> Chmu::next_deadline_ns() const
{
    std::optional<uint64_t> earliest;
    for (const auto &instance : instances_) {
        const std::optional<uint64_t> deadline = instance->next_deadline_ns();
        if (deadline && (!earliest || *deadline < *earliest))
            earliest = deadline;
    }
    return earliest;
}

void Chmu::advance(uint64_t now_ns)
{
    for (const auto &instance : instances_)
        instance->advance(now_ns);
}

void Chmu::drop_outstanding()
{
    for (const auto &instance : instances_)
        instance->drop_outstanding();
}

uint64_t Chmu::requests() const
{
    uint64_t most = 0;
    for (const auto &instance : instances_)
        most = std::max(most, instance->requests());
    return most;
}

uint64_t Chmu::entries_stored() const
{
    return std::accumulate(instances_.begin(), instances_.end(), uint64_t{0},
                           [](uint64_t sum, const auto &i) { return sum + i->entries_stored(); });
}

uint64_t Chmu::entries_dropped() const
{
    return std::accumulate(instances_.begin(), instances_.end(), uint64_t{0},
                           [](uint64_t sum, const auto &i) { return sum + i->entries_dropped(); });
}

}  // namespace pmukit::models::cxl_hmu
