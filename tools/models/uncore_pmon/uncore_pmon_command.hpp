// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit-model uncore_pmon: the command line and creation of the uncore discovery model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model_server/command.hpp"
#include "models/uncore_pmon/access_record.hpp"
#include "models/uncore_pmon/options.hpp"
#include "models/uncore_pmon/uncore_pmon_model.hpp"

namespace pmukit::cli {

class UncorePmonCommand final : public ModelCommand {
public:
    explicit UncorePmonCommand(CLI::App &app);
    UncorePmonCommand(const UncorePmonCommand &) = delete;
    UncorePmonCommand &operator=(const UncorePmonCommand &) = delete;

    std::string name() const override { return command_->get_name(); }
    bool chosen() const override { return command_->parsed(); }
    const std::string &socket() const override { return slot_.socket(); }
    Result<void> start(vfu::Chassis &chassis) override;
    Result<void> finish() override;
    std::vector<FaultDescription> faults() const override;
    bool serves() const override { return dump_.empty(); }
    Result<void> run_without_guest() override;

private:
    void add_units();
    void add_table();
    Result<void> settle_names();
    Result<void> settle();  // converts the command line to options_

    CLI::App *command_;
    SlotWords slot_;
    std::vector<std::string> ports_;
    std::vector<std::string> ids_;
    std::vector<std::string> all_ones_;
    std::string device_ = "0x09a7";
    std::string platform_ = "spr";
    std::string fault_;
    std::string access_log_;
    std::string dump_;
    models::uncore_pmon::AccessRecord record_;
    models::uncore_pmon::Options options_;
    std::unique_ptr<models::uncore_pmon::UncorePmonModel> model_;
};

}  // namespace pmukit::cli
