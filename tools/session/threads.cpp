// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/threads.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "perfdata/records.hpp"

namespace pmukit::cli {
namespace {

constexpr size_t kMaxMaps = 65536;  // per process; vm.max_map_count is 65530
constexpr size_t kMaxNames = 4096;  // per thread
constexpr unsigned kMaxAncestors = 64;

}  // namespace

void Threads::note(const perfdata::Record &record, const perfdata::Reader &reader)
{
    const std::endian order = reader.order();
    const std::optional<uint64_t> time = reader.time_of(record);
    const uint64_t time_ns = time.value_or(0);
    if (record.type == PERF_RECORD_MMAP) {
        if (const auto map = perfdata::parse_mmap(record.body, order))
            note_map(*map, time_ns);
    } else if (record.type == PERF_RECORD_MMAP2) {
        if (const auto map = perfdata::parse_mmap2(record.body, record.misc, order))
            note_map(*map, time_ns);
    } else if (record.type == PERF_RECORD_COMM) {
        if (const auto command = perfdata::parse_comm(record.body, order))
            note_command(*command, record.misc & PERF_RECORD_MISC_COMM_EXEC, time_ns);
    } else if (record.type == PERF_RECORD_FORK) {
        // In a recording without times, a fork has one, too; records then count in their order.
        if (auto task = perfdata::parse_task(record.body, order)) {
            task->time_ns = time ? task->time_ns : 0;
            note_fork(*task, record.misc & PERF_RECORD_MISC_FORK_EXEC);
        }
    }
}

// Returns the entry of this number, and creates it if needed. nullptr: the budget has no space.
template <typename Value>
Value *Threads::entry(std::map<uint32_t, Value> &in, uint32_t number)
{
    const auto known = in.find(number);
    if (known != in.end())
        return &known->second;
    return left_.take(sizeof(Value) + kNodeBytes) ? &in[number] : nullptr;
}

std::optional<uint32_t> Threads::object_of(std::string_view path, Bytes build_id)
{
    std::pair<std::string, std::string> name;
    name.first = path;
    for (std::byte byte : build_id)
        name.second += std::to_integer<char>(byte);
    if (const auto known = object_by_name_.find(name); known != object_by_name_.end())
        return known->second;
    std::string shown = shortened(valid_utf8(path), kMostPath);
    if (shown == path)
        shown.clear();
    if (!left_.take(sizeof name + sizeof(Object) + kNodeBytes +
                    2 * (path.size() + build_id.size()) + shown.size()))
        return std::nullopt;
    const auto number = static_cast<uint32_t>(objects_.size());
    object_by_name_.emplace(std::move(name), number);
    objects_.push_back({std::string(path), {build_id.begin(), build_id.end()}, std::move(shown)});
    return number;
}

void Threads::note_map(const perfdata::MmapRecord &map, uint64_t time_ns)
{
    const bool can_be = map.bytes != 0 && map.bytes <= UINT64_MAX - map.address;
    Process *const process = can_be ? entry(processes_, map.pid) : nullptr;
    const std::optional<uint32_t> object = process && process->maps.size() < kMaxMaps
                                               ? object_of(map.path, map.build_id)
                                               : std::nullopt;
    const uint64_t end = map.address + map.bytes;
    if (!object || !process->maps.add({time_ns, map.address, end, map.file_offset, *object}, left_))
        dropped_++;
}

void Threads::add_life(uint32_t tid, uint64_t time_ns, Life life, bool in_front)
{
    Thread *const thread = entry(threads_, tid);
    if (!thread || thread->lives.size() >= kMaxNames ||
        !left_.take(sizeof life + kNodeBytes + life.name.size())) {
        dropped_++;
        return;
    }
    auto &lives = thread->lives;
    lives.emplace_hint(in_front ? lives.lower_bound(time_ns) : lives.upper_bound(time_ns), time_ns,
                       std::move(life));
}

void Threads::add_start(uint32_t pid, uint64_t time_ns, std::optional<uint32_t> parent)
{
    Process *const process = entry(processes_, pid);
    if (!process || process->starts.size() >= kMaxNames ||
        !left_.take(sizeof time_ns + sizeof parent + kNodeBytes)) {
        dropped_++;
        return;
    }
    auto &starts = process->starts;
    // As in note_fork(): a fork comes before an exec of the same time.
    starts.emplace_hint(parent ? starts.lower_bound(time_ns) : starts.upper_bound(time_ns), time_ns,
                        parent);
}

void Threads::note_command(const perfdata::CommRecord &command, bool exec, uint64_t time_ns)
{
    add_life(command.tid, time_ns,
             Life{shortened(valid_utf8(command.name), kMostRowName), {}, exec}, false);
    if (exec)
        add_start(command.pid, time_ns, {});
}

void Threads::note_fork(const perfdata::TaskRecord &task, bool own_program)
{
    // A COMM may have the same time as the fork that it follows, so the fork is inserted before it.
    if (task.parent_tid != task.tid)
        add_life(task.tid, task.time_ns, Life{{}, task.parent_tid, true}, true);
    if (task.pid != task.parent_pid && !own_program)
        add_start(task.pid, task.time_ns, task.parent_pid);
}

std::string_view Threads::command(uint32_t tid, uint64_t time_ns) const
{
    constexpr std::string_view kIdle = "swapper";  // thread 0 of each CPU, as perf calls it
    for (unsigned i = 0; i < kMaxAncestors; i++) {
        const auto thread = threads_.find(tid);
        if (thread == threads_.end() || thread->second.lives.empty())
            return tid == 0 ? kIdle : std::string_view();
        // The records of threads from before the recording have times within it. So the first life
        // also covers earlier times, unless it starts with a fork or an exec.
        const auto &lives = thread->second.lives;
        auto life = lives.upper_bound(time_ns);
        if (life != lives.begin())
            --life;
        else if (life->second.begins)
            return {};
        if (!life->second.parent)
            return life->second.name;
        tid = *life->second.parent;
        time_ns = std::min(time_ns, life->first);
    }
    return {};
}

uint64_t Threads::since_ns(uint32_t pid, uint32_t tid, uint64_t time_ns) const
{
    uint64_t since_ns = 0;
    if (const auto thread = threads_.find(tid); thread != threads_.end())
        if (const auto behind = thread->second.lives.upper_bound(time_ns);
            behind != thread->second.lives.begin())
            since_ns = std::prev(behind)->first;
    if (const auto process = processes_.find(pid); process != processes_.end())
        if (const auto behind = process->second.starts.upper_bound(time_ns);
            behind != process->second.starts.begin())
            since_ns = std::max(since_ns, std::prev(behind)->first);
    return since_ns;
}

std::optional<Threads::Place> Threads::find(uint32_t pid, uint64_t address, uint64_t time_ns,
                                            bool in_kernel) const
{
    for (unsigned i = 0; i < kMaxAncestors; i++) {
        const auto known = processes_.find(pid);
        if (known == processes_.end())
            return std::nullopt;
        const Process &process = known->second;
        const auto next = process.starts.upper_bound(time_ns);
        const bool is_first = next == process.starts.begin();
        const uint64_t since_ns = is_first ? 0 : std::prev(next)->first;
        const std::optional<uint32_t> *const begun = is_first ? nullptr : &std::prev(next)->second;
        const bool is_forked = begun && *begun;
        // After a fork, an address without a map of the process's own had that of the parent.
        const uint64_t last_ns = next == process.starts.end() ? UINT64_MAX : next->first;
        const uint64_t until_ns = is_forked ? 0 : last_ns;
        if (!process.maps.is_built())
            dropped_ += process.maps.build(left_);
        if (const Map *map = process.maps.find(address, {since_ns, time_ns, until_ns}))
            return Place{map->object, address - map->begin + map->file_offset, map->file_offset};
        if (since_ns != 0 && !is_forked && std::exchange(in_kernel, false)) {
            time_ns = since_ns - 1;
            continue;
        }
        if (!is_forked)
            return std::nullopt;
        pid = **begun;
        time_ns = since_ns;
    }
    return std::nullopt;
}

}  // namespace pmukit::cli
