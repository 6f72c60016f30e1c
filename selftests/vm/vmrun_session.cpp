// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "base/text.hpp"
#include "vmrun_child.hpp"
#include "vmrun_guest_tree.hpp"
#include "vmrun_initramfs.hpp"
#include "vmrun_log.hpp"
#include "vmrun_machine.hpp"
#include "vmrun_monitor.hpp"
#include "vmrun_tap.hpp"
#include "vmrun_text.hpp"

namespace pmukit::vm {

namespace fs = std::filesystem;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

constexpr seconds kBootLimit{180};
constexpr unsigned kDebugSlower = 4;
// The guest enforces the time limit of a step. vmrun ends the guest this much later, if the guest
// itself hangs.
constexpr seconds kGrace{60};
constexpr std::chrono::milliseconds kModelReadyLimit{10000};
constexpr std::chrono::milliseconds kModelLeaveLimit{10000};
constexpr size_t kTailLines = 40;
constexpr std::string_view kGuestSays = "vm: ";

unsigned slowness(const KernelQuirks &kernel)
{
    return kernel.debug ? kDebugSlower : 1;
}

unsigned limit_of(const GuestStep &step, unsigned seconds)
{
    const bool as_long_as_asked = step.command.find("{seconds}") != std::string::npos;
    return step.limit_seconds + (as_long_as_asked ? seconds : 0);
}

template <typename... Args>
void say(fmt::format_string<Args...> format, Args &&...args)
{
    fmt::print("vmrun: {}\n", fmt::format(format, std::forward<Args>(args)...));
    std::fflush(stdout);
}

std::string tail(std::string_view text, size_t count)
{
    std::vector<std::string> lines = lines_of(text);
    size_t begin = lines.size() > count ? lines.size() - count : 0;
    std::string out;
    for (size_t i = begin; i < lines.size(); i++)
        out += "    " + lines[i] + "\n";
    return out;
}

// Prints the progress messages of the guest, and sets a new deadline at the start of each step.
class Progress : public Watcher {
public:
    // heed() gets each message of the guest's init; the message may be a request.
    Progress(const std::vector<Step> &steps, seconds boot_limit, bool verbose,
             std::function<void(const std::vector<std::string> &)> heed,
             std::function<void(std::string_view)> look_at_models)
        : steps_(steps),
          verbose_(verbose),
          heed_(std::move(heed)),
          look_at_models_(std::move(look_at_models)),
          deadline_(steady_clock::now() + boot_limit)
    {
    }

    void on_line(std::string_view line) override
    {
        while (!line.empty() && line.back() == '\r')
            line.remove_suffix(1);
        const std::string own = guest_.take(line).value_or("");
        const size_t at = own.find(kGuestSays);
        const bool from_init = at != std::string::npos;
        std::vector<std::string> said;
        if (from_init)
            said = words_of(own.substr(at + kGuestSays.size()));
        if (verbose_ || from_init) {
            fmt::print("  {}{}\n", verbose_ ? line : own, seconds_of_step(said));
            std::fflush(stdout);
        }
        if (from_init)
            heard_init(said);
    }
    void on_quiet(seconds since_start) override { say("still running, {} s", since_start.count()); }
    void on_look() override { look_at_models_(step_); }
    steady_clock::time_point deadline() const override { return deadline_; }
    bool reached_init() const { return reached_init_; }

private:
    // Returns the duration of a step as text, for the message that the step has ended.
    std::string seconds_of_step(const std::vector<std::string> &words) const
    {
        if (words.size() != 4 || words[0] != "step" || words[2] != "ended:")
            return "";
        const auto took = steady_clock::now() - step_began_;
        return fmt::format(" ({} s)", std::chrono::duration_cast<seconds>(took).count());
    }

    void heard_init(const std::vector<std::string> &words)
    {
        reached_init_ = true;
        heed_(words);
        if (words.size() != 2 || words[0] != "step")
            return;
        step_ = words[1];
        step_began_ = steady_clock::now();
        for (const Step &step : steps_)
            if (step.name == words[1])
                deadline_ = steady_clock::now() + seconds(step.limit_seconds) + kGrace;
    }

    const std::vector<Step> &steps_;
    bool verbose_;
    GuestLines guest_;
    std::function<void(const std::vector<std::string> &)> heed_;
    std::function<void(std::string_view)> look_at_models_;
    std::string step_ = "boot";
    steady_clock::time_point step_began_ = steady_clock::now();
    bool reached_init_ = false;
    steady_clock::time_point deadline_;
};

// A model process. The flags say whether vmrun has ended the process on request of the guest, and
// whether vmrun has already seen that the process exited.
struct Device {
    Child model;
    fs::path socket;  // empty for a chassis, which has several sockets
    bool ended_on_request = false;
    bool end_was_seen = false;
    bool faulty = false;
};

class Session {
public:
    Session(const SessionOptions &options, const Scenario &scenario, fs::path out)
        : options_(options), scenario_(scenario), out_(std::move(out))
    {
    }

    Result<Totals> run();
    // Call after run() has returned an error: returns true if the emulator failed, false if a model
    // or the guest failed.
    bool machine_failed() const { return machine_failed_; }

private:
    Result<void> prepare();
    fs::path socket(size_t number) const { return out(fmt::format("s{}", number)); }
    fs::path monitor_socket() const { return out("qmp"); }
    Result<void> start_models();
    Result<void> start_chassis();
    Result<void> start_model(const std::vector<std::string> &words);
    Result<void> wait_for_model(size_t number);
    Result<void> make_disk();
    Result<MachineSpec> make_machine();
    Result<int> run_guest(const MachineSpec &spec);
    void heed(const std::vector<std::string> &words);
    Result<void> end_model(size_t number);
    Result<void> plug_device(size_t number);
    Result<void> unplug_device(size_t number);
    Result<Monitor *> monitor();
    PlacedDevice placed(size_t number) const;
    void look_at_models(std::string_view step);
    void stop_models();
    void check_conformance(size_t number);

    void check_steps();
    void check_unload();
    void check_debug_kernel();
    std::vector<std::string> our_modules() const;
    void check_log(std::string_view console);
    void check_outside();
    void check_one(const HostStep &step);
    void verdict(TestResult result);

    fs::path out(std::string_view name) const { return out_ / name; }

    const SessionOptions &options_;
    const Scenario &scenario_;
    fs::path out_;
    Totals totals_;
    GuestTree tree_;
    Emulator emulator_;
    std::vector<Step> steps_;
    std::map<std::string, std::string> names_;  // values of placeholders in commands
    ExpectedSkips skips_;
    std::vector<Device> devices_;
    std::optional<Monitor> monitor_;
    bool machine_failed_ = false;
    bool guest_failed_ = false;
};

Result<void> Session::prepare()
{
    auto tree = open_guest_tree(options_.cache / "guests" / options_.kernel->kernel);
    if (!tree)
        return tree.error();
    tree_ = std::move(*tree);
    if (tree_.arch != options_.kernel->arch)
        return Error{Errc::kDamaged, fmt::format("guest {} is {}, not {}", options_.kernel->kernel,
                                                 tree_.arch, options_.kernel->arch)};
    totals_.kernel_version = tree_.version;
    auto emulator = find_emulator(*options_.kernel, options_.cache);
    if (!emulator)
        return emulator.error();
    emulator_ = std::move(*emulator);
    fs::create_directories(options_.build / "vm");
    emulator_.kvm =
        options_.allow_kvm && !scenario_.tapped_node && scenario_.rdt.empty() &&
        kvm_works(emulator_, *options_.kernel, tree_.image, options_.build / "vm/kvm-works");

    names_ = {
        {"out", out_.string()},
        {"selftests", options_.selftests.string()},
        {"guest", out("guest").string()},
        {"kernel", std::string(options_.kernel->kernel)},
        {"kver", tree_.version},
        {"tap_base", std::string(kTappedBase)},
        {"tap_bytes", std::string(kTappedBytes)},
        {"seed", std::to_string(options_.seed)},
        {"next_seed", std::to_string(options_.seed + 1)},
        {"seconds", std::to_string(options_.seconds)},
        {"pmukit", (options_.build / "tools/cli/pmukit").string()},
        {"model", (options_.build / "tools/model_server/pmukit-model").string()},
        {"checker", (options_.build / "tools/selftests/cxl_hmu/cxl_hmu_checker").string()},
        {"entries_checker",
         (options_.build / "tools/selftests/cxl_hmu/cxl_hmu_entries_checker").string()},
        {"ptt_checker", (options_.build / "tools/selftests/hisi_ptt/hisi_ptt_checker").string()},
        {"power_cut", (options_.build / "tools/selftests/power_cut/power_cut").string()},
        {"topology_checker",
         (options_.build / "tools/selftests/cxl_hmu/cxl_hmu_topology_checker").string()}};
    if (!options_.driver || options_.mode == Mode::kShell)
        return {};
    for (const GuestStep &step : scenario_.steps)
        steps_.push_back({limit_of(step, options_.seconds) * slowness(*options_.kernel),
                          std::string(step.name), expand(step.command, names_)});

    auto skips = read_file(options_.selftests / options_.driver->name / "expected-skips");
    skips_ = ExpectedSkips::parse(skips ? *skips : "");
    if (!skips_.errors().empty())
        return Error{Errc::kDamaged, "expected-skips: " + skips_.errors().front()};
    return {};
}

Result<void> Session::start_models()
{
    if (!scenario_.chassis.empty())
        return start_chassis();
    for (const std::string &arguments : scenario_.models) {
        fs::path path = socket(devices_.size());
        std::vector<std::string> words = {std::string(options_.driver->name), "--socket", path};
        for (const std::string &word : words_of(expand(arguments, names_)))
            words.push_back(word);
        if (auto started = start_model(words); !started)
            return started;
        devices_.back().socket = path;
    }
    return {};
}

Result<void> Session::start_chassis()
{
    std::vector<std::string> words = {"chassis"};
    for (size_t i = 0; i < scenario_.chassis.size(); i++) {
        words.emplace_back("--device");
        words.push_back(fmt::format("{} --socket {}", expand(scenario_.chassis[i].words, names_),
                                    socket(i).string()));
    }
    return start_model(words);
}

Result<void> Session::start_model(const std::vector<std::string> &words)
{
    size_t number = devices_.size();
    Command command{{(options_.build / "tools/model_server/pmukit-model").string(), "--once"}};
    command.words.insert(command.words.end(), words.begin(), words.end());
    command.output = out(fmt::format("model{}.log", number));
    command.errors = out(fmt::format("model{}.errors", number));
    auto model = Child::start(command);
    if (!model)
        return model.error();
    devices_.push_back({std::move(*model), {}});
    devices_.back().faulty = std::ranges::any_of(
        words, [](const std::string &word) { return word.find("--fault") != std::string::npos; });
    return wait_for_model(number);
}

Result<void> Session::wait_for_model(size_t number)
{
    auto end = steady_clock::now() + kModelReadyLimit;
    while (steady_clock::now() < end && !interrupted()) {
        auto said = read_file(out(fmt::format("model{}.log", number)));
        if (said && said->starts_with("model: ready"))
            return {};
        if (devices_[number].model.poll())
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    auto errors = read_file(out(fmt::format("model{}.errors", number)));
    return Error{Errc::kEnvironment, fmt::format("model {} did not get ready\n{}", number,
                                                 tail(errors ? *errors : "", kTailLines))};
}

// Handles a request of the guest on its console: "vm: <verb> <noun> <number>". vmrun does not
// reply; the guest must detect the effect of its request.
void Session::heed(const std::vector<std::string> &words)
{
    struct Request {
        std::string_view verb, noun;
        Result<void> (Session::*grant)(size_t number);
    };
    static constexpr Request kRequests[] = {
        {"end", "model", &Session::end_model},
        {"plug", "device", &Session::plug_device},
        {"unplug", "device", &Session::unplug_device},
    };
    if (words.size() != 3)
        return;
    for (const Request &request : kRequests) {
        if (words[0] != request.verb || words[1] != request.noun)
            continue;
        auto done = (this->*request.grant)(std::strtoul(words[2].c_str(), nullptr, 10));
        if (!done)
            say("{}: {}", joined(words, " "), done.error().message);
    }
}

PlacedDevice Session::placed(size_t number) const
{
    const ChassisDevice &device = scenario_.chassis[number];
    return {socket(number), device.bus, device.address, fmt::format("device{}", number),
            device.plugged};
}

Result<Monitor *> Session::monitor()
{
    if (monitor_)
        return &*monitor_;
    auto connected = Monitor::connect(monitor_socket());
    if (!connected)
        return connected.error();
    return &monitor_.emplace(std::move(*connected));
}

Result<void> Session::plug_device(size_t number)
{
    if (number >= scenario_.chassis.size())
        return Error{Errc::kUsage, "no such device"};
    auto monitor = this->monitor();
    return monitor ? (*monitor)->plug(device_json(placed(number))) : monitor.error();
}

Result<void> Session::unplug_device(size_t number)
{
    if (number >= scenario_.chassis.size())
        return Error{Errc::kUsage, "no such device"};
    auto monitor = this->monitor();
    return monitor ? (*monitor)->unplug(placed(number).id) : monitor.error();
}

// Simulates surprise removal of a device: QEMU, the model's client, gets no notice. The model gets
// SIGTERM, not SIGKILL: the death of a model with unread data would reset the connection, which
// QEMU does not survive.
Result<void> Session::end_model(size_t number)
{
    if (number >= devices_.size())
        return Error{Errc::kUsage, "no such model"};
    devices_[number].ended_on_request = true;
    devices_[number].model.stop(kModelLeaveLimit);
    return {};
}

// Prints a message with the current step as soon as a model has ended while its guest runs.
void Session::look_at_models(std::string_view step)
{
    for (size_t i = 0; i < devices_.size(); i++) {
        Device &device = devices_[i];
        std::optional<int> code = device.model.poll();
        if (!code || device.end_was_seen)
            continue;
        device.end_was_seen = true;
        if (!device.ended_on_request)
            say("model {} ended during {} (exit code {})", i, step, *code);
    }
}

// A model started with --once exits when its client does. The checks need the last line that the
// model prints, so vmrun waits for the exit.
void Session::stop_models()
{
    for (size_t i = 0; i < devices_.size(); i++) {
        Device &device = devices_[i];
        if (!device.model.wait(kModelLeaveLimit))
            say("model {} did not leave by itself", i);
        int code = device.model.stop(kModelLeaveLimit);
        auto errors = read_file(out(fmt::format("model{}.errors", i)));
        if (code != 0 && !device.ended_on_request)
            verdict(
                {"model", fmt::format("model{}", i), Verdict::kFail,
                 fmt::format("exit code {}\n{}", code, tail(errors ? *errors : "", kTailLines))});
        check_conformance(i);
    }
    devices_.clear();
}

// Checks what the model has printed about violations. In a chassis, each device is checked by the
// rules of its own driver, which may be another one than the driver of the scenario.
void Session::check_conformance(size_t number)
{
    auto said = read_file(out(fmt::format("model{}.log", number)));
    if (!said || devices_[number].faulty)
        return;
    for (const auto &[name, violations] : violations_in(*said)) {
        if (violations == 0)
            continue;
        const DriverSpec *driver = driver_by_name(name);
        if (!driver || !driver->conforms || scenario_.trespasses) {
            say("model {}: {} violations of the documentation of {}", number, violations, name);
            continue;
        }
        auto errors = read_file(out(fmt::format("model{}.errors", number)));
        verdict({"model", fmt::format("model{} conformance of {}", number, name), Verdict::kFail,
                 fmt::format("{} violations of the device's documentation\n{}", violations,
                             tail(errors ? *errors : "", kTailLines))});
    }
}

// Makes the image of the guest's disk, a copy of it for the checks, and an empty log. No part of
// the file system is left for the guest to initialize, which would fill the log.
Result<void> Session::make_disk()
{
    auto code = run_to_end({{"/usr/sbin/mke2fs", "-q", "-t", "ext4", "-b", "4096", "-E",
                             "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
                             out("disk.begin").string(), std::string(scenario_.disk)},
                            out("mke2fs.log"),
                            out("mke2fs.log")});
    if (!code)
        return code.error();
    auto said = read_file(out("mke2fs.log"));
    if (*code != 0)
        return Error{Errc::kEnvironment, fmt::format("mke2fs failed (exit code {}): install "
                                                     "e2fsprogs\n{}",
                                                     *code, said ? *said : "")};
    fs::copy_file(out("disk.begin"), out("disk"));
    return write_file(out("disk.log"), "");
}

Result<MachineSpec> Session::make_machine()
{
    static constexpr std::string_view kModeNames[] = {"test", "demo", "shell"};
    const DriverSpec *driver = options_.driver;
    DriverSpec all = driver ? with_others(*driver, scenario_) : DriverSpec{};
    if (options_.mode == Mode::kDemo && options_.scenario.empty() && !all.demo_programs.empty())
        all.programs = all.demo_programs;
    InitramfsSpec inside{std::string(options_.kernel->kernel),
                         driver ? &all : nullptr,
                         options_.kernel->lacks,
                         std::string(kModeNames[static_cast<size_t>(options_.mode)]),
                         steps_,
                         options_.build,
                         options_.selftests};
    if (driver && options_.mode == Mode::kShell)
        inside.banner = shell_banner(all, scenario_.name, tree_.version, out("guest").string());
    auto archive = make_initramfs(tree_, inside);
    if (!archive)
        return archive.error();
    MachineSpec spec;
    spec.image = tree_.image;
    spec.initramfs = out("initramfs");
    if (auto written = write_file(spec.initramfs, *archive); !written)
        return written.error();
    // The guest writes to a separate folder, so that it cannot overwrite files that the checks
    // need.
    spec.out = out("guest");
    fs::create_directories(spec.out);
    spec.stock = tree_.root;
    for (const Device &device : devices_)
        if (!device.socket.empty())
            spec.sockets.push_back(device.socket);
    spec.bridges = scenario_.bridges;
    spec.objects = scenario_.objects;
    for (size_t i = 0; i < scenario_.chassis.size(); i++)
        spec.placed.push_back(placed(i));
    spec.monitor = monitor_socket();
    spec.nodes = scenario_.nodes;
    if (scenario_.tapped_node)
        spec.tapped_node =
            TappedNode{options_.build / "tools/memtap/memtap.so", out("ring"), out("tally")};
    if (!scenario_.rdt.empty())
        spec.rdt = RdtProcessor{options_.build / "tools/rdt/rdt.so", out("rdt.log"), scenario_.rdt};
    if (!scenario_.disk.empty()) {
        if (auto made = make_disk(); !made)
            return made.error();
        spec.disk = LoggedDisk{out("disk"), out("disk.log")};
    }
    spec.smp = scenario_.smp;
    spec.steady = scenario_.steady;
    spec.hides_hypervisor = scenario_.hides_hypervisor;
    spec.sleeps = scenario_.sleeps;
    spec.append = scenario_.append;
    spec.placement = options_.placement.value_or(scenario_.placement);
    spec.terminal = options_.mode == Mode::kShell;
    return spec;
}

Result<int> Session::run_guest(const MachineSpec &spec)
{
    std::vector<std::string> words = machine_words(emulator_, *options_.kernel, spec);
    if (options_.verbose)
        say("{}", joined(words, " "));
    if (spec.terminal)
        return run_terminal(words);

    Progress progress(
        steps_, kBootLimit * slowness(*options_.kernel), options_.verbose,
        [this](const std::vector<std::string> &request) { heed(request); },
        [this](std::string_view step) { look_at_models(step); });
    auto run = run_machine(words, out("console.log"), progress);
    monitor_.reset();
    if (!run)
        return run.error();
    if (run->ending == Ending::kInterrupted)
        return Error{Errc::kEnvironment, "interrupted"};
    auto qemu_says = read_file(out("console.log.qemu"));
    std::string story =
        tail(run->console, kTailLines) + tail(qemu_says ? *qemu_says : "", kTailLines);
    machine_failed_ = !progress.reached_init() || has_asserted(qemu_says ? *qemu_says : "");
    if (machine_failed_)
        return Error{Errc::kEnvironment,
                     fmt::format("{} (exit code {})\n{}",
                                 progress.reached_init() ? "QEMU failed an assertion of its own"
                                                         : "the guest did not reach init",
                                 run->exit_code, story)};
    bool finished = fs::exists(spec.out / "finished");
    if (!finished) {
        std::string_view what = has_panicked(run->console)     ? "the kernel panicked"
                                : run->ending == Ending::kHung ? "the guest hung"
                                                               : "the guest ended early";
        verdict({"guest", "runs to its end", Verdict::kFail, fmt::format("{}\n{}", what, story)});
        guest_failed_ = true;
    }
    if (finished)
        check_unload();
    if (finished && options_.kernel->debug)
        check_debug_kernel();
    check_log(run->console);
    return run->exit_code;
}

void Session::verdict(TestResult result)
{
    std::string_view mark = "ok";
    if (result.verdict == Verdict::kSkip && skips_.contains(options_.kernel->kernel, result)) {
        mark = "ok (expected skip)";
        result.verdict = Verdict::kPass;
    } else if (result.verdict != Verdict::kPass) {
        mark =
            result.verdict == Verdict::kSkip ? "NOT OK (skipped, not in expected-skips)" : "NOT OK";
    }
    bool good = result.verdict == Verdict::kPass;
    (good ? totals_.passed : totals_.failed)++;
    if (options_.mode == Mode::kDemo && good)
        return;
    fmt::print("{} {}: {}{}{}\n", mark, result.program, result.name,
               result.reason.empty() ? "" : ": ", result.reason);
    std::fflush(stdout);
}

void Session::check_steps()
{
    auto ended = read_file(out("guest/steps"));
    std::map<std::string, int> codes;
    for (const std::string &line : lines_of(ended ? *ended : ""))
        if (std::vector<std::string> words = words_of(line); words.size() == 2)
            codes[words[0]] = std::atoi(words[1].c_str());
    for (const Step &step : steps_) {
        auto text = read_file(out("guest") / (step.name + ".tap"));
        if (!codes.contains(step.name)) {
            verdict({step.name, "whole program", Verdict::kFail, "did not run to its end"});
            continue;
        }
        std::vector<TestResult> results = parse_tap(step.name, text ? *text : "", codes[step.name]);
        bool failed = false;
        for (TestResult &result : results) {
            failed = failed || result.verdict == Verdict::kFail;
            verdict(std::move(result));
        }
        if (failed)
            fmt::print("{}", tail(text ? *text : "", kTailLines));
    }
}

// Called only if the guest ran to the end of its steps.
void Session::check_unload()
{
    auto warnings = read_file(out("guest/unload"));
    bool clean = warnings && warnings->empty();
    verdict({"modules", "unload", clean ? Verdict::kPass : Verdict::kFail,
             clean      ? ""
             : warnings ? *warnings
                        : warnings.error().message});
}

// Checks that lockdep is still active at the end: a KASAN report or a taint disables lockdep
// silently, so that it does not report later lock errors.
void Session::check_debug_kernel()
{
    auto lockdep = read_file(out("guest/lockdep")), leaks = read_file(out("guest/kmemleak"));
    bool watching = false;
    for (const std::string &line : lines_of(lockdep ? *lockdep : ""))
        watching = watching || words_of(line) == std::vector<std::string>{"debug_locks:", "1"};
    verdict({"lockdep", "watched to the end", watching ? Verdict::kPass : Verdict::kFail, {}});
    if (options_.kernel->races)
        return;
    bool clean = leaks && leaks->empty();
    verdict({"kmemleak", "nothing leaked", clean ? Verdict::kPass : Verdict::kFail,
             clean ? "" : tail(leaks ? *leaks : leaks.error().message, kTailLines)});
}

// Returns the names of the driver's modules, without parameters.
std::vector<std::string> Session::our_modules() const
{
    std::vector<std::string> names;
    if (options_.driver)
        for (std::string_view module : options_.driver->modules)
            names.push_back(fs::path(words_of(module).front()).filename());
    return names;
}

void Session::check_log(std::string_view console)
{
    auto saved = read_file(out("guest/dmesg"));
    std::string whole(console);
    if (saved)
        whole += *saved;
    if (options_.kernel->races)
        whole = without_races_of_others(whole, our_modules());
    std::vector<std::string_view> harmless(options_.kernel->harmless.begin(),
                                           options_.kernel->harmless.end());
    harmless.insert(harmless.end(), scenario_.harmless.begin(), scenario_.harmless.end());
    std::vector<std::string> warnings = warnings_in(whole, harmless);
    TestResult result{"kernel log", "no warning", Verdict::kPass, {}};
    if (!warnings.empty()) {
        result.verdict = Verdict::kFail;
        result.reason = fmt::format(
            "{} lines\n    {}", warnings.size(),
            joined(std::span(warnings).first(std::min(warnings.size(), kTailLines)), "\n    "));
    }
    verdict(std::move(result));
}

void Session::check_one(const HostStep &step)
{
    Command command;
    for (const std::string &word : step.command)
        command.words.push_back(expand(word, names_));
    command.output =
        step.output_to.empty() ? out("step.output") : fs::path(expand(step.output_to, names_));
    command.errors = out("step.errors");
    auto code = run_to_end(command);
    auto said = read_file(command.output), errors = read_file(command.errors);
    std::string both = (said ? *said : "") + (errors ? *errors : "");

    TestResult result{"checker", step.name, Verdict::kPass, {}};
    if (!code || *code != step.exit_code)
        result.reason = code ? fmt::format("exit code {}, not {}", *code, step.exit_code)
                             : code.error().message;
    for (std::string_view words : step.must_say)
        if (both.find(words) == std::string::npos && result.reason.empty())
            result.reason = fmt::format("does not say '{}'", words);
    if (!result.reason.empty()) {
        result.verdict = Verdict::kFail;
        result.reason +=
            fmt::format(": {}\n{}", joined(command.words, " "), tail(both, kTailLines));
    } else if (step.output_to.empty() && options_.mode == Mode::kDemo) {
        fmt::print("{}", both);
    }
    verdict(std::move(result));
}

void Session::check_outside()
{
    if (!options_.driver)
        return;
    for (const HostStep &step : scenario_.checks)
        check_one(step);
}

Result<Totals> Session::run()
{
    if (auto ready = prepare(); !ready)
        return ready.error();
    say("driver={} kernel={} scenario={} ({})", options_.driver ? options_.driver->name : "none",
        tree_.version, scenario_.name, emulator_.kvm ? "KVM" : "emulated CPU");
    if (auto started = start_models(); !started)
        return started.error();
    auto machine = make_machine();
    if (!machine)
        return machine.error();
    const auto began = steady_clock::now();
    auto code = run_guest(*machine);
    say("scenario={} took {} s", scenario_.name,
        std::chrono::duration_cast<seconds>(steady_clock::now() - began).count());
    stop_models();
    if (!code)
        return code.error();
    if (options_.mode == Mode::kShell)
        return totals_;
    check_steps();
    if (!guest_failed_)
        check_outside();
    if (totals_.passed + totals_.failed == 0)
        return Error{Errc::kEnvironment, "nothing was checked"};
    return totals_;
}

// Returns the scenarios to run, in the order of the driver's table.
Result<std::vector<const Scenario *>> chosen_scenarios(const SessionOptions &options)
{
    static const Scenario kPlain{"plain", {}, {}, {}, {}, {}, {}};
    if (!options.driver)
        return std::vector<const Scenario *>{&kPlain};
    if (options.mode != Mode::kTest && options.scenario.empty())
        return std::vector<const Scenario *>{&options.driver->demo};
    if (options.brief) {
        const Scenario *brief = brief_scenario(*options.driver, *options.brief);
        return brief ? std::vector<const Scenario *>{brief} : std::vector<const Scenario *>{};
    }
    std::vector<const Scenario *> chosen;
    std::string names, left_out;
    for (const Scenario &scenario : options.driver->tests) {
        names += fmt::format(" {}", scenario.name);
        bool named = options.scenario == scenario.name;
        bool wanted = options.all ? runs_on(scenario, *options.kernel)
                                  : is_routine_on(scenario, *options.kernel);
        if (!named && (!options.scenario.empty() || !wanted))
            continue;
        if (named && !can_run_on(scenario, *options.kernel))
            return Error{Errc::kUsage,
                         fmt::format("scenario {} does not run on {}, but on {}", scenario.name,
                                     options.kernel->kernel, joined(scenario.kernels, " "))};
        if (!options.shard ||
            is_in_shard(*options.driver, scenario, *options.kernel, *options.shard))
            chosen.push_back(&scenario);
        else
            left_out += fmt::format(" {}", scenario.name);
    }
    if (!left_out.empty())
        say("driver={} kernel={}: for another shard:{}", options.driver->name,
            options.kernel->kernel, left_out);
    // A driver may have no scenario for the kernel's architecture. Only a scenario that the user
    // names must exist.
    if (chosen.empty() && !options.scenario.empty())
        return Error{Errc::kUsage, fmt::format("no scenario '{}' for driver {}: one of{}",
                                               options.scenario, options.driver->name, names)};
    return chosen;
}

// Repeats the scenario once if the emulator failed. The emulator may fail on a busy host without a
// fault of the guest or the drivers: QEMU's vfio-user client was seen to abort when a device died.
Result<Totals> run_scenario(const SessionOptions &options, const Scenario &scenario,
                            const fs::path &out)
{
    fs::create_directories(out);
    Session session(options, scenario, out);
    auto totals = session.run();
    if (totals || !session.machine_failed() || interrupted())
        return totals;
    say("{}", totals.error().message);
    say("the machine failed, not the test: once more");
    fs::rename(out, fs::path(out) += ".failed");
    fs::create_directories(out);
    return Session(options, scenario, out).run();
}

Result<Totals> run_scenarios(const SessionOptions &options)
{
    auto chosen = chosen_scenarios(options);
    if (!chosen)
        return chosen.error();
    Totals sum;
    for (const Scenario *scenario : *chosen) {
        fs::path out = options.out / scenario->name;
        auto totals = run_scenario(options, *scenario, out);
        if (!totals) {
            // remove() fails, and keeps the folder, if the run has already stored files in it.
            std::error_code not_empty;
            fs::remove(out, not_empty);
            return totals;
        }
        sum.passed += totals->passed;
        sum.failed += totals->failed;
        sum.kernel_version = totals->kernel_version;
    }
    return sum;
}

}  // namespace

Result<Totals> run_session(const SessionOptions &options)
{
    try {
        return run_scenarios(options);
    } catch (const fs::filesystem_error &error) {
        return Error{Errc::kEnvironment, error.what()};
    }
}

}  // namespace pmukit::vm
