// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/driver_export.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <vector>

#include "base/clocks.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {

using exporter::Table;
using exporter::Value;
using exporter::Values;

bool RowsOut::renames(uint32_t record_type)
{
    constexpr uint32_t kTypes[] = {PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_MMAP,
                                   PERF_RECORD_MMAP2, PERF_RECORD_KSYMBOL};
    return std::ranges::find(kTypes, record_type) != std::end(kTypes);
}

void RowsOut::begin_with(Threads untimed)
{
    threads_ = std::move(untimed);
    threads_.note_exits();
    skip_untimed_ = true;
}

void RowsOut::forget_until(uint64_t time_ns)
{
    if (stacks_)
        stacks_->before_forgetting();
    threads_.forget_until(time_ns);
}

std::string RowsOut::host_name() const
{
    return shortened(valid_utf8(recording_.reader().hostname()), kMostRowName);
}

// pmukit merge renames PMUs and events to NAME@HOST, except PMUs whose type means the same on every
// host, such as software.
std::string RowsOut::host_of(size_t event, std::string_view pmu) const
{
    if (const size_t at = pmu.find('@'); at != pmu.npos)
        return shortened(pmu.substr(at + 1), kMostRowName);
    const perfdata::Reader &reader = recording_.reader();
    const std::vector<std::string_view> hosts = split(reader.hostname(), '+');
    if (hosts.size() < 2 || event >= reader.events().size())
        return host_name();
    const std::string name = perfdata::name_of(reader, reader.events()[event]);
    // The name of an event may contain an @ that no merge has added.
    const std::string_view host = std::string_view(name).substr(name.rfind('@') + 1);
    return std::ranges::find(hosts, host) != hosts.end() ? shortened(host, kMostRowName)
                                                         : host_name();
}

const RowsOut::Name &RowsOut::name_of(size_t event)
{
    const auto [at, fresh] = names_.try_emplace(event);
    if (!fresh)
        return at->second;
    const std::string name = recording_.pmu_name(event);
    at->second.pmu = shortened(name.substr(0, name.find('@')), kMostRowName);
    at->second.source = recording_.source(event);
    if (const auto boot = boots_.find(name); boot != boots_.end())
        at->second.boot = shortened(valid_utf8(boot->second), kMostRowName);
    const Driver *driver = recording_.driver(event);
    at->second.driver = driver ? driver->name : std::string_view("samples");
    at->second.clock = clock_data(recording_, event);
    at->second.host = host_of(event, name);
    return at->second;
}

void RowsOut::origin(const Stream &stream, std::optional<uint64_t> time_ns, Value *to)
{
    const Name &name = name_of(stream.event);
    to[exporter::kSource] = name.source ? Value(std::string_view(*name.source)) : Value();
    to[exporter::kRecording] = id_ ? Value(std::string_view(*id_)) : Value();
    to[exporter::kHost] = value_of(name.host);
    to[exporter::kBoot] = value_of(name.boot);
    to[exporter::kDriver] = name.driver;
    to[exporter::kPmu] = std::string_view(name.pmu);
    to[exporter::kCpu] = stream.cpu == UINT32_MAX ? Value() : Value(uint64_t{stream.cpu});
    to[exporter::kTime] = value_of(time_ns);
    to[exporter::kWall] =
        name.clock && time_ns ? value_of(wall_time(*name.clock, *time_ns)) : Value();
}

void RowsOut::origin_of_all(std::string_view host, Value *to) const
{
    to[exporter::kSource] = source_ ? Value(std::string_view(*source_)) : Value();
    to[exporter::kRecording] = id_ ? Value(std::string_view(*id_)) : Value();
    to[exporter::kHost] = value_of(host);
}

void RowsOut::describe_recording()
{
    static const Table &table = *exporter::find_table("recording");
    if (!wants(table))
        return;
    const std::string host = host_name();
    const std::string release =
        shortened(valid_utf8(recording_.reader().os_release()), kMostRowName);
    const std::optional<perfdata::ClockData> clock = clock_data(recording_);
    const std::string clock_text = clock ? clock_name(static_cast<int32_t>(clock->clock_id)) : "";
    std::array<Value, exporter::kOriginColumns> common;
    origin_of_all(host, common.data());
    if (clock) {
        common[exporter::kTime] = clock->clock_ns;
        common[exporter::kWall] = clock->wall_ns;
    }
    const Value rest[] = {uint64_t{exporter::kSchemaVersion}, value_of(release),
                          value_of(clock_text)};
    to_.rows(table, common, rest);
}

void RowsOut::rows(const Table &table, Values common, Values rest)
{
    if (rest.empty())
        return;
    counts_[&table] += rest.size() / (table.columns.size() - common.size());
    if (!only_ || only_ == &table)
        to_.rows(table, common, rest);
}

void RowsOut::stack(const Table &table, size_t event, const perfdata::SampleId &sample_id,
                    std::span<const StackFrame> frames, uint64_t period)
{
    if (stacks_ && (!only_ || only_ == &table))
        stacks_->stack({event, sample_id.pid.value_or(UINT32_MAX),
                        sample_id.tid.value_or(UINT32_MAX), sample_id.time_ns.value_or(0), frames,
                        period});
}

void RowsOut::put_loss(const Loss &loss, std::array<Value, exporter::kOriginColumns> &origin)
{
    static const Table &table = *exporter::find_table("losses");
    origin[exporter::kDriver] = value_of(loss.driver);
    const Value rest[] = {
        Value(loss.kind), value_of(loss.offset), value_of(loss.amount), value_of(loss.measure),
        loss.amount ? Value(uint64_t{loss.at_least || *loss.amount == UINT64_MAX}) : Value()};
    rows(table, origin, rest);
}

void RowsOut::lose(const Stream &stream, const Loss &loss)
{
    std::array<Value, exporter::kOriginColumns> common;
    origin(stream, loss.time_ns, common.data());
    put_loss(loss, common);
}

void RowsOut::lose(const Loss &loss)
{
    const std::string host = host_name();
    std::array<Value, exporter::kOriginColumns> common;
    origin_of_all(host, common.data());
    common[exporter::kTime] = value_of(loss.time_ns);
    put_loss(loss, common);
}

bool Numbers::note(std::optional<uint64_t> sequence, std::optional<uint64_t> lost)
{
    missing_ = lost_ = 0;
    if (sequence) {
        if (from_zero_ && last_ && *sequence == 0 && *last_ != 0) {
            last_.reset();
            last_lost_.reset();
            continues_ = false;
        }
        if (last_ && *sequence <= *last_)
            return false;
        if (last_ || (from_zero_ && !continues_))
            missing_ = *sequence - (last_ ? *last_ + 1 : 0);
        last_ = sequence;
    }
    if (lost) {
        const uint64_t before = last_lost_.value_or(continues_ ? *lost : 0);
        lost_ = *lost > before ? *lost - before : 0;
        last_lost_ = lost;
    }
    return true;
}

}  // namespace pmukit::cli
