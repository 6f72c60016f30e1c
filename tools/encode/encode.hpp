// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Generates a recording from a case. A case is a short text that describes the contents of the
// recording, and the output that is expected from pmukit commands. Tests use it, including tests of
// other projects. Documentation/components/encode.rst describes the language; testdata/ has
// examples.
//
// The encoder shares no code with the decoders, because tests would not find an error in shared
// code. For the same reason a case states the bytes of the data.
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
#include "perfdata/features.hpp"

namespace pmukit::encode {

struct Pmu {
    uint32_t type = 0;  // attr.type
    std::string name;
    // Names and values of the PMU's capabilities, for the feature section PMU_CAPS.
    std::vector<std::pair<std::string, std::string>> caps{};
};

struct Event {
    uint64_t id = 0;
    uint32_t type = 0;
    std::string name;
    uint64_t config = 0;
    // If 0, records contain only the event id and CPU; otherwise also ip, thread and time.
    uint64_t period = 0;
    bool raw = false;                   // samples have a raw payload
    std::optional<int32_t> clock_id{};  // CLOCK_*, as with the option -k of perf record
};

// One record; the records are in the order of the file. An AUX record includes the data that the
// recorder saved for it.
struct Buffer {
    // Also SAMPLE, COMM, MMAP2, FORK, LOST, LOST_SAMPLES or THROTTLE.
    uint32_t type = PERF_RECORD_AUX;
    uint16_t misc = 0;
    uint64_t event_id = 0;
    uint32_t cpu = 0, pid = 0, tid = 0;
    uint64_t time_ns = 0;
    // Fields of a sample. If the period is 0, it is that of the event.
    uint64_t ip = 0, period = 0;
    uint64_t flags = 0;  // PERF_AUX_FLAG_*
    // The AUX record announces these bytes after `bytes`, but the file does not contain them.
    uint64_t missing_bytes = 0;
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
    // The moment at which the clock of -k was compared with the wall clock.
    std::optional<perfdata::ClockData> clock{};
    std::string processor;  // CPU description of the host; empty: no feature section CPUDESC
    std::vector<Pmu> pmus;
    std::vector<Event> events;
    // The AUXTRACE_INFO record: its type and then its words. If empty, there is no such record.
    std::vector<uint64_t> info;
    std::vector<Buffer> buffers;
    std::vector<Expectation> expected;
};

// If the text is invalid, the message of the error has the line number.
Result<Case> parse_case(std::string_view text);

Result<void> write_recording(const Case &what, const std::string &path);

}  // namespace pmukit::encode
