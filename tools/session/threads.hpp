// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Which task ran, and what was mapped at an address: from the COMM, FORK, MMAP and MMAP2 records of
// a recording. They come in any order; everything has its time, and questions are asked at a time.
//
// A process has its own maps, and those that its parent had when it was forked, until it executes
// another program. No record says when a map goes: a later one over the same address counts.
//
// Questions are cheap once everything is noted: a record between two of them costs an index anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "perfdata/reader.hpp"
#include "session/map_index.hpp"

namespace pmukit::cli {

class Threads {
public:
    // A program, a library or the kernel, as the recording names it.
    struct Object {
        std::string path;
        std::vector<std::byte> build_id;  // empty: the recording does not say
    };
    struct Place {
        size_t object;         // index into objects()
        uint64_t file_offset;  // in the file of the object
        uint64_t map_offset;   // in it, where the map begins
        bool operator==(const Place &) const = default;
    };
    static constexpr uint32_t kKernel = UINT32_MAX;  // as a process

    void note(const perfdata::Record &record, const perfdata::Reader &reader);

    // Of thread tid. Empty: unknown.
    std::string_view command(uint32_t tid, uint64_t time_ns) const;
    // Since when it has this name and its process this program; 0: since before the recording.
    uint64_t since_ns(uint32_t pid, uint32_t tid, uint64_t time_ns) const;
    std::optional<Place> find(uint32_t pid, uint64_t address, uint64_t time_ns) const;
    const std::vector<Object> &objects() const { return objects_; }
    // Maps, names and forks that could not be kept: no machine has so many, or limits::kThreads.
    // After the last question: what it takes to find maps that overlap is known with the first.
    uint64_t dropped() const { return dropped_; }

private:
    struct Process {
        mutable MapIndex maps;
        std::multiset<uint64_t> execs_ns;
        std::optional<uint32_t> parent;
        uint64_t forked_ns = 0;
    };
    // As which a thread goes on: under a name, or, when it begins, under its parent's.
    struct Life {
        std::string name;
        std::optional<uint32_t> parent;
        bool begins;  // here, with a program or as a thread: it was not so before
    };
    struct Thread {
        std::multimap<uint64_t, Life> lives;  // since when
    };

    void note_map(const perfdata::MmapRecord &map, uint64_t time_ns);
    void note_command(const perfdata::CommRecord &command, bool exec, uint64_t time_ns);
    void note_fork(const perfdata::TaskRecord &task, bool own_program);
    void add_life(uint32_t tid, uint64_t time_ns, Life life, bool in_front);
    std::optional<uint32_t> object_of(std::string_view path, Bytes build_id);
    template <typename Value>
    Value *entry(std::map<uint32_t, Value> &in, uint32_t number);

    std::map<uint32_t, Process> processes_;
    std::map<uint32_t, Thread> threads_;
    std::vector<Object> objects_;
    std::map<std::pair<std::string, std::string>, uint32_t> object_by_name_;
    mutable Budget left_{limits::kThreads};
    mutable uint64_t dropped_ = 0;
};

}  // namespace pmukit::cli
