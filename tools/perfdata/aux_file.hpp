// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The AUX buffers of a file as an array: by number, in any order, by several threads. For a file
// that is read once from front to end AuxMerge does more: it also knows what was lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

struct AuxBuffer {
    uint64_t record_offset = 0;  // of the AUXTRACE record in the file
    uint64_t data_offset = 0;    // of its payload in the file
    uint64_t bytes = 0;          // of the payload
    AuxtraceRecord trace;
};

class AuxFile {
public:
    // Buffers come from the index in the header; where that is missing or wrong in any entry, from
    // a walk over the records. Memory: 72 bytes a buffer. The file is mapped: when it becomes
    // shorter, an access to what is gone is a SIGBUS.
    static Result<AuxFile> open(const std::string &path);
    AuxFile(AuxFile &&) noexcept;
    AuxFile &operator=(AuxFile &&) noexcept;
    ~AuxFile();

    // Events, PMU names and so on; at the end of its records when they were walked.
    const Reader &reader() const;
    const std::vector<AuxBuffer> &buffers() const;
    bool from_index() const;

    // Borrowed for the life of the file. buffer: of buffers().
    Bytes data(size_t buffer) const;

    // visit(number of the buffer, its bytes), once for each, by so many threads at once (0: one per
    // CPU) in no particular order. Pages of a visited buffer are given back to the system. visit
    // must not throw: an exception ends the program (std::terminate), whatever the number of
    // threads.
    void for_each_buffer(unsigned threads, const std::function<void(size_t, Bytes)> &visit) const;

private:
    struct State;
    explicit AuxFile(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::perfdata
