// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers/imc/mode.hpp"

#include <linux/perf_event.h>

#include <charconv>
#include <optional>

#include "perfdata/features.hpp"
#include "perfdata/format.hpp"

namespace pmukit::cli {
namespace {

using decode::imc::Mode;
using decode::imc::ModeRule;

struct ModeRow {
    Mode mode;
    uint16_t misc;
    std::string_view name;
};
constexpr ModeRow kModes[] = {
    {Mode::kGuestKernel, PERF_RECORD_MISC_GUEST_KERNEL, "guest-kernel"},
    {Mode::kGuestUser, PERF_RECORD_MISC_GUEST_USER, "guest-user"},
    {Mode::kKernel, PERF_RECORD_MISC_KERNEL, "kernel"},
    {Mode::kUser, PERF_RECORD_MISC_USER, "user"},
};

std::string_view text_of(const perfdata::Reader &reader, unsigned feature)
{
    const std::optional<Bytes> content = reader.feature(feature);
    if (!content)
        return {};
    return perfdata::parse_text_feature(*content, reader.order()).value_or(std::string_view());
}

// Returns 10 for "POWER10 (architected), altivec supported"; 0 for a text without a generation.
unsigned power_generation(std::string_view description)
{
    constexpr std::string_view kPower = "POWER";
    unsigned generation = 0;
    if (description.starts_with(kPower))
        std::from_chars(description.data() + kPower.size(), description.data() + description.size(),
                        generation);
    return generation;
}

}  // namespace

ModeRule imc_mode_rule(const perfdata::Reader &reader)
{
    constexpr unsigned kFirstOfIsa31 = 10;
    const std::string_view arch = text_of(reader, perfdata::kFeatArch);
    const bool power = arch.empty() || arch.starts_with("ppc");
    const unsigned generation = power_generation(text_of(reader, perfdata::kFeatCpuDesc));
    return power && generation < kFirstOfIsa31 ? ModeRule::kAddress : ModeRule::kHvPr;
}

std::string_view imc_mode_name(Mode mode)
{
    return kModes[static_cast<size_t>(mode)].name;
}

uint16_t misc_of_imc_mode(Mode mode)
{
    return kModes[static_cast<size_t>(mode)].misc;
}

}  // namespace pmukit::cli
