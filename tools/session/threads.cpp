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

// The first entry of a table that is later than time_ns.
template <typename T>
auto after(const std::vector<T> &entries, uint64_t time_ns)
{
    return std::ranges::upper_bound(entries, time_ns, {}, &T::time_ns);
}

// Time of the last entry up to time_ns. 0: none.
template <typename T>
uint64_t last_until(const std::vector<T> &entries, uint64_t time_ns)
{
    const auto next = after(entries, time_ns);
    return next == entries.begin() ? 0 : std::prev(next)->time_ns;
}

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
Value *Threads::entry(StableMap<uint32_t, Value> &in, uint32_t number)
{
    if (auto *const known = in.find(number))
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

template <typename T>
void Threads::add(std::vector<T> *into, const T &entry, bool in_front)
{
    if (!into || into->size() >= kMaxNames || !has_room(*into, left_)) {
        dropped_++;
        return;
    }
    const auto at = in_front ? std::ranges::lower_bound(*into, entry.time_ns, {}, &T::time_ns)
                             : std::ranges::upper_bound(*into, entry.time_ns, {}, &T::time_ns);
    into->insert(at, entry);
}

// As in note_fork(): a fork comes before an exec of the same time.
void Threads::add_start(uint32_t pid, const Start &start)
{
    Process *const process = entry(processes_, pid);
    add(process ? &process->starts : nullptr, start, start.parent.has_value());
}

// Returns the stored copy of a name. nullptr: the budget has no space.
const std::string *Threads::name_of(std::string_view name)
{
    const auto known = names_.find(name);
    if (known != names_.end())
        return &*known;
    return left_.take(sizeof(std::string) + kNodeBytes + name.size()) ? &*names_.emplace(name).first
                                                                      : nullptr;
}

void Threads::note_command(const perfdata::CommRecord &command, bool exec, uint64_t time_ns)
{
    const std::string *const name = name_of(shortened(valid_utf8(command.name), kMostRowName));
    add(name ? entry(threads_, command.tid) : nullptr, Life{time_ns, name, 0, exec}, false);
    if (exec)
        add_start(command.pid, {time_ns, {}});
}

void Threads::note_fork(const perfdata::TaskRecord &task, bool own_program)
{
    // A COMM may have the same time as the fork that it follows, so the fork is inserted before it.
    if (task.parent_tid != task.tid)
        add(entry(threads_, task.tid), Life{task.time_ns, nullptr, task.parent_tid, true}, true);
    if (task.pid != task.parent_pid && !own_program)
        add_start(task.pid, {task.time_ns, task.parent_pid});
}

std::string_view Threads::command(uint32_t tid, uint64_t time_ns) const
{
    constexpr std::string_view kIdle = "swapper";  // thread 0 of each CPU, as perf calls it
    for (unsigned i = 0; i < kMaxAncestors; i++) {
        const auto *const thread = threads_.find(tid);
        if (!thread || thread->second.empty())
            return tid == 0 ? kIdle : std::string_view();
        // The records of threads from before the recording have times within it. So the first life
        // also covers earlier times, unless it starts with a fork or an exec.
        const Lives &lives = thread->second;
        auto life = after(lives, time_ns);
        if (life != lives.begin())
            --life;
        else if (life->begins)
            return {};
        if (life->name)
            return *life->name;
        tid = life->parent;
        time_ns = std::min(time_ns, life->time_ns);
    }
    return {};
}

uint64_t Threads::since_ns(uint32_t pid, uint32_t tid, uint64_t time_ns) const
{
    const auto *const thread = threads_.find(tid);
    const auto *const process = processes_.find(pid);
    return std::max(thread ? last_until(thread->second, time_ns) : 0,
                    process ? last_until(process->second.starts, time_ns) : 0);
}

std::optional<Threads::Place> Threads::find(uint32_t pid, uint64_t address, uint64_t time_ns,
                                            bool in_kernel) const
{
    for (unsigned i = 0; i < kMaxAncestors; i++) {
        const auto *const known = processes_.find(pid);
        if (!known)
            return std::nullopt;
        const Process &process = known->second;
        const auto next = after(process.starts, time_ns);
        const Start begun =
            next == process.starts.begin() ? Start{0, std::nullopt} : *std::prev(next);
        const uint64_t since_ns = begun.time_ns;
        const bool is_forked = begun.parent.has_value();
        // After a fork, an address without a map of the process's own had that of the parent.
        const uint64_t last_ns = next == process.starts.end() ? UINT64_MAX : next->time_ns;
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
        pid = *begun.parent;
        time_ns = since_ns;
    }
    return std::nullopt;
}

}  // namespace pmukit::cli
