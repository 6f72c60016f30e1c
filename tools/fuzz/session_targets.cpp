// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Fuzz targets of the code between recordings and outputs. Their inputs are names, maps and samples
// of any recording; symbols, inlined functions and call chains of any program; any stack and
// registers.
#include <sys/mman.h>

#include <string>

#include "base/fd.hpp"
#include "fuzz/script.hpp"
#include "fuzz/targets.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"
#include "session/functions.hpp"
#include "session/inlines.hpp"
#include "session/recording.hpp"
#include "session/samples.hpp"
#include "session/unwind.hpp"

namespace pmukit::fuzz {
namespace {

using namespace cli;

// A file in memory, which the code under test can open by its path.
class NamedBytes {
public:
    explicit NamedBytes(Bytes bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC))
    {
        hold(static_cast<bool>(fd_));
        while (!bytes.empty()) {
            const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
            hold(written > 0);
            bytes = bytes.subspan(static_cast<size_t>(written));
        }
    }
    std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

private:
    Fd fd_;
};

class NoSink final : public DriverSink {
public:
    void aux_begin(const Stream &, uint64_t, uint64_t, uint64_t) override {}
    void aux(const Stream &, Bytes) override {}
    void aux_loss(const Stream &, uint64_t, uint64_t) override {}
    void sample(const Stream &, uint64_t, Bytes) override {}
};

// The process and the start address of the only map that unwind() creates.
constexpr uint32_t kPid = 1;
constexpr uint64_t kBegin = 0x400000;

perfdata::Record map_record(const perfdata::Packer &body)
{
    perfdata::Record record;
    record.type = PERF_RECORD_MMAP;
    record.body = body.bytes();
    return record;
}

const std::vector<std::byte> &empty_recording()
{
    static const std::vector<std::byte> bytes =
        perfdata::testing::FileBuilder().event(PERF_TYPE_SOFTWARE, PERF_SAMPLE_IP, {1}).file();
    return bytes;
}

void look_into(const ElfFile &file, uint64_t file_offset)
{
    const ElfSymbols symbols = ElfSymbols::of(file, "/nowhere");
    if (const auto found = symbols.locate(file_offset))
        hold(found->offset <= *symbols.address_of(file_offset));
}

}  // namespace

// Queries the maps of processes while further map records still arrive, as in a recording from a
// pipe.
void session(Bytes bytes)
{
    const NamedBytes file(bytes);
    Result<Recording> recording = Recording::open(file.path(), {});
    if (!recording || !recording->read_front())
        return;
    Threads threads;
    Names names(recording->reader(), "/nowhere", std::nullopt, "/nowhere");
    Explainer explainer = names.explainer(threads);
    Unwinder unwinder(threads, names.programs(threads));
    Samples samples(*recording, [&](const EventSample &sample) {
        const perfdata::SampleId &sample_id = sample.sample.sample_id;
        const uint32_t pid = sample_id.pid.value_or(0), tid = sample_id.tid.value_or(0);
        const uint64_t time_ns = sample_id.time_ns.value_or(0);
        hold(threads.since_ns(pid, tid, time_ns) <= time_ns);
        threads.command(tid, time_ns);
        for (const StackFrame &frame : sample.frames) {
            const NamedFrames &found = explainer.frames_at(pid, frame.mode, frame.ip, time_ns);
            hold(!found.frames.empty() && !found.frames.back().is_inlined);
            explainer.function_at(pid, frame.mode, frame.ip, time_ns);
        }
    });
    samples.unwind_by(&unwinder);
    NoSink sink;
    (void)recording->walk(sink, [&](const perfdata::Record &record) -> Result<void> {
        threads.note(record, recording->reader());
        samples.note(record);
        return {};
    });
    samples.finish();
}

// The input has a mask of registers, the values of the registers, the size of the stack, and the
// stack. The rest is the program file.
void unwind(Bytes bytes)
{
    constexpr size_t kRegisters = 33;
    Script script(bytes);
    const uint64_t mask = script.number(8);
    std::vector<std::byte> words(kRegisters * sizeof(uint64_t));
    script.fill(words);
    std::vector<std::byte> stack(script.number(2));
    script.fill(stack);
    const Bytes program = script.take(bytes.size());
    const NamedBytes file(program);
    const Result<perfdata::Reader> reader = perfdata::Reader::open(empty_recording());
    hold(static_cast<bool>(reader));
    Threads threads;
    const std::string path = file.path();
    perfdata::Packer body;
    body.put(kPid).put(kPid).put(kBegin).put(uint64_t{program.size()} + 1).put(uint64_t{0});
    const size_t end = body.bytes().size() + path.size() / 8 * 8 + 8;
    body.put(as_bytes(path)).pad_to(end).put(uint64_t{1});
    threads.note(map_record(body), *reader);
    Programs programs(threads, "", *reader);
    Unwinder unwinder(threads, programs);
    perfdata::Sample sample;
    sample.sample_id.pid = sample.sample_id.tid = kPid;
    sample.user_regs = {2, mask, perfdata::WordView(words, std::endian::little)};
    sample.user_stack = stack;
    std::vector<uint64_t> calls;
    unwinder.unwind(sample, calls);
    hold(calls.size() <= Unwinder::kMostCalls);
    KernelSymbols kernel(*reader, std::nullopt, "/nowhere");
    Explainer explainer(threads, programs, kernel);
    for (const uint64_t ip : calls)
        hold(!explainer.frames_at(kPid, decode::imc::Mode::kUser, ip, 0).frames.empty());
    Result<ElfFile> elf = ElfFile::of(program);
    if (!elf)
        return;
    const uint64_t address = load<uint64_t>(words.data(), std::endian::little);
    look_into(*elf, address);
    constexpr size_t kWork = size_t{1} << 24;
    Budget work(kWork);
    Inlines inlines(std::move(*elf), "/nowhere", work);
    for (uint64_t step = 0; step < 4; step++)
        inlines.at(address + step * 16);
}

}  // namespace pmukit::fuzz
