// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers.hpp"
#include "cli/drivers/cxl_hmu/handlers.hpp"
#include "cli/suite.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

namespace pmukit::cli {
namespace {

constexpr std::string_view kModules[] = {"cxl_hmu"};

constexpr Driver kRecorded = {"cxl_hmu", decode::cxl_hmu::kPmuPrefix, 0,
                              decode::cxl_hmu::looks_like_record, decode::cxl_hmu::words_of_raw};

constexpr OtherDriver kOthers[] = {
    {"cxl_hmu is loaded, but cxl_pci is not",
     [](const Host &host) {
         return is_ours(host, "cxl_hmu") && !host.has_module("cxl_pci") &&
                host.text("sys/module/cxl_hmu/parameters/standalone") != "Y";
     },
     Health::kNote, "modprobe cxl_pci, or insmod cxl_hmu.ko standalone=1"},
};

// An event without terms can be opened: the defaults of all terms are valid.
Result<std::string> probe_terms(const Host &, const std::string &)
{
    return std::string();
}

}  // namespace

extern const DriverDescription cxl_hmu_driver;
constinit const DriverDescription cxl_hmu_driver = {
    .name = "cxl_hmu",
    .modules = kModules,
    .counting_pmus = {},
    .recorded = &kRecorded,
    .example_terms =
        "epoch_type=0,access_type=3,hotness_threshold=16,epoch_multiplier=1,epoch_scale=4,hotness_"
        "granual=12",
    .record_clock = std::nullopt,
    .dump = make_cxl_hmu_dump,
    .report = make_cxl_hmu_report,
    .inject = make_cxl_hmu_inject,
    .make_export = make_cxl_hmu_export,
    .export_table = "cxl_hmu",
    .live = make_cxl_hmu_live,
    .trace_event = "cxl_hmu/cxl_hmu_record",
    .resolve = nullptr,
    .aux_bytes = 0,
    .others = kOthers,
    .check = nullptr,
    .probe_terms = probe_terms,
};

}  // namespace pmukit::cli
