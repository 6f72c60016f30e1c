// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "vmrun_child.hpp"
#include "vmrun_guest_tree.hpp"
#include "vmrun_initramfs.hpp"
#include "vmrun_log.hpp"
#include "vmrun_machine.hpp"
#include "vmrun_tap.hpp"
#include "vmrun_text.hpp"

namespace pmukit::vm {

namespace fs = std::filesystem;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

constexpr seconds kBootLimit{180};
constexpr unsigned kDebugSlower = 4;
constexpr seconds kGrace{60};  // beyond a step's own limit, which the guest itself enforces
constexpr std::chrono::milliseconds kModelReadyLimit{10000};
constexpr std::chrono::milliseconds kModelLeaveLimit{10000};
constexpr size_t kTailLines = 40;
constexpr std::string_view kGuestSays = "vm: ";

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

// Prints what the guest says of its progress and moves the deadline with every step.
class Progress : public Watcher {
public:
    Progress(const std::vector<Step> &steps, bool verbose) : steps_(steps), verbose_(verbose) {}

    void on_line(std::string_view line) override
    {
        while (!line.empty() && line.back() == '\r')
            line.remove_suffix(1);
        size_t at = line.find(kGuestSays);
        bool from_init = at != std::string_view::npos;
        if (verbose_ || from_init) {
            fmt::print("  {}\n", line);
            std::fflush(stdout);
        }
        if (from_init)
            heard_init(line.substr(at + kGuestSays.size()));
    }
    void on_quiet(seconds since_start) override { say("still running, {} s", since_start.count()); }
    steady_clock::time_point deadline() const override { return deadline_; }
    bool reached_init() const { return reached_init_; }

private:
    void heard_init(std::string_view text)
    {
        reached_init_ = true;
        std::vector<std::string> words = words_of(text);
        if (words.size() != 2 || words[0] != "step")
            return;
        for (const Step &step : steps_)
            if (step.name == words[1])
                deadline_ = steady_clock::now() + seconds(step.limit_seconds) + kGrace;
    }

    const std::vector<Step> &steps_;
    bool verbose_;
    bool reached_init_ = false;
    steady_clock::time_point deadline_ = steady_clock::now() + kBootLimit;
};

class Session {
public:
    explicit Session(const SessionOptions &options) : options_(options) {}

    Result<Totals> run();

private:
    Result<void> prepare();
    Result<void> start_models();
    Result<void> wait_for_model(size_t number);
    Result<MachineSpec> make_machine();
    Result<int> run_guest(const MachineSpec &spec);
    void stop_models();

    void judge_steps();
    void judge_unload();
    void judge_debug_kernel();
    void judge_log(std::string_view console);
    void judge_outside();
    void judge_one(const HostStep &step);
    void verdict(TestResult result);

    fs::path out(std::string_view name) const { return options_.out / name; }
    const std::vector<std::string_view> &models() const;

    const SessionOptions &options_;
    Totals totals_;
    GuestTree tree_;
    Emulator emulator_;
    std::vector<Step> steps_;
    std::map<std::string, std::string> names_;  // placeholders
    ExpectedSkips skips_;
    std::vector<Child> models_;
    std::vector<fs::path> sockets_;
    bool guest_failed_ = false;
};

const std::vector<std::string_view> &Session::models() const
{
    static const std::vector<std::string_view> kNone;
    if (!options_.unit)
        return kNone;
    return options_.mode == Mode::kTest ? options_.unit->test_models : options_.unit->demo_models;
}

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
    emulator_.kvm = options_.allow_kvm && kvm_works(emulator_, *options_.kernel, tree_.image,
                                                    options_.build / "vm/kvm-works");

    names_ = {{"out", options_.out.string()},
              {"guest", out("guest").string()},
              {"kernel", std::string(options_.kernel->kernel)},
              {"kver", tree_.version},
              {"seed", std::to_string(options_.seed)},
              {"next_seed", std::to_string(options_.seed + 1)},
              {"pmukit", (options_.build / "tools/cli/pmukit").string()},
              {"judge", (options_.build / "tools/selftests/cxl_hmu/cxl_hmu_judge").string()}};
    if (!options_.unit || options_.mode == Mode::kShell)
        return {};
    for (const GuestStep &step :
         options_.mode == Mode::kTest ? options_.unit->test_steps : options_.unit->demo_steps)
        steps_.push_back({step.limit_seconds * (options_.kernel->debug ? kDebugSlower : 1),
                          std::string(step.name), expand(step.command, names_)});

    auto skips = read_file(options_.selftests / options_.unit->unit / "expected-skips");
    skips_ = ExpectedSkips::parse(skips ? *skips : "");
    if (!skips_.errors().empty())
        return Error{Errc::kDamaged, "expected-skips: " + skips_.errors().front()};
    return {};
}

Result<void> Session::start_models()
{
    for (std::string_view arguments : models()) {
        size_t number = models_.size();
        fs::path socket = out(fmt::format("s{}", number));
        Command command{{(options_.build / "tools/cli/pmukit-model").string(),
                         std::string(options_.unit->unit), "--socket", socket.string(), "--once"}};
        for (const std::string &word : words_of(expand(arguments, names_)))
            command.words.push_back(word);
        command.output = out(fmt::format("model{}.log", number));
        command.errors = out(fmt::format("model{}.errors", number));
        auto model = Child::start(command);
        if (!model)
            return model.error();
        models_.push_back(std::move(*model));
        sockets_.push_back(socket);
        if (auto ready = wait_for_model(number); !ready)
            return ready;
    }
    return {};
}

Result<void> Session::wait_for_model(size_t number)
{
    auto end = steady_clock::now() + kModelReadyLimit;
    while (steady_clock::now() < end && !interrupted()) {
        auto said = read_file(out(fmt::format("model{}.log", number)));
        if (said && said->starts_with("model: ready"))
            return {};
        if (models_[number].poll())
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    auto errors = read_file(out(fmt::format("model{}.errors", number)));
    return Error{Errc::kMachinery, fmt::format("model {} did not get ready\n{}", number,
                                               tail(errors ? *errors : "", kTailLines))};
}

// A model told --once leaves with its client; its last line is needed for the judgement.
void Session::stop_models()
{
    for (size_t i = 0; i < models_.size(); i++) {
        if (!models_[i].wait(kModelLeaveLimit))
            say("model {} did not leave by itself", i);
        int code = models_[i].stop(kModelLeaveLimit);
        auto errors = read_file(out(fmt::format("model{}.errors", i)));
        if (code != 0)
            verdict(
                {"model", fmt::format("model{}", i), Verdict::kFail,
                 fmt::format("exit code {}\n{}", code, tail(errors ? *errors : "", kTailLines))});
    }
    models_.clear();
}

Result<MachineSpec> Session::make_machine()
{
    static constexpr std::string_view kModeNames[] = {"test", "demo", "shell"};
    InitramfsSpec inside{std::string(options_.kernel->kernel),
                         options_.unit,
                         options_.kernel->lacks,
                         std::string(kModeNames[static_cast<size_t>(options_.mode)]),
                         steps_,
                         options_.build,
                         options_.selftests};
    auto archive = make_initramfs(tree_, inside);
    if (!archive)
        return archive.error();
    MachineSpec spec;
    spec.image = tree_.image;
    spec.initramfs = out("initramfs");
    if (auto written = write_file(spec.initramfs, *archive); !written)
        return written.error();
    // The guest has a folder of its own: it must not write over what the judgement needs from
    // outside.
    spec.out = out("guest");
    fs::create_directories(spec.out);
    spec.stock = tree_.root;
    spec.sockets = sockets_;
    spec.placement = options_.placement;
    spec.terminal = options_.mode == Mode::kShell;
    return spec;
}

Result<int> Session::run_guest(const MachineSpec &spec)
{
    std::vector<std::string> words = machine_words(emulator_, *options_.kernel, spec);
    if (options_.verbose)
        say("{}", fmt::join(words, " "));
    if (spec.terminal)
        return run_terminal(words);

    Progress progress(steps_, options_.verbose);
    auto run = run_machine(words, out("console.log"), progress);
    if (!run)
        return run.error();
    if (run->ending == Ending::kInterrupted)
        return Error{Errc::kMachinery, "interrupted"};
    auto qemu_says = read_file(out("console.log.qemu"));
    std::string story =
        tail(run->console, kTailLines) + tail(qemu_says ? *qemu_says : "", kTailLines);
    if (!progress.reached_init())
        return Error{Errc::kMachinery,
                     fmt::format("the guest did not reach init (QEMU's exit code {})\n{}",
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
        judge_unload();
    if (finished && options_.kernel->debug)
        judge_debug_kernel();
    judge_log(run->console);
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

void Session::judge_steps()
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

// Only of a guest that got that far.
void Session::judge_unload()
{
    auto complaints = read_file(out("guest/unload"));
    bool clean = complaints && complaints->empty();
    verdict({"modules", "unload", clean ? Verdict::kPass : Verdict::kFail,
             clean        ? ""
             : complaints ? *complaints
                          : complaints.error().message});
}

// A KASAN report or a taint switches lockdep off without a word, and later lock faults go unseen.
void Session::judge_debug_kernel()
{
    auto lockdep = read_file(out("guest/lockdep")), leaks = read_file(out("guest/kmemleak"));
    bool watching = false;
    for (const std::string &line : lines_of(lockdep ? *lockdep : ""))
        watching = watching || words_of(line) == std::vector<std::string>{"debug_locks:", "1"};
    verdict({"lockdep", "watched to the end", watching ? Verdict::kPass : Verdict::kFail, {}});
    bool clean = leaks && leaks->empty();
    verdict({"kmemleak", "nothing leaked", clean ? Verdict::kPass : Verdict::kFail,
             clean ? "" : tail(leaks ? *leaks : leaks.error().message, kTailLines)});
}

void Session::judge_log(std::string_view console)
{
    auto saved = read_file(out("guest/dmesg"));
    std::string whole(console);
    if (saved)
        whole += *saved;
    std::vector<std::string> complaints = complaints_in(whole, options_.kernel->harmless);
    TestResult result{"kernel log", "no complaint", Verdict::kPass, {}};
    if (!complaints.empty()) {
        result.verdict = Verdict::kFail;
        result.reason =
            fmt::format("{} lines\n    {}", complaints.size(),
                        fmt::join(complaints.begin(),
                                  complaints.begin() +
                                      static_cast<long>(std::min(complaints.size(), kTailLines)),
                                  "\n    "));
    }
    verdict(std::move(result));
}

void Session::judge_one(const HostStep &step)
{
    Command command;
    for (std::string_view word : step.command)
        command.words.push_back(expand(word, names_));
    command.output =
        step.output_to.empty() ? out("step.output") : fs::path(expand(step.output_to, names_));
    command.errors = out("step.errors");
    auto code = run_to_end(command);
    auto said = read_file(command.output), complained = read_file(command.errors);
    std::string both = (said ? *said : "") + (complained ? *complained : "");

    TestResult result{"judge", std::string(step.name), Verdict::kPass, {}};
    if (!code || *code != step.exit_code)
        result.reason = code ? fmt::format("exit code {}, not {}", *code, step.exit_code)
                             : code.error().message;
    for (std::string_view words : step.must_say)
        if (both.find(words) == std::string::npos && result.reason.empty())
            result.reason = fmt::format("does not say '{}'", words);
    if (!result.reason.empty()) {
        result.verdict = Verdict::kFail;
        result.reason +=
            fmt::format(": {}\n{}", fmt::join(command.words, " "), tail(both, kTailLines));
    } else if (step.output_to.empty() && options_.mode == Mode::kDemo) {
        fmt::print("{}", both);
    }
    verdict(std::move(result));
}

void Session::judge_outside()
{
    if (!options_.unit)
        return;
    for (const HostStep &step : options_.mode == Mode::kDemo ? options_.unit->demo_judgements
                                                             : options_.unit->test_judgements)
        judge_one(step);
}

Result<Totals> Session::run()
{
    if (auto ready = prepare(); !ready)
        return ready.error();
    say("unit={} kernel={} ({})", options_.unit ? options_.unit->unit : "none", tree_.version,
        emulator_.kvm ? "KVM" : "emulated CPU");
    if (auto started = start_models(); !started)
        return started.error();
    auto machine = make_machine();
    if (!machine)
        return machine.error();
    auto code = run_guest(*machine);
    stop_models();
    if (!code)
        return code.error();
    if (options_.mode == Mode::kShell)
        return totals_;
    judge_steps();
    if (!guest_failed_)
        judge_outside();
    if (totals_.passed + totals_.failed == 0)
        return Error{Errc::kMachinery, "nothing was judged"};
    return totals_;
}

}  // namespace

Result<Totals> run_session(const SessionOptions &options)
{
    try {
        return Session(options).run();
    } catch (const fs::filesystem_error &error) {
        return Error{Errc::kMachinery, error.what()};
    }
}

}  // namespace pmukit::vm
