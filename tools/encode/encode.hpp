// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Generates a recording from a short text, a case: its contents, and the output expected from
// pmukit commands. For tests, including those of other projects.
// Documentation/components/encode.rst describes the language, testdata/ has examples.
//
// The encoder shares no code with the decoders, because a test would not find an error in shared
// code: a case states the bytes themselves.
#pragma once

#include <linux/perf_event.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace pmukit::encode {

struct Pmu {
    uint32_t type = 0;  // attr.type
    std::string name;
    std::vector<std::pair<std::string, std::string>> caps{};  // its PMU_CAPS: names and values
};

struct Event {
    uint64_t id = 0;
    uint32_t type = 0;
    std::string name;
    uint64_t config = 0;
    uint64_t period = 0;  // 0: records carry only id and CPU; otherwise also ip, thread and time
    bool raw = false;     // samples have a raw payload
    std::optional<int32_t> clock_id{};  // CLOCK_*, if -k was given
};

// One record, in file order. For AUX: the kernel's AUX record and the data that the recorder saved
// for it.
struct Buffer {
    uint32_t type = PERF_RECORD_AUX;  // or SAMPLE, COMM, MMAP2, FORK, LOST, LOST_SAMPLES
    uint16_t misc = 0;
    uint64_t event_id = 0;
    uint32_t cpu = 0, pid = 0, tid = 0;
    uint64_t time_ns = 0;
    uint64_t ip = 0, period = 0;   // for a sample; period 0: that of the event
    uint64_t flags = 0;            // PERF_AUX_FLAG_*
    uint64_t missing_bytes = 0;    // announced by the AUX record after `bytes`, not in the file
    bool of_thread = false;        // the AUX area belongs to the thread, not to a CPU
    std::vector<std::byte> bytes;  // AUX data, raw payload or record body
};

struct Expectation {
    std::string command;  // pmukit command and options, without the file name
    std::string text;
};

struct Case {
    bool pipe = false;
    std::endian order = std::endian::native;
    std::string arch = "none";  // architecture of the host
    std::string processor;      // CPUDESC of the host; empty: no such feature section
    std::vector<Pmu> pmus;
    std::vector<Event> events;
    std::vector<uint64_t> info;  // AUXTRACE_INFO: type, then words; empty: no such record
    std::vector<Buffer> buffers;
    std::vector<Expectation> expected;
};

// The message of an error has the number of the line.
Result<Case> parse_case(std::string_view text);

Result<void> write_recording(const Case &what, const std::string &path);

}  // namespace pmukit::encode
