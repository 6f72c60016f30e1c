// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The AUX buffers of a file as an array, for access by index, in any order, from several threads.
// To read a file once from front to end, use AuxMerge, which also reports losses.
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
    uint64_t record_offset = 0;  // offset of the AUXTRACE record in the file
    uint64_t data_offset = 0;    // offset of its payload in the file
    uint64_t bytes = 0;          // size of the payload
    AuxtraceRecord trace;
};

class AuxFile {
public:
    // Reads the buffers from the index in the header. If the index is missing or any entry is
    // invalid, walks the records instead. Memory: 72 bytes per buffer. The file is mapped: if it
    // becomes shorter, an access past its new end raises SIGBUS.
    static Result<AuxFile> open(const std::string &path);
    AuxFile(AuxFile &&) noexcept;
    AuxFile &operator=(AuxFile &&) noexcept;
    ~AuxFile();

    // Reader of the events, PMU names and so on. If open() walked the records, the reader is at
    // their end.
    const Reader &reader() const;
    const std::vector<AuxBuffer> &buffers() const;
    bool from_index() const;

    // The result is valid as long as this object. buffer: index in buffers().
    Bytes data(size_t buffer) const;

    // Calls visit(index of the buffer, its bytes) once per buffer, in no particular order, from
    // `threads` threads (0: one per CPU). Pages of a visited buffer are dropped from memory. visit
    // must not throw: an exception ends the program (std::terminate) for any number of threads.
    void for_each_buffer(unsigned threads, const std::function<void(size_t, Bytes)> &visit) const;

private:
    struct State;
    explicit AuxFile(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::perfdata
