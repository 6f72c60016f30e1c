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

constexpr TermValue kEpochTypes[] = {{0, "epoch"}, {1, "always on"}};
constexpr TermValue kAccessTypes[] = {
    {1, "non-TEE read"}, {2, "non-TEE write"}, {3, "non-TEE read and write"},
    {4, "all read"},     {5, "all write"},     {6, "all read and write"},
};
constexpr TermValue kEpochScales[] = {
    {1, "100 us"}, {2, "1 ms"}, {3, "10 ms"}, {4, "100 ms"}, {5, "1 s"}};

constexpr Term kTerms[] = {
    {"epoch_type", 0, 0, 1, {}, kEpochTypes},
    {"access_type", 0, 2, 9, {}, kAccessTypes},
    {"epoch_scale", 0, 10, 13, {}, kEpochScales},
    {"epoch_multiplier", 0, 14, 25, "times epoch_scale"},
    {"randomized_downsampling", 0, 26, 26},
    {"downsampling_factor", 0, 27, 42, "accesses per count"},
    {"hotness_threshold", 1, 0, 31, "counts in an epoch"},
    {"hotness_granual", 1, 32, 63, "log2 of the unit in bytes"},
    {"range_base", 2, 0, 31, "in 256 MiB"},
    {"range_size", 2, 32, 63, "in 256 MiB"},
};

}  // namespace

extern const DriverDescription cxl_hmu_driver;
constinit const DriverDescription cxl_hmu_driver = {
    .name = "cxl_hmu",
    .modules = kModules,
    .counting_pmus = {},
    .recorded = &kRecorded,
    .terms = kTerms,
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
