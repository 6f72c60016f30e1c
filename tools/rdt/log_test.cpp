// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace pmukit::rdt {
namespace {

class LogFile : public testing::Test {
protected:
    LogFile()
    {
        Shape shape;
        shape.cpus = 2;
        shape.cpus_per_l3 = 1;
        shape.node_bytes = 1 << 20;
        shape.unavailable = 1;  // QM_CTR is never available; the log does not depend on it
        EXPECT_TRUE(machine_->make(shape));
    }
    ~LogFile() override { std::filesystem::remove(path_); }

    std::string text() const
    {
        std::ifstream file(path_);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    std::string path_ =
        (std::filesystem::temp_directory_path() / ("rdt_log_" + std::to_string(::getpid())))
            .string();
    std::unique_ptr<Machine> machine_ = std::make_unique<Machine>();
    std::unique_ptr<Log> log_ = std::make_unique<Log>();
};

TEST_F(LogFile, HasOccupancyAndTrafficAtEachMarkerInstructionAndAtExit)
{
    ASSERT_TRUE(log_->open(path_.c_str(), machine_->shape()));
    ASSERT_TRUE(machine_->write(1, kPqrAssoc, 2ULL << 32));
    ASSERT_TRUE(machine_->write(1, kPqrAssoc, 2ULL << 32 | 7));
    machine_->access(1, 0);
    machine_->access(1, 1 << 20);
    log_->mark(*machine_, 1, 42);
    const std::string first =
        "# pmukit rdt log 1\nunit 65536\n"
        "mark 42 1 7 2\nrmid 1 7 128 128 64\ncpu 0 0 0 0 0\ncpu 1 7 2 2 1\n";
    EXPECT_EQ(text(), first);  // the file is complete while the guest runs
    machine_->access(0, 64);
    EXPECT_TRUE(log_->end(*machine_));
    EXPECT_EQ(text(), first +
                          "end\nrmid 0 0 64 64 64\nrmid 1 7 128 128 64\n"
                          "cpu 0 0 0 0 0\ncpu 1 7 2 2 1\n");
}

TEST_F(LogFile, NumbersTheNodesOfAllL3s)
{
    Shape shape;
    shape.cpus = 4;
    shape.cpus_per_l3 = shape.nodes = 2;
    shape.rmids = 5;  // the nodes have two each
    auto machine = std::make_unique<Machine>();
    ASSERT_TRUE(machine->make(shape));
    ASSERT_TRUE(log_->open(path_.c_str(), machine->shape()));
    for (uint32_t cpu = 0; cpu < shape.cpus; cpu++) {
        ASSERT_TRUE(machine->write(cpu, kRmidSncConfig, 0));
        ASSERT_TRUE(machine->write(cpu, kPqrAssoc, cpu == 2 ? 0 : 1));
        machine->access(cpu, cpu * kLineBytes);
    }
    EXPECT_TRUE(log_->end(*machine));
    EXPECT_EQ(text().substr(0, text().find("cpu")),
              "# pmukit rdt log 1\nunit 32768\nend\nrmid 0 1 64 64 64\nrmid 1 1 64 64 64\n"
              "rmid 2 0 64 64 64\nrmid 3 1 64 64 64\n");
}

TEST_F(LogFile, ReportsWriteErrors)
{
    EXPECT_FALSE(log_->open("/no/such/folder/log", machine_->shape()));
    ASSERT_TRUE(log_->open("/dev/full", machine_->shape()));
    EXPECT_FALSE(log_->end(*machine_));
}

}  // namespace
}  // namespace pmukit::rdt
