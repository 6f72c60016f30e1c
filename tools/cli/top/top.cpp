// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit top: shows the hottest pages, requesters and groups live, on a terminal or as text.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/suggest.hpp"
#include "cli/commands.hpp"
#include "cli/top/live_frame.hpp"
#include "cli/workload.hpp"
#include "console/screen.hpp"
#include "console/signals.hpp"

namespace pmukit::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kRowsOfText = 16;

// State that the user changes with keys.
struct Looks {
    std::string view;
    Span span = Span::kNow;
    bool paused = false, quit = false;
};

void press(char key, const LiveDrivers &all, Looks &looks)
{
    for (const std::string &view : view_names(all))
        if (view.front() == key)
            looks.view = view;
    switch (key) {
        case 'q':
            looks.quit = true;
            break;
        case 't':
            looks.span = looks.span == Span::kNow ? Span::kAll : Span::kNow;
            break;
        case ' ':
            looks.paused = !looks.paused;
            break;
        default:
            break;
    }
}

class Top {
public:
    Top(const TopOptions &options, Output &out) : options_(options), out_(out)
    {
        looks_.view = options.view;
        looks_.span = options.once ? Span::kAll : Span::kNow;
        text_ = options.batch || options.once || options.json || options.iterations ||
                !::isatty(STDOUT_FILENO);
    }

    Result<int> run();

private:
    Result<void> open_feed();
    Result<std::unique_ptr<LiveFeed>> choose_feed();
    FeedOptions feed_options() const;
    Result<void> open_workload();
    Result<void> loop();
    Result<void> wait_until(Clock::time_point until);
    Result<void> take();
    Result<void> answer_signal();
    Result<void> end_interval();
    Result<void> show();
    Frame frame(size_t rows) const;
    Result<void> show_on_screen();
    bool has_rows() const;
    bool on_terminal() const { return screen_.has_value(); }
    bool done() const
    {
        return looks_.quit || ended_ || (options_.iterations && shown_ >= options_.iterations);
    }

    const TopOptions &options_;
    Output &out_;
    LiveDrivers drivers_;
    Fd signals_, nowhere_;
    std::unique_ptr<LiveFeed> feed_;
    std::optional<Workload> workload_;  // the command, unless a recorder runs it
    std::optional<Screen> screen_;
    Looks looks_;
    bool text_;           // text instead of a screen
    bool ended_ = false;  // the feed or the command has ended
    uint64_t shown_ = 0;
    Clock::time_point begun_ = Clock::now(), interval_begun_ = begun_;
};

// Opening

FeedOptions Top::feed_options() const
{
    const int output = text_ ? STDERR_FILENO : nowhere_.get();
    return {options_.events, options_.command, options_.source, output, options_.recorder_words};
}

// Uses BPF if it is available; if not, a recorder, which needs -e.
Result<std::unique_ptr<LiveFeed>> Top::choose_feed()
{
    if (options_.input == "-")
        return make_input_feed(drivers_);
    if (options_.feed == "aux" || !options_.recorder_words.empty())
        return make_recorder_feed(drivers_, feed_options());
    Result<std::unique_ptr<LiveFeed>> feed = make_bpf_feed(drivers_, feed_options());
    if (feed || options_.feed == "bpf")
        return feed;
    if (options_.events.empty())
        return Error{feed.error().code,
                     "no trace events through BPF: " + feed.error().message +
                         "; give -e pmu/term=value,.../, or pipe pmukit record -o - into pmukit "
                         "top -"};
    if (feed.error().code == Errc::kBusy || feed.error().code == Errc::kUsage)
        return feed.error();
    return make_recorder_feed(drivers_, feed_options());
}

Result<void> Top::open_feed()
{
    Result<std::unique_ptr<LiveFeed>> feed = choose_feed();
    if (!feed)
        return feed.error();
    feed_ = std::move(*feed);
    return {};
}

Result<void> Top::open_workload()
{
    if (options_.command.empty() || feed_->name() == "aux")
        return {};
    const int output = feed_options().command_output;
    Result<Workload> workload = Workload::prepare(options_.command, {output, output});
    if (!workload)
        return workload.error();
    workload_.emplace(std::move(*workload));
    return workload_->release();
}

// Showing

Frame Top::frame(size_t rows) const
{
    const Clock::time_point from = looks_.span == Span::kAll ? begun_ : interval_begun_;
    Frame frame{drivers_, *feed_, looks_.span};
    frame.span_ms = static_cast<uint64_t>(
        std::chrono::duration_cast<milliseconds>(Clock::now() - from).count());
    frame.source = options_.source.empty() ? feed_->source() : options_.source;
    frame.view = looks_.view;
    frame.rows = rows;
    return frame;
}

Result<void> Top::show_on_screen()
{
    // Lines for head, losses and keys, and for the column heads of a list
    constexpr size_t kOtherLines = 6, kListLines = 2;
    const Screen::Size size = screen_->size();
    Frame shown = frame(0);
    shown.columns = size.columns;
    if (shown.view.empty())
        shown.view = default_view(drivers_);
    const size_t lists = lists_of(drivers_, shown.view);
    const size_t others = kOtherLines + kListLines * lists;
    shown.rows = std::max<size_t>(1, (size.rows - std::min(size.rows, others)) / lists);
    std::vector<std::string> lines = lines_of(shown);
    lines.resize(std::min(lines.size(), size.rows - 1));
    lines.resize(size.rows - 1);
    std::string keys = " q quit  t totals  space pause ";
    for (const std::string &view : view_names(drivers_))
        keys += fmt::format(" {} {}{}", view.front(), view, view == shown.view ? "*" : "");
    lines.push_back(keys + (looks_.paused ? "  paused" : ""));
    return screen_->draw(lines);
}

Result<void> Top::show()
{
    shown_++;
    if (on_terminal())
        return looks_.paused ? Result<void>() : show_on_screen();
    const Frame shown = frame(options_.top);
    if (options_.json) {
        print_json(json_of(shown), out_);
    } else {
        for (const std::string &line : lines_of(shown))
            out_.print("{}\n", line);
        out_.text("\n");
    }
    return out_.finish();  // flush, because a pipe may be read while top runs
}

Result<void> Top::end_interval()
{
    if (Result<void> shown = show(); !shown)
        return shown;
    interval_begun_ = Clock::now();
    for (const auto &[driver, live] : drivers_.router().all())
        live->next_interval();
    return {};
}

// Waiting

Result<void> Top::answer_signal()
{
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal)
        return system_error("signalfd", errno);
    if (signal.ssi_signo != SIGWINCH)
        looks_.quit = true;
    return on_terminal() ? show_on_screen() : Result<void>();
}

Result<void> Top::take()
{
    const Result<bool> more = feed_->take();
    if (!more)
        return more.error();
    ended_ |= !*more;
    return {};
}

Result<void> Top::wait_until(Clock::time_point until)
{
    while (!done() && Clock::now() < until) {
        pollfd fds[] = {{feed_->fd(), POLLIN, 0},
                        {signals_.get(), POLLIN, 0},
                        {workload_ ? workload_->ended_fd() : -1, POLLIN, 0},
                        {on_terminal() ? screen_->fd() : -1, POLLIN, 0}};
        const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
        if (::poll(fds, std::size(fds), static_cast<int>(std::max<int64_t>(left.count(), 0))) < 0 &&
            errno != EINTR)
            return system_error("poll", errno);
        if (fds[0].revents)
            if (Result<void> taken = take(); !taken)
                return taken;
        if (fds[1].revents)
            if (Result<void> answered = answer_signal(); !answered)
                return answered;
        ended_ |= fds[2].revents != 0;
        if (!fds[3].revents)
            continue;
        if (fds[3].revents & (POLLHUP | POLLERR))
            looks_.quit = true;
        while (const std::optional<char> key = screen_->key())
            press(*key, drivers_, looks_);
        if (Result<void> shown = show_on_screen(); !shown)
            return shown;
    }
    return {};
}

Result<void> Top::loop()
{
    // With --once, data of an input or a command that ends is shown only after its end.
    const bool ends = options_.input == "-" || !options_.command.empty();
    const auto interval = milliseconds(options_.interval_ms);
    if (on_terminal())
        if (Result<void> shown = show_on_screen(); !shown)
            return shown;
    while (!done()) {
        const auto until =
            options_.once && ends ? Clock::time_point::max() : interval_begun_ + interval;
        if (Result<void> waited =
                wait_until(std::min(until, Clock::now() + std::chrono::hours(24)));
            !waited)
            return waited;
        if (done() || (options_.once && ends))
            continue;
        if (options_.once)
            ended_ = true;
        else if (Result<void> ended = end_interval(); !ended)
            return ended;
    }
    return {};
}

bool Top::has_rows() const
{
    return std::ranges::any_of(drivers_.router().all(), [](const auto &view) {
        return !view.second->rows(Span::kAll, 1).empty();
    });
}

Result<int> Top::run()
{
    // Signals that end top, and SIGWINCH, which reports a new size of the terminal.
    std::vector<int> caught = ending_signals();
    caught.push_back(SIGWINCH);
    Result<Fd> signals = catch_signals(caught);
    if (!signals)
        return signals.error();
    signals_ = std::move(*signals);
    nowhere_ = Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (Result<void> opened = open_feed(); !opened)
        return opened.error();
    if (Result<void> opened = open_workload(); !opened)
        return opened.error();
    if (!text_) {
        Result<Screen> screen = Screen::open();
        if (!screen)
            return screen.error();
        screen_.emplace(std::move(*screen));
    }
    begun_ = interval_begun_ = Clock::now();
    if (Result<void> looped = loop(); !looped)
        return looped.error();
    const bool whole = options_.iterations && shown_ >= options_.iterations;
    if (workload_)
        workload_->wait();
    const Result<void> finished = feed_->finish();
    screen_.reset();
    // Show a last frame with all data, including data that arrived after the last frame. If the
    // feed failed before it had any data, show no frame.
    if (text_ && !whole && (finished || has_rows()))
        if (Result<void> shown = show(); !shown)
            return shown.error();
    return finished ? Result<int>(kExitGood) : finished.error();
}

Result<void> check_words(const TopOptions &options)
{
    if (!options.input.empty() && options.input != "-")
        return Error{
            Errc::kUsage,
            "'" + options.input +
                "': top reads a recording only from standard input (-); use pmukit report -i " +
                options.input + " for a file"};
    if (options.input == "-" &&
        (!options.events.empty() || !options.command.empty() || !options.recorder_words.empty()))
        return Error{Errc::kUsage, "with -, give -e and the command to the pmukit that records"};
    if (options.input == "-" && ::isatty(STDIN_FILENO))
        return Error{Errc::kUsage,
                     "standard input is a terminal; pipe a recording into it: pmukit record -o - "
                     "... | pmukit top -"};
    if (!options.recorder_words.empty() && options.feed == "bpf")
        return Error{Errc::kUsage,
                     options.recorder_words.front() +
                         ": trace events through BPF are system-wide; drop it or --feed bpf"};
    if (!options.recorder_words.empty() && options.events.empty())
        return Error{Errc::kUsage, options.recorder_words.front() + ": of which event? give -e"};
    if (options.feed == "aux" && options.events.empty())
        return Error{Errc::kUsage, "--feed aux: record what? give -e"};
    if (options.interval_ms == 0)
        return Error{Errc::kUsage, "--interval 0: give seconds, such as 0.5"};
    return {};
}

// True for a regular file that is not executable: it may be a recording, but not a program.
bool is_plain_file(const std::string &path)
{
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) != 0;
}

// CLI11 stores the first word of a command in `input`. This function moves it to `command`.
void take_back_command(const std::vector<std::string> &typed, TopOptions &options)
{
    const bool is_marked = std::ranges::find(typed, "--") != typed.end();
    if (options.input.empty() || options.input == "-" ||
        (!is_marked && is_plain_file(options.input)))
        return;
    options.command.insert(options.command.begin(), options.input);
    options.input.clear();
}

struct TopWords {
    TopOptions options;
    double interval_s = 1;
};

// Options of perf top that top passes to its recorder, with the names that pmukit record has.
constexpr std::pair<const char *, const char *> kRecorderOptions[] = {
    {"-C,--cpu", "record only these CPUs, such as 0-3,8"},
    {"-p,--pid", "record existing processes"},
    {"-t,--tid", "record existing threads"},
    {"-G,--cgroup", "cgroup of each event, in the order of the events, or one cgroup for all"},
    {"-c,--count", "take one sample per COUNT events"},
    {"-F,--freq", "samples per second, or max"},
    {"-m,--mmap-pages",
     "ring buffer and AUX area pages, as for pmukit record (default: 512K,4M; hisi_ptt: 16M)"},
};

void add_recorder_options(CLI::App &top, TopOptions &options)
{
    for (const auto &[names, help] : kRecorderOptions) {
        const std::string word = std::string(names).substr(std::string_view(names).find(',') + 1);
        top.add_option_function<std::string>(
            names,
            [&options, word](const std::string &value) {
                options.recorder_words.push_back(word + "=" + value);
            },
            help);
    }
    const std::string always = "accepted for compatibility: top always watches all CPUs";
    top.add_flag("-a,--all-cpus", always);
}

}  // namespace

Result<int> run_top(const TopOptions &options, Output &out)
{
    if (Result<void> good = check_words(options); !good)
        return good.error();
    return Top(options, out).run();
}

Command add_top(CLI::App &app)
{
    const auto owned = std::make_shared<TopWords>();
    TopOptions &options = owned->options;
    options.top = kRowsOfText;
    CLI::App *top =
        app.add_subcommand("top", "show the hottest pages, PCIe requesters and cache groups live");
    top->add_option("input", options.input, "-: read a recording in pipe mode from standard input");
    top->add_option(
           "-e,--event", options.events,
           "event to record while top runs (default: watch the records of other recorders)")
        ->allow_extra_args(false);
    add_recorder_options(*top, options);
    top->add_option("-d,--interval", owned->interval_s, "refresh interval in seconds")
        ->check(CLI::Range(0.05, 86400.0))
        ->capture_default_str();
    top->add_option("-n,--iterations", options.iterations, "print N intervals as text, then exit");
    top->add_option("--top", options.top, "rows per view in text output; 0: all")
        ->capture_default_str();
    top->add_option("--view", options.view, "view to show (default: each view with data)")
        ->check(CLI::IsMember({"pages", "requesters", "groups"}));
    top->add_option("--feed", options.feed,
                    "data source: trace events through BPF, or AUX data that top records itself")
        ->check(CLI::IsMember({"auto", "bpf", "aux"}))
        ->capture_default_str();
    top->add_option("--source", options.source,
                    "mark all output: 'model' if the devices are emulated")
        ->check(CLI::IsMember({"model"}));
    top->add_flag("--batch", options.batch, "print text, one interval after the other");
    top->add_flag(
        "--once", options.once,
        "print one summary as text when the recording or command ends, or after one interval");
    top->add_flag("--json", options.json, "print one JSON object per interval, one per line");
    top->add_option("command", options.command, "command to run; top exits when it does");
    top->footer(
        "Examples:\n  pmukit top -e cxl_hmu_mem0.0.0//\n  pmukit record -o - -a -e "
        "cxl_hmu_mem0.0.0// | pmukit top -\n  pmukit top --once -e cxl_hmu_mem0.0.0// -- sleep "
        "5\n"
        "Keys: p pages, r requesters, g groups; t toggles totals and last interval; space pauses; "
        "q quits.");
    return {top, [owned](const Invocation &invocation) {
                owned->options.interval_ms = static_cast<uint64_t>(owned->interval_s * 1000);
                take_back_command(invocation.words, owned->options);
                return run_top(owned->options, invocation.out);
            }};
}

}  // namespace pmukit::cli
