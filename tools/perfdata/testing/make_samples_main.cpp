// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// make_samples little|big FILE: writes a recording for the corpus, in either byte order, whose
// samples have every field that a kernel can write. Recordings made in guests have no branch
// stacks, and perf prints the payload only of BPF output events. All values differ from each other.
#include <cstdio>
#include <string_view>

#include "perfdata/packer.hpp"
#include "perfdata/writer.hpp"

namespace {

using namespace pmukit;
using namespace pmukit::perfdata;

constexpr uint64_t kBpfOutput = 10;  // PERF_COUNT_SW_BPF_OUTPUT: perf script shows the payload
constexpr uint64_t kSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
    PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
    PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
    PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT_STRUCT |
    PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR |
    PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
constexpr uint64_t kUserRegs = 0xff0fff;
// A byte palindrome, because perf does not convert the byte order of this mask.
constexpr uint64_t kIntrRegs = 0x0180000000008001;
constexpr size_t kStackBytes = 32;
constexpr uint64_t kCgroup = 77;
constexpr size_t kTrailerBytes = 6 * sizeof(uint64_t);  // task, time, id, stream, CPU, id
constexpr std::string_view kPayload = "payload:1234";   // 16 bytes together with its size

struct Kind {
    uint64_t id, branch_sample_type;
};
constexpr Kind kKinds[] = {
    {7, PERF_SAMPLE_BRANCH_ANY},
    {9, PERF_SAMPLE_BRANCH_ANY | kBranchHwIndex},
};

std::vector<std::byte> attr_of(const Kind &kind, std::endian order)
{
    std::vector<std::byte> attr(128);
    const uint64_t id_all = uint64_t{1}
                            << (order == std::endian::little ? kAttrFlagSampleIdAll
                                                             : 63 - kAttrFlagSampleIdAll);
    store<uint32_t>(attr.data() + kAttrType, PERF_TYPE_SOFTWARE, order);
    store<uint32_t>(attr.data() + kAttrSize, static_cast<uint32_t>(attr.size()), order);
    store(attr.data() + kAttrConfig, kBpfOutput, order);
    store<uint64_t>(attr.data() + kAttrSamplePeriod, 1, order);
    store(attr.data() + kAttrSampleType, kSampleType, order);
    store(attr.data() + kAttrFlags, id_all, order);
    store(attr.data() + kAttrBranchSampleType, kind.branch_sample_type, order);
    store(attr.data() + kAttrSampleRegsUser, kUserRegs, order);
    store(attr.data() + kAttrSampleStackUser, static_cast<uint32_t>(kStackBytes), order);
    store(attr.data() + kAttrSampleRegsIntr, kIntrRegs, order);
    return attr;
}

// from, to and flags: struct perf_branch_entry, whose bit fields begin at the lowest bit on a
// little-endian machine and at the highest on a big-endian one. cycles: 16 bits from bit 4.
void put_branch(Packer &body, std::endian order, uint64_t at, bool mispredicted, uint64_t cycles)
{
    body.put(0x401000 + at).put(0x402000 + at);
    body.put(order == std::endian::little
                 ? uint64_t{mispredicted ? 1U : 2U} | cycles << 4
                 : uint64_t{mispredicted ? 2U : 1U} << 62 | cycles << (64 - 4 - 16));
}

void put_registers(Packer &body, uint64_t mask, uint64_t first, bool taken)
{
    if (!taken) {
        body.put(uint64_t{PERF_SAMPLE_REGS_ABI_NONE});
        return;
    }
    body.put(uint64_t{PERF_SAMPLE_REGS_ABI_64});
    for (uint64_t rest = mask; rest; rest &= rest - 1)
        body.put(first++);
}

void put_stack(Packer &body, bool taken)
{
    if (!taken) {
        body.put(uint64_t{0});
        return;
    }
    body.put(uint64_t{kStackBytes});
    for (uint64_t word = 0; word < kStackBytes / 8; word++)
        body.put(0x5aac000000000000 + word);
    body.put(uint64_t{kStackBytes - 8});  // valid bytes of the stack
}

// whole: true if fields that may be empty have content.
std::vector<std::byte> sample(const Kind &kind, std::endian order, uint32_t number, bool whole)
{
    const uint64_t n = number;
    Packer body(order);
    body.put(kind.id).put(0x400000 + n).put(100 + number).put(200 + number).put(1000000 * n);
    body.put(0x600000 + n).put(kind.id).put(kind.id + 1).put(number % 2).put(uint32_t{0});
    body.put(500 + n);
    body.put(uint64_t{3}).put(static_cast<uint64_t>(PERF_CONTEXT_USER));
    body.put(0x400000 + n).put(0x400100 + n);
    const std::string_view payload = kPayload.substr(0, whole ? kPayload.size() : 4);
    body.put(static_cast<uint32_t>(payload.size())).put(as_bytes(payload));
    body.put(whole ? uint64_t{2} : uint64_t{0});
    if (kind.branch_sample_type & kBranchHwIndex)
        body.put(whole ? 41 + n : UINT64_MAX);
    if (whole) {
        put_branch(body, order, 16 * n, true, 7);
        put_branch(body, order, 16 * n + 4, false, 0);
    }
    put_registers(body, kUserRegs, 0x1000 * n, whole);
    put_stack(body, whole);
    body.put(900 + n + (uint64_t{33} << 32) + (uint64_t{44} << 48));  // three weights in a word
    body.put(uint64_t{0x68100142}).put(uint64_t{0x1f});
    put_registers(body, kIntrRegs, 0x7000 + n, whole);
    body.put(0x800000000 + n).put(kCgroup + n % 4 / 2).put(uint64_t{4096}).put(uint64_t{2} << 20);
    Packer record(order);
    record.record_header(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 8 + body.bytes().size())
        .put(Bytes(body.bytes()));
    return record.take();
}

// The CGROUP record for the cgroup of half of the samples. The cgroup of the others has no name.
std::vector<std::byte> cgroup(std::endian order)
{
    constexpr std::string_view kPath("/made\0\0", 8);
    Packer record(order);
    record
        .record_header(PERF_RECORD_CGROUP, 0, kRecordHeaderBytes + 8 + kPath.size() + kTrailerBytes)
        .put(kCgroup)
        .put(as_bytes(kPath))
        .pad_to(kRecordHeaderBytes + 8 + kPath.size() + kTrailerBytes);
    return record.take();
}

Result<void> write(const std::string &path, std::endian order)
{
    std::vector<WriterEvent> events;
    for (const Kind &kind : kKinds)
        events.push_back(
            {attr_of(kind, order), {kind.id}, "bpf-output-" + std::to_string(kind.id)});
    HostInfo host;
    host.arch = "x86_64";  // otherwise perf names no registers
    host.hostname = "made";
    host.cpus_available = host.cpus_online = 2;
    host.pmus = {{PERF_TYPE_SOFTWARE, "software"}};
    Result<Writer> writer = Writer::create(path, std::move(events), host, order);
    if (!writer)
        return writer.error();
    if (Result<void> written = writer->records(cgroup(order)); !written)
        return written;
    for (uint32_t number = 1; number <= 8; number++) {
        const Kind &kind = kKinds[number % std::size(kKinds)];
        const auto record = sample(kind, order, number, number <= 6);
        if (Result<void> written = writer->records(record); !written)
            return written;
    }
    return writer->finish();
}

}  // namespace

int main(int count, char **words)
{
    const std::string_view order = count == 3 ? words[1] : "";
    if (order != "little" && order != "big") {
        std::fprintf(stderr, "usage: make_samples little|big FILE\n");
        return 2;
    }
    const Result<void> written =
        write(words[2], order == "little" ? std::endian::little : std::endian::big);
    if (!written)
        std::fprintf(stderr, "make_samples: %s\n", written.error().message.c_str());
    return written ? 0 : 1;
}
