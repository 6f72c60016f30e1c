// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pmukit::vm {

void try_each_fault(Scenario &scenario, const std::string &driver,
                    std::span<const std::string_view> faults)
{
    std::string names = "healthy";
    for (size_t i = 0; i < faults.size(); i++) {
        scenario.models[i + 1] += " --fault " + std::string(faults[i]);
        names += " " + std::string(faults[i]);
    }
    scenario.steps = {{"faults", "PMUKIT_FAULTS='" + names + "' " + driver + "_faults_test", 600}};
    scenario.checks = {
        {"every fault of the model was tried",
         {"{selftests}/lib/faults_covered.sh", "{model}", driver, "{guest}/faults.tap"},
         0,
         {"all_tried=yes"}}};
}

GuestStep stress_step(std::string_view name, std::string_view options)
{
    return {name, "pmu_stress --seconds {seconds} --seed {seed} " + std::string(options), 180};
}

DriverSpec with_stress(DriverSpec driver, Scenario stress, const std::string &many)
{
    // pmu_many runs before the steps of the scenario.
    stress.steps.insert(stress.steps.begin(), {"many", "pmu_many " + many, 180});
    stress.name = "stress";
    stress.on_request = true;
    driver.brief.push_back(stress.name);
    driver.programs.push_back("selftests/stress/pmu_many");
    driver.programs.push_back("selftests/stress/pmu_stress");
    driver.tests.push_back(std::move(stress));
    return driver;
}

std::string trees_of_pmus(const std::string &prefix)
{
    return " $(printf ' --tree %s' /sys/bus/event_source/devices/" + prefix + "_*)";
}

DriverSpec with_steps(DriverSpec driver, std::string_view scenario, std::string_view program,
                      const std::vector<ProgramStep> &steps)
{
    const std::string command = std::string(program.substr(program.rfind('/') + 1)) + " ";
    for (Scenario &test : driver.tests)
        for (const ProgramStep &step : steps)
            if (test.name == scenario)
                test.steps.push_back(
                    {step.name, std::string(step.before) + command + step.options, 60});
    driver.programs.push_back(program);
    return driver;
}

DriverSpec with_privileges(DriverSpec driver, std::string_view scenario,
                           const std::vector<ProgramStep> &steps)
{
    return with_steps(std::move(driver), scenario, "selftests/stress/pmu_privileges", steps);
}

DriverSpec with_aux_extras(DriverSpec driver, std::string_view scenario,
                           const std::vector<ProgramStep> &steps)
{
    return with_steps(std::move(driver), scenario, "selftests/stress/pmu_aux_extras", steps);
}

Scenario on_the_machine_of_stress(const DriverSpec &driver, std::string_view name)
{
    auto found = std::find_if(driver.tests.begin(), driver.tests.end(),
                              [](const Scenario &scenario) { return scenario.name == "stress"; });
    Scenario scenario = *found;
    scenario.name = name;
    scenario.on_request = false;
    return scenario;
}

DriverSpec with_brief(DriverSpec driver, Scenario scenario, std::string_view program,
                      const std::string &options, unsigned limit_seconds)
{
    const std::string name(program.substr(program.rfind('/') + 1));
    scenario.steps = {{scenario.name, name + " " + options, limit_seconds}};
    driver.programs.push_back(program);
    driver.brief.push_back(scenario.name);
    driver.tests.push_back(std::move(scenario));
    return driver;
}

DriverSpec with_busy_privileges(DriverSpec driver, const std::string &options)
{
    Scenario privileges = on_the_machine_of_stress(driver, "privileges");
    return with_brief(std::move(driver), std::move(privileges), "selftests/stress/pmu_privileges",
                      options + " --busy", 120);
}

DriverSpec with_sleep(DriverSpec driver, const std::string &options)
{
    Scenario sleep = on_the_machine_of_stress(driver, "sleep");
    sleep.sleeps = true;
    sleep.kernels = {"6.12", "7.2", "debug-6.12", "debug-7.2"};
    sleep.routine = {"6.12"};
    return with_brief(std::move(driver), std::move(sleep), "selftests/stress/pmu_sleep", options,
                      120);
}

DriverSpec with_refresh(DriverSpec driver, const std::string &options)
{
    Scenario refresh = on_the_machine_of_stress(driver, "refresh");
    refresh.routine = {"7.2"};
    return with_brief(std::move(driver), std::move(refresh), "selftests/stress/pmu_refresh",
                      options, 180);
}

DriverSpec with_reloads(DriverSpec driver, const std::string &options)
{
    Scenario reload = on_the_machine_of_stress(driver, "reload");
    reload.only_all = true;
    reload.kernels = {"6.1", "6.12", "7.2", "debug-6.12", "debug-7.2"};
    std::string command = "pmu_reload " + options;
    for (std::string_view module : driver.modules) {
        const std::string name(module.substr(0, module.find(' ')));
        const std::string parameters(module.substr(name.size()));
        command += " --load '" + name + "=/lib/vmrun/" + name + ".ko" + parameters + "'";
    }
    reload.steps = {{"reload", command, 1800}};
    driver.programs.push_back("selftests/stress/pmu_reload");
    driver.tests.push_back(std::move(reload));
    return driver;
}

DriverSpec with_failures(DriverSpec driver, const std::vector<ProgramStep> &steps)
{
    Scenario failures = on_the_machine_of_stress(driver, "fail_nth");
    failures.only_all = true;
    failures.kernels = kFailingKernels;
    // After an injected failure, the kernel warns when it removes /proc files of an interrupt that
    // it could not create, and DMA debugging disables itself. "Call Trace:" is harmless, because a
    // real problem also prints another line above its backtrace.
    failures.harmless = {"remove_proc_entry+", "Call Trace:", "cacheline tracking ENOMEM"};
    failures.steps.clear();
    for (const ProgramStep &step : steps)
        failures.steps.push_back(
            {step.name, std::string(step.before) + "pmu_fail_nth " + step.options, 900});
    driver.programs.push_back("selftests/stress/pmu_fail_nth");
    driver.tests.push_back(std::move(failures));
    return driver;
}

DriverSpec with_examples(DriverSpec driver, const std::vector<std::string_view> &pages,
                         std::string_view kernel, Scenario machine)
{
    const std::string folder = "/selftests/" + std::string(driver.name) + "/";
    machine.name = "examples";
    machine.routine = {kernel};
    driver.files.push_back("tools/scripts/doc-examples");
    for (const std::string_view page : pages) {
        const std::string_view file = page.substr(page.rfind('/') + 1);
        machine.steps.push_back({file.substr(0, file.rfind('.')),
                                 fmt::format("{0}doc-examples --guest {0}{1} /tmp", folder, file),
                                 300});
        driver.files.push_back(page);
    }
    driver.tests.push_back(std::move(machine));
    return driver;
}

// The devices that the modules of all drivers need in one guest, with their PCI addresses:
//
//   00:10.0 --- 01:00.0        00:11.0 a memory expander
//   00:18.0 the trace block    00:19.0 a simulated uncore
DriverSpec soak()
{
    Scenario scenario;
    scenario.name = "soak";
    scenario.on_request = true;
    scenario.kernels = kX86Kernels;
    scenario.bridges = {"pcie-root-port,id=rp10,bus=pcie.0,addr=10.0,chassis=0,slot=16"};
    scenario.chassis = {
        {"hisi_ptt --serves 00:10.0", "pcie.0", "18.0"},
        {"pcie_ep --bdf 01:00.0 --root-port 00:10.0", "rp10"},
        {"cxl_hmu --strict --serial 1", "pcie.0", "11.0"},
        {"uncore_pmon", "pcie.0", "19.0"},
    };
    scenario.steps = {{"soak", "/selftests/soak/soak.sh {seconds}", 600}};
    DriverSpec driver;
    driver.name = "soak";
    driver.files = {"selftests/lib/tap.sh", "selftests/stress/soak.sh"};
    const auto append = [](auto &to, const auto &from) {
        for (const auto &each : from)
            if (std::find(to.begin(), to.end(), each) == to.end())
                to.push_back(each);
    };
    for (const DriverScenarios &each : driver_scenarios()) {
        const DriverSpec part = each.driver();
        append(driver.stock_modules, part.stock_modules);
        append(driver.modules, part.modules);
        append(driver.programs, part.programs);
        append(driver.firmware, part.firmware);
    }
    driver.tests = {scenario};
    driver.demo = std::move(scenario);
    driver.demo.name = "demo";
    return driver;
}

}  // namespace pmukit::vm
