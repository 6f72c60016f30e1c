// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks messages and exit status of every subcommand if an argument is wrong, a file is missing,
// damaged or not writable, the disk is full, memory is exhausted, or Ctrl-C interrupts the command.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmukit/cxl_hmu.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "base/test_folder.hpp"
#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/writer.hpp"

namespace pmukit {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kGood = 0, kFailed = 1, kUsage = 2, kEnvironment = 69, kKilledByInt = 128 + SIGINT;
constexpr uint64_t kId = 7;

// Parts of a recording of a hot list: a record with one entry, the event, and the host.
std::vector<std::byte> hot_list(uint64_t sequence = 0)
{
    const uint64_t words[] = {
        1 | uint64_t{16} << PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT |
            uint64_t{PMUKIT_CXL_HMU_EXTRA_WORDS} << PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT,
        PMUKIT_CXL_HMU_MARK,
        /* time */ 1000,
        /* unit */ 12,
        /* flags */ 0,
        /* sequence */ sequence,
        /* lost */ 0,
        3 << 16 | 900};
    std::vector<std::byte> bytes(sizeof words);
    for (size_t i = 0; i < std::size(words); i++)
        store_le(bytes.data() + 8 * i, words[i]);
    return bytes;
}

perfdata::WriterEvent event_of_cxl_hmu()
{
    perfdata::WriterEvent event{std::vector<std::byte>(128), {kId}, "cxl_hmu_mem0.0.0//"};
    store<uint32_t>(event.attr.data() + perfdata::kAttrType, 24, std::endian::native);
    store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
    store<uint64_t>(event.attr.data() + perfdata::kAttrSampleType,
                    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                    std::endian::native);
    store<uint64_t>(event.attr.data() + perfdata::kAttrFlags,
                    uint64_t{1} << perfdata::kAttrFlagSampleIdAll, std::endian::native);
    return event;
}

bool fill(Result<perfdata::Writer> writer)
{
    perfdata::AuxtraceRecord trace;
    trace.reference = kId;
    return writer && writer->auxtrace(trace, hot_list(), {}) && writer->finish();
}

struct Ended {
    int status;  // as in a shell: 128 + signal number for a signal
    std::string out, said;
};

// A running program. Its standard streams are files and pipes of the test.
class Running {
public:
    // If `held` is true, the program does not start until the test sends SIGCONT, because the test
    // needs its PID before.
    Running(const fs::path &folder, const std::vector<std::string> &words, const std::string &out,
            int in, bool held = false)
        : folder_(folder), out_(out.empty() ? (folder / ".out").string() : out)
    {
        std::vector<char *> arguments;
        for (const std::string &word : words)
            arguments.push_back(const_cast<char *>(word.c_str()));
        arguments.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ != 0) {
            if (held)
                ::waitpid(pid_, nullptr, WUNTRACED);
            return;
        }
        if (held)
            ::raise(SIGSTOP);
        const int to = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int said = ::open((folder / ".said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (::chdir(folder.c_str()) != 0 || ::dup2(in, 0) < 0 || ::dup2(to, 1) < 0 ||
            ::dup2(said, 2) < 0)
            ::_exit(126);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    void send(int signal) const { ::kill(pid_, signal); }
    pid_t pid() const { return pid_; }
    bool has_ended() const
    {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid == pid_;
    }
    // Waits until the program has stopped. Returns false if it ended instead.
    bool has_stopped() const
    {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOWAIT) == 0 &&
               info.si_code == CLD_STOPPED;
    }
    Ended wait()
    {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text(out_),
                text((folder_ / ".said").string())};
    }

private:
    static std::string text(const std::string &path)
    {
        if (path.starts_with("/dev/"))
            return {};
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    fs::path folder_;
    std::string out_;
    pid_t pid_;
};

class Program : public testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_TRUE(
            fill(perfdata::Writer::create(path("good.data"), {event_of_cxl_hmu()}, host())));
        const auto whole = fs::file_size(path("good.data"));
        fs::copy_file(path("good.data"), path("cut.data"));
        fs::resize_file(path("cut.data"), whole * 3 / 4);
        folder_.put("text",
                    "this is no recording, but long enough to be one\n" + std::string(200, 'x'));
        folder_.put("empty", "");
        folder_.put("log", "# pmukit access log 1\nR 0x0 8\n");
        folder_.folder("folder");
        folder_.folder("parts");
        folder_.put("parts/data.1", "part of a recording");
        fs::copy_file(path("good.data"), path("good.copy"));
        folder_.folder("tree/sub");
        folder_.put("tree/sub/text", "a program or a number of the recorded machine");
        fs::create_symlink("tree/sub/text", path("link"));
    }

    static perfdata::HostInfo host()
    {
        perfdata::HostInfo host;
        host.pmus = {{24, "cxl_hmu_mem0.0.0"}};
        return host;
    }
    std::string path(const std::string &name) const { return folder_.path(name); }

    static std::vector<std::string> words_of(const std::string &command)
    {
        std::vector<std::string> words = {PMUKIT_COMMAND};
        std::istringstream in(command);
        for (std::string word; in >> word;)
            words.push_back(word);
        return words;
    }
    Running start(const std::string &command, const std::string &out = "", int in = -1) const
    {
        const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        return Running(folder_.dir(), words_of(command), out, in < 0 ? nothing.get() : in);
    }
    // Runs a command that can write at most this many bytes to a file.
    Ended run_within(rlim_t bytes, const std::string &command) const
    {
        rlimit before{};
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
        const rlimit small{bytes, before.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
        const Ended ended = start(command).wait();
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
        return ended;
    }
    std::string content(const std::string &name) const
    {
        std::ifstream file(path(name));
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static bool is_not_allowed(const Ended &ended)
    {
        return ended.said.find("CAP_PERFMON") != std::string::npos;
    }
    std::string part_of(const Running &run) const
    {
        return path("new.part-") + std::to_string(run.pid());
    }
    std::vector<std::string> unfinished() const
    {
        std::vector<std::string> names;
        for (const auto &entry : fs::directory_iterator(folder_.dir()))
            if (entry.path().string().find(".part-") != std::string::npos)
                names.push_back(entry.path().filename());
        return names;
    }

    TestFolder folder_;
};

struct Case {
    const char *words;
    int status;
    const char *says;  // part of standard error; nullptr: standard error is empty
    const char *out = "";
};

// Each message names what is wrong, and the fix if there is one.
const Case kCases[] = {
    // No argument
    {"", kUsage, "which command? list, record, dump"},
    {"record -p x", kUsage, "-p x: expected numbers"},
    {"merge", kUsage, "inputs is required"},
    {"dump", kFailed, "perf.data: No such file"},
    {"report", kFailed, "perf.data: No such file"},
    {"cut", kFailed, "perf.data: No such file"},
    {"inject", kFailed, "perf.data: No such file"},
    {"recover", kFailed, "perf.data: No such file"},
    {"export", kUsage, "--output is required"},
    {"export -o -", kUsage, "--format is required"},
    {"export -o - --format csv --openmetrics", kUsage, "--format excludes --openmetrics"},
    {"export --format jsonl -o -", kFailed, "perf.data: No such file"},
    // --help and --version are successes
    {"--help", kGood, nullptr},
    {"--version", kGood, nullptr},
    // Wrong arguments
    {"reprot", kUsage, "'reprot' is not a command; did you mean report?"},
    {"frobnicate", kUsage, "'frobnicate' is not a command; see pmukit --help"},
    {"--nonsense", kUsage, "--nonsense"},
    {"list --nonsense", kUsage, "pmukit list --help"},
    {"record --nonsense", kUsage, "pmukit record --help"},
    {"dump --nonsense", kUsage, "pmukit dump --help"},
    {"report --nonsense", kUsage, "pmukit report --help"},
    {"tune --nonsense", kUsage, "pmukit tune --help"},
    {"discover --nonsense", kUsage, "pmukit discover --help"},
    {"top --nonsense", kUsage, "pmukit top --help"},
    {"top --onec", kUsage, "did you mean --once?"},
    {"top --view moon", kUsage, "moon"},
    {"top good.data", kUsage, "pmukit report -i good.data"},
    {"top - -e x/y/", kUsage, "pmukit that records"},
    {"top --feed aux", kUsage, "record what? give -e"},
    {"top --interval 0", kUsage, "--interval"},
    {"top --once -", kFailed, "standard input"},
    {"top --feed aux -e no_such_pmu/x/ -- true", kFailed, "there is no PMU no_such_pmu"},
    {"doctor --nonsense", kUsage, "pmukit doctor --help"},
    {"doctor --jsn", kUsage, "did you mean --json?"},
    {"qualify --nonsense", kUsage, "pmukit qualify --help"},
    {"qualify", kUsage, "name a driver: cache_qos, cxl_hmu"},
    {"qualify moon", kUsage, "'moon' is not a driver; expected one of cache_qos, cxl_hmu"},
    {"cut --nonsense", kUsage, "pmukit cut --help"},
    {"inject --nonsense", kUsage, "pmukit inject --help"},
    {"merge --nonsense a b", kUsage, "pmukit merge --help"},
    {"export --nonsense", kUsage, "pmukit export --help"},
    {"recover --nonsense", kUsage, "pmukit recover --help"},
    {"dump --inptu good.data", kUsage, "did you mean --input?"},
    {"report good.data", kUsage, "-i good.data"},
    {"dump good.data", kUsage, "-i good.data"},
    {"report --top many", kUsage, "--top"},
    {"report --by moon", kUsage, "moon"},
    {"report --source thin-air", kUsage, "thin-air"},
    {"report --top -1 -i good.data", kUsage, "--top: '-1' is negative"},
    {"report --unit-bytes -4096 -i good.data", kUsage, "--unit-bytes: '-4096' is negative"},
    {"report --html - -i good.data", kUsage, "'-' is not supported"},
    {"cut -o - -i good.data", kUsage, "'-' is not supported"},
    {"inject -o - -i good.data", kUsage, "'-' is not supported"},
    {"merge -o - good.data good.data", kUsage, "'-' is not supported"},
    {"recover --write - -i good.data", kUsage, "'-' is not supported"},
    {"tune --save -", kUsage, "'-' is not supported"},
    {"report --range-bytes 3 -i good.data", kUsage, "range-bytes"},
    {"cut -i good.data -o good.data", kUsage, "good.data: is the input"},
    {"inject -i good.data -o ./good.data", kUsage, "is the input"},
    {"merge good.data good.data -o good.data", kUsage, "is the input"},
    {"recover -i good.data --write good.data", kUsage, "is the input"},
    {"export --format jsonl -i good.data -o good.data", kUsage, "is the input"},
    {"report -i good.data --html good.data", kUsage, "is the input"},
    {"cut -i parts -o parts/data.1", kUsage, "parts/data.1: is the input"},
    {"export --format jsonl -i parts -o parts/data.1 --force", kUsage, "is the input"},
    {"report -i good.data --html text --kallsyms text --force", kUsage, "text: is the input"},
    {"export --format folded -i good.data -o text --kallsyms ./text --force", kUsage,
     "text: is the input"},
    // A file below a directory that is read
    {"report -i good.data --html tree/sub/text --symfs tree --force", kUsage,
     "tree/sub/text: exists and is not a page of pmukit; name another output: tree is an input"},
    {"report -i good.data --html link --symfs ./tree/sub/ --force", kUsage, "is an input"},
    {"report -i good.data --html tree/sub/text --cxl-topology tree --force", kUsage,
     "tree is an input"},
    {"export --format jsonl -i good.data -o tree/sub/text --symfs tree/sub --force", kUsage,
     "tree/sub is an input"},
    {"qualify imc --root tree --bundle tree/sub/text --force", kUsage, "tree is an input"},
    {"export --format jsonl -i good.data -o text --symfs tree --force", kGood, nullptr},
    {"export --format jsonl -i good.data -o text --symfs / --force", kGood, nullptr},
    {"export --format jsonl -i good.data -o tree/sub/text --symfs nowhere --force", kGood, nullptr},
    {"export --format jsonl -i good.data -o tree/new --symfs tree", kGood, nullptr},
    // A file of another program
    {"cut -i good.data -o text", kUsage,
     "text: exists and is not a recording; name another output, or replace it with --force"},
    {"inject -i good.data -o text", kUsage, "text: exists and is not a recording"},
    {"merge good.data good.data -o text", kUsage, "text: exists and is not a recording"},
    {"recover -i good.data --write text", kUsage, "text: exists and is not a recording"},
    {"report -i good.data --html good.copy", kUsage, "exists and is not a page of pmukit"},
    {"export --format csv --driver cxl_hmu -i good.data -o text", kUsage, "is not csv"},
    {"export --format jsonl -i good.data -o text", kUsage, "is not jsonl"},
    {"export --format sqlite -i good.data -o text", kUsage, "is not sqlite"},
    {"export --format perfetto -i good.data -o text", kUsage, "is not perfetto"},
    {"export --format openmetrics -i good.data -o text", kUsage, "is not openmetrics"},
    {"export --format folded -i good.data -o text", kUsage, "is not folded"},
    {"export --format pprof -i good.data -o text", kUsage, "is not pprof"},
    {"tune --save text", kUsage, "is not a file of tune --save"},
    {"qualify imc --bundle text", kUsage, "is not a compressed archive"},
    {"cut -i good.data -o empty", kGood, nullptr},
    {"cut -i good.data -o text --force", kGood, nullptr},
    {"merge one", kUsage, "two recordings"},
    {"merge - -", kUsage, "standard input"},
    {"cut -i -", kUsage, "name a file with -i"},
    {"recover -i -", kUsage, "name a file with -i"},
    {"cut -i good.data --time soon", kUsage, "soon"},
    {"cut -i good.data --cpu x", kUsage, "--cpu x: expected a list"},
    {"cut -i good.data --buffer x", kUsage, "--buffer x: expected a list"},
    {"record -e cylces", kUsage, "character 1: expected pmu/"},
    {"record -e p/x/ --interval soon", kUsage, "--interval soon: expected SECONDS[,KEEP]"},
    {"record -e p/x/ --interval 0", kUsage, "SECONDS[,KEEP]"},
    {"record -e p/x/ --interval 1,0", kUsage, "SECONDS[,KEEP]"},
    {"record -e p/x/ -m x", kUsage, "expected PAGES"},
    {"record -e p/x/ -C 99999", kUsage, "there is no CPU 99999"},
    {"record -S -e p/x/", kUsage, "-S, --snapshot: --interval"},
    {"record -e p/x/ -C x", kUsage, "-C x"},
    {"record -e p/x/W -a", kUsage, "'W' (weak group)"},
    {"record -k wall -e p/x/ -a", kUsage,
     "wall not in {monotonic,mono,monotonic_raw,raw,realtime,real,boottime,boot,tai}"},
    {"record -k -e p/x/ -a", kUsage, "clockid"},
    {"tier", kUsage, "--pid is required"},
    {"tier --pid some", kUsage, "--pid"},
    {"tier --pid 1 --budget 120%", kUsage, "'120%' is not a budget"},
    {"tier --pid 1 --apply --dry-run", kUsage, "cannot be combined"},
    {"tier --pid 1 -i nowhere", kFailed, "nowhere: No such file"},
    {"tier --pid 1 -i text", kFailed, "text"},
    {"tier --pid 1 -i good.data --cxl-topology folder", kFailed, "folder"},
    {"tierd", kUsage, "which device? give -e cxl_hmu_memN.N.N//"},
    {"tierd -e cxl_hmu_mem0.0.0//", kUsage, "whose pages? give --pid, --cgroup or -a"},
    {"tierd -e p/x/ -a", kUsage, "-e p/x/: not an event of cxl_hmu"},
    {"tierd --replay good.data -a", kUsage, "add --dry-run"},
    {"tierd --replay good.data -a --dry-run --budget 120%", kUsage, "'120%' is not a budget"},
    {"tierd --replay good.data -a --dry-run --max-pages 0", kUsage, "no page may move"},
    {"tierd --replay good.data -a --dry-run --cxl-topology folder", kFailed, "folder"},
    {"tierd --policy none", kUsage, "none"},
    {"tierd --explain 1", kUsage, "--explain: from which log? give --audit FILE"},
    {"tierd --explain here --audit text", kUsage, "--explain here: not an address"},
    {"tierd --explain 1 --audit nowhere", kFailed, "nowhere: No such file"},
    {"what-if -i nowhere", kFailed, "nowhere: No such file"},
    {"what-if -i text", kFailed, "text: neither a recording nor an access log"},
    {"what-if -i empty", kFailed, "empty: neither a recording nor an access log"},
    {"what-if --unit-bytes 5000 -i log", kUsage, "--unit-bytes 5000: not a power of two"},
    {"what-if --page-bytes 5000 -i log", kUsage, "--page-bytes 5000: not a power of two"},
    {"what-if --threshold 0 -i log", kUsage, "--threshold 0: must be a number from 1"},
    {"what-if --hot-units 0 -i log", kUsage, "--hot-units 0: must be at least 1"},
    {"what-if --move-cost 4294967296 -i log", kUsage, "--move-cost 4294967296: must be at most"},
    {"what-if --counters 64 -i good.data", kUsage, "--counters: a recording has the values"},
    {"what-if --pmu x -i good.data", kUsage, "--pmu x"},
    {"what-if --html - -i log", kUsage, "--html"},
    {"export --format xml -o new", kUsage, "xml"},
    {"export --format jsonl -o new --driver cxl", kUsage, "cxl"},
    {"export --format jsonl -o new --source thin-air", kUsage, "thin-air"},
    {"export --format csv -o - -i good.data", kUsage, "one --driver"},
    {"export --format sqlite -o - -i good.data", kUsage, "name a file"},
    {"export --format sqlite -o /dev/null -i good.data", kUsage,
     "/dev/null: a database needs a separate file"},
    {"tune a=b=c", kUsage, "'b=c' is not a number"},
    {"tune --save a --restore b", kUsage, "cannot be combined"},
    // Missing files
    {"dump -i nowhere", kFailed, "nowhere: No such file"},
    {"report -i nowhere", kFailed, "nowhere: No such file"},
    {"cut -i nowhere", kFailed, "nowhere: No such file"},
    {"inject -i nowhere", kFailed, "nowhere: No such file"},
    {"merge nowhere good.data", kFailed, "nowhere: No such file"},
    {"recover -i nowhere", kFailed, "nowhere: No such file"},
    {"export --format csv -o new -i nowhere", kFailed, "nowhere: No such file"},
    {"discover nowhere", kFailed, "nowhere: No such file"},
    {"qualify --root nowhere imc", kFailed, "--root nowhere: it has no sys directory"},
    {"qualify --root folder imc", kFailed, "--root folder: it has no sys directory"},
    {"doctor --root nowhere", kFailed, "--root nowhere: it has no proc directory"},
    {"tune --restore nowhere", kFailed, "nowhere: No such file"},
    {"record -a -e no_such_pmu/x/", kFailed, "there is no PMU no_such_pmu"},
    {"record -k tai -a -e no_such_pmu/x/", kFailed, "there is no PMU no_such_pmu"},
    {"record --clockid=CLOCK_MONOTONIC_RAW -a -e no_such_pmu/x/", kFailed,
     "there is no PMU no_such_pmu"},
    // Files that are not recordings
    {"dump -i text", kFailed, "text"},
    {"report -i text", kFailed, "text"},
    {"cut -i text", kFailed, "text"},
    {"inject -i text", kFailed, "text"},
    {"merge text good.data", kFailed, "text"},
    {"recover -i text", kFailed, "text"},
    {"export --format csv -o new -i text", kFailed, "text"},
    {"dump -i empty", kFailed, "empty"},
    {"report -i folder", kFailed, "folder"},
    {"recover -i empty", kFailed, "empty"},
    {"recover -i folder", kFailed, "folder"},
    {"discover folder", kFailed, "folder"},
    // A good recording
    {"dump -i good.data", kGood, nullptr},
    {"report -i good.data", kGood, nullptr},
    {"report -i good.data --json", kGood, nullptr},
    {"cut -i good.data -o new", kGood, nullptr},
    {"cut -i good.data --buffer 0-70000 -o new", kGood, nullptr},
    {"inject -i good.data -o new", kGood, nullptr},
    {"recover -i good.data", kGood, nullptr},
    {"recover -i good.data --write new", kGood, nullptr},
    {"recover -i good.data --json", kGood, nullptr},
    {"export -i good.data --format csv -o new", kGood, nullptr},
    {"export -i good.data --format csv --unit cxl_hmu -o new", kGood, nullptr},  // old name
    {"export -i good.data --format csv --driver cxl_hmu -o new", kGood, nullptr},
    {"export -i good.data --format jsonl -o -", kGood, nullptr},
    {"export -i good.data --format sqlite -o new", kGood, nullptr},
    {"export -i good.data --format perfetto -o new", kGood, nullptr},
    {"export -i good.data --format perfetto-trace -o new", kGood, nullptr},
    {"export -i good.data --format openmetrics -o new", kGood, nullptr},
    {"export -i good.data --openmetrics -o new", kGood, nullptr},
    {"export -i good.data --format ctf -o new", kGood, nullptr},
    {"export -i good.data --format folded -o new", kGood, nullptr},
    {"export -i good.data --format pprof -o new", kGood, nullptr},
#ifdef PMUKIT_PARQUET
    {"export -i good.data --format parquet -o new", kGood, nullptr},
#else
    {"export -i good.data --format parquet -o new", kFailed, "libparquet-dev"},
#endif
    {"export -i good.data --format folded -o new --kallsyms nowhere", kFailed,
     "nowhere: No such file"},
    {"export -i good.data --format folded -o new --kallsyms folder", kFailed,
     "folder: Is a directory"},
    // A damaged recording: the undamaged part is read, and the exit status is 1
    {"dump -i cut.data", kFailed, "cut.data"},
    {"report -i cut.data", kFailed, "cut.data"},
    {"export -i cut.data --format csv -o new", kFailed, "cut.data"},
    {"export -i cut.data --format jsonl -o new", kFailed, "cut.data"},
    {"export -i cut.data --format sqlite -o new", kFailed, "cut.data"},
    {"recover -i cut.data", kFailed, nullptr},
    {"recover -i cut.data --write new", kFailed, nullptr},
    {"recover -i cut.data --json", kFailed, nullptr},
    // A folder in which not even root can create files
    {"cut -i good.data -o /sys/new", kFailed, "/sys/new: "},
    {"inject -i good.data -o /sys/new", kFailed, "/sys/new: "},
    {"merge good.data good.data -o /sys/new", kFailed, "/sys/new: "},
    {"recover -i good.data --write /sys/new", kFailed, "/sys/new: "},
    {"record -a -e software/config=0/ -o /sys/new -- true", kFailed, "/sys/new: "},
    {"export -i good.data --format csv -o /sys/new", kFailed, "/sys/new: "},
    {"export -i good.data --format jsonl -o /sys/new", kFailed, "/sys/new: "},
    {"export -i good.data --format sqlite -o /sys/new", kFailed, "/sys/new: "},
    {"export -i good.data --format ctf -o /sys/new", kFailed, "/sys/new: "},
    {"export -i good.data --format ctf -o folder", kFailed, "folder: already exists"},
    {"export -i good.data --format csv -o folder", kFailed, "folder: already exists"},
    {"export -i good.data --format csv -o /dev/null", kFailed, "/dev/null: already exists"},
    {"export -i good.data --format jsonl -o folder", kFailed, "folder: Is a directory"},
    {"cut -i good.data -o folder", kFailed, "folder: Is a directory"},
    // A device
    {"cut -i good.data -o /dev/urandom", kUsage, "/dev/urandom: is a device"},
    {"recover -i good.data --write /dev/urandom", kUsage, "/dev/urandom: is a device"},
    {"report -i nowhere --html /dev/urandom", kUsage, "/dev/urandom: is a device"},
    // A full disk
    {"cut -i good.data -o /dev/full", kFailed, "/dev/full: No space left"},
    {"inject -i good.data -o /dev/full", kFailed, "/dev/full: No space left"},
    {"merge good.data good.data -o /dev/full", kFailed, "/dev/full: No space left"},
    {"recover -i good.data --write /dev/full", kFailed, "/dev/full: No space left"},
    {"export -i good.data --format csv --driver cxl_hmu -o /dev/full", kFailed,
     "/dev/full: No space left"},
    {"export -i good.data --format jsonl -o /dev/full", kFailed, "/dev/full: No space left"},
    {"export -i good.data --format perfetto -o /dev/full", kFailed, "/dev/full: No space left"},
    {"export -i good.data --format perfetto-trace -o /dev/full", kFailed,
     "/dev/full: No space left"},
    {"export -i good.data --format openmetrics -o /dev/full", kFailed, "/dev/full: No space left"},
    {"export -i good.data --format jsonl -o -", kFailed, "standard output: No space left",
     "/dev/full"},
    {"export -i good.data --format jsonl -o new", kFailed, "standard output: No space left",
     "/dev/full"},
    {"record -a -e software/config=0/ -o /dev/full -- true", kFailed, "/dev/full: No space left"},
    {"--help", kFailed, "standard output: No space left", "/dev/full"},
    {"--version", kFailed, "standard output: No space left", "/dev/full"},
    {"dump -i good.data", kFailed, "standard output: No space left", "/dev/full"},
    {"report -i good.data", kFailed, "standard output: No space left", "/dev/full"},
    {"report -i good.data --json", kFailed, "standard output: No space left", "/dev/full"},
    {"recover -i good.data", kFailed, "standard output: No space left", "/dev/full"},
    {"recover -i good.data --json", kFailed, "standard output: No space left", "/dev/full"},
    {"cut -i good.data -o new", kFailed, "standard output: No space left", "/dev/full"},
    {"inject -i good.data -o new", kFailed, "standard output: No space left", "/dev/full"},
};

class ProgramCase : public Program, public testing::WithParamInterface<Case> {};

TEST_P(ProgramCase, MessageAndStatusAreThoseOfTheTable)
{
    const Case &expected = GetParam();
    const Ended ended = start(expected.words, expected.out).wait();
    if (ended.said.find("CAP_PERFMON") != std::string::npos)
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, expected.status) << ended.said;
    EXPECT_TRUE(unfinished().empty());
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
    if (!expected.says) {
        EXPECT_EQ(ended.said, "");
        return;
    }
    EXPECT_NE(ended.said.find(expected.says), std::string::npos) << ended.said;
    EXPECT_TRUE(ended.said.starts_with("pmukit: ")) << ended.said;
    // A usage error is one line, before any result.
    if (expected.status == kUsage) {
        EXPECT_EQ(ended.out, "");
        EXPECT_EQ(ended.said.find('\n') + 1, ended.said.size()) << ended.said;
    }
}

std::string name_of(size_t index, const char *words)
{
    std::string name = std::to_string(index) + "_";
    for (const char *c = words; *c; c++)
        name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
    return name;
}
std::string name_of_words(const testing::TestParamInfo<const char *> &info)
{
    return name_of(info.index, info.param);
}
std::string name_of_case(const testing::TestParamInfo<Case> &info)
{
    return name_of(info.index, info.param.words) + (*info.param.out ? "_to_a_full_disk" : "");
}
INSTANTIATE_TEST_SUITE_P(Table, ProgramCase, testing::ValuesIn(kCases), name_of_case);

// With --json, the output must be one object for every input.
class ProgramJson : public Program, public testing::WithParamInterface<const char *> {};

TEST_P(ProgramJson, OutputIsOneObjectInOneLine)
{
    const Ended ended = start(GetParam()).wait();
    const nlohmann::json said = nlohmann::json::parse(ended.out, nullptr, false);
    EXPECT_TRUE(said.is_object()) << ended.out;
    EXPECT_EQ(ended.out.find('\n') + 1, ended.out.size()) << "in one line";
}
INSTANTIATE_TEST_SUITE_P(Table, ProgramJson,
                         testing::Values("list --json", "list --pfm --json", "doctor --json",
                                         "qualify --list --json", "report -i good.data --json",
                                         "report -i cut.data --json", "recover -i good.data --json",
                                         "recover -i cut.data --json --write new"),
                         name_of_words);

TEST_F(Program, RecoverWithJsonReportsATruncatedFileAndTheWrittenCopy)
{
    const Ended ended = start("recover -i cut.data --json --write new").wait();
    const nlohmann::json said = nlohmann::json::parse(ended.out, nullptr, false);
    ASSERT_TRUE(said.is_object()) << ended.out;
    EXPECT_EQ(said["clean"], false);
    EXPECT_EQ(said["written"], "new");
    EXPECT_TRUE(fs::exists(path("new")));
    ASSERT_EQ(said["parts"].size(), 1U);
    EXPECT_EQ(said["parts"][0]["path"], "cut.data");
    EXPECT_EQ(start("recover -i new --json").wait().status, kGood) << "what was written is whole";
}

// Arguments of each "  pmukit ..." line in the help of a subcommand, up to ";", "|" or ">".
std::vector<std::string> examples_in(const std::string &help)
{
    std::vector<std::string> examples;
    std::istringstream in(help);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("  pmukit "))
            examples.push_back(line.substr(9, line.find_first_of(";|>") - 9));
    return examples;
}

class ProgramHelp : public Program, public testing::WithParamInterface<const char *> {};

TEST_P(ProgramHelp, HasTwoExamplesThatAreValidCommands)
{
    const std::string command = GetParam();
    const Ended help = start(command + " --help").wait();
    EXPECT_EQ(help.status, kGood);
    const std::vector<std::string> examples = examples_in(help.out);
    EXPECT_GE(examples.size(), 2U) << help.out;
    // In an example, record returns the status of the recorded command, which needs this input
    // file.
    std::ofstream(path("words.txt")) << "b\na\n";
    for (const std::string &example : examples) {
        EXPECT_TRUE(example.starts_with(command)) << example;
        const Ended ended = start(example).wait();
        EXPECT_TRUE(ended.status == kGood || ended.status == kFailed)
            << example << ": " << ended.said;
    }
}
std::string name_of_command(const testing::TestParamInfo<const char *> &info)
{
    std::string name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Commands, ProgramHelp,
                         testing::Values("list", "record", "dump", "report", "tier", "tierd",
                                         "what-if", "tune", "discover", "cut", "inject", "merge",
                                         "recover", "export"),
                         name_of_command);

// Commands that Ctrl-C interrupts

class Interrupted : public Program {
protected:
    void SetUp() override
    {
        Program::SetUp();
        ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
        ASSERT_TRUE(
            fill(perfdata::Writer::create_pipe(Fd(::dup(ends_[1])), {event_of_cxl_hmu()}, host())));
    }
    void TearDown() override
    {
        ::close(ends_[0]);
        ::close(ends_[1]);
        Program::TearDown();
    }
    // Waits at most 10 s until the program has read all data in the pipe. Returns false if it has
    // not.
    bool is_read() const
    {
        for (int waited = 0; waited < 1000; waited++) {
            int left = 0;
            if (::ioctl(ends_[0], FIONREAD, &left) == 0 && left == 0)
                return true;
            std::this_thread::sleep_for(10ms);
        }
        return false;
    }

    int ends_[2] = {-1, -1};
};

TEST_F(Interrupted, CommandEndsByTheSignalAndLeavesNoFile)
{
    for (const char *command :
         {"inject -i - -o new", "merge - good.data -o new", "export --format csv -i - -o new",
          "export --format sqlite -i - -o new"}) {
        Running run = start(command, "", ends_[0]);
        ASSERT_TRUE(is_read()) << command;
        run.send(SIGINT);
        const Ended ended = run.wait();
        EXPECT_EQ(ended.status, kKilledByInt) << command << ": " << ended.said;
        EXPECT_TRUE(unfinished().empty()) << command;
        EXPECT_FALSE(fs::exists(path("new"))) << command;
        ASSERT_TRUE(
            fill(perfdata::Writer::create_pipe(Fd(::dup(ends_[1])), {event_of_cxl_hmu()}, host())));
    }
    for (const char *command : {"dump -i -", "report -i -"}) {
        Running run = start(command, "", ends_[0]);
        ASSERT_TRUE(is_read()) << command;
        run.send(SIGINT);
        EXPECT_EQ(run.wait().status, kKilledByInt) << command;
        ASSERT_TRUE(
            fill(perfdata::Writer::create_pipe(Fd(::dup(ends_[1])), {event_of_cxl_hmu()}, host())));
    }
}

TEST_F(Interrupted, ExportToANameWithATrailingSlashLeavesNoFolder)
{
    Running run = start("export --format csv -i - -o new/", "", ends_[0]);
    ASSERT_TRUE(is_read());
    for (int waited = 0; waited < 1000 && !fs::exists(part_of(run)); waited++)
        std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(fs::exists(part_of(run)));
    run.send(SIGINT);
    const Ended ended = run.wait();
    EXPECT_EQ(ended.status, kKilledByInt) << ended.said;
    EXPECT_TRUE(unfinished().empty());
}

TEST_F(Interrupted, TopIgnoresSighupIfItsCallerIgnoredIt)
{
    const auto before = ::signal(SIGHUP, SIG_IGN);
    Running run = start("top --batch --interval 0.1 -", "", ends_[0]);
    ::signal(SIGHUP, before);
    ASSERT_TRUE(is_read());
    run.send(SIGHUP);
    std::this_thread::sleep_for(300ms);
    EXPECT_FALSE(run.has_ended());
    run.send(SIGTERM);
    const Ended ended = run.wait();
    EXPECT_EQ(ended.status, kGood) << ended.said;
}

// Commands that write a file from a recording larger than the writer's buffer.
class Writing : public Program, public testing::WithParamInterface<const char *> {
protected:
    void SetUp() override
    {
        Program::SetUp();
        make_large(size_t{3} << 19);
    }
    void make_large(size_t least_bytes) const
    {
        std::vector<std::byte> lists;
        for (uint64_t sequence = 0; lists.size() < least_bytes; sequence++) {
            std::vector<std::byte> list = hot_list();
            store_le(list.data() + 8 * (2 + PMUKIT_CXL_HMU_X_SEQUENCE), sequence);
            append(lists, list);
        }
        Result<perfdata::Writer> writer =
            perfdata::Writer::create(path("large.data"), {event_of_cxl_hmu()}, host());
        perfdata::AuxtraceRecord trace;
        trace.reference = kId;
        ASSERT_TRUE(writer && writer->auxtrace(trace, lists, {}) && writer->finish());
    }
};

// Commands that the test stops (SIGSTOP) while they write their file.
class InterruptedWriting : public Writing {
protected:
    void SetUp() override
    {
        Program::SetUp();
        make_large(size_t{32} << 20);
    }
    bool is_begun(const Running &run) const
    {
        std::error_code failure;
        const auto bytes = fs::file_size(part_of(run), failure);
        return !failure && bytes != 0;
    }
    // Starts the command and stops it while it writes. On a busy machine, the command may end
    // before it is stopped; it is then started again.
    std::optional<Running> stopped_half_way(const std::string &command) const
    {
        for (int tries = 0; tries < 20; tries++) {
            Running run = start(command);
            while (!is_begun(run) && !run.has_ended())
                std::this_thread::sleep_for(100us);
            run.send(SIGSTOP);
            if (run.has_stopped() && !fs::exists(path("new")))
                return run;
            run.send(SIGCONT);
            run.wait();
            fs::remove(path("new"));
        }
        return std::nullopt;
    }
};

TEST_P(InterruptedWriting, LeavesNoIncompleteFile)
{
    for (const int signal : {SIGINT, SIGUSR1, SIGALRM}) {
        std::optional<Running> run = stopped_half_way(GetParam());
        ASSERT_TRUE(run);
        run->send(signal);
        run->send(SIGCONT);
        const Ended ended = run->wait();
        EXPECT_EQ(ended.status, kKilledByInt - SIGINT + signal) << ended.said;
        EXPECT_TRUE(unfinished().empty());
        EXPECT_FALSE(fs::exists(path("new")));
    }
}
TEST_P(InterruptedWriting, ReportsAnInputTruncatedWhileItIsReadAndLeavesNoFile)
{
    std::optional<Running> run = stopped_half_way(GetParam());
    ASSERT_TRUE(run);
    fs::resize_file(path("large.data"), 0);
    run->send(SIGCONT);
    const Ended ended = run->wait();
    EXPECT_EQ(ended.status, kFailed);
    EXPECT_TRUE(ended.said.starts_with("pmukit: ")) << ended.said;
    EXPECT_TRUE(ended.said.ends_with(std::string(kInputIsGone) + "\n")) << ended.said;
    EXPECT_EQ(ended.said.find('\n') + 1, ended.said.size()) << ended.said;
    EXPECT_TRUE(unfinished().empty());
    EXPECT_FALSE(fs::exists(path("new")));
}
INSTANTIATE_TEST_SUITE_P(Commands, InterruptedWriting,
                         testing::Values("cut -i large.data -o new", "inject -i large.data -o new",
                                         "merge large.data large.data -o new",
                                         "recover -i large.data --write new",
                                         "export -i large.data --format jsonl -o new"),
                         [](const auto &words) {
                             const std::string command = words.param;
                             return command.substr(0, command.find(' '));
                         });

// Outputs, which get their names only when they are complete

using Results = Writing;

// The old file begins like a recording. Commands that write other files replace it with --force.
constexpr const char *kOld = "PERFILE2 of old", *kForce = " --force";

// A command that is run twice replaces its own output.
TEST_P(Results, OutputOfTheSameCommandIsReplaced)
{
    std::string command = GetParam();
    if (const size_t at = command.find(kForce); at != command.npos)
        command.erase(at);
    for (int run = 0; run < 2; run++) {
        const Ended ended = start(command).wait();
        if (is_not_allowed(ended))
            GTEST_SKIP() << "this machine allows no system-wide events";
        EXPECT_EQ(ended.status, kGood) << ended.said;
    }
}

TEST_F(Program, StandardInputIsNotReplaced)
{
    const std::string before = content("good.data");
    for (const char *command : {"inject -i - -o good.data", "merge good.copy - -o good.data",
                                "export --format jsonl -i - -o good.data --force",
                                "report -i - --html good.data --force"}) {
        const Fd in(::open(path("good.data").c_str(), O_RDONLY | O_CLOEXEC));
        const Ended ended = start(command, "", in.get()).wait();
        EXPECT_EQ(ended.status, kUsage) << command;
        EXPECT_NE(ended.said.find("good.data: is the input"), std::string::npos) << ended.said;
        EXPECT_EQ(content("good.data"), before) << command;
    }
}

TEST_P(Results, CommandThatReachesTheFileSizeLimitKeepsTheOldFile)
{
    std::ofstream(path("new")) << kOld;
    const Ended ended = run_within(256, GetParam());
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, kFailed) << ended.said;
    EXPECT_NE(ended.said.find("new: "), std::string::npos) << ended.said;
    EXPECT_TRUE(unfinished().empty());
    EXPECT_EQ(content("new"), kOld);
}

// Another user with write access to the folder can guess the name of the unfinished file and create
// a link with this name.
TEST_P(Results, SymlinkNamedLikeTheUnfinishedOutputIsNotFollowed)
{
    std::ofstream(path("victim")) << "old";
    const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Running run(folder_.dir(), words_of(GetParam()), "", nothing.get(), true);
    fs::create_symlink("victim", part_of(run));
    run.send(SIGCONT);
    const Ended ended = run.wait();
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, kGood) << ended.said;
    EXPECT_EQ(content("victim"), "old");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path("new"))));
    EXPECT_TRUE(unfinished().empty());
}

TEST_P(Results, OutputMayBeInALinkedFolder)
{
    std::string command = GetParam();
    command.replace(command.find(" new"), 4, " linked/new");
    fs::create_symlink("folder", path("linked"));
    const Ended ended = start(command).wait();
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, kGood) << ended.said;
    EXPECT_TRUE(fs::exists(path("folder/new")));
}

// record renames the link to NAME.old, as perf does.
TEST_P(Results, OutputToASymlinkReplacesTheTargetAndKeepsTheSymlinkExceptForRecord)
{
    std::ofstream(path("older")) << kOld;
    fs::create_symlink("older", path("new"));
    const Ended ended = start(GetParam()).wait();
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, kGood) << ended.said;
    const bool renames = std::string_view(GetParam()).starts_with("record");
    EXPECT_EQ(fs::is_symlink(path("new")), !renames);
    EXPECT_EQ(fs::is_symlink(path("new.old")), renames);
    EXPECT_EQ(content("older") == kOld, renames);
    EXPECT_TRUE(unfinished().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Commands, Results,
    testing::Values("cut -i large.data -o new", "inject -i large.data -o new",
                    "merge large.data large.data -o new", "recover -i large.data --write new",
                    "report -i large.data --html new --force",
                    "record -a -e software/config=0/ -o new -- true",
                    "export -i large.data --format csv --driver cxl_hmu -o new --force",
                    "export -i large.data --format jsonl -o new --force",
                    "export -i large.data --format sqlite -o new --force",
                    "export -i large.data --format perfetto -o new --force",
                    "export -i large.data --format openmetrics -o new --force"),
    name_of_words);

// Runs a command that writes into a FIFO, and collects what arrives.
class Fifo : public Program {
protected:
    Ended into_fifo(const std::string &command)
    {
        fs::remove(path("fifo"));
        EXPECT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
        const Fd from(::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        // With a writer, later calls of open() for the FIFO do not block.
        Fd writer(::open(path("fifo").c_str(), O_WRONLY | O_CLOEXEC));
        EXPECT_EQ(::fcntl(from.get(), F_SETFL, 0), 0);
        arrived_.clear();
        std::thread reader([&] {
            char some[4096];
            for (ssize_t bytes; (bytes = ::read(from.get(), some, sizeof(some))) > 0;)
                arrived_.append(some, static_cast<size_t>(bytes));
        });
        const Ended ended = start(command).wait();
        writer.reset();
        reader.join();
        EXPECT_TRUE(fs::is_fifo(path("fifo"))) << command;
        EXPECT_TRUE(unfinished().empty());
        return ended;
    }

    std::string arrived_;
};

TEST_F(Fifo, ReceivesCompleteOutputOfCommandsThatWriteSequentially)
{
    Ended ended = into_fifo("export -i good.data --format jsonl -o fifo");
    EXPECT_EQ(ended.status, kGood) << ended.said;
    EXPECT_TRUE(arrived_.starts_with("{\"table\":\"recording\"")) << arrived_;
    EXPECT_NE(arrived_.find("\n{\"table\":\"cxl_hmu\""), arrived_.npos) << arrived_;
    EXPECT_TRUE(arrived_.ends_with("}\n"));
    ended = into_fifo("report -i good.data --html fifo");
    EXPECT_EQ(ended.status, kGood) << ended.said;
    EXPECT_TRUE(arrived_.ends_with("</html>\n")) << arrived_;
    ended = into_fifo("record -a -e software/config=0/ -o fifo -- true");
    if (ended.said.find("CAP_PERFMON") != std::string::npos)
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, kGood) << ended.said;
    std::ofstream(path("piped")) << arrived_;
    EXPECT_EQ(start("recover -i piped").wait().status, kGood);
}

TEST_F(Fifo, InputIsRejectedByCommandsThatReadItTwice)
{
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    for (const char *command : {"cut -i fifo -o new", "recover -i fifo"}) {
        const Ended ended = start(command).wait();
        EXPECT_EQ(ended.status, kUsage) << command;
        EXPECT_NE(ended.said.find("name a file with -i"), std::string::npos) << ended.said;
    }
}

// export reads AUX records of a file in advance, which is not possible for a FIFO. The data is
// larger than the buffer of a pipe. Only a file has an id.
TEST_F(Fifo, InputGivesTheSameExportAsAFile)
{
    constexpr uint64_t kRecords = 1000;
    Result<perfdata::Writer> writer = perfdata::Writer::create_pipe(
        Fd(::open(path("piped").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)),
        {event_of_cxl_hmu()}, host());
    ASSERT_TRUE(writer);
    perfdata::AuxtraceRecord trace;
    trace.reference = kId;
    for (uint64_t i = 0; i < kRecords; i++, trace.offset += hot_list().size())
        ASSERT_TRUE(writer->auxtrace(trace, hot_list(i), {}));
    ASSERT_TRUE(writer->finish());
    const std::string command = "cd " + folder_.dir() +
                                " && mkfifo fifo && (cat piped >fifo & " PMUKIT_COMMAND
                                " export -i fifo --format jsonl -o once; " PMUKIT_COMMAND
                                " export -i piped --format jsonl -o twice; wait; "
                                "sed 's/\"recording\":\"[0-9a-f]*\",//' twice | cmp once -)";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_GT(fs::file_size(path("once")), kRecords);
}

TEST_F(Fifo, CutInjectMergeAndRecoverRejectAFifoAsOutput)
{
    for (const char *command :
         {"cut -i good.data -o fifo", "inject -i good.data -o fifo",
          "merge good.data good.data -o fifo", "recover -i good.data --write fifo"}) {
        const Ended ended = into_fifo(command);
        EXPECT_EQ(ended.status, kUsage) << command;
        EXPECT_NE(ended.said.find("fifo: a recording is not written front to back; name a file"),
                  std::string::npos)
            << ended.said;
        EXPECT_EQ(ended.out, "") << command;
        EXPECT_EQ(arrived_, "") << command;
    }
}

TEST_F(Program, TopNamesReportForARecordingOfFileLayout)
{
    const Fd in(::open(path("good.data").c_str(), O_RDONLY | O_CLOEXEC));
    const Ended ended = start("top --once -", "", in.get()).wait();
    EXPECT_EQ(ended.status, kFailed);
    EXPECT_NE(ended.said.find("use pmukit report -i FILE"), std::string::npos) << ended.said;
}

// pmukit must write its messages to standard error, not between the lines of the output.
TEST_F(Program, ExportToDashOrDevStdoutPrintsNoMessagesBetweenTheRows)
{
    for (const char *name : {"-", "/dev/stdout"}) {
        const std::string command = "cd " + folder_.dir() +
                                    " && " PMUKIT_COMMAND
                                    " export -i good.data --format jsonl -o " +
                                    name + " | cat >" + path("shown");
        ASSERT_EQ(std::system(command.c_str()), 0);
        std::ifstream shown(path("shown"));
        size_t lines = 0;
        for (std::string line; std::getline(shown, line); lines++)
            EXPECT_TRUE(line.starts_with("{")) << name << ": " << line;
        EXPECT_EQ(lines, 2U) << name;  // the recording and its hot list
    }
}

// perf report and perf script end with status 0, too.
TEST_F(Program, RecordingWithoutSamplesIsReportedAndIsNoFailure)
{
    const auto make = [this](const std::string &name, uint32_t type) {
        perfdata::WriterEvent event = event_of_cxl_hmu();
        store<uint32_t>(event.attr.data() + perfdata::kAttrType, type, std::endian::native);
        store<uint64_t>(event.attr.data() + perfdata::kAttrSampleType,
                        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
                        std::endian::native);
        auto writer = perfdata::Writer::create(path(name), {event}, host());
        perfdata::Packer round;
        round.record_header(perfdata::kFinishedRound, 0, perfdata::kRecordHeaderBytes);
        ASSERT_TRUE(writer && writer->records(round.bytes()) && writer->finish());
    };
    make("ordinary", PERF_TYPE_SOFTWARE);
    make("cxl_hmu", 24);
    for (const std::string name : {"ordinary", "cxl_hmu"})
        for (const std::string command :
             {"dump", "report", "report --json", "report --html page", "export --format csv -o csv",
              "export --format jsonl -o -", "export --format sqlite -o sqlite",
              "export --format perfetto -o perfetto", "export --format openmetrics -o -",
              "export --format folded -o -", "export --format ctf -o ctf",
              "export --format csv --driver samples -o samples.csv"}) {
            const Ended ended = start(command + " -i " + name).wait();
            EXPECT_EQ(ended.status, kGood) << command << ": " << ended.said;
            EXPECT_EQ(ended.said, "pmukit: " + name + ": no sample was recorded\n") << command;
            if (command.find("csv -o csv") != command.npos) {
                const std::string table = name == "cxl_hmu" ? name : "samples";
                EXPECT_TRUE(content("csv/" + table + ".csv").starts_with("source,"));
                EXPECT_TRUE(content("csv/losses.csv").starts_with("source,"));
            }
            for (const char *folder : {"csv", "ctf"})
                fs::remove_all(path(folder));
        }
    EXPECT_TRUE(content("samples.csv").starts_with("source,"));
    EXPECT_NE(content("page").find("no sample was recorded"), std::string::npos);
}

// Ends by SIGPIPE without a message, as other programs do. The status is that of a shell.
TEST_F(Program, CommandWhoseOutputIsNoLongerReadEndsBySigpipeWithoutAMessage)
{
    for (const char *command :
         {"--help", "--version", "dump --help", "dump -i good.data", "report -i good.data",
          "report -i good.data --json", "report -i good.data --html new.html --json",
          "export -i good.data --format jsonl -o -",
          "export -i good.data --format openmetrics -o /dev/stdout",
          "export -i good.data --format csv --driver cxl_hmu -o -",
          "export -i good.data --format csv -o new", "recover -i good.data",
          "recover -i good.data --json", "cut -i good.data -o cut",
          "merge good.data good.data -o merged", "inject -i good.data -o injected", "doctor --json",
          "record -o - -e software/config=0/ -- true"}) {
        if (std::string_view(command).starts_with("record") && ::geteuid() != 0)
            continue;  // may not be allowed to record
        const std::string line = "cd " + folder_.dir() +
                                 " && rm -f left; { while [ ! -e left ]; do sleep 0.01; "
                                 "done; " PMUKIT_COMMAND " " +
                                 command + " 2>said; echo $? >status; } | { exec <&-; : >left; }";
        ASSERT_EQ(std::system(line.c_str()), 0) << command;
        EXPECT_EQ(content("status"), "141\n") << command;
        EXPECT_EQ(content("said"), "") << command;
    }
    for (const auto &file : fs::directory_iterator(folder_.dir()))
        EXPECT_EQ(file.path().filename().string().find(".part"), std::string::npos) << file.path();
}

TEST_F(Program, CommandWithSigpipeIgnoredExits1IfItsOutputIsNoLongerRead)
{
    const std::string line =
        "cd " + folder_.dir() +
        " && { trap '' PIPE; while [ ! -e left ]; do sleep 0.01; done; " PMUKIT_COMMAND
        " dump -i good.data 2>said; echo $? >status; } | { exec <&-; : >left; }";
    ASSERT_EQ(std::system(line.c_str()), 0);
    EXPECT_EQ(content("status"), "1\n");
    EXPECT_EQ(content("said"), "");
}

// Untrusted names in output

// Characters that a terminal must not get. Controls of ISO 6429 in each of their forms, and a
// character that reverses the order of others.
const std::string kUnsafe = "a\033[2J\x9bm\xc2\x9b\x7f\xe2\x80\xaez";

bool is_safe(std::string_view text)
{
    const bool has_control = std::ranges::any_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n') || byte == 0x7f;
    });
    const auto has = [text](std::string_view part) { return text.find(part) != text.npos; };
    return !has_control && !has("\x9bm") && !has("\xc2\x9b") && !has("\xe2\x80\xae");
}

class Named : public Program, public testing::WithParamInterface<const char *> {
protected:
    void SetUp() override
    {
        Program::SetUp();
        perfdata::HostInfo unsafe = host();
        unsafe.hostname = kUnsafe;
        perfdata::WriterEvent event = event_of_cxl_hmu();
        event.name = kUnsafe;
        ASSERT_TRUE(fill(perfdata::Writer::create(path("unsafe.data"), {event}, unsafe)));
        fs::copy_file(path("unsafe.data"), path(kUnsafe + ".data"));
        fs::copy_file(path("cut.data"), path(kUnsafe + ".cut"));
    }
    // Runs a command in which UNSAFE stands for the unsafe name.
    Ended run(const std::string &command) const
    {
        std::vector<std::string> words = words_of(command);
        for (std::string &word : words)
            if (const size_t at = word.find("UNSAFE"); at != word.npos)
                word.replace(at, 6, kUnsafe);
        const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        return Running(folder_.dir(), words, "", nothing.get()).wait();
    }
};

TEST_P(Named, OutputHasNoCharactersThatATerminalMustNotGet)
{
    const Ended ended = run(GetParam());
    EXPECT_NE(ended.status, kUsage) << ended.said;
    EXPECT_TRUE(is_safe(ended.out)) << testing::PrintToString(ended.out);
    EXPECT_TRUE(is_safe(ended.said)) << testing::PrintToString(ended.said);
    EXPECT_FALSE(ended.out.empty() && ended.said.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Commands, Named,
    testing::Values("recover -i UNSAFE.data", "recover -i UNSAFE.cut",
                    "recover -i UNSAFE.cut --json", "recover -i UNSAFE.cut --write UNSAFE.new",
                    "cut -i UNSAFE.data -o UNSAFE.new", "inject -i UNSAFE.data -o UNSAFE.new",
                    "dump -i UNSAFE.cut", "merge UNSAFE.data UNSAFE.data -o UNSAFE.new",
                    "report -i UNSAFE.cut", "report -i UNSAFE.data --json",
                    "export -i UNSAFE.data --format csv -o UNSAFE.new",
                    "export -i UNSAFE.data --format sqlite -o UNSAFE.new",
                    "export -i UNSAFE.data --format ctf -o UNSAFE.new",
                    "export -i UNSAFE.data --format jsonl -o -",
                    "export -i UNSAFE.data --format perfetto -o -",
                    "export -i UNSAFE.data --format openmetrics -o -",
                    "record --dry-run -o UNSAFE.new -e cpu-clock -- UNSAFE"),
    name_of_words);

// Other programs read CSV, so its text is as recorded, except that it is valid UTF-8.
TEST_F(Named, CsvHasTheTextAsRecorded)
{
    ASSERT_EQ(run("export -i unsafe.data --format csv --driver cxl_hmu -o new").status, kGood);
    EXPECT_NE(content("new").find("a\033[2J\xef\xbf\xbdm\xc2\x9b\x7f\xe2\x80\xaez"),
              std::string::npos);
}

// Recordings of this machine. The tests are skipped without the privilege to record.
class Recorded : public Program {
protected:
    // Waits until the unfinished file has data, and returns its name. Returns an empty name if the
    // program ended before.
    std::string begun(Running &run) const
    {
        const std::string part = part_of(run);
        for (int waited = 0; waited < 3000; waited++) {
            std::error_code failure;
            if (const auto bytes = fs::file_size(part, failure); !failure && bytes != 0)
                return part;
            std::this_thread::sleep_for(10ms);
            if (run.has_ended())
                return {};
        }
        return {};
    }

    static constexpr const char *kCommand = "record -a -e software/config=0,freq=50/ -o new";
};

TEST_F(Recorded, SignalsThatWouldEndTheProgramCompleteTheFile)
{
    const auto before = ::signal(SIGHUP, SIG_DFL);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGPROF, SIGRTMAX}) {
        Running run = start(kCommand);
        begun(run);
        run.send(signal);
        const Ended ended = run.wait();
        if (is_not_allowed(ended))
            GTEST_SKIP() << "this machine allows no system-wide events";
        EXPECT_EQ(ended.status, kGood) << ended.said;
        EXPECT_TRUE(unfinished().empty());
        EXPECT_EQ(start("recover -i new").wait().status, kGood);
        fs::remove(path("new"));
    }
    ::signal(SIGHUP, before);
}

TEST_F(Recorded, SigtermEndsARecorderWhoseOutputPipeIsNotRead)
{
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    const Fd pipe(::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(pipe);
    Running run = start("record -a -e cpu-clock -o pipe");
    pollfd room{pipe.get(), POLLOUT, 0};
    for (int waited = 0; waited < 3000 && !run.has_ended() && ::poll(&room, 1, 0) == 1; waited++)
        std::this_thread::sleep_for(10ms);
    run.send(SIGTERM);
    const Ended ended = run.wait();
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, kFailed);
    EXPECT_EQ(ended.said, "pmukit: pipe: stopped by a signal while it had no reader; incomplete\n");
}

// perf record ignores SIGUSR2 if none of its options gives the signal a meaning.
TEST_F(Recorded, IgnoresSigusr2AndThoseSignalsThatItsCallerIgnored)
{
    const auto before = ::signal(SIGHUP, SIG_IGN), alarm_before = ::signal(SIGALRM, SIG_IGN);
    Running run = start(kCommand);
    ::signal(SIGHUP, before);
    ::signal(SIGALRM, alarm_before);
    begun(run);
    for (const int signal : {SIGHUP, SIGALRM, SIGUSR2})
        run.send(signal);
    std::this_thread::sleep_for(300ms);
    const bool goes_on = !run.has_ended();
    run.send(SIGINT);
    const Ended ended = run.wait();
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_TRUE(goes_on);
    EXPECT_EQ(ended.status, kGood) << ended.said;
}

TEST_F(Recorded, ReturnsTheCommandsStatusIfSigchldIsIgnored)
{
    const auto before = ::signal(SIGCHLD, SIG_IGN);
    Running run = start(std::string(kCommand) + " -- false");
    ::signal(SIGCHLD, before);
    const Ended ended = run.wait();
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, 1) << ended.said;
    EXPECT_TRUE(fs::exists(path("new"))) << "it failed, not the recording";
}

TEST_F(Recorded, IncompleteFileIsKeptAndRecoverableIfTheFileSizeLimitIsReached)
{
    std::ofstream(path("new")) << kOld;
    const Ended ended =
        run_within(16384, "record -a -e software/config=0,freq=1000/ -o new -- sleep 30");
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(ended.status, kFailed);
    EXPECT_EQ(content("new"), kOld);
    ASSERT_EQ(unfinished().size(), 1U) << ended.said;
    EXPECT_TRUE(ended.said.starts_with("pmukit: new: File too large; what was recorded is kept: "))
        << ended.said;
    EXPECT_NE(ended.said.find("pmukit recover -i "), std::string::npos) << ended.said;
    EXPECT_NE(ended.said.find(unfinished()[0]), std::string::npos) << ended.said;
    EXPECT_EQ(ended.said.find('\n') + 1, ended.said.size()) << ended.said;
    EXPECT_EQ(start("recover -i " + unfinished()[0] + " --write saved").wait().status, kFailed);
    EXPECT_EQ(start("recover -i saved").wait().status, kGood);
}

TEST_F(Recorded, FileCanBeRecoveredAfterSigkill)
{
    Running run = start(kCommand);
    const std::string part = begun(run);
    run.send(SIGKILL);
    const Ended ended = run.wait();
    if (is_not_allowed(ended))
        GTEST_SKIP() << "this machine allows no system-wide events";
    ASSERT_NE(part, "") << ended.said;
    const Ended recovered = start("recover -i " + part + " --write saved").wait();
    EXPECT_EQ(recovered.status, kFailed) << "its header was not finished";
    EXPECT_NE(recovered.out.find("kept "), std::string::npos) << recovered.said;
    EXPECT_EQ(start("recover -i saved").wait().status, kGood);
}

// Out of memory

class OutOfMemory : public Program, public testing::WithParamInterface<const char *> {
protected:
    // At most this many allocations are made before main(), which cannot catch their exceptions.
    // Static constants of CLI11 make about a dozen in each source file with options.
    static constexpr long kBeforeMain = 192;

    // Runs a command so that all allocations from number `first` on fail.
    Ended run_without(long first) const
    {
        return run_with("NO_MEMORY_FROM=" + std::to_string(first), GetParam());
    }
    Ended run_with(const std::string &variable, const std::string &command) const
    {
        std::vector<std::string> words = {
            "/usr/bin/env", variable, std::string("LD_PRELOAD=") + NO_MEMORY_LIBRARY,
            "ASAN_OPTIONS=verify_asan_link_order=0:alloc_dealloc_mismatch=0:detect_leaks=0"};
        for (const std::string &word : words_of(command))
            words.push_back(word);
        const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        return Running(folder_.dir(), words, "", nothing.get()).wait();
    }
};

TEST_P(OutOfMemory, FailedAllocationIsReportedAndLeavesNoFile)
{
    const Ended whole = run_without(LONG_MAX);
    size_t said = 0;
    Ended ended{};
    // The step size grows, to limit the number of runs.
    for (long first = kBeforeMain; first < 100000; first += first / 4) {
        fs::remove_all(path("new"));
        ended = run_without(first);
        if (ended.status != kEnvironment)
            break;
        said++;
        ASSERT_EQ(ended.said, "pmukit: std::bad_alloc\n") << "at allocation " << first;
        EXPECT_TRUE(unfinished().empty()) << "at allocation " << first;
        EXPECT_FALSE(fs::exists(path("new"))) << "at allocation " << first;
    }
    EXPECT_EQ(ended.status, whole.status) << ended.said;
    EXPECT_EQ(ended.out, whole.out);
    EXPECT_GT(said, 8U);
}
INSTANTIATE_TEST_SUITE_P(
    Commands, OutOfMemory,
    testing::Values("--help", "list", "tune", "dump -i good.data", "report -i good.data --html new",
                    "report -i good.data", "report -i good.data --json", "cut -i good.data -o new",
                    "inject -i good.data -o new", "merge good.data good.data -o new",
                    "recover -i good.data --write new", "export -i good.data --format jsonl -o -",
                    "export -i good.data --format ctf -o new"),
    name_of_words);

class OutOfMaps : public OutOfMemory {};

// The sink of babeltrace maps the packets that it writes.
TEST_P(OutOfMaps, FailedMapIsReportedAndLeavesNoFile)
{
    const Ended ended = run_with("NO_SHARED_MAPS=1", GetParam());
    EXPECT_EQ(ended.status, kFailed);
    EXPECT_EQ(ended.said,
              "pmukit: new: babeltrace cannot write: is the disk full, or memory used up?\n");
    EXPECT_TRUE(unfinished().empty());
    EXPECT_FALSE(fs::exists(path("new")));
}
INSTANTIATE_TEST_SUITE_P(Commands, OutOfMaps,
                         testing::Values("export -i good.data --format ctf -o new"), name_of_words);

}  // namespace
}  // namespace pmukit
