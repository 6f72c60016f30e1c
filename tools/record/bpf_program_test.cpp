// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs the BPF program in an interpreter. Like the kernel's verifier, the interpreter rejects
// invalid accesses. (The selftests in guests use the verifier itself.)
#include "record/bpf_program.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/bytes.hpp"

namespace pmukit::record {
namespace {

constexpr TapMaps kMaps = {7, 8};

class Machine {
public:
    Machine(std::vector<bpf_insn> code, Bytes context, bool room)
        : code_(std::move(code)), context_(context.begin(), context.end()), room_(room)
    {
        registers_[1] = address(context_.data());
    }

    // Returns false if an instruction is not expected, or if the program does not end.
    bool run()
    {
        for (size_t step = 0; step < 1000; step++) {
            const bpf_insn &now = code_.at(at_++);
            if (now.code == (BPF_JMP | BPF_EXIT))
                return true;
            if (!execute(now))
                return false;
        }
        return false;
    }

    uint64_t result() const { return registers_[0]; }

    uint64_t lost = 0;
    std::vector<std::byte> submitted;
    bool discarded = false;

private:
    static uint64_t address(const void *at) { return reinterpret_cast<uint64_t>(at); }

    bool execute(const bpf_insn &now)
    {
        uint64_t &to = registers_[now.dst_reg];
        const uint64_t from = registers_[now.src_reg];
        const auto value = static_cast<uint64_t>(int64_t{now.imm});
        switch (now.code) {
            case BPF_ALU64 | BPF_MOV | BPF_X:
                to = from;
                return true;
            case BPF_ALU64 | BPF_MOV | BPF_K:
                to = value;
                return true;
            case BPF_ALU64 | BPF_ADD | BPF_X:
                to += from;
                return true;
            case BPF_ALU64 | BPF_ADD | BPF_K:
                to += value;
                return true;
            case BPF_ALU64 | BPF_AND | BPF_K:
                to &= value;
                return true;
            case BPF_ALU64 | BPF_RSH | BPF_K:
                to >>= value;
                return true;
            case BPF_LDX | BPF_MEM | BPF_W:
                to = read32(from + now.off);
                return true;
            case BPF_STX | BPF_MEM | BPF_W:
                write32(to + now.off, static_cast<uint32_t>(from));
                return true;
            case BPF_ST | BPF_MEM | BPF_W:
                write32(to + now.off, static_cast<uint32_t>(now.imm));
                return true;
            case BPF_STX | BPF_ATOMIC | BPF_DW:
                EXPECT_EQ(to, address(&lost));
                lost += from;
                return now.imm == BPF_ADD;
            case BPF_LD | BPF_IMM | BPF_DW:
                at_++;
                to = now.src_reg == BPF_PSEUDO_MAP_VALUE ? address(&lost) : now.imm;
                EXPECT_EQ(now.imm, now.src_reg == BPF_PSEUDO_MAP_VALUE ? kMaps.lost : kMaps.ring);
                return true;
            case BPF_JMP | BPF_JEQ | BPF_K:
                at_ += to == value ? now.off : 0;
                return true;
            case BPF_JMP | BPF_JGT | BPF_K:
                at_ += to > value ? now.off : 0;
                return true;
            case BPF_JMP | BPF_CALL:
                return call(now.imm);
            default:
                return false;
        }
    }

    bool call(int helper)
    {
        const auto arguments = registers_;
        for (size_t clobbered = 1; clobbered <= 5; clobbered++)
            registers_[clobbered] = 0xdeaddeaddeaddead;
        switch (helper) {
            case BPF_FUNC_ringbuf_reserve:
                EXPECT_EQ(arguments[1], static_cast<uint64_t>(kMaps.ring));
                entry_.assign(arguments[2], std::byte{0xee});
                registers_[0] = room_ ? address(entry_.data()) : 0;
                return true;
            case BPF_FUNC_probe_read_kernel:
                copy(arguments[1], arguments[2], arguments[3]);
                return true;
            case BPF_FUNC_ringbuf_submit:
                EXPECT_EQ(arguments[1], address(entry_.data()));
                submitted = entry_;
                return true;
            case BPF_FUNC_ringbuf_discard:
                EXPECT_EQ(arguments[1], address(entry_.data()));
                discarded = true;
                return true;
            default:
                return false;
        }
    }

    // Copies only from the record, and only into the entry.
    void copy(uint64_t to, uint64_t bytes, uint64_t from)
    {
        const uint64_t entry = address(entry_.data()), context = address(context_.data());
        ASSERT_GE(to, entry);
        ASSERT_LE(to + bytes, entry + entry_.size());
        ASSERT_GE(from, context + kRecordHeadBytes);
        ASSERT_LE(from + bytes, context + context_.size());
        std::memcpy(entry_.data() + (to - entry), context_.data() + (from - context), bytes);
    }
    uint32_t read32(uint64_t at)
    {
        const uint64_t context = address(context_.data());
        EXPECT_GE(at, context + kRecordHeadBytes);
        EXPECT_LE(at + 4, context + context_.size());
        return load<uint32_t>(context_.data() + (at - context), std::endian::native);
    }
    void write32(uint64_t at, uint32_t value)
    {
        const uint64_t entry = address(entry_.data());
        ASSERT_GE(at, entry);
        ASSERT_LE(at + 4, entry + entry_.size());
        store(entry_.data() + (at - entry), value, std::endian::native);
    }

    std::vector<bpf_insn> code_;
    std::vector<std::byte> context_, entry_;
    bool room_;
    size_t at_ = 0;
    std::array<uint64_t, 11> registers_{};
};

// A record with eight bytes that are internal to the kernel, a number, and the location of an array
// of words.
TraceFormat with_words()
{
    TraceFormat format;
    format.fields = {{"number", {8, 8, false}}, {"words", {16, 4, true}}};
    format.fixed_bytes = 20;
    return format;
}

std::vector<std::byte> record_of(uint32_t location, size_t bytes)
{
    std::vector<std::byte> record(bytes);
    for (size_t i = 0; i < bytes; i++)
        record[i] = static_cast<std::byte>(i * 7);
    store(record.data() + 16, location, std::endian::native);
    return record;
}

TEST(TapProgram, CopiesARecordAndItsDataLocArray)
{
    const auto record = record_of(12 << 16 | 20, 32);
    Machine machine(*tap_program(with_words(), 3, kMaps), record, true);
    ASSERT_TRUE(machine.run());
    ASSERT_EQ(machine.submitted.size(), kTapMostBytes);
    EXPECT_EQ(load<uint32_t>(machine.submitted.data(), std::endian::native), 3U);
    EXPECT_EQ(load<uint32_t>(machine.submitted.data() + 4, std::endian::native), 24U);
    EXPECT_EQ(0, std::memcmp(machine.submitted.data() + 8, record.data() + 8, 24));
    EXPECT_EQ(machine.submitted[32], std::byte{0xee}) << "and nothing behind them";
    EXPECT_EQ(machine.lost, 0U);
}

TEST(TapProgram, CopiesARecordOfFixedSize)
{
    TraceFormat format;
    format.fields = {{"number", {8, 8, false}}, {"byte", {16, 1, false}}};
    format.fixed_bytes = 17;
    const auto record = record_of(0, 32);
    Machine machine(*tap_program(format, 0, kMaps), record, true);
    ASSERT_TRUE(machine.run());
    EXPECT_EQ(load<uint32_t>(machine.submitted.data() + 4, std::endian::native), 9U);
    EXPECT_EQ(0, std::memcmp(machine.submitted.data() + 8, record.data() + 8, 9));
}

TEST(TapProgram, CountsARecordAsLostIfTheRingIsFull)
{
    Machine machine(*tap_program(with_words(), 3, kMaps), record_of(12 << 16 | 20, 32), false);
    ASSERT_TRUE(machine.run());
    EXPECT_EQ(machine.lost, 1U);
    EXPECT_TRUE(machine.submitted.empty());
    EXPECT_FALSE(machine.discarded);
}

TEST(TapProgram, DiscardsTheRingEntryOfATooLongOrInvalidRecord)
{
    constexpr uint32_t kMost = kTapMostBytes - kTapHeaderBytes;
    // The three cases: the longest record that fits, a record with one byte more, and an array that
    // ends within the first eight bytes.
    for (auto [location, fits] : {std::pair((kMost - 12) << 16 | 20U, true),
                                  {(kMost - 11) << 16 | 20U, false},
                                  {0U << 16 | 7U, false}}) {
        Machine machine(*tap_program(with_words(), 3, kMaps), record_of(location, 8192), true);
        ASSERT_TRUE(machine.run());
        EXPECT_EQ(machine.submitted.empty(), !fits) << location;
        EXPECT_EQ(machine.discarded, !fits) << location;
        EXPECT_EQ(machine.lost, fits ? 0U : 1U) << location;
    }
}

// If the program returned 0, the kernel would not deliver the record to other users' perf events.
TEST(TapProgram, AlwaysReturnsOneSoThatOtherPerfEventsGetTheRecord)
{
    for (auto [location, room] :
         {std::pair(12U << 16 | 20U, true), {12U << 16 | 20U, false}, {0U << 16 | 7U, true}}) {
        Machine machine(*tap_program(with_words(), 3, kMaps), record_of(location, 32), room);
        ASSERT_TRUE(machine.run());
        EXPECT_EQ(machine.result(), 1U) << location;
    }
}

TEST(TapProgram, RefusesUnsupportedFormats)
{
    TraceFormat two = with_words();
    two.fields["more"] = {20, 4, true};
    EXPECT_FALSE(tap_program(two, 0, kMaps));
    TraceFormat nothing;
    EXPECT_FALSE(tap_program(nothing, 0, kMaps));
    TraceFormat huge = with_words();
    huge.fixed_bytes = kTapMostBytes;
    EXPECT_FALSE(tap_program(huge, 0, kMaps));
}

}  // namespace
}  // namespace pmukit::record
