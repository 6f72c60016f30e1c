// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// vmrun boots a guest with emulated devices and checks what happens in the guest.
// Exit codes: 0 all tests passed, 1 a test failed, 2 wrong usage, 69 the test environment failed.
#include <fmt/core.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>

#include "vmrun_child.hpp"
#include "vmrun_session.hpp"
#include "vmrun_text.hpp"

namespace {

namespace fs = std::filesystem;
using namespace pmukit;

constexpr int kExitFailed = 1, kExitUsage = 2, kExitEnvironment = 69;

struct Arguments {
    std::string kernel, driver, mode = "test", scenario, placement, accel = "auto";
    uint64_t seed = 1;
    unsigned seconds = 60;
    fs::path keep, cache, build, results, selftests = "selftests";
    bool all = false, verbose = false;
    std::optional<uint64_t> brief, shard;
};

std::string default_cache()
{
    if (const char *named = std::getenv("PMUKIT_CACHE"))
        return named;
    if (const char *xdg = std::getenv("XDG_CACHE_HOME"))
        return std::string(xdg) + "/pmukit";
    const char *home = std::getenv("HOME");
    return std::string(home ? home : "/") + "/.cache/pmukit";
}

int usage_error(std::string_view message)
{
    fmt::print(stderr, "vmrun: {}\n", message);
    return kExitUsage;
}

template <typename Row>
std::string names_of(std::span<const Row> table, std::string_view Row::*name)
{
    std::string names;
    for (const Row &row : table)
        names += fmt::format(" {}", row.*name);
    return names;
}

void describe(CLI::App &app, Arguments &arguments)
{
    app.add_option("--kernel", arguments.kernel, "guest kernel, as set-up names it: 6.12, ...")
        ->required();
    app.add_option("--driver,--unit", arguments.driver,
                   "driver to test, or 'none' for a guest without devices")
        ->required();
    app.add_option("--mode", arguments.mode, "test, demo or shell")->capture_default_str();
    app.add_option("--seed", arguments.seed, "seed of the workload; the next one is used too")
        ->capture_default_str();
    app.add_option("--seconds", arguments.seconds, "length of a scenario that has none of its own")
        ->capture_default_str();
    app.add_option("--scenario", arguments.scenario,
                   "one scenario of a test (otherwise those that are routine on the kernel)");
    app.add_flag("--all", arguments.all, "every scenario that runs on the kernel");
    app.add_option(
        "--brief", arguments.brief,
        "one scenario that is short on a debug kernel: this one of them, counted around");
    app.add_option("--shard", arguments.shard,
                   "a part of what is routine on the kernel: three shards, counted around, have "
                   "all of it");
    app.add_option("--placement", arguments.placement,
                   "integrated (on pcie.0), root-port or cxl-rp, instead of the scenario's own");
    app.add_option("--accel", arguments.accel, "auto, or tcg to leave KVM alone")
        ->capture_default_str();
    app.add_option(
        "--keep", arguments.keep,
        "folder for all output, kept (otherwise of a test temporary, kept on failure; of a demo "
        "or shell below --build, kept)");
    app.add_option("--cache", arguments.cache, "where set-up put guests and QEMU")
        ->capture_default_str();
    app.add_option("--build", arguments.build, "build outputs")->required();
    app.add_option("--selftests", arguments.selftests, "folder of the selftests")
        ->capture_default_str();
    app.add_option("--results", arguments.results,
                   "file to which a line '<passed> <failed> <driver> <kernel>' is added");
    app.add_flag("-v,--verbose", arguments.verbose,
                 "show the console (also V=1 in the environment)");
}

// A socket path is limited to 107 bytes, and the sockets are in a subfolder of `out`.
bool fits_sockets(const fs::path &out)
{
    return out.string().size() < 85;
}

// A shell or a demo keeps its recordings in a new folder below the build outputs.
fs::path folder_to_keep(const Arguments &arguments)
{
    if (!arguments.keep.empty() || arguments.mode == "test")
        return arguments.keep;
    const fs::path folder =
        fs::absolute(arguments.build) /
        fmt::format("vm/{}-{}-{}", arguments.mode, arguments.driver, std::time(nullptr));
    return fits_sockets(folder) ? folder : fs::path();
}

// Makes the output folder. If `keep` names a folder, that folder is used, and it must have no
// files. If `keep` is an empty text, makes a temporary folder.
Result<fs::path> make_out(const fs::path &keep)
{
    if (keep.empty()) {
        std::string name = (fs::temp_directory_path() / "vmrun-XXXXXX").string();
        if (!::mkdtemp(name.data()))
            return Error{Errc::kEnvironment, fmt::format("cannot make a folder like {}", name)};
        return fs::path(name);
    }
    std::error_code error;
    fs::create_directories(keep, error);
    if (error || !fs::is_empty(keep, error) || error)
        return Error{Errc::kUsage, fmt::format("--keep {}: not an empty folder", keep.string())};
    return fs::absolute(keep);
}

Result<void> add_result_line(const Arguments &arguments, const vm::Totals &totals)
{
    if (arguments.results.empty())
        return {};
    // The first run of a series creates the file, so a missing file is not an error.
    auto before = vm::read_file(arguments.results);
    return vm::write_file(
        arguments.results,
        (before ? *before : "") + fmt::format("{} {} {} {}\n", totals.passed, totals.failed,
                                              arguments.driver, arguments.kernel));
}

// Removes the initramfs after a demo or shell, and prints the folder of the recordings.
void name_recordings(const fs::path &out)
{
    std::error_code ignored;
    for (const fs::directory_entry &scenario : fs::directory_iterator(out, ignored)) {
        fs::remove(scenario.path() / "initramfs", ignored);
        fmt::print("vmrun: kept {}; 'pmukit report -i FILE' explains a recording\n",
                   (scenario.path() / "guest").string());
    }
}

int conclude(const Arguments &arguments, const vm::SessionOptions &options,
             const Result<vm::Totals> &totals)
{
    bool good = totals && totals->failed == 0;
    std::error_code ignored;
    bool nothing_to_see = good || vm::interrupted() || fs::is_empty(options.out, ignored);
    if (arguments.keep.empty() && nothing_to_see)
        fs::remove_all(options.out, ignored);
    else if (options.mode != vm::Mode::kTest && good)
        name_recordings(options.out);
    else if (!good)
        fmt::print("vmrun: everything of this run is in {}\n", options.out.string());
    if (!totals) {
        fmt::print(stderr, "vmrun: {}\n", totals.error().message);
        return kExitEnvironment;
    }
    if (options.mode == vm::Mode::kShell)
        return 0;
    if (options.mode == vm::Mode::kTest || !good) {
        const std::string &booted = totals->kernel_version;
        fmt::print("vmrun: driver={} kernel={} {} passed, {} failed\n", arguments.driver,
                   booted.empty() ? arguments.kernel + " (nothing to run on it)" : booted,
                   totals->passed, totals->failed);
    }
    if (auto added = add_result_line(arguments, *totals); !added) {
        fmt::print(stderr, "vmrun: {}\n", added.error().message);
        return kExitEnvironment;
    }
    return good ? 0 : kExitFailed;
}

// Checks and converts the arguments. The output folder is made later, by make_out().
Result<vm::SessionOptions> make_options(const Arguments &arguments)
{
    auto mode = vm::mode_by_name(arguments.mode);
    auto placement = vm::placement_by_name(arguments.placement);
    bool own_placement = arguments.placement.empty();
    vm::SessionOptions options;
    options.kernel = vm::kernel_by_name(arguments.kernel);
    options.driver = vm::driver_by_name(arguments.driver);
    if (!mode || (!placement && !own_placement))
        return Error{
            Errc::kUsage,
            "--mode is test, demo or shell; --placement is integrated, root-port or cxl-rp"};
    if (!options.kernel)
        return Error{Errc::kUsage, fmt::format("unknown kernel '{}': one of{}", arguments.kernel,
                                               names_of(vm::kernels(), &vm::KernelQuirks::kernel))};
    if (!options.driver && arguments.driver != "none")
        return Error{Errc::kUsage,
                     fmt::format("unknown driver '{}': none or one of{}", arguments.driver,
                                 names_of(vm::drivers(), &vm::DriverSpec::name))};
    if (arguments.accel != "auto" && arguments.accel != "tcg")
        return Error{Errc::kUsage, "--accel is auto or tcg"};
    options.mode = *mode;
    options.scenario = arguments.scenario;
    options.all = arguments.all;
    options.brief = arguments.brief;
    options.shard = arguments.shard;
    options.placement = placement;
    options.seed = arguments.seed;
    options.seconds = arguments.seconds;
    options.verbose = arguments.verbose;
    options.allow_kvm = arguments.accel == "auto";
    options.cache = fs::absolute(arguments.cache);
    options.build = fs::absolute(arguments.build);
    options.selftests = fs::weakly_canonical(arguments.selftests);
    if (!fs::exists(options.selftests / "vm/init"))
        return Error{Errc::kUsage,
                     fmt::format("{} is not the selftests folder", options.selftests.string())};
    return options;
}

int run(int argc, char **argv)
{
    Arguments arguments;
    arguments.cache = default_cache();
    const char *loud = std::getenv("V");
    arguments.verbose = loud && std::string_view(loud) == "1";
    CLI::App app{"vmrun: boots a guest with emulated devices and checks what happens in it"};
    describe(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        int code = app.exit(error);
        return code == 0 ? 0 : kExitUsage;
    }

    auto options = make_options(arguments);
    if (!options)
        return usage_error(options.error().message);
    arguments.keep = folder_to_keep(arguments);
    auto out = make_out(arguments.keep);
    if (!out)
        return usage_error(out.error().message);
    options->out = *out;
    if (!fits_sockets(options->out))
        return usage_error(
            fmt::format("the path {} is too long for sockets", options->out.string()));
    vm::catch_interrupts();
    return conclude(arguments, *options, vm::run_session(*options));
}

}  // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &failure) {  // only libraries throw exceptions
        std::fprintf(stderr, "vmrun: %s\n", failure.what());
        return kExitEnvironment;
    }
}
