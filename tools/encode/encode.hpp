// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A recording from a text of one screen: what is in it, and what must be said of it. For tests,
// also those of others. Documentation/components/encode.rst has the language, testdata/ has
// examples.
//
// The encoder shares no code with the decoders: a case says what stands in the bytes, so that an
// error common to both cannot hide.
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
    uint64_t period = 0;  // 0: its records say id and CPU alone; otherwise also ip, thread, time
    bool raw = false;     // its samples have a payload
    std::optional<int32_t> clock_id{};  // CLOCK_*, where one was chosen
};

// One record, in the order of the file. AUX: what the kernel said, and what the recorder then found
// of it.
struct Buffer {
    uint32_t type = PERF_RECORD_AUX;  // or SAMPLE, COMM, MMAP2, FORK, LOST, LOST_SAMPLES
    uint16_t misc = 0;
    uint64_t event_id = 0;
    uint32_t cpu = 0, pid = 0, tid = 0;
    uint64_t time_ns = 0;
    uint64_t ip = 0, period = 0;   // of a sample; period 0: the event's
    uint64_t flags = 0;            // PERF_AUX_FLAG_*
    uint64_t missing_bytes = 0;    // said by the kernel, but not in the file, behind the bytes
    bool of_thread = false;        // the AUX area belongs to the thread, not to a CPU
    std::vector<std::byte> bytes;  // of the area, of the payload, of the body
};

struct Expectation {
    std::string command;  // of pmukit, with its options, without the file
    std::string text;
};

struct Case {
    bool pipe = false;
    std::endian order = std::endian::native;
    std::string arch = "none", processor;  // of the host; processor: CPUDESC, if not empty
    std::vector<Pmu> pmus;
    std::vector<Event> events;
    std::vector<uint64_t> info;  // AUXTRACE_INFO: its type, then its words; empty: none
    std::vector<Buffer> buffers;
    std::vector<Expectation> expected;
};

// Error: with the number of the line.
Result<Case> parse_case(std::string_view text);

Result<void> write_recording(const Case &what, const std::string &path);

}  // namespace pmukit::encode
