// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Steps of a World as text, a line each: written by hand in a test, or random; random steps are
// printed when something is wrong, so that they can be run again.
//
//     task 100 50          task 0: 100 lines of its own, 50 lines a millisecond
//     group 0              group 1, in the root
//     monitor 1 1          it is monitored
//     move 0 1
//     switch 1 0           CPU 1 runs task 0; "idle": no task
//     run 2000             microseconds
//     pass                 the sampler; then everything is compared with the truth
//     bytes group 1 1 = 100     event 1 of a group (cgroup, monitor), in units
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cache_qos_world.hpp"

namespace pmukit::kshim {

class Script {
public:
    explicit Script(const MachineShape &shape, const driver_tests::Recorded *is = nullptr)
        : world_(shape, is)
    {
    }

    // Throws std::invalid_argument if the line makes no sense.
    void step(const std::string &line);
    // Lines; empty ones and those that begin with # are not steps. Returns what was wrong.
    std::string run(std::string_view text);

    World &world() { return world_; }

    // What there is, by number
    std::vector<u32> tasks, groups, monitors;
    u32 cgroups = 0;
    int result = 0;  // of the last step that can be refused

private:
    struct Word;
    static const std::vector<Word> &words();
    void expect_bytes(const std::vector<std::string> &words);

    World world_;
};

// Steps by chance, of which each makes sense.
class RandomSteps {
public:
    RandomSteps(Script &script, u64 seed, u32 cpus, u32 domains);
    std::string next();
    bool with_hotplug = false;
    bool with_faults = false;

private:
    u32 dice(u32 sides) { return static_cast<u32>(engine_() % sides); }
    u32 one_of(const std::vector<u32> &numbers) { return numbers[dice(u32(numbers.size()))]; }
    std::string of_tasks();
    std::string of_groups();
    std::string of_cgroups();
    std::string of_monitors();
    std::string of_machine();
    std::string of_scheduler();

    Script &script_;
    std::mt19937_64 engine_;
    u32 cpus_, domains_;
    std::vector<bool> offline_;
};

}  // namespace pmukit::kshim
