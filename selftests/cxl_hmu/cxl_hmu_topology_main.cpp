// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// cxl_hmu_topology_checker: compares the host addresses in a report with those computed from the
// device's region. The region has one interleave way, so HPA = resource + (DPA - DPA of the
// decoder). Exit codes: 0 all checks passed, 1 a check failed, 2 wrong usage or unreadable input.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

constexpr int kExitFailed = 1, kExitUsage = 2;

struct Region {
    uint64_t resource = 0, dpa = 0, size = 0;
};

// Reads a file with the text "resource <number> dpa <number> size <number>".
bool read_region(const std::string &path, Region &region)
{
    std::ifstream in(path);
    std::string names[3], values[3];
    for (int i = 0; i < 3; i++)
        in >> names[i] >> values[i];
    if (!in || names[0] != "resource" || names[1] != "dpa" || names[2] != "size")
        return false;
    region = {std::stoull(values[0], nullptr, 0), std::stoull(values[1], nullptr, 0),
              std::stoull(values[2], nullptr, 0)};
    return true;
}

// Prints each wrong address, and at the end the number of correct ones.
bool check_report(const nlohmann::json &report, const Region &region)
{
    uint64_t units = 0, wrong = 0;
    for (const nlohmann::json &pmu : report.at("pmus")) {
        for (const nlohmann::json &hot : pmu.at("hot")) {
            uint64_t dpa = hot.at("dpa").get<uint64_t>();
            bool within = dpa >= region.dpa && dpa - region.dpa < region.size;
            nlohmann::json wanted =
                within ? nlohmann::json(region.resource + (dpa - region.dpa)) : nlohmann::json();
            units++;
            if (hot.at("hpa") == wanted)
                continue;
            wrong++;
            fmt::print("checker: NOT OK: DPA {:#x}: HPA {}, not {}\n", dpa, hot.at("hpa").dump(),
                       wanted.dump());
        }
    }
    fmt::print("checker: {} units, {} at the region's addresses\n", units, units - wrong);
    return units != 0 && wrong == 0;
}

int run(int argc, char **argv)
{
    std::string report_path, region_path;
    CLI::App app{"cxl_hmu_topology_checker: host addresses against the numbers of one region"};
    app.add_option("--report", report_path, "output of 'pmukit report --json --cxl-topology'")
        ->required();
    app.add_option("--region", region_path, "what topology.sh wrote of the region")->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        int code = app.exit(error);
        return code == 0 ? 0 : kExitUsage;
    }
    Region region;
    if (!read_region(region_path, region)) {
        fmt::print(stderr, "cxl_hmu_topology_checker: cannot read {}\n", region_path);
        return kExitUsage;
    }
    std::ifstream in(report_path);
    return check_report(nlohmann::json::parse(in), region) ? 0 : kExitFailed;
}

}  // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &failure) {  // thrown by a library
        std::fprintf(stderr, "cxl_hmu_topology_checker: %s\n", failure.what());
        return kExitUsage;
    }
}
