// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "model_server/command.hpp"

#include <fmt/core.h>

#include <optional>

#include "vfu/bdf.hpp"

namespace pmukit::cli {

namespace {

constexpr uint64_t kMostAnswer_ns = 1'000'000'000;
constexpr uint64_t kMostLink_mb_s = 1'000'000;

}  // namespace

void SlotWords::add_to(CLI::App &command)
{
    command.add_option("--socket", socket_, "UNIX socket to listen on")->required();
    CLI::Option *function = command.add_option(
        "--bdf", function_, "bus:device.function in the guest, as 01:00.0; its requester ID");
    CLI::Option *root_port = command.add_option(
        "--root-port", root_port_, "root port above the function, as 00:10.0; default: no link");
    function->needs(root_port);
    root_port->needs(function);
    command
        .add_option("--answer-ns", timing_.answer_ns,
                    "time from a read to its completion, on the clock of packet time stamps")
        ->needs(function)
        ->check(CLI::Range(uint64_t{0}, kMostAnswer_ns))
        ->capture_default_str();
    command.add_option("--link-mb-s", timing_.bytes_per_us, "link bandwidth, MB/s; 0: no delay")
        ->needs(function)
        ->check(CLI::Range(uint64_t{0}, kMostLink_mb_s))
        ->capture_default_str();
}

void SlotWords::hide_link(CLI::App &command)
{
    for (const char *option : {"--bdf", "--root-port", "--answer-ns", "--link-mb-s"})
        command.get_option(option)->group("");
}

Result<vfu::SlotOptions> SlotWords::settle() const
{
    vfu::SlotOptions options{socket_, std::nullopt, timing_};
    if (function_.empty())
        return options;
    const std::optional<uint16_t> function = vfu::parse_bdf(function_);
    const std::optional<uint16_t> root_port = vfu::parse_bdf(root_port_);
    if (!function || !root_port)
        return Error{Errc::kUsage, fmt::format("--{} {}: must be bus:device.function, as 01:00.0",
                                               function ? "root-port" : "bdf",
                                               function ? root_port_ : function_)};
    options.link = vfu::LinkPlace{*function, *root_port};
    return options;
}

}  // namespace pmukit::cli
