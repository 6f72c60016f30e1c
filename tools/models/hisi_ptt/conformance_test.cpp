// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests that the register accesses of the in-tree driver are valid, and that each kind of invalid
// access is reported.
#include "models/hisi_ptt/conformance.hpp"

#include <gtest/gtest.h>

#include <string>

#include "models/fake_machine.hpp"

namespace pmukit::models::hisi_ptt {
namespace {

constexpr uint32_t kSelection = 1u << 16 | 1u << 14 | 1u << 4 | 1u << 2;  // 8DW, outbound, posted

class ConformanceTest : public testing::Test {
protected:
    void write(uint32_t offset, uint32_t value) { conformance.wrote(offset, value, false); }
    void place(uint64_t first = 0x1'0000'0000, uint32_t size = 0x400000)
    {
        for (uint32_t i = 0; i < 4; i++) {
            const uint64_t base = first + i * uint64_t{0x400000};
            write(0x810 + 8 * i, static_cast<uint32_t>(base));
            write(0x814 + 8 * i, static_cast<uint32_t>(base >> 32));
        }
        write(0x800, size);
    }
    void start(uint32_t selection = kSelection)
    {
        write(0x850, 2);
        write(0x850, 0);
        write(0x890, 0xf);
        write(0x894, 0);
        write(0x850, selection | 1);
    }
    void stop() { write(0x850, 0); }
    void expect_only(const std::string &rule, unsigned count = 1)
    {
        EXPECT_EQ(conformance.violations(), count) << rule;
        EXPECT_TRUE(machine.logged("violation: " + rule + ":")) << rule;
    }

    FakeMachine machine;
    Conformance conformance{machine, false};
};

TEST_F(ConformanceTest, AccessesOfTheInTreeDriverAreNoViolation)
{
    place();
    for (unsigned i = 0; i < 3; i++) {
        conformance.read(0x8b0);
        start();
        conformance.read(0x890);
        write(0x890, 1);
        stop();
        write(0x894, 0xf);
        conformance.read(0x8b0);
        conformance.read(0x8a0);
    }
    // Another driver binds and uses other buffers.
    conformance.bus_master_off();
    place(0x2'0000'0000);
    start();
    stop();
    conformance.power_on();
    place(0x3'0000'0000);
    start();
    EXPECT_EQ(conformance.violations(), 0u) << machine.lines.front();
}

TEST_F(ConformanceTest, BuffersMustBe4MiB)
{
    for (const uint32_t size : {0u, 0x10000u, 0x200000u, 0x800000u}) {
        const uint64_t before = conformance.violations();
        place(0x1'0000'0000, size);
        start();
        EXPECT_GT(conformance.violations(), before) << size;
        stop();
    }
    EXPECT_TRUE(machine.logged("violation: buffer-size: TRACE_ADDR_SIZE is 0x10000,"));
}

TEST_F(ConformanceTest, BuffersMustBeAligned)
{
    place(0x1'0020'0000);
    start();
    expect_only("buffer-alignment", 4);
}

TEST_F(ConformanceTest, BuffersMustNotOverlap)
{
    place();
    write(0x818, 0);
    start();
    expect_only("buffers-overlap");
}

TEST_F(ConformanceTest, BufferAddressMustNotBeZero)
{
    place();
    write(0x810, 0);
    write(0x814, 0);
    start();
    expect_only("buffer-alignment");
}

TEST_F(ConformanceTest, BuffersMustNotMoveBetweenTraces)
{
    place();
    start();
    stop();
    place(0x2'0000'0000);
    start();
    expect_only("buffer-moved", 4);
}

TEST_F(ConformanceTest, AddressWriteDuringATraceIsAViolation)
{
    place();
    start();
    write(0x810, 0);
    expect_only("written-while-enabled");
    write(0x800, 0x400000);
    expect_only("written-while-enabled", 2);
}

TEST_F(ConformanceTest, ReadOfTheWriteStatusDuringATraceIsAViolation)
{
    place();
    conformance.read(0x8a0);
    start();
    conformance.read(0x8a0);
    expect_only("write-status-while-enabled");
    stop();
    conformance.read(0x8a0);
    expect_only("write-status-while-enabled");
}

TEST_F(ConformanceTest, StartWithoutAResetIsAViolation)
{
    place();
    start();
    stop();
    write(0x850, kSelection | 1);
    expect_only("start-without-reset");
}

TEST_F(ConformanceTest, ResetDuringATraceIsAViolation)
{
    place();
    start();
    write(0x850, kSelection | 3);
    EXPECT_TRUE(machine.logged("violation: reset-while-enabled:"));
}

TEST_F(ConformanceTest, ControlChangeDuringATraceIsAViolation)
{
    place();
    start();
    write(0x850, kSelection | 1);
    EXPECT_EQ(conformance.violations(), 0u);
    write(0x850, (kSelection | 1) ^ 3u << 4);
    expect_only("control-while-enabled");
}

TEST_F(ConformanceTest, ReservedControlValueIsAViolation)
{
    place();
    for (const uint32_t control :
         {kSelection | 1u << 8, kSelection | 1u << 13, kSelection & ~(7u << 4),
          kSelection | 3u << 4, kSelection & ~(3u << 2), kSelection | 8u << 4}) {
        const uint64_t before = conformance.violations();
        start(control);
        EXPECT_EQ(conformance.violations(), before + 1) << control;
        stop();
    }
    EXPECT_TRUE(machine.logged("violation: reserved-control:"));
}

TEST_F(ConformanceTest, TuneOperationWhileAnotherIsBusyIsAViolation)
{
    conformance.wrote(0x004, 1, false);
    conformance.wrote(0x004, 1, true);
    expect_only("tune-while-busy");
}

TEST_F(ConformanceTest, LenientDeviceReportsNoViolations)
{
    Conformance lenient(machine, true);
    lenient.wrote(0x850, 1, false);
    lenient.read(0x8a0);
    lenient.wrong_access("any");
    EXPECT_EQ(lenient.violations(), 0u);
    EXPECT_TRUE(machine.lines.empty());
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
