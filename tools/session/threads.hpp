// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Task names and maps over time, from the COMM, FORK, MMAP and MMAP2 records of a recording.
// Records may arrive in any order; each entry and each query has a time.
//
// A process has its own maps and, until it executes another program, those that its parent had at
// the fork. A fork of a PID that was there before starts another process: it has no maps of the
// earlier one. No record reports an unmap: the latest map of an address counts.
//
// Queries are cheap after the last note(); a note() between two queries may rebuild an index.
//
// If the times of the queries do not decrease much, tasks that have exited can be forgotten, so
// that memory is bounded by the tasks that exist at a time:
//
//     note_exits()       before the first note()
//     should_forget()    true after many exits
//     forget_until(t)    no later query is about a time before t
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "base/stable_map.hpp"
#include "base/text_hash.hpp"
#include "perfdata/reader.hpp"
#include "session/map_index.hpp"

namespace pmukit::cli {

class Threads {
public:
    // A program, a library or the kernel, as the recording names it.
    struct Object {
        std::string path;
        std::vector<std::byte> build_id;  // empty: the recording does not say
        std::string other;                // see shown()

        // The path as valid UTF-8 of at most kMostPath bytes. Most paths are that themselves.
        std::string_view shown() const { return other.empty() ? path : other; }
    };
    struct Place {
        size_t object;         // index into objects()
        uint64_t file_offset;  // offset in the file of the object
        uint64_t map_offset;   // file offset at which the map starts
        bool operator==(const Place &) const = default;
    };
    static constexpr uint32_t kKernel = UINT32_MAX;  // pid of the kernel

    Threads() = default;
    // Can be moved, but not copied: Life::name points into names_.
    Threads(Threads &&) = default;
    Threads &operator=(Threads &&) = default;

    void note(const perfdata::Record &record, const perfdata::Reader &reader);

    void note_exits() { notes_exits_ = true; }
    bool should_forget() const { return ends_.size() >= forget_at_; }
    // Forgets what only tasks need that exited up to this time. The kLastExits newest exits do not
    // count: a task has samples after its EXIT record, until the kernel has removed it.
    void forget_until(uint64_t time_ns);
    static constexpr size_t kLastExits = 8192;

    // Name of thread tid. Empty: unknown.
    std::string_view command(uint32_t tid, uint64_t time_ns) const;
    // Time of the last change of the thread's name or of the process's program, up to time_ns. 0:
    // there is no change in the recording.
    uint64_t since_ns(uint32_t pid, uint32_t tid, uint64_t time_ns) const;
    // in_kernel: the address is a caller of the kernel. While the kernel replaces a program, that
    // is the program before.
    std::optional<Place> find(uint32_t pid, uint64_t address, uint64_t time_ns,
                              bool in_kernel = false) const;
    const std::vector<Object> &objects() const { return objects_; }
    // Maps, names and forks that were dropped: implausible, or over limits::kThreads. Call after
    // the last query, as queries build indexes and may drop maps.
    uint64_t dropped() const { return dropped_; }

private:
    // parent: whose maps the process has, after a fork; nullopt: an exec.
    struct Start {
        uint64_t time_ns;
        std::optional<uint32_t> parent;
    };
    struct Process {
        mutable MapIndex maps;
        std::vector<Start> starts;  // by time
        uint64_t ended_ns = 0;      // exit of its first thread, if forget_until() has passed it
        int64_t others = 0;         // forks less passed exits of its other threads
    };
    struct End {
        uint64_t time_ns;
        uint32_t pid, tid;
    };
    struct Mark {
        mutable bool is_used = false;  // only for forget_names()
    };
    using Names = std::unordered_map<std::string, Mark, SaltedTextHash, std::equal_to<>>;
    using Name = const Names::value_type;
    // A period in which a thread has one name. From a fork until the thread sets a name, that is
    // the name of the parent thread.
    struct Life {
        uint64_t time_ns;  // its start
        Name *name;        // in names_; nullptr: that of the parent
        uint32_t parent;
        bool begins;  // starts with an exec or a fork, so it does not cover earlier times
    };
    using Lives = std::vector<Life>;              // by time
    using Ended = StableMap<uint32_t, uint64_t>;  // time of the last passed exit, by TID

    void note_map(const perfdata::MmapRecord &map, uint64_t time_ns);
    void note_command(const perfdata::CommRecord &command, bool exec, uint64_t time_ns);
    // own_program: PERF_RECORD_MISC_FORK_EXEC is set.
    void note_fork(const perfdata::TaskRecord &task, bool own_program);
    // Adds an entry to a table by its time. in_front: before entries of the same time. `into` is
    // nullptr if the budget had no space for the table.
    template <typename T>
    void add(std::vector<T> *into, const T &entry, bool in_front);
    void add_start(uint32_t pid, const Start &start);
    // Takes the exits that forget_until() has passed out of ends_.
    Ended take_ended(uint64_t time_ns);
    void name_by_parents(uint64_t time_ns);
    void forget_lives(const Ended &ended, uint64_t time_ns);
    void forget_names();
    void forget_processes();
    std::set<uint32_t> parents_of_running();
    static bool is_over(const Process &process);
    Name *name_at(uint32_t tid, uint64_t time_ns) const;
    Name *name_of(std::string_view name);
    std::optional<uint32_t> object_of(std::string_view path, Bytes build_id);
    template <typename Value>
    Value *entry(StableMap<uint32_t, Value> &in, uint32_t number);

    StableMap<uint32_t, Process> processes_;
    StableMap<uint32_t, Lives> threads_;
    Names names_;
    std::vector<Object> objects_;
    std::map<std::pair<std::string, std::string>, uint32_t> object_by_name_;
    std::vector<End> ends_;              // exits that forget_until() has not passed
    size_t forget_at_ = 2 * kLastExits;  // number of exits
    bool notes_exits_ = false;
    mutable Budget left_{limits::kThreads};
    mutable uint64_t dropped_ = 0;
};

// True if the record was written without a time, as perf record does for tasks that were there
// before the recording.
bool is_untimed(const perfdata::Record &record, const perfdata::Reader &reader);
// Reads the recording, and notes only untimed records.
Threads untimed_threads(perfdata::Reader &reader);

}  // namespace pmukit::cli
