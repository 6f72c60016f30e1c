// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers.hpp"
#include "cli/drivers/imc/handlers.hpp"
#include "cli/suite.hpp"
#include "decode/imc/imc_decode.hpp"

namespace pmukit::cli {
namespace {

constexpr std::string_view kModules[] = {"imc", "imc_engine"};
constexpr std::string_view kCountingPmus[] = {"core_imc", "thread_imc", "nest_"};

constexpr Driver kRecorded = {
    "imc", "trace_imc", 0, decode::imc::looks_like_records, decode::imc::words_of_raw, true};

constexpr OtherDriver kOthers[] = {
    {"the in-tree imc driver has PMUs: stock perf records trace_imc, pmukit report reads the file",
     [](const Host &host) { return has_pmu(host, "nest_") && !is_ours(host, "imc"); },
     Health::kGood, ""},
};

// Of trace_imc.
constexpr Term kTerms[] = {
    {"cpmc_reserved", 0, 0, 19},
    {"cpmc_event", 0, 20, 27},
    {"cpmc_samplesel", 0, 28, 29},
    {"cpmc_load", 0, 30, 61},
};

}  // namespace

extern const DriverDescription imc_driver;
constinit const DriverDescription imc_driver = {
    .name = "imc",
    .modules = kModules,
    .counting_pmus = kCountingPmus,
    .recorded = &kRecorded,
    .terms = kTerms,
    .example_terms = "trace_cycles",
    .record_clock = std::nullopt,
    .dump = make_imc_dump,
    .report = make_imc_report,
    .inject = make_imc_inject,
    .make_export = make_imc_export,
    .export_table = "imc",
    .live = nullptr,
    .trace_event = nullptr,
    .resolve = nullptr,
    .aux_bytes = 0,
    .others = kOthers,
    .check = nullptr,
    .probe_terms = nullptr,
};

}  // namespace pmukit::cli
