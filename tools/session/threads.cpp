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

// A BPF program or a piece of code that the kernel generated is an object with one symbol, as in
// perf. After it is removed, nothing is known of its addresses.
perfdata::MmapRecord map_of(const perfdata::KsymbolRecord &symbol)
{
    perfdata::MmapRecord map;
    map.pid = Threads::kKernel;
    map.address = symbol.address;
    map.bytes = symbol.bytes;
    map.path = symbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? "[unknown]" : symbol.name;
    return map;
}

// Memory of an entry of the table of names.
size_t bytes_of_name(std::string_view name)
{
    return sizeof(std::string) + kNodeBytes + name.size();
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
    } else if (record.type == PERF_RECORD_KSYMBOL) {
        if (const auto symbol = perfdata::parse_ksymbol(record.body, order))
            note_map(map_of(*symbol), time_ns);
    } else if (record.type == PERF_RECORD_EXIT && time && notes_exits_) {
        // Without room, the task is not forgotten.
        if (const auto task = perfdata::parse_task(record.body, order);
            task && has_room(ends_, left_))
            ends_.push_back({time_ns, task->pid, task->tid});
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
Threads::Name *Threads::name_of(std::string_view name)
{
    const auto known = names_.find(name);
    if (known != names_.end())
        return &*known;
    return left_.take(bytes_of_name(name)) ? &*names_.emplace(name, Mark{}).first : nullptr;
}

void Threads::note_command(const perfdata::CommRecord &command, bool exec, uint64_t time_ns)
{
    Name *const name = name_of(shortened(valid_utf8(command.name), kMostRowName));
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
    if (notes_exits_ && task.pid != task.tid)
        if (Process *const process = entry(processes_, task.pid))
            process->others++;
}

std::string_view Threads::command(uint32_t tid, uint64_t time_ns) const
{
    const Name *const name = name_at(tid, time_ns);
    return name ? std::string_view(name->first) : std::string_view();
}

// nullptr: unknown.
Threads::Name *Threads::name_at(uint32_t tid, uint64_t time_ns) const
{
    static Name idle{"swapper", {}};  // thread 0 of each CPU, as perf calls it
    for (unsigned i = 0; i < kMaxAncestors; i++) {
        const auto *const thread = threads_.find(tid);
        if (!thread || thread->second.empty())
            return tid == 0 ? &idle : nullptr;
        // The records of threads from before the recording have times within it. So the first life
        // also covers earlier times, unless it starts with a fork or an exec.
        const Lives &lives = thread->second;
        auto life = after(lives, time_ns);
        if (life != lives.begin())
            --life;
        else if (life->begins)
            return nullptr;
        if (life->name)
            return life->name;
        tid = life->parent;
        time_ns = std::min(time_ns, life->time_ns);
    }
    return nullptr;
}

// Forgetting

void Threads::forget_until(uint64_t time_ns)
{
    const Ended ended = take_ended(time_ns);
    if (!ended.empty()) {
        name_by_parents(time_ns);
        forget_lives(ended, time_ns);
        forget_names();
        forget_processes();
    }
    // All tables were copied: do so again only after many more exits.
    forget_at_ = ends_.size() + kLastExits + threads_.size() / 8;
}

Threads::Ended Threads::take_ended(uint64_t time_ns)
{
    Ended ended;
    std::ranges::stable_sort(ends_, {}, &End::time_ns);
    const auto passed = static_cast<size_t>(after(ends_, time_ns) - ends_.begin());
    const auto gone = ends_.begin() + static_cast<ptrdiff_t>(passed - std::min(passed, kLastExits));
    for (auto end = ends_.begin(); end != gone; ++end) {
        ended[end->tid] = end->time_ns;
        auto *const process = processes_.find(end->pid);
        if (process && end->tid == end->pid)
            process->second.ended_ns = end->time_ns;
        else if (process)
            process->second.others--;
    }
    ends_.erase(ends_.begin(), gone);
    return ended;
}

// A thread that has the name of its parent still has it when the parent is forgotten.
void Threads::name_by_parents(uint64_t time_ns)
{
    for (auto &[tid, lives] : threads_.sorted())
        for (Life &life : lives)
            if (!life.name && life.time_ns <= time_ns)
                life.name = name_at(life.parent, life.time_ns);
}

// Of a thread that runs, the lives before the current one are forgotten, too.
void Threads::forget_lives(const Ended &ended, uint64_t time_ns)
{
    threads_.erase_if([&](auto &entry) {
        Lives &lives = entry.second;
        const auto *const end = ended.find(entry.first);
        auto first = after(lives, time_ns);
        if (first != lives.begin())
            --first;
        if (end)
            first = std::max(first, after(lives, end->second));
        lives.erase(lives.begin(), first);
        if (!lives.empty())
            return false;
        left_.give_back(sizeof(Lives) + kNodeBytes + lives.capacity() * sizeof(Life));
        return true;
    });
}

void Threads::forget_names()
{
    for (const auto &[tid, lives] : threads_.sorted())
        for (const Life &life : lives)
            if (life.name)
                life.name->second.is_used = true;
    std::erase_if(names_, [&](Name &name) {
        const bool is_used = std::exchange(name.second.is_used, false);
        left_.give_back(is_used ? 0 : bytes_of_name(name.first));
        return !is_used;
    });
}

// True if all threads of the process have exited, and its PID has no other process.
bool Threads::is_over(const Process &process)
{
    const bool is_reused =
        !process.starts.empty() && process.starts.back().time_ns > process.ended_ns;
    return process.ended_ns != 0 && process.others <= 0 && !is_reused;
}

// Processes whose maps a running process may have, as it has executed nothing since the fork.
std::set<uint32_t> Threads::parents_of_running()
{
    std::set<uint32_t> parents;
    std::vector<const Process *> children;
    for (const auto &[pid, process] : processes_.sorted())
        if (!is_over(process))
            children.push_back(&process);
    for (unsigned i = 0; i < kMaxAncestors && !children.empty(); i++) {
        for (const Process *child : std::exchange(children, {}))
            for (const Start &start : child->starts)
                if (start.parent && parents.insert(*start.parent).second)
                    if (const auto *const parent = processes_.find(*start.parent))
                        children.push_back(&parent->second);
    }
    return parents;
}

void Threads::forget_processes()
{
    const std::set<uint32_t> parents = parents_of_running();
    processes_.erase_if([&](auto &entry) {
        Process &process = entry.second;
        if (process.ended_ns == 0 || process.others > 0 || parents.contains(entry.first))
            return false;
        const uint64_t ended_ns = std::exchange(process.ended_ns, 0);
        process.maps.forget_until(ended_ns, left_);
        process.starts.erase(process.starts.begin(), after(process.starts, ended_ns));
        if (process.maps.size() != 0 || !process.starts.empty())
            return false;
        left_.give_back(sizeof(Process) + kNodeBytes + process.starts.capacity() * sizeof(Start));
        return true;
    });
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

bool is_untimed(const perfdata::Record &record, const perfdata::Reader &reader)
{
    return reader.time_of(record).value_or(0) == 0;
}

Threads untimed_threads(perfdata::Reader &reader)
{
    Threads threads;
    for (perfdata::Record record; reader.next(record);)
        if (is_untimed(record, reader))
            threads.note(record, reader);
    return threads;
}

}  // namespace pmukit::cli
