// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Records that pmukit record makes itself, from files of the kernel instead of perf events. They
// have the format of a driver's AUX data, so that all commands read them. One thread uses it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "perfdata/writer.hpp"
#include "record/recorder.hpp"

namespace pmukit::cli {

class SourceRecorder {
public:
    virtual ~SourceRecorder() = default;
    // The event and the PMU in the recording. No PMU of sysfs has this type.
    virtual perfdata::WriterEvent event() const = 0;
    virtual uint32_t type() const = 0;
    virtual perfdata::HostInfo::Caps caps() const = 0;
    virtual std::string target() const = 0;  // for --dry-run
    virtual std::chrono::milliseconds interval() const = 0;
    // Call when a file begins: it must be readable without the previous file.
    virtual void begin_file() = 0;
    // Reads all values once. `last`: the recording ends. Returns false if the source is gone.
    virtual Result<bool> pass(record::RecordSink &sink, bool last) = 0;
    // Messages about the recording as a whole, after the last pass.
    virtual std::vector<std::string> remarks() const = 0;
};

}  // namespace pmukit::cli
