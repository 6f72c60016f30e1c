// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Source of the instructions: Documentation/bpf/standardization/instruction-set.rst of Linux. The
// program does this:
//
//     entry = ringbuf_reserve(ring, max)
//     if (!entry) { lost++; return 1 }
//     bytes = fixed size, or the end of the located field
//     if (bytes > max) { ringbuf_discard(entry); lost++; return 1 }
//     entry->event = event; entry->bytes = bytes
//     probe_read_kernel(entry->record, bytes, context + 8)
//     ringbuf_submit(entry); return 1
//
// If the program returned 0, the kernel would hide the trace event from other users of perf.
#include "record/bpf_program.hpp"

#include <algorithm>

namespace pmukit::record {
namespace {

enum Register : uint8_t { R0, R1, R2, R3, R4, R5, kContext, kEntry, kBytes, kEnd };

// Builds a program. A jump gets its target later, from land().
class Assembler {
public:
    void move(Register to, Register from) { put(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
    void move(Register to, uint32_t value) { constant(BPF_ALU64 | BPF_MOV, to, value); }
    void add(Register to, Register from) { put(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0); }
    void add(Register to, uint32_t value) { constant(BPF_ALU64 | BPF_ADD, to, value); }
    void bits(Register to, uint32_t mask) { constant(BPF_ALU64 | BPF_AND, to, mask); }
    void shift_right(Register to, uint32_t by) { constant(BPF_ALU64 | BPF_RSH, to, by); }
    void load32(Register to, Register at, size_t offset)
    {
        put(BPF_LDX | BPF_MEM | BPF_W, to, at, static_cast<int16_t>(offset), 0);
    }
    void store32(Register at, size_t offset, Register from)
    {
        put(BPF_STX | BPF_MEM | BPF_W, at, from, static_cast<int16_t>(offset), 0);
    }
    void store32(Register at, size_t offset, uint32_t value)
    {
        put(BPF_ST | BPF_MEM | BPF_W, at, R0, static_cast<int16_t>(offset),
            static_cast<int32_t>(value));
    }
    void atomic_add64(Register at, Register from)
    {
        put(BPF_STX | BPF_ATOMIC | BPF_DW, at, from, 0, BPF_ADD);
    }
    void map(Register to, int fd) { wide(to, BPF_PSEUDO_MAP_FD, fd); }
    void map_value(Register to, int fd) { wide(to, BPF_PSEUDO_MAP_VALUE, fd); }
    void call(bpf_func_id helper) { put(BPF_JMP | BPF_CALL, R0, R0, 0, helper); }
    void leave() { put(BPF_JMP | BPF_EXIT, R0, R0, 0, 0); }
    // Adds a jump and returns its index, the argument of land().
    size_t jump_if_zero(Register what) { return jump(BPF_JMP | BPF_JEQ, what, 0); }
    size_t jump_if_above(Register what, uint32_t limit)
    {
        return jump(BPF_JMP | BPF_JGT, what, limit);
    }
    // Makes the next instruction the target of the jump.
    void land(size_t jump) { code_[jump].off = static_cast<int16_t>(code_.size() - jump - 1); }

    std::vector<bpf_insn> take() { return std::move(code_); }

private:
    void put(int code, Register to, Register from, int16_t offset, int32_t value)
    {
        bpf_insn instruction{};
        instruction.code = static_cast<uint8_t>(code);
        instruction.dst_reg = to & 0xf;
        instruction.src_reg = from & 0xf;
        instruction.off = offset;
        instruction.imm = value;
        code_.push_back(instruction);
    }
    void constant(int code, Register to, uint32_t value)
    {
        put(code | BPF_K, to, R0, 0, static_cast<int32_t>(value));
    }
    void wide(Register to, uint8_t pseudo, int fd)
    {
        put(BPF_LD | BPF_IMM | BPF_DW, to, static_cast<Register>(pseudo), 0, fd);
        put(0, R0, R0, 0, 0);
    }
    size_t jump(int code, Register what, uint32_t value)
    {
        constant(code, what, value);
        return code_.size() - 1;
    }

    std::vector<bpf_insn> code_;
};

void leave(Assembler &code)
{
    code.move(R0, 1);
    code.leave();
}

void count_lost(Assembler &code, TapMaps maps)
{
    code.map_value(R1, maps.lost);
    code.move(R2, 1);
    code.atomic_add64(R1, R2);
    leave(code);
}

// Adds instructions that set kBytes to the size of the record without its first kRecordHeadBytes
// bytes.
void measure(Assembler &code, const TraceFormat &format)
{
    const auto located =
        std::ranges::find_if(format.fields, [](const auto &field) { return field.second.located; });
    if (located == format.fields.end()) {
        code.move(kBytes, static_cast<uint32_t>(format.fixed_bytes - kRecordHeadBytes));
        return;
    }
    code.load32(kBytes, kContext, located->second.offset);
    code.move(kEnd, kBytes);
    code.shift_right(kBytes, 16);
    code.bits(kEnd, 0xffff);
    code.add(kBytes, kEnd);
    code.add(kBytes, static_cast<uint32_t>(-static_cast<int32_t>(kRecordHeadBytes)));
}

}  // namespace

Result<std::vector<bpf_insn>> tap_program(const TraceFormat &format, uint32_t event, TapMaps maps)
{
    const auto located = std::ranges::count_if(
        format.fields, [](const auto &field) { return field.second.located; });
    if (located > 1 || format.fixed_bytes < kRecordHeadBytes ||
        format.fixed_bytes > kTapMostBytes - kTapHeaderBytes)
        return Error{Errc::kUnsupported, "a trace event of a shape that is not known"};
    constexpr uint32_t kRoom = kTapMostBytes - kTapHeaderBytes;

    Assembler code;
    code.move(kContext, R1);
    code.map(R1, maps.ring);
    code.move(R2, kTapMostBytes);
    code.move(R3, 0);
    code.call(BPF_FUNC_ringbuf_reserve);
    const size_t no_room = code.jump_if_zero(R0);
    code.move(kEntry, R0);
    measure(code, format);
    const size_t too_long = code.jump_if_above(kBytes, kRoom);
    code.store32(kEntry, 0, event);
    code.store32(kEntry, 4, kBytes);
    code.move(R1, kEntry);
    code.add(R1, kTapHeaderBytes);
    code.move(R2, kBytes);
    code.move(R3, kContext);
    code.add(R3, kRecordHeadBytes);
    code.call(BPF_FUNC_probe_read_kernel);
    code.move(R1, kEntry);
    code.move(R2, 0);
    code.call(BPF_FUNC_ringbuf_submit);
    leave(code);
    code.land(too_long);
    code.move(R1, kEntry);
    code.move(R2, 0);
    code.call(BPF_FUNC_ringbuf_discard);
    code.land(no_room);
    count_lost(code, maps);
    return code.take();
}

}  // namespace pmukit::record
