// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit-model: runs one device model as a vfio-user server, for a QEMU guest to attach to.
#include <fmt/format.h>
#include <link.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/pmukit_model_build_id.hpp"
#include "cli/pmukit_model_cxl_hmu.hpp"
#include "cli/pmukit_model_exit.hpp"

namespace pmukit::cli {
namespace {

void list_faults()
{
    for (const models::cxl_hmu::Fault &fault : models::cxl_hmu::faults())
        fmt::print("cxl_hmu  {:<28} {}\n", fault.name, fault.effect);
}

int run(int argc, char **argv)
{
    CLI::App app("Device models for pmukit, as vfio-user servers", "pmukit-model");
    app.set_version_flag("--version", "pmukit-model build " + build_id());
    bool wants_faults = false;
    app.add_flag("--list-faults", wants_faults, "name the ways in which a model can be broken");
    app.require_subcommand(0, 1);
    CxlHmuCommand cxl_hmu(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success &success) {
        return app.exit(success);
    } catch (const CLI::ParseError &error) {
        return give_up({Errc::kUsage, error.what()});
    }
    if (wants_faults) {
        list_faults();
        return kExitGood;
    }
    if (cxl_hmu.chosen())
        return cxl_hmu.run();
    return give_up({Errc::kUsage, "which model? pmukit-model --help names them"});
}

}  // namespace
}  // namespace pmukit::cli

int main(int argc, char **argv)
{
    // No room throws at its edges; what arrives here is memory running out, or a bug.
    try {
        return pmukit::cli::run(argc, argv);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "pmukit-model: %s\n", failure.what());
        return pmukit::cli::kExitMachinery;
    }
}
