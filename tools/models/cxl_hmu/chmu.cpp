// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/chmu.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace pmukit::models::cxl_hmu {

namespace {

// If the tables follow all instances, those of each instance start on a new page.
constexpr uint64_t kTablesAlign = 0x1000;

}  // namespace

uint64_t Chmu::instance_bytes(const InstanceParams &params, const ChmuShape &shape)
{
    return shape.far_tables ? kRegistersEnd : params.tables_end();
}

Chmu::Chmu(const InstanceParams &params, const ChmuShape &shape, unsigned index,
           const std::vector<unsigned> &messages, vfu::Host &host)
    : shape_(shape),
      instance_bytes_(instance_bytes(params, shape)),
      tables_bytes_(shape.far_tables ? align_up(params.tables_bytes(), kTablesAlign) : 0),
      index_(index),
      host_(host),
      violations_(host, params.lenient)
{
    InstanceParams own = params;
    for (unsigned i = 0; i < messages.size(); i++) {
        if (shape.far_tables)
            own.tables_at =
                align_up(kCommonBytes + messages.size() * instance_bytes_, kTablesAlign) +
                i * tables_bytes_ - (kCommonBytes + i * instance_bytes_);
        instances_.push_back(
            std::make_unique<Instance>(own, fmt::format("chmu{}.{}", index, i), messages[i], host));
    }
    for (const auto &instance : instances_) {
        for (const auto &other : instances_) {
            if (other != instance)
                instance->add_sibling(*other);
        }
    }
}

uint64_t Chmu::tables_begin() const
{
    const uint64_t end = kCommonBytes + instances_.size() * instance_bytes_;
    return shape_.far_tables ? align_up(end, kTablesAlign) : end;
}

uint64_t Chmu::bytes() const
{
    return tables_begin() + instances_.size() * tables_bytes_;
}

uint64_t Chmu::read_common(uint64_t offset, unsigned width)
{
    if (width != 8 || offset % 8 != 0) {
        violations_.add("wrong-access",
                        fmt::format("chmu{}: read of {} bytes at {:#x}", index_, width, offset));
        return ~uint64_t{0};
    }
    if (offset == kCommon0)
        return kCommon0Version.put(shape_.version) | kCommon0Instances.put(instances_.size());
    return kCommon1InstanceLength.put(instance_bytes_);
}

std::optional<Chmu::Place> Chmu::find(uint64_t offset, unsigned width) const
{
    if (offset < kCommonBytes)
        return std::nullopt;
    const uint64_t at = offset - kCommonBytes;
    if (at < instances_.size() * instance_bytes_) {
        if (at % instance_bytes_ + width > instance_bytes_)
            return std::nullopt;
        return Place{instances_[at / instance_bytes_].get(), at % instance_bytes_};
    }
    if (offset < tables_begin() || tables_bytes_ == 0)
        return std::nullopt;
    const uint64_t i = (offset - tables_begin()) / tables_bytes_;
    return Place{instances_[i].get(), at - i * instance_bytes_};
}

uint64_t Chmu::read(uint64_t offset, unsigned width)
{
    if (offset < kCommonBytes)
        return read_common(offset, width);
    const std::optional<Place> place = find(offset, width);
    if (!place) {
        violations_.add("wrong-access",
                        fmt::format("chmu{}: read of {} bytes at {:#x}", index_, width, offset));
        return ~uint64_t{0};
    }
    return place->instance->read(place->offset, width);
}

void Chmu::write(uint64_t offset, unsigned width, uint64_t value)
{
    const std::optional<Place> place = find(offset, width);
    if (place)
        return place->instance->write(place->offset, width, value);
    host_.log(fmt::format("chmu{}: write of {} bytes at {:#x}, dropped", index_, width, offset));
    violations_.add("wrong-access",
                    fmt::format("chmu{}: write of {} bytes at {:#x}", index_, width, offset));
}

bool Chmu::in_hot_list(uint64_t offset) const
{
    const std::optional<Place> place = find(offset, 1);
    return place && place->instance->in_hot_list(place->offset);
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

uint64_t Chmu::violations() const
{
    return std::accumulate(instances_.begin(), instances_.end(), violations_.count(),
                           [](uint64_t sum, const auto &i) { return sum + i->violations(); });
}

}  // namespace pmukit::models::cxl_hmu
