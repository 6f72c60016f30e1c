// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/bpf_tap.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "record/bpf_program.hpp"
#include "record/online_cpus.hpp"

namespace pmukit::record {
namespace {

constexpr uint32_t kRingBytes = uint32_t{8} << 20;  // 2048 records; 2^n pages
// Most records that one call of take() passes on: as many as fit into the ring.
constexpr uint32_t kTakenAtOnce = kRingBytes / kTapMostBytes;
constexpr int kEnough = -ECANCELED;  // ring_buffer__consume() returns it for no other reason

Result<Fd> create_map(bpf_map_type type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries)
{
    Fd map(::bpf_map_create(type, "pmukit", key_bytes, value_bytes, entries, nullptr));
    if (!map)
        return system_error("making a BPF map", errno);
    return map;
}

// Only a program under the GPL may call probe_read_kernel(), so this program declares a dual
// license.
Result<Fd> load_program(const std::vector<bpf_insn> &code)
{
    std::array<char, 4096> log{};
    LIBBPF_OPTS(bpf_prog_load_opts, options);
    options.log_buf = log.data();
    options.log_size = log.size();
    Fd program(::bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "pmukit_tap", "Dual BSD/GPL", code.data(),
                               code.size(), nullptr));
    if (program)
        return program;
    const int error = errno;
    // Loads the program again to get the reason of the verifier. EPERM does not come from the
    // verifier.
    if (error != EPERM)
        Fd(::bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "pmukit_tap", "Dual BSD/GPL", code.data(),
                           code.size(), &options));
    std::string reason = system_error("loading a BPF program", error).message;
    for (const char *line = std::strtok(log.data(), "\n"); line; line = std::strtok(nullptr, "\n"))
        reason.append("; ").append(line);
    return Error{Errc::kDenied, reason};
}

// Attaches the program to a trace event. perf counts the event on one CPU, but the program runs on
// every CPU where the event occurs. Without a period perf takes no samples: the records are in the
// BPF ring.
Result<Fd> attach_program(const TraceFormat &format, int program)
{
    const Result<std::vector<int>> cpus = online_cpus();
    if (!cpus)
        return cpus.error();
    const int cpu = cpus->empty() ? 0 : cpus->front();
    perf_event_attr attr{};
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.size = sizeof attr;
    attr.config = format.id;
    Fd event(
        static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event)
        return system_error("opening a trace event", errno);
    if (::ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program) != 0 ||
        ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
        return system_error("attaching a BPF program", errno);
    return event;
}

}  // namespace

struct BpfTap::State {
    ~State()
    {
        events.clear();  // detaches the programs
        ::ring_buffer__free(reader);
    }

    Sink sink;
    Fd ring, lost;
    std::vector<Fd> events;
    ring_buffer *reader = nullptr;
    std::vector<std::byte> record;  // the record that the sink gets
    uint32_t taken = 0;             // records in this call of take()
    std::exception_ptr failure;     // exception of the sink; must not pass through libbpf
};

namespace {

// Checks an entry of the ring and passes it to the sink. The check is a safeguard: only pmukit's
// BPF program writes to the ring.
void hand_on(Bytes entry, std::vector<std::byte> &record, const BpfTap::Sink &sink)
{
    ByteReader in(entry, std::endian::native);
    const auto event = in.u32(), bytes = in.u32();
    const auto body = bytes ? in.take(*bytes) : std::nullopt;
    if (!body)
        return;
    record.assign(kRecordHeadBytes, std::byte{0});
    append(record, *body);
    sink(*event, record);
}

}  // namespace

BpfTap::BpfTap(std::unique_ptr<State> state) : state_(std::move(state)) {}
BpfTap::BpfTap(BpfTap &&) noexcept = default;
BpfTap::~BpfTap() = default;

Result<BpfTap> BpfTap::attach(const std::vector<TraceFormat> &formats, Sink sink)
{
    ::libbpf_set_print(nullptr);  // the caller reports errors
    auto state = std::make_unique<State>();
    state->sink = std::move(sink);
    Result<Fd> ring = create_map(BPF_MAP_TYPE_RINGBUF, 0, 0, kRingBytes);
    if (!ring)
        return ring.error();
    Result<Fd> lost = create_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint64_t), 1);
    if (!lost)
        return lost.error();
    state->ring = std::move(*ring);
    state->lost = std::move(*lost);

    const auto take_one = [](void *context, void *data, size_t bytes) {
        auto *owner = static_cast<State *>(context);
        try {
            hand_on({static_cast<const std::byte *>(data), bytes}, owner->record, owner->sink);
        } catch (...) {
            owner->failure = std::current_exception();
            return kEnough;
        }
        return ++owner->taken < kTakenAtOnce ? 0 : kEnough;
    };
    state->reader = ::ring_buffer__new(state->ring.get(), take_one, state.get(), nullptr);
    if (!state->reader)
        return system_error("mapping the BPF ring", errno);
    for (uint32_t i = 0; i < formats.size(); i++) {
        const auto code = tap_program(formats[i], i, {state->ring.get(), state->lost.get()});
        if (!code)
            return code.error();
        const Result<Fd> program = load_program(*code);
        if (!program)
            return program.error();
        Result<Fd> event = attach_program(formats[i], program->get());
        if (!event)
            return event.error();
        state->events.push_back(std::move(*event));  // the event keeps the program loaded
    }
    return BpfTap(std::move(state));
}

int BpfTap::fd() const
{
    return ::ring_buffer__epoll_fd(state_->reader);
}

// libbpf calls the callback as long as there are records. If the callback stops that, libbpf still
// frees the record of the last call.
Result<void> BpfTap::take()
{
    state_->taken = 0;
    const int taken = ::ring_buffer__consume(state_->reader);
    if (state_->failure)
        std::rethrow_exception(std::exchange(state_->failure, nullptr));
    if (taken >= 0 || taken == kEnough)
        return {};
    return system_error("reading the BPF ring", -taken);
}

uint64_t BpfTap::lost() const
{
    const uint32_t key = 0;
    uint64_t count = 0;
    return ::bpf_map_lookup_elem(state_->lost.get(), &key, &count) == 0 ? count : 0;
}

}  // namespace pmukit::record
