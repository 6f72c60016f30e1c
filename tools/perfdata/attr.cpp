// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses perf_event_attr from bytes. Fields that an older attribute lacks are zero.
#include "perfdata/attr.hpp"

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

template <std::unsigned_integral T>
T or_zero(Bytes bytes, size_t at, std::endian order)
{
    if (bytes.size() < at + sizeof(T))
        return 0;
    return load<T>(bytes.data() + at, order);
}

uint64_t u64_or_zero(Bytes bytes, size_t at, std::endian order)
{
    return or_zero<uint64_t>(bytes, at, order);
}

// Reverses the bits: on big-endian machines, bit fields are allocated from the other end of the
// word.
uint64_t reversed(uint64_t word)
{
    uint64_t mirrored = 0;
    for (unsigned bit = 0; bit < 64; bit++)
        mirrored |= ((word >> bit) & 1) << (63 - bit);
    return mirrored;
}

bool flag(const Attr &attr, unsigned bit)
{
    return (attr.flags >> bit) & 1;
}

}  // namespace

Result<Attr> parse_attr(Bytes bytes, std::endian order)
{
    if (bytes.size() < kAttrMinBytes)
        return Error{Errc::kTruncated, "event attribute of fewer than 64 bytes"};

    // A size below 64, such as 0, means 64, the first published size. A size above the number of
    // the given bytes is limited to that number.
    size_t claimed = load<uint32_t>(bytes.data() + kAttrSize, order);
    if (claimed < kAttrMinBytes)
        claimed = kAttrMinBytes;
    if (claimed < bytes.size())
        bytes = bytes.first(claimed);

    Attr attr;
    attr.type = load<uint32_t>(bytes.data() + kAttrType, order);
    attr.config = u64_or_zero(bytes, kAttrConfig, order);
    attr.bp_type = or_zero<uint32_t>(bytes, kAttrBpType, order);
    attr.config1 = u64_or_zero(bytes, kAttrConfig1, order);
    attr.config2 = u64_or_zero(bytes, kAttrConfig2, order);
    attr.sample_period = u64_or_zero(bytes, kAttrSamplePeriod, order);
    attr.sample_type = u64_or_zero(bytes, kAttrSampleType, order);
    attr.read_format = u64_or_zero(bytes, kAttrReadFormat, order);
    attr.config3 = u64_or_zero(bytes, kAttrConfig3, order);
    attr.config4 = u64_or_zero(bytes, kAttrConfig4, order);
    attr.branch_sample_type = u64_or_zero(bytes, kAttrBranchSampleType, order);
    attr.sample_regs_user = u64_or_zero(bytes, kAttrSampleRegsUser, order);
    attr.sample_regs_intr = u64_or_zero(bytes, kAttrSampleRegsIntr, order);
    attr.sample_stack_user = or_zero<uint32_t>(bytes, kAttrSampleStackUser, order);
    attr.aux_sample_size = or_zero<uint32_t>(bytes, kAttrAuxSampleSize, order);
    attr.clock_id = static_cast<int32_t>(or_zero<uint32_t>(bytes, kAttrClockId, order));
    uint64_t flags = u64_or_zero(bytes, kAttrFlags, order);
    attr.flags = order == std::endian::little ? flags : reversed(flags);
    attr.sample_id_all = flag(attr, kAttrFlagSampleIdAll);
    attr.freq = flag(attr, kAttrFlagFreq);
    attr.use_clockid = flag(attr, kAttrFlagUseClockId);
    return attr;
}

}  // namespace pmukit::perfdata
