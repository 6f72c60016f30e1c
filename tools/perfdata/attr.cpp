// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// perf_event_attr from bytes. Fields that an older attribute lacks are zero.
#include "perfdata/attr.hpp"

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

uint64_t u64_or_zero(Bytes bytes, size_t at, std::endian order)
{
    if (bytes.size() < at + sizeof(uint64_t))
        return 0;
    return load<uint64_t>(bytes.data() + at, order);
}

// Bit fields are allocated from the other end of the word on big-endian machines.
bool flag(uint64_t flags, unsigned bit, std::endian order)
{
    unsigned at = order == std::endian::little ? bit : 63 - bit;
    return (flags >> at) & 1;
}

}  // namespace

Result<Attr> parse_attr(Bytes bytes, std::endian order)
{
    if (bytes.size() < kAttrMinBytes)
        return Error{Errc::kTruncated, "event attribute of fewer than 64 bytes"};

    // Size 0 means the first published size; a larger claim than there is room for is cut to the
    // room.
    size_t claimed = load<uint32_t>(bytes.data() + kAttrSize, order);
    if (claimed < kAttrMinBytes)
        claimed = kAttrMinBytes;
    if (claimed < bytes.size())
        bytes = bytes.first(claimed);

    Attr attr;
    attr.type = load<uint32_t>(bytes.data() + kAttrType, order);
    attr.config = u64_or_zero(bytes, kAttrConfig, order);
    attr.config1 = u64_or_zero(bytes, kAttrConfig1, order);
    attr.config2 = u64_or_zero(bytes, kAttrConfig2, order);
    attr.sample_period = u64_or_zero(bytes, kAttrSamplePeriod, order);
    attr.sample_type = u64_or_zero(bytes, kAttrSampleType, order);
    attr.read_format = u64_or_zero(bytes, kAttrReadFormat, order);
    attr.sample_id_all = flag(u64_or_zero(bytes, kAttrFlags, order), kAttrFlagSampleIdAll, order);
    return attr;
}

}  // namespace pmukit::perfdata
