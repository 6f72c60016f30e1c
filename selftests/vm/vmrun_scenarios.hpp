// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the scenarios of several drivers share. The scenarios of a driver are in
// selftests/<driver>/scenarios.cpp, which defines <driver>_driver() and <driver>_tests(); the build
// finds them by their folder.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vmrun_tables.hpp"

namespace pmukit::vm {

// Kernels of x86, of arm64, and those with fault injection beside kmemleak.
inline const std::vector<std::string_view> kX86Kernels = {
    "6.1", "6.12", "7.2", "debug-6.12", "debug-7.2", "late-6.12", "kcsan-6.12"};
inline const std::vector<std::string_view> kArm64Kernels = {"6.12-arm64"};
inline const std::vector<std::string_view> kFailingKernels = {"debug-6.12", "debug-7.2"};

// In the JSON of every recording of an emulated device.
inline constexpr const char *kSourceModel = "\"source\":\"model\"";

// One run of a program with options.
struct ProgramStep {
    std::string_view name;
    std::string options;
    std::string_view before = "";  // commands of the guest's sh
};

// Of the scenario's models the first stays healthy, and each of the others is given one of the
// faults. The driver's program tries them by name; they are all that its model knows.
void try_each_fault(Scenario &scenario, const std::string &driver,
                    std::span<const std::string_view> faults);

// Random use of a driver's PMUs for as long as one likes, without and with things that happen to
// the machine meanwhile. Options are those of pmu_stress.
GuestStep stress_step(std::string_view name, std::string_view options);

DriverSpec with_stress(DriverSpec driver, Scenario stress, const std::string &many);

// All PMUs that there are of a kind, as options.
std::string trees_of_pmus(const std::string &prefix);

// As steps of a scenario that the driver has.
DriverSpec with_steps(DriverSpec driver, std::string_view scenario, std::string_view program,
                      const std::vector<ProgramStep> &steps);

// Privileges for a PMU.
DriverSpec with_privileges(DriverSpec driver, std::string_view scenario,
                           const std::vector<ProgramStep> &steps);

// What perf has around AUX areas, which none of our PMUs can.
DriverSpec with_aux_extras(DriverSpec driver, std::string_view scenario,
                           const std::vector<ProgramStep> &steps);

// The devices of the driver's stress, for something else.
Scenario on_the_machine_of_stress(const DriverSpec &driver, std::string_view name);

// One more scenario, of those that are short on a debug kernel: one program.
DriverSpec with_brief(DriverSpec driver, Scenario scenario, std::string_view program,
                      const std::string &options, unsigned limit_seconds);

// The same where there is something to record, on the machine of the driver's stress.
DriverSpec with_busy_privileges(DriverSpec driver, const std::string &options);

// Suspended with an event that runs, on the machine of the driver's stress.
DriverSpec with_sleep(DriverSpec driver, const std::string &options);

// Events that end by themselves, on the machine of the driver's stress. 7.2 stops them from inside
// their last sample.
DriverSpec with_refresh(DriverSpec driver, const std::string &options);

// The modules of the driver go and come back two hundred times, with an event of the PMU in
// between.
DriverSpec with_reloads(DriverSpec driver, const std::string &options);

// Each allocation of each act fails once, on the machine of the driver's stress. Only the debug
// kernels can do that.
DriverSpec with_failures(DriverSpec driver, const std::vector<ProgramStep> &steps);

// Runs the console blocks of the driver's pages on a machine with the devices that they name.
DriverSpec with_examples(DriverSpec driver, const std::vector<std::string_view> &pages,
                         std::string_view kernel, Scenario machine);

// The scenarios of one driver: what is in each of its guests with the scenarios that are its own,
// and the same with those that every driver has.
struct DriverScenarios {
    DriverSpec (*driver)();
    DriverSpec (*tests)();
};

// Of every folder of selftests that has a scenarios.cpp; written by the build.
std::vector<DriverScenarios> driver_scenarios();

// The modules of all drivers in one guest, for a long run.
DriverSpec soak();

}  // namespace pmukit::vm
