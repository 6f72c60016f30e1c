// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses the lines of a case that describe kernel records, and encodes all records.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "encode/encode.hpp"
#include "encode/lines.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::encode {

Result<void> read_sample(Case &into, Words words);
Result<void> read_comm(Case &into, Words words);
Result<void> read_mmap(Case &into, Words words);
Result<void> read_fork(Case &into, Words words);
Result<void> read_lost(Case &into, Words words);
Result<void> read_lost_samples(Case &into, Words words);
Result<void> read_throttle(Case &into, Words words);

// Sets cpu, pid, tid or time. Returns false for any other word.
bool read_sample_id(Buffer &into, std::string_view word, uint64_t value);
// Returns true if lines of bytes may follow.
bool takes_bytes(const Buffer &buffer);

perfdata::WriterEvent writer_event(const Event &event, std::endian order);
std::vector<std::byte> record_of(const Case &what, const Buffer &buffer);
std::vector<std::byte> aux_record(const Case &what, const Buffer &buffer, uint64_t offset);

}  // namespace pmukit::encode
