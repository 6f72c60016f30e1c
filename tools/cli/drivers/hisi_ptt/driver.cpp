// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers.hpp"
#include "cli/drivers/hisi_ptt/handlers.hpp"
#include "cli/drivers/hisi_ptt/record.hpp"
#include "cli/suite.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"

namespace pmukit::cli {
namespace {

constexpr std::string_view kModules[] = {"hisi_ptt"};

constexpr uint32_t kAuxtraceType = 6;
constexpr Driver kRecorded = {
    .name = "hisi_ptt",
    .pmu_prefix = "hisi_ptt",
    .auxtrace_type = kAuxtraceType,
    .looks_like = decode::hisi_ptt::looks_like_entries,
    .words_of_raw = decode::hisi_ptt::words_of_raw,
    .entry_bytes = decode::hisi_ptt::entry_bytes,
    .decoder_version = decode::hisi_ptt::decoder_version,
    .newest_decoder = decode::hisi_ptt::kDecoderVersion,
    .auxtrace_word = decode::hisi_ptt::auxtrace_word,
    .loss_cap = "aux_min_bytes",
    .word_of_version = decode::hisi_ptt::word_of_version,
};

// The in-tree driver needs an AUX area of at least 16 MiB.
constexpr size_t kAuxBytes = size_t{16} << 20;

constexpr OtherDriver kOthers[] = {
    {"the in-tree hisi_ptt drives the PCIe trace devices: all commands support it",
     [](const Host &host) { return host.has_module("hisi_ptt") && !is_ours(host, "hisi_ptt"); },
     Health::kGood, ""},
};

// A PCIe trace device writes to physical addresses, so the IOMMU must not translate them:
// Documentation/devices/hisi_ptt.rst.

bool is_trace_device(const Host &host, const std::string &device)
{
    return host.text(device + "/vendor") == "0x19e5" && host.text(device + "/device") == "0xa12e";
}

void check_iommu(const Host &host, std::vector<Finding> &findings)
{
    bool any = false;
    for (const std::string &name : host.names("sys/bus/pci/devices")) {
        const std::string device = "sys/bus/pci/devices/" + name;
        if (!is_trace_device(host, device))
            continue;
        any = true;
        const auto domain = host.text(device + "/iommu_group/type");
        if (!domain || *domain == "identity")
            findings.push_back({"iommu", Health::kGood,
                                name + (domain ? ": identity domain" : ": not behind an IOMMU")});
        else
            findings.push_back(
                {"iommu", Health::kBad,
                 fmt::format("{}: the IOMMU translates its addresses (type {})", name, *domain),
                 "boot with iommu=pt (intel_iommu=on iommu=pt, arm-smmu: "
                 "iommu.passthrough=1)"});
    }
    if (!any)
        findings.push_back({"iommu", Health::kGood, "no PCIe trace device"});
}

Result<std::string> probe_terms(const Host &host, const std::string &pmu)
{
    auto ports = host.names(fmt::format("{}/{}/root_port_filters", kPmus, pmu));
    std::erase(ports, "multiselect");
    if (ports.empty())
        return Error{Errc::kNotFound, pmu + ": it has no root port"};
    return fmt::format("filter={},type=1,direction=1,format=1", ports.front());
}

constexpr TermValue kDirections[] = {{0, "inbound; only in format 0"},
                                     {1, "outbound"},
                                     {2, "inbound with completions B; in format 0 also outbound"},
                                     {3, "inbound completions A; in format 0 also outbound"}};
constexpr TermValue kTypes[] = {{1, "posted"}, {2, "non-posted"}, {4, "completions"}};
constexpr TermValue kFormats[] = {{0, "4DW"}, {1, "8DW"}};

constexpr Term kTerms[] = {
    {"filter", 0, 0, 19, {}, {}, true},
    {"direction", 0, 20, 23, {}, kDirections},
    {"type", 0, 24, 31, "sum of 1 posted, 2 non-posted, 4 completions", kTypes},
    {"format", 0, 32, 35, {}, kFormats},
};

}  // namespace

extern const DriverDescription hisi_ptt_driver;
constinit const DriverDescription hisi_ptt_driver = {
    .name = "hisi_ptt",
    .modules = kModules,
    .counting_pmus = {},
    .recorded = &kRecorded,
    .terms = kTerms,
    .example_terms = "filter=0000:00:10.0,type=1,direction=1,format=1",
    .record_clock = std::nullopt,
    .dump = make_hisi_ptt_dump,
    .report = make_hisi_ptt_report,
    .inject = make_hisi_ptt_inject,
    .make_export = make_hisi_ptt_export,
    .export_table = "hisi_ptt",
    .live = make_hisi_ptt_live,
    .trace_event = "hisi_ptt/hisi_ptt_record",
    .resolve = resolve_filter,
    .aux_bytes = kAuxBytes,
    .others = kOthers,
    .check = check_iommu,
    .probe_terms = probe_terms,
};

}  // namespace pmukit::cli
