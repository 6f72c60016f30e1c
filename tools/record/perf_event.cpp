// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/perf_event.hpp"

#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/bytes.hpp"
#include "base/file.hpp"

namespace pmukit::record {
namespace {

// Sizes of perf_event_attr: PERF_ATTR_SIZE_VER7 ends before config3 (VER8), which ends before
// config4 (VER9).
constexpr size_t kAttrBytes[] = {128, 136, 144};
constexpr size_t kConfig3At = 128, kConfig4At = 136;
constexpr uint64_t kUsualRate_hz = 4000;
// Every event has the same sample type, so that all records have id and time at the same offsets.
constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                 PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU |
                                 PERF_SAMPLE_RAW;

struct Refusal {
    int error;
    Errc code;
    const char *why;
};

// The meaning of errors of perf_event_open(2) and of the drivers (Documentation/ABI).
constexpr Refusal kRefusals[] = {
    {EACCES, Errc::kDenied, nullptr},  // denied_because() has the text
    {EPERM, Errc::kDenied, nullptr},
    {EBUSY, Errc::kBusy, "another event holds this PMU; end that recording first"},
    {EINVAL, Errc::kUsage, "the PMU refuses these values"},
    {EOPNOTSUPP, Errc::kUnsupported, "the PMU does not support these values"},
    {ERANGE, Errc::kUsage, "a value is out of the range of this PMU"},
    {E2BIG, Errc::kUnsupported, "this kernel does not know config3 or config4"},
    {ENOENT, Errc::kUnsupported, "the PMU does not take this kind of event"},
    {ENODEV, Errc::kNotFound, "the device is gone"},
    {ENXIO, Errc::kNotFound, "the device is gone"},
    {EMFILE, Errc::kIo,
     "too many open files: an event needs one for each CPU or thread; raise ulimit -n, or record "
     "fewer events"},
    {ESRCH, Errc::kNotFound, "there is no such process or thread"},
};

// Returns the capabilities of the PMU as text: "counter_width=16, unit_sizes=12 13".
std::string offered(const Pmu &pmu)
{
    std::string all;
    for (const auto &[name, value] : pmu.caps) {
        if (!all.empty())
            all += ", ";
        all.append(name).append("=").append(value);
    }
    return all;
}

// PMUs with the file caps/range_overlap share memory. If one of them tracks a range, the others may
// refuse the range. This code does not know which PMU tracks it.
bool may_share_a_range(const Pmu &pmu)
{
    return std::ranges::find(pmu.caps, "range_overlap",
                             [](const auto &cap) { return cap.first; }) != pmu.caps.end();
}

bool about_values(int error)
{
    return error == EINVAL || error == EOPNOTSUPP || error == ERANGE;
}

bool about_place(int error)
{
    return error == ENODEV || error == ENXIO;
}

void set_rate(const Pmu &pmu, const EventSettings &settings, const Sampling &sampling,
              perf_event_attr &attr)
{
    if (sampling.weight)
        attr.sample_type |= PERF_SAMPLE_PERIOD;
    const std::optional<uint64_t> period =
        settings.frequency_hz || settings.period ? settings.period : sampling.period;
    if (period || (!samples_tasks(pmu) && !settings.frequency_hz)) {
        attr.sample_period = period.value_or(1);
        return;
    }
    // With a frequency, the kernel varies the period, which is the weight of a sample.
    attr.sample_type |= PERF_SAMPLE_PERIOD;
    attr.freq = 1;
    attr.sample_freq =
        settings.frequency_hz.value_or(sampling.frequency_hz.value_or(kUsualRate_hz));
}

// All registers of a program: the same set that perf samples for unwinding.
constexpr uint64_t kUserRegisters =
#if defined(__x86_64__)
    0xff0fff;  // no segment registers except cs and ss
#elif defined(__aarch64__)
    0x1ffffffff;  // x0 to x30, sp, pc
#else
    0;
#endif

// Bits of the flags that the header of the build may lack (Linux 7.2).
constexpr unsigned kDeferCallchain = 38, kDeferOutput = 39;

void set_flag(std::vector<std::byte> &bytes, unsigned bit)
{
    std::byte *const flags = bytes.data() + offsetof(perf_event_attr, read_format) + 8;
    const unsigned shift = std::endian::native == std::endian::little ? bit : 63 - bit;
    store(flags, load<uint64_t>(flags, std::endian::native) | uint64_t{1} << shift,
          std::endian::native);
}

void set_chains(const Sampling &sampling, perf_event_attr &attr)
{
    if (sampling.chains == Chains::kNone)
        return;
    attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    if (sampling.chains == Chains::kFramePointers)
        return;
    attr.exclude_callchain_user = 1;
    if (sampling.chains == Chains::kStack) {
        attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr.sample_regs_user = kUserRegisters;
        attr.sample_stack_user = sampling.stack_bytes;
        return;
    }
    attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
                              PERF_SAMPLE_BRANCH_NO_CYCLES | PERF_SAMPLE_BRANCH_NO_FLAGS;
}

void set_modifiers(const Modifiers &modifiers, perf_event_attr &attr)
{
    attr.exclude_user = modifiers.exclude_user;
    attr.exclude_kernel = modifiers.exclude_kernel;
    attr.exclude_hv = modifiers.exclude_hv;
    attr.exclude_guest = modifiers.exclude_guest;
    attr.exclude_host = modifiers.exclude_host;
    attr.exclude_idle = modifiers.exclude_idle;
    attr.precise_ip = modifiers.precise & 3;
    attr.pinned = modifiers.pinned;
    attr.exclusive = modifiers.exclusive;
    if (modifiers.sample_value) {
        attr.sample_type |= PERF_SAMPLE_READ;
        attr.read_format = PERF_FORMAT_ID;
    }
}

}  // namespace

bool samples_tasks(const Pmu &pmu)
{
    return !pmu.cpumask.has_value();
}

std::vector<std::byte> make_attr(const Pmu &pmu, const EventSettings &settings, Start start,
                                 bool inherit, const Sampling &sampling)
{
    const ConfigWords &words = settings.words;
    perf_event_attr attr{};
    attr.type = pmu.type;
    attr.size = static_cast<uint32_t>(kAttrBytes[words[4] ? 2 : words[3] ? 1 : 0]);
    attr.config = words[0];
    attr.config1 = words[1];
    attr.config2 = words[2];
    attr.sample_type = kSampleType;
    attr.sample_id_all = 1;
    attr.disabled = start != Start::kWithLeader;
    // Kernels before Linux 6.12 refuse inherit together with PERF_SAMPLE_READ.
    attr.inherit = inherit && !settings.modifiers.sample_value;
    attr.enable_on_exec = start == Start::kOnExec;
    attr.wakeup_events = sampling.wakes_at_once;
    set_rate(pmu, settings, sampling, attr);
    if (samples_tasks(pmu))
        set_chains(sampling, attr);
    set_modifiers(settings.modifiers, attr);

    std::vector<std::byte> bytes(attr.size);
    std::memcpy(bytes.data(), &attr, std::min(sizeof attr, bytes.size()));
    for (auto [at, word] : {std::pair(kConfig3At, words[3]), std::pair(kConfig4At, words[4])})
        if (bytes.size() >= at + sizeof word)
            store(bytes.data() + at, word, std::endian::native);
    if (samples_tasks(pmu) && sampling.defers_chains)
        set_flag(bytes, kDeferCallchain);
    return bytes;
}

std::vector<std::byte> make_tracking_attr(const Tracking &tracking)
{
    perf_event_attr attr{};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = kAttrBytes[0];
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.sample_period = 1;
    attr.sample_type = kSampleType;
    attr.sample_id_all = 1;
    attr.inherit = tracking.inherit;
    attr.exclude_kernel = 1;  // if the kernel were not excluded, the event would need a privilege
    attr.exclude_hv = 1;
    attr.mmap = 1;
    attr.mmap2 = 1;
    attr.mmap_data = tracking.data_maps;
    attr.build_id = tracking.build_ids;
    attr.comm = 1;
    attr.comm_exec = 1;
    attr.task = 1;
    std::vector<std::byte> bytes(attr.size);
    std::memcpy(bytes.data(), &attr, std::min(sizeof attr, bytes.size()));
    if (tracking.deferred_chains)
        set_flag(bytes, kDeferOutput);
    return bytes;
}

std::vector<std::byte> with_clock(std::vector<std::byte> bytes, int32_t clock_id)
{
    perf_event_attr attr{};
    const size_t known = std::min(sizeof attr, bytes.size());
    std::memcpy(&attr, bytes.data(), known);
    attr.use_clockid = 1;
    attr.clockid = clock_id;
    std::memcpy(bytes.data(), &attr, known);
    return bytes;
}

std::vector<std::byte> with_lost_count(std::vector<std::byte> bytes)
{
    std::byte *const format = bytes.data() + offsetof(perf_event_attr, read_format);
    store(format, load<uint64_t>(format, std::endian::native) | PERF_FORMAT_LOST,
          std::endian::native);
    return bytes;
}

namespace {

bool opens(const std::vector<std::byte> &attr)
{
    return bool(Fd(static_cast<int>(
        ::syscall(SYS_perf_event_open, attr.data(), 0, -1, -1, PERF_FLAG_FD_CLOEXEC))));
}

}  // namespace

bool has_lost_count()
{
    static const bool known = opens(with_lost_count(make_tracking_attr({})));
    return known;
}

bool has_deferred_chains()
{
    static const bool known = opens(make_tracking_attr({.deferred_chains = true}));
    return known;
}

// Reads the lost count, which is the last word, after the value and an optional id.
std::optional<uint64_t> read_lost_count(int fd)
{
    uint64_t words[3]{};
    const ssize_t got = ::read(fd, words, sizeof words);
    if (got < static_cast<ssize_t>(2 * sizeof *words) || got % sizeof *words)
        return std::nullopt;
    return words[static_cast<size_t>(got) / sizeof *words - 1];
}

void LostCounter::read(int fd)
{
    const std::optional<uint64_t> count = read_lost_count(fd);
    gone_ = !count;
    count_ = count.value_or(count_);
}

std::vector<std::byte> lost_samples_record(uint64_t lost, uint64_t id, int cpu)
{
    constexpr uint64_t kNoTask = UINT64_MAX, kNoTime = 0;
    const uint64_t words[] = {lost, kNoTask, kNoTime, id, static_cast<uint32_t>(cpu), id};
    perf_event_header header{};
    header.type = PERF_RECORD_LOST_SAMPLES;
    header.size = sizeof header + sizeof words;
    std::vector<std::byte> record(header.size);
    std::memcpy(record.data(), &header, sizeof header);
    for (size_t i = 0; i < std::size(words); i++)
        store(record.data() + sizeof header + i * sizeof *words, words[i], std::endian::native);
    static_assert(sizeof words == sizeof lost + kTrailerBytes);
    return record;
}

std::optional<int> perf_event_paranoid()
{
    const Result<std::string> text = read_small_file("/proc/sys/kernel/perf_event_paranoid");
    return text ? std::optional(std::atoi(text->c_str())) : std::nullopt;
}

namespace {

bool is_of_another_user(pid_t pid)
{
    struct stat status {};
    return pid > 0 && ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 &&
           status.st_uid != ::geteuid();
}

constexpr const char *kOrRoot = ", or run as root or with CAP_PERFMON";

// Returns why the kernel denies the event to this user, by the rules of perf_event_open(2).
std::string denied_because(const Pmu &pmu, const Attempt &attempt)
{
    constexpr int kNoUnprivileged = 3;  // Debian and Android: no event without CAP_PERFMON
    const int paranoid = attempt.paranoid.value_or(0);
    const std::string is = "kernel.perf_event_paranoid is " + std::to_string(paranoid);
    if (!samples_tasks(pmu))
        return "this needs CAP_PERFMON; run as root or set that capability";
    if (paranoid >= kNoUnprivileged)
        return is + ", which restricts events to CAP_PERFMON: sysctl kernel.perf_event_paranoid=2" +
               kOrRoot;
    if (attempt.is_of_another_user)
        return "process " + std::to_string(attempt.pid) +
               " is another user's; this needs CAP_PERFMON, run as root or as that user";
    if ((attempt.pid < 0 || attempt.has_cgroup) && paranoid >= 1)
        return is + ": the whole machine (-a, -C, -G) needs 0 or less" + kOrRoot;
    if (attempt.kernel_too && paranoid >= 2)
        return is + ": kernel mode needs 1 or less; give the event :u for user mode only" + kOrRoot;
    return "this needs CAP_PERFMON; run as root or set that capability";
}

}  // namespace

Error explain_open_error(int error, const Pmu &pmu, const std::string &what, const Attempt &attempt)
{
    const int cpu = attempt.cpu;
    std::string message = what;
    if (cpu >= 0)
        message += " on CPU " + std::to_string(cpu);
    const Refusal *refusal = std::ranges::find(kRefusals, error, &Refusal::error);
    if (refusal == std::end(kRefusals))
        return Error{Errc::kIo, message + ": " + std::strerror(error)};
    message += ": " + (refusal->code == Errc::kDenied ? denied_because(pmu, attempt)
                                                      : std::string(refusal->why));
    if (about_place(error) && cpu >= 0)
        message += ", or CPU " + std::to_string(cpu) + " is offline";
    if (error == EBUSY && may_share_a_range(pmu))
        message +=
            ", or another instance of its CHMU tracks part of this range (range_base, range_size)";
    message += std::string(" (") + std::strerror(error) + ")";
    if (about_values(error) && !pmu.caps.empty())
        message += "; supported: " + offered(pmu);
    return Error{refusal->code, message};
}

Result<Fd> open_event(const std::vector<std::byte> &attr, const Attempt &attempt, int leader_fd,
                      const Pmu &pmu, const std::string &what)
{
    const unsigned long flags =
        PERF_FLAG_FD_CLOEXEC | (attempt.has_cgroup ? PERF_FLAG_PID_CGROUP : 0);
    const long fd =
        ::syscall(SYS_perf_event_open, attr.data(), attempt.pid, attempt.cpu, leader_fd, flags);
    if (fd < 0) {
        const int error = errno;
        Attempt known = attempt;
        known.paranoid = perf_event_paranoid();
        known.is_of_another_user = !attempt.has_cgroup && is_of_another_user(attempt.pid);
        return explain_open_error(error, pmu, what, known);
    }
    return Fd(static_cast<int>(fd));
}

namespace {

constexpr uint64_t kNoSampling = 0;

void take_no_branches(perf_event_attr &attr, Attempt &)
{
    attr.sample_type &= ~uint64_t{PERF_SAMPLE_BRANCH_STACK};
    attr.branch_sample_type = 0;
}

void take_all_tasks(perf_event_attr &, Attempt &attempt)
{
    attempt.pid = attempt.pid >= 0 && !attempt.has_cgroup ? -1 : attempt.pid;
}

void take_no_samples(perf_event_attr &attr, Attempt &)
{
    attr.freq = 0;
    attr.sample_period = kNoSampling;
}

void count_all_tasks(perf_event_attr &attr, Attempt &attempt)
{
    take_no_samples(attr, attempt);
    take_all_tasks(attr, attempt);
}

struct Remedy {
    void (*change)(perf_event_attr &, Attempt &);
    const char *text;
};
// Changes of one thing come first.
constexpr Remedy kRemedies[] = {
    {take_no_branches, "it has no branch stacks; use --call-graph fp or dwarf instead of lbr"},
    {take_all_tasks, "it counts CPUs, not tasks; record with -a"},
    {take_no_samples, "it cannot be sampled; count it with perf stat"},
    {count_all_tasks,
     "it cannot be sampled and counts CPUs, not tasks; count it with perf stat -a"},
};

}  // namespace

std::string remedy_of(
    const std::vector<std::byte> &attr, const Attempt &attempt,
    const std::function<bool(const std::vector<std::byte> &, const Attempt &)> &is_taken)
{
    for (const Remedy &remedy : kRemedies) {
        perf_event_attr changed{};
        const size_t known = std::min(sizeof changed, attr.size());
        std::memcpy(&changed, attr.data(), known);
        Attempt other = attempt;
        remedy.change(changed, other);
        std::vector<std::byte> bytes = attr;
        std::memcpy(bytes.data(), &changed, known);
        if ((bytes != attr || other.pid != attempt.pid) && is_taken(bytes, other))
            return remedy.text;
    }
    return {};
}

std::string ring_advice(Errc code, std::optional<uint64_t> mlock_kib, uint64_t memlock_bytes)
{
    if (code != Errc::kDenied || !mlock_kib)
        return "try smaller -m";
    return "without CAP_IPC_LOCK, rings are limited by kernel.perf_event_mlock_kb (" +
           std::to_string(*mlock_kib) + " KiB for each CPU) and ulimit -l (" +
           (memlock_bytes == UINT64_MAX ? "unlimited"
                                        : std::to_string(memlock_bytes / 1024) + " KiB") +
           "): use smaller -m, or raise one of them";
}

std::string term_at_fault(const EventString &event, const Pmu &pmu,
                          const std::function<bool(const EventSettings &)> &is_taken)
{
    for (size_t i = 0; i < event.terms.size(); i++) {
        EventString without = event;
        without.terms.erase(without.terms.begin() + static_cast<ptrdiff_t>(i));
        const Result<EventSettings> settings = encode_event(without, pmu);
        if (settings && is_taken(*settings))
            return event.terms[i].name +
                   (event.terms[i].value ? "=" + *event.terms[i].value : std::string());
    }
    return {};
}

}  // namespace pmukit::record
