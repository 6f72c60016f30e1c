// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/tpmi.hpp"

#include <algorithm>
#include <iterator>

#include "models/uncore_pmon/uncore_pmon_regs.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

struct Feature {
    uint8_t id;
    uint64_t at;  // offset from the start of the table, in KiB
    unsigned banks;
    unsigned dwords;
};
constexpr uint8_t kControl = 0x80;
constexpr uint64_t kControlAt = 0x800;
constexpr Feature kFeatures[kTpmiEntries] = {
    {.id = 0x81, .at = 1, .banks = 1, .dwords = 4},  // information
    {.id = kControl, .at = kControlAt >> 10, .banks = 1, .dwords = 4},
    {.id = 0x00, .at = 3, .banks = 1, .dwords = 32},  // RAPL
    {.id = 0x02, .at = 4, .banks = 2, .dwords = 16},  // uncore frequency
};

constexpr Field kTableId{0, 7}, kTableBanks{8, 15}, kTableDwords{16, 31}, kTableAt{32, 47};

// The mailbox: a status qword, and a qword with command and data.
constexpr Field kRunBusy{0, 0}, kOwner{4, 5}, kCompletion{6, 6}, kResult{8, 15};
constexpr uint64_t kInBand = 1;
constexpr uint64_t kSuccess = 0x40, kNoSuchState = 0x90;
constexpr Field kWhat{0, 7}, kAskedFeature{40, 47}, kData{32, 63};
constexpr uint64_t kGetState = 0x10;
constexpr uint64_t kEnabled = 1;
constexpr unsigned kStateIdShift = 8;

const Feature *feature_at(uint64_t at)
{
    const auto *found = std::ranges::find_if(kFeatures, [at](const Feature &feature) {
        const uint64_t begin = feature.at << 10;
        return at >= begin && at < begin + uint64_t{feature.banks} * feature.dwords * 4;
    });
    return found == std::end(kFeatures) ? nullptr : found;
}

uint64_t bank_qword(const Feature &feature, uint64_t at)
{
    const uint64_t bank_bytes = uint64_t{feature.dwords} * 4;
    const uint64_t bank = at / bank_bytes, number = at % bank_bytes / 8;
    return number == 0 ? 0 : uint64_t{feature.id} << 16 | bank << 8 | number;
}

}  // namespace

uint64_t Tpmi::qword(uint64_t at) const
{
    if (at < kTpmiEntries * 8) {
        const Feature &feature = kFeatures[at / 8];
        return kTableId.put(feature.id) | kTableBanks.put(feature.banks) |
               kTableDwords.put(feature.dwords) | kTableAt.put(feature.at);
    }
    if (at == kControlAt)
        return status_;
    if (at == kControlAt + 8)
        return command_;
    const Feature *feature = feature_at(at);
    return feature ? bank_qword(*feature, at - (feature->at << 10)) : 0;
}

uint64_t Tpmi::read(uint64_t offset, unsigned width) const
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        const uint64_t at = offset - kTpmiAt + i;
        value |= (qword(at & ~uint64_t{7}) >> (8 * (at % 8)) & 0xff) << (8 * i);
    }
    return value;
}

void Tpmi::execute()
{
    const uint64_t asked = kAskedFeature.get(command_);
    const bool known = kWhat.get(command_) == kGetState &&
                       std::ranges::any_of(kFeatures, [asked](const Feature &feature) {
                           return feature.id == asked;
                       });
    command_ = kData.set(command_, known ? kEnabled | asked << kStateIdShift : 0);
    status_ = kResult.set(kOwner.put(kInBand), known ? kSuccess : kNoSuchState);
}

bool Tpmi::write(uint64_t offset, unsigned width, uint64_t value)
{
    const uint64_t at = offset - kTpmiAt;
    if (width != 8 || (at != kControlAt && at != kControlAt + 8))
        return false;
    if (at != kControlAt) {
        command_ = value;
        status_ = kOwner.put(kInBand);
    } else if (kCompletion.get(value)) {
        status_ = 0;
    } else if (kRunBusy.get(value) && kOwner.get(status_) == kInBand) {
        execute();
    }
    return true;
}

}  // namespace pmukit::models::uncore_pmon
