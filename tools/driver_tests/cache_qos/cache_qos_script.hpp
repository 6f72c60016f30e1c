// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs steps of a World, one per line of text. The steps are written in a test or are random. If a
// check fails, random steps are printed, so that they can be repeated.
//
//     task 100 50          makes task 0 with 100 lines and 50 accesses per millisecond
//     group 0              makes group 1 in the root group 0
//     monitor 1 1          switches the monitor of group 1 on
//     move 0 1             moves task 0 to group 1
//     switch 1 0           CPU 1 runs task 0 ("idle": no task)
//     run 2000             lets 2000 microseconds pass
//     pass                 makes a pass of the sampler, and compares all values with the truth
//     bytes group 1 1 = 100     requires 100 units of event 1 of group 1 (also: cgroup, monitor)
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

    // Throws std::invalid_argument if the line is not a valid step.
    void step(const std::string &line);
    // Runs each line except empty lines and lines that begin with #. Returns the error messages, or
    // an empty text.
    std::string run(std::string_view text);

    World &world() { return world_; }

    // The numbers of the tasks, groups and monitors that exist.
    std::vector<u32> tasks, groups, monitors;
    u32 cgroups = 0;
    int result = 0;  // result of the last step that can fail

private:
    struct Word;
    static const std::vector<Word> &words();
    void expect_bytes(const std::vector<std::string> &words);

    World world_;
};

// Makes random steps, each of which is valid.
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
