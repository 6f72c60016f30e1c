// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/unwind.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "session/cfi_check.hpp"
#include "session/functions.hpp"
#include "session/threads.hpp"

#ifdef PMUKIT_LIBELF
#include <elfutils/libdwfl.h>
#include <gelf.h>
#endif

namespace pmukit::cli {

bool Unwinder::can_unwind(const perfdata::Sample &sample)
{
    return sample.user_regs.abi != 0 && !sample.user_stack.empty();
}

#ifdef PMUKIT_LIBELF

namespace {

// Register numbers of enum perf_event_x86_regs and enum perf_event_arm_regs.
constexpr unsigned kX86Sp = 7, kX86Ip = 8, kArmSp = 31, kArmPc = 32;
// perf_event_x86_regs by DWARF register number.
constexpr unsigned kX86Registers[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
constexpr unsigned kArmRegisters = 32;
constexpr uint64_t kAbi64 = 2;  // PERF_SAMPLE_REGS_ABI_64

std::optional<uint64_t> register_of(const perfdata::Registers &registers, unsigned number)
{
    const uint64_t bit = uint64_t{1} << number;
    const auto at = static_cast<size_t>(std::popcount(registers.mask & (bit - 1)));
    if (!(registers.mask & bit) || at >= registers.values.size())
        return std::nullopt;
    return registers.values[at];
}

}  // namespace

class Unwinder::Libdw {
public:
    Libdw(const Threads &threads, Programs &programs) : threads_(threads), programs_(programs) {}

    bool unwind(const perfdata::Sample &sample, std::vector<uint64_t> &calls);

private:
    struct Module {
        size_t object;
        uint64_t bias, begin, end;
    };
    struct EndDwfl {
        void operator()(Dwfl *dwfl) const { dwfl_end(dwfl); }
    };
    // One process: its libdwfl session, and the programs and libraries reported to libdwfl so far.
    struct Space {
        std::unique_ptr<Dwfl, EndDwfl> dwfl;
        std::vector<Module> modules;
        bool is_attached = false;
    };
    enum class Walk { kWhole, kCut, kConflict };

    // A program. file: nullopt if libdw must not read it.
    struct Program {
        std::optional<ElfFile> file;
        size_t memory = 0;  // bytes that libdw may allocate for it
    };

    const Program *program(size_t object);
    void forget_spaces();
    Walk walk(Space &space);
    Walk start(Space &space);
    Walk add_module(Space &space, uint64_t pc);
    bool attach(Space &space);

    static int find_elf(Dwfl_Module *, void **userdata, const char *, Dwarf_Addr, char **,
                        Elf **elf);
    static int find_no_debuginfo(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *,
                                 const char *, GElf_Word, char **)
    {
        return -1;
    }
    static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread);
    static bool set_registers(Dwfl_Thread *thread, void *arg);
    static bool read_stack(Dwfl *, Dwarf_Addr address, Dwarf_Word *word, void *arg);
    static int take_frame(Dwfl_Frame *frame, void *arg);

    static const Dwfl_Callbacks kFiles;
    static const Dwfl_Thread_Callbacks kThreads;
    static constexpr size_t kMostSpaces = 16, kMostPrograms = 128;
    static constexpr size_t kSpaceBytes = 8192, kModuleBytes = 4096, kFrameBytes = 256;
    static constexpr size_t kMostChecked = size_t{2} << 30;

    const Threads &threads_;
    Programs &programs_;
    std::map<size_t, Program> files_;
    std::map<uint32_t, Space> spaces_;
    Budget left_{limits::kUnwinding}, work_{kMostChecked};
    bool is_full_ = false;

    // State of the current walk.
    const perfdata::Sample *sample_ = nullptr;
    std::vector<uint64_t> *calls_ = nullptr;
    Space *space_ = nullptr;
    size_t most_ = 0;
    unsigned machine_ = 0;
    bool has_conflict_ = false;
    bool is_word_missing_ = false;  // a stack read failed since the last frame
};

const Dwfl_Callbacks Unwinder::Libdw::kFiles = {find_elf, find_no_debuginfo, nullptr, nullptr};
const Dwfl_Thread_Callbacks Unwinder::Libdw::kThreads = {next_thread,   nullptr, read_stack,
                                                         set_registers, nullptr, nullptr};

int Unwinder::Libdw::find_elf(Dwfl_Module *, void **userdata, const char *, Dwarf_Addr, char **,
                              Elf **elf)
{
    // elf_begin() adds a reference, because libdwfl releases one.
    *elf = elf_begin(-1, ELF_C_READ_MMAP, static_cast<Elf *>(*userdata));
    return -1;
}

// libdwfl enumerates the threads of a process with this callback, which reports only one thread.
pid_t Unwinder::Libdw::next_thread(Dwfl *dwfl, void *arg, void **thread)
{
    if (*thread)
        return 0;
    *thread = arg;
    return dwfl_pid(dwfl);
}

bool Unwinder::Libdw::set_registers(Dwfl_Thread *thread, void *arg)
{
    const auto &self = *static_cast<Libdw *>(arg);
    const perfdata::Registers &from = self.sample_->user_regs;
    Dwarf_Word words[kArmRegisters] = {};
    if (self.machine_ == EM_X86_64) {
        for (size_t i = 0; i < std::size(kX86Registers); i++)
            words[i] = register_of(from, kX86Registers[i]).value_or(0);
        return dwfl_thread_state_registers(thread, 0, std::size(kX86Registers), words);
    }
    for (unsigned i = 0; i < kArmRegisters; i++)
        words[i] = register_of(from, i).value_or(0);
    dwfl_thread_state_register_pc(thread, register_of(from, kArmPc).value_or(0));
    return dwfl_thread_state_registers(thread, 0, kArmRegisters, words);
}

bool Unwinder::Libdw::read_stack(Dwfl *, Dwarf_Addr address, Dwarf_Word *word, void *arg)
{
    auto &self = *static_cast<Libdw *>(arg);
    const Bytes stack = self.sample_->user_stack;
    const std::optional<uint64_t> sp =
        register_of(self.sample_->user_regs, self.machine_ == EM_X86_64 ? kX86Sp : kArmSp);
    if (!sp || address < *sp || stack.size() < sizeof *word ||
        address - *sp > stack.size() - sizeof *word) {
        self.is_word_missing_ = true;
        return false;
    }
    *word = load<uint64_t>(stack.data() + (address - *sp), std::endian::little);
    return true;
}

int Unwinder::Libdw::take_frame(Dwfl_Frame *frame, void *arg)
{
    auto &self = *static_cast<Libdw *>(arg);
    self.is_word_missing_ = false;
    Dwarf_Addr pc = 0;
    bool is_exact = false;
    if (!dwfl_frame_pc(frame, &pc, nullptr))
        return DWARF_CB_ABORT;
    const bool is_first = self.calls_->size() + kMostCalls == self.most_;
    const Walk found = self.add_module(*self.space_, pc - !is_first);
    self.has_conflict_ |= found == Walk::kConflict;
    if (found != Walk::kWhole || self.calls_->size() >= self.most_)
        return DWARF_CB_ABORT;
    // To tell is_exact, libdwfl unwinds the frame. If it did not know the program yet, it would
    // follow the frame pointer, past functions that have none.
    dwfl_frame_pc(frame, &pc, &is_exact);
    self.calls_->push_back(pc - !is_exact);
    self.is_full_ |= !self.left_.take(kFrameBytes);
    return DWARF_CB_OK;
}

const Unwinder::Libdw::Program *Unwinder::Libdw::program(size_t object)
{
    const auto [at, fresh] = files_.try_emplace(object);
    Program &program = at->second;
    if (fresh) {
        program.file = programs_.open_file(object);
        const auto checked = program.file ? check_cfi(*program.file, work_) : std::nullopt;
        program.memory = checked ? checked->memory : 0;
        if (!checked)
            program.file.reset();
    }
    return program.file ? &program : nullptr;
}

void Unwinder::Libdw::forget_spaces()
{
    spaces_.clear();
    left_ = Budget(limits::kUnwinding);
    is_full_ = false;
}

// Makes the program at this address known to libdwfl.
Unwinder::Libdw::Walk Unwinder::Libdw::add_module(Space &space, uint64_t pc)
{
    const auto place = threads_.find(sample_->sample_id.pid.value_or(UINT32_MAX), pc,
                                     sample_->sample_id.time_ns.value_or(UINT64_MAX));
    const Program *known = place ? program(place->object) : nullptr;
    const ElfFile *file = known ? &*known->file : nullptr;
    const auto address = file ? address_in(file->code(), place->file_offset) : std::nullopt;
    if (!address || file->machine() != machine_)
        return Walk::kCut;
    const uint64_t bias = pc - *address;
    const Module fresh{place->object, bias, bias + file->begin(), bias + file->end()};
    if (fresh.begin >= fresh.end)
        return Walk::kCut;
    for (const Module &module : space.modules) {
        if (module.object == fresh.object && module.bias == bias)
            return Walk::kWhole;
        if (module.begin < fresh.end && fresh.begin < module.end)
            return Walk::kConflict;
    }
    is_full_ |= !left_.take(kModuleBytes + known->memory);
    dwfl_report_begin_add(space.dwfl.get());
    Dwfl_Module *module = dwfl_report_module(space.dwfl.get(), "program", fresh.begin, fresh.end);
    void **userdata = nullptr;
    if (module &&
        dwfl_module_info(module, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr))
        *userdata = file->elf();
    const bool done = dwfl_report_end(space.dwfl.get(), nullptr, nullptr) == 0;
    if (!userdata || !done)
        return Walk::kCut;
    space.modules.push_back(fresh);
    return dwfl_addrmodule(space.dwfl.get(), pc) == module ? Walk::kWhole : Walk::kCut;
}

bool Unwinder::Libdw::attach(Space &space)
{
    if (!space.is_attached)
        space.is_attached = dwfl_attach_state(space.dwfl.get(), nullptr, 1, &kThreads, this);
    return space.is_attached;
}

// Adds the program at the sampled ip. The number of the ip register depends on the machine, which
// only the file of the program states: tries the number of each machine.
Unwinder::Libdw::Walk Unwinder::Libdw::start(Space &space)
{
    struct Ip {
        unsigned machine, number;
    };
    constexpr Ip kIps[] = {{EM_X86_64, kX86Ip}, {EM_AARCH64, kArmPc}};
    Walk found = Walk::kCut;
    for (const Ip &ip : kIps) {
        const std::optional<uint64_t> pc = register_of(sample_->user_regs, ip.number);
        machine_ = ip.machine;
        if (pc && (found = add_module(space, *pc)) != Walk::kCut)
            break;
    }
    return found;
}

Unwinder::Libdw::Walk Unwinder::Libdw::walk(Space &space)
{
    if (!space.dwfl) {
        space.dwfl.reset(dwfl_begin(&kFiles));
        is_full_ |= !left_.take(kSpaceBytes);
    }
    if (!space.dwfl)
        return Walk::kCut;
    space_ = &space;
    has_conflict_ = false;
    const Walk found = start(space);
    if (found != Walk::kWhole)
        return found;
    if (!attach(space))
        return Walk::kCut;
    const int ended = dwfl_getthread_frames(space.dwfl.get(), 1, take_frame, this);
    if (has_conflict_)
        return Walk::kConflict;
    // libdwfl takes an unreadable return address for the end of the stack.
    return ended == 0 && !is_word_missing_ ? Walk::kWhole : Walk::kCut;
}

bool Unwinder::Libdw::unwind(const perfdata::Sample &sample, std::vector<uint64_t> &calls)
{
    if (!can_unwind(sample) || sample.user_regs.abi != kAbi64)
        return false;
    const uint32_t pid = sample.sample_id.pid.value_or(UINT32_MAX);
    const bool is_new = !spaces_.contains(pid);
    const bool too_many = files_.size() > kMostPrograms;
    if (is_full_ || too_many || (is_new && spaces_.size() >= kMostSpaces))
        forget_spaces();
    if (too_many)
        files_.clear();  // the spaces that referred to them are gone
    sample_ = &sample;
    calls_ = &calls;
    const size_t before = calls.size();
    most_ = before + kMostCalls;
    Walk done = walk(spaces_[pid]);
    if (done == Walk::kConflict) {
        // Another file is mapped at an address that libdwfl knows: start with a new space.
        calls.resize(before);
        spaces_.erase(pid);
        done = walk(spaces_[pid]);
    }
    return done == Walk::kWhole;
}

#else

class Unwinder::Libdw {
public:
    Libdw(const Threads &, Programs &) {}
    bool unwind(const perfdata::Sample &, std::vector<uint64_t> &) { return false; }
};

#endif

Unwinder::Unwinder(const Threads &threads, Programs &programs)
    : libdw_(std::make_unique<Libdw>(threads, programs))
{
}

Unwinder::~Unwinder() = default;
Unwinder::Unwinder(Unwinder &&) noexcept = default;

bool Unwinder::unwind(const perfdata::Sample &sample, std::vector<uint64_t> &calls)
{
    return libdw_->unwind(sample, calls);
}

}  // namespace pmukit::cli
