// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Unwinds the test's own stack, as a sample would contain it, and random stacks, registers and
// files.
#include "session/unwind.hpp"

#include <gtest/gtest.h>

#ifdef PMUKIT_LIBELF

#include <elf.h>
#include <linux/perf_event.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"
#include "session/cfi_check.hpp"
#include "session/functions.hpp"
#include "session/inlines.hpp"

namespace pmukit::cli {
namespace {

constexpr uint32_t kPid = 7;
constexpr uint64_t kX86Mask = 0xff01ff;  // the general registers and ip

// User registers and stack in a sample of --call-graph dwarf.
struct Stack {
    std::vector<uint64_t> registers;  // one per bit of the mask
    std::vector<std::byte> bytes;     // from the stack pointer upwards
};

class UnwindTest : public testing::Test {
protected:
    UnwindTest()
        : file_(perfdata::testing::FileBuilder(std::endian::native)
                    .event(PERF_TYPE_SOFTWARE, PERF_SAMPLE_IP, {1})
                    .file()),
          reader_(perfdata::Reader::open(file_))
    {
    }

    void map(uint64_t begin, uint64_t end, uint64_t offset, const std::string &path)
    {
        perfdata::Packer body;
        body.put(kPid).put(kPid).put(begin).put(end - begin).put(offset);
        const size_t bytes = body.bytes().size() + path.size() / 8 * 8 + 8;
        body.put(as_bytes(path)).pad_to(bytes).put(uint64_t{7});
        perfdata::Record record;
        record.type = PERF_RECORD_MMAP;
        record.body = body.bytes();
        threads_.note(record, *reader_);
    }
    void map_this_program()
    {
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            uint64_t begin = 0, end = 0, offset = 0;
            char flags[8] = "", path[4096] = "";
            if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %*s %4095s", &begin, &end, flags,
                            &offset, path) == 5 &&
                flags[2] == 'x')
                map(begin, end, offset, path);
        }
    }
    bool unwind(const Stack &stack, std::vector<uint64_t> &calls, uint64_t mask = kX86Mask)
    {
        std::vector<std::byte> words(stack.registers.size() * sizeof(uint64_t));
        for (size_t i = 0; i < stack.registers.size(); i++)
            store(words.data() + i * sizeof(uint64_t), stack.registers[i], std::endian::little);
        perfdata::Sample sample;
        sample.sample_id.pid = sample.sample_id.tid = kPid;
        sample.user_regs = {2, mask, perfdata::WordView(words, std::endian::little)};
        sample.user_stack = stack.bytes;
        return unwinder_.unwind(sample, calls);
    }
    std::vector<std::string> names(const std::vector<uint64_t> &calls)
    {
        KernelSymbols kernel(*reader_, std::nullopt, "/nowhere");
        Explainer explainer(threads_, programs_, kernel);
        std::vector<std::string> names;
        for (const uint64_t ip : calls)
            for (const NamedFrame &frame :
                 explainer.frames_at(kPid, decode::imc::Mode::kUser, ip, 0).frames)
                names.push_back(frame.symbol + (frame.is_inlined ? " (inlined)" : ""));
        return names;
    }

    std::vector<std::byte> file_;
    Result<perfdata::Reader> reader_;
    Threads threads_;
    Programs programs_{threads_, "", *reader_};
    Unwinder unwinder_{threads_, programs_};
};

#ifdef __x86_64__

// Stack of the caller of copy_stack().
Stack stack_now(const ucontext_t &context)
{
    const auto &from = context.uc_mcontext.gregs;
    Stack stack;
    for (const int name :
         {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_RIP, REG_R8,
          REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15})
        stack.registers.push_back(static_cast<uint64_t>(from[name]));
    return stack;
}

uint64_t stack_end()
{
    std::ifstream maps("/proc/self/maps");
    uint64_t end = 0;
    for (std::string line; std::getline(maps, line);)
        if (line.ends_with("[stack]"))
            std::sscanf(line.c_str(), "%*x-%lx", &end);
    return end;
}

[[gnu::noinline]] __attribute__((no_sanitize("address"))) void copy_stack(Stack &stack)
{
    ucontext_t context;
    ::getcontext(&context);
    stack = stack_now(context);
    const auto *from =
        reinterpret_cast<const volatile uint8_t *>(context.uc_mcontext.gregs[REG_RSP]);
    const size_t bytes = std::min<size_t>(
        8192, stack_end() - static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]));
    for (size_t i = 0; i < bytes; i++)
        stack.bytes.push_back(std::byte{from[i]});
}

[[gnu::always_inline]] inline void inlined_one(Stack &stack)
{
    copy_stack(stack);
    asm volatile("");  // prevents a tail call
}

[[gnu::noinline]] void inner_function(Stack &stack)
{
    inlined_one(stack);
    asm volatile("");
}

[[gnu::noinline]] void outer_function(Stack &stack)
{
    inner_function(stack);
    asm volatile("");
}

TEST_F(UnwindTest, FindsTheCallersOfThisFunction)
{
    map_this_program();
    Stack stack;
    outer_function(stack);
    std::vector<uint64_t> calls;
    unwind(stack, calls);
    ASSERT_GE(calls.size(), 4U);
    EXPECT_EQ(calls[0], stack.registers[8]);
    const std::vector<std::string> found = names(calls);
    std::string all;
    for (const std::string &name : found)
        all += name + '\n';
    const size_t inner = all.find("inner_function"), outer = all.find("outer_function");
    EXPECT_NE(inner, all.npos) << all;
    EXPECT_NE(outer, all.npos) << all;
    EXPECT_LT(all.find("copy_stack"), inner) << all;
    EXPECT_LT(inner, outer) << all;
}

TEST_F(UnwindTest, StopsAtTheEndOfTheStackDump)
{
    map_this_program();
    Stack stack;
    outer_function(stack);
    std::vector<uint64_t> whole;
    unwind(stack, whole);
    for (const size_t bytes : {0, 1, 7, 8, 16, 100, 1000}) {
        Stack less = stack;
        less.bytes.resize(bytes);
        std::vector<uint64_t> calls;
        EXPECT_FALSE(unwind(less, calls));
        ASSERT_LE(calls.size(), whole.size());
        EXPECT_TRUE(std::equal(calls.begin(), calls.end(), whole.begin()));
    }
}

TEST_F(UnwindTest, UnwindingRandomRegistersAndStacksTerminates)
{
    map_this_program();
    Stack stack;
    outer_function(stack);
    std::mt19937_64 random(1);
    for (unsigned i = 0; i < 300; i++) {
        Stack other = stack;
        // The ip stays in a program; the other registers are random.
        for (size_t at = 0; at < other.registers.size(); at++)
            if (at != 8 && random() % 3 == 0)
                other.registers[at] = random() >> (random() % 64);
        for (std::byte &byte : other.bytes)
            if (random() % 16 == 0)
                byte = static_cast<std::byte>(random());
        other.registers[8] += random() % 256;
        std::vector<uint64_t> calls;
        unwind(other, calls);
        EXPECT_LE(calls.size(), Unwinder::kMostCalls);
    }
    for (const uint64_t extreme : {uint64_t{0}, UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 63}) {
        Stack other = stack;
        other.registers.assign(other.registers.size(), extreme);
        other.registers[8] = stack.registers[8];
        std::vector<uint64_t> calls;
        unwind(other, calls);
        other.registers[8] = extreme;
        unwind(other, calls);
    }
}

TEST_F(UnwindTest, RejectsFewerRegistersThanTheMaskHas)
{
    map_this_program();
    Stack stack;
    outer_function(stack);
    stack.registers.resize(8);  // up to sp
    std::vector<uint64_t> calls;
    EXPECT_FALSE(unwind(stack, calls));
    EXPECT_TRUE(calls.empty());
}

// A later map puts another file at the same addresses.
TEST_F(UnwindTest, StillUnwindsAfterAnotherFileReplacesAMap)
{
    map_this_program();
    Stack stack;
    outer_function(stack);
    std::vector<uint64_t> before, after;
    unwind(stack, before);
    const TestFolder folder;
    const std::string copy = folder.path("program");
    std::filesystem::copy_file("/proc/self/exe", copy);
    std::ifstream maps("/proc/self/maps");
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    for (std::string line; std::getline(maps, line);) {
        uint64_t begin = 0, end = 0, offset = 0;
        if (line.find(self) != line.npos && line.find("r-xp") != line.npos &&
            std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) == 3)
            map(begin, end, offset, copy);
    }
    unwind(stack, after);
    EXPECT_EQ(before, after);
}

#endif

// A file with call frame information: a CIE, an FDE, and no search table.
std::vector<std::byte> image_with(const std::vector<uint8_t> &instructions)
{
    constexpr size_t kFrames = 0x200, kNames = 0x1000, kSections = 0x1100;
    std::vector<std::byte> image(kSections + 3 * sizeof(Elf64_Shdr));
    const auto put = [&image](size_t at, const auto &what) {
        std::memcpy(image.data() + at, &what, sizeof what);
    };
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, "\177ELF\2\1\1", 7);
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_shoff = kSections;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    put(0, header);
    const Elf64_Phdr segment{PT_LOAD, PF_R | PF_X, 0, 0, 0, image.size(), image.size(), 4096};
    put(sizeof header, segment);
    std::vector<uint8_t> frames = {0x14, 0,    0,    0, 0,    0,    0, 0, 1,    'z', 'R', 0,
                                   1,    0x78, 0x10, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,   0};
    const size_t size = (instructions.size() + 13 + 7) / 8 * 8 + 4;
    const auto word = [&frames](size_t value) {
        for (unsigned i = 0; i < 4; i++)
            frames.push_back(static_cast<uint8_t>(value >> (8 * i)));
    };
    word(size);
    word(frames.size());
    word(0);
    word(0x100);
    frames.push_back(0);
    frames.insert(frames.end(), instructions.begin(), instructions.end());
    frames.resize(24 + 4 + size);
    word(0);
    EXPECT_LE(frames.size(), kNames - kFrames);
    std::memcpy(image.data() + kFrames, frames.data(), frames.size());
    constexpr char kText[] = "\0.eh_frame\0.shstrtab";
    std::memcpy(image.data() + kNames, kText, sizeof kText);
    const Elf64_Shdr eh_frame{1, SHT_PROGBITS, SHF_ALLOC, kFrames, kFrames, frames.size(), 0, 0, 8,
                              0};
    const Elf64_Shdr names{11, SHT_STRTAB, 0, 0, kNames, sizeof kText, 0, 0, 1, 0};
    put(kSections + sizeof eh_frame, eh_frame);
    put(kSections + 2 * sizeof names, names);
    return image;
}

// Each frame of the two programs is its return address. The frame pointer is that of an outer
// function.
TEST_F(UnwindTest, AProgramThatIsNewOnTheStackIsUnwoundByItsCallFrameInformation)
{
    constexpr uint64_t kFirst = 0x10000, kSecond = 0x20000, kCode = 0x230, kStack = 0x7000;
    const TestFolder folder;
    for (const auto &[begin, name] : {std::pair(kFirst, "first"), std::pair(kSecond, "second")}) {
        folder.put(name, image_with({}));
        map(begin, begin + 0x1000, 0, folder.path(name));
    }
    const uint64_t words[] = {kSecond + kCode + 1, kFirst + kCode + 0x11, 0, 0,
                              kFirst + kCode + 0x21};
    Stack stack;
    stack.bytes.assign(std::as_bytes(std::span(words)).begin(),
                       std::as_bytes(std::span(words)).end());
    stack.registers.assign(17, 0);
    stack.registers[6] = kStack + 3 * sizeof words[0];  // rbp
    stack.registers[7] = kStack;
    stack.registers[8] = kFirst + kCode;
    std::vector<uint64_t> calls;
    unwind(stack, calls);
    EXPECT_EQ(calls,
              (std::vector<uint64_t>{kFirst + kCode, kSecond + kCode, kFirst + kCode + 0x10}));
}

bool is_accepted(const std::vector<uint8_t> &instructions)
{
    const Result<ElfFile> file = ElfFile::of(image_with(instructions));
    EXPECT_TRUE(file);
    Budget work(1 << 20);
    return check_cfi(*file, work).has_value();
}

// libdw allocates memory for as many registers and states as the instructions name.
TEST(CfiCheck, AcceptsOnlyCallFrameInstructionsThatCompilersEmit)
{
    EXPECT_TRUE(is_accepted({}));
    EXPECT_TRUE(is_accepted({0x41, 0x0e, 0x10, 0x86, 2, 0x0a, 0x0b}));
    EXPECT_FALSE(is_accepted({0x07, 0xff, 0xff, 0xff, 0x3f})) << "register 134217727";
    EXPECT_FALSE(is_accepted(std::vector<uint8_t>(100, 0x0a))) << "100 states";
    EXPECT_FALSE(is_accepted({0x0f, 0xff, 0xff, 0x03})) << "an expression past the end";
    EXPECT_FALSE(is_accepted({0x3f})) << "no instruction";
}

TEST(CfiCheck, RefusesAFileThatNeedsMoreWorkThanAllowed)
{
    const Result<ElfFile> file = ElfFile::of(image_with({}));
    ASSERT_TRUE(file);
    Budget work(1);
    EXPECT_FALSE(check_cfi(*file, work));
}

TEST(Inlines, TruncatedFilesHaveNoInlinedFunctions)
{
    Result<MappedFile> self = MappedFile::open("/proc/self/exe");
    ASSERT_TRUE(self);
    std::mt19937_64 random(2);
    // The front of the file is enough: the section headers after it are missing.
    for (const size_t bytes : {0, 1, 64, 4096, 1 << 20}) {
        std::vector<std::byte> part(
            self->bytes().begin(),
            self->bytes().begin() + std::min<size_t>(bytes, self->bytes().size()));
        Result<ElfFile> file = ElfFile::of(part);
        if (!file)
            continue;
        Budget work(1 << 20);
        Inlines inlines(std::move(*file), "/nowhere", work);
        EXPECT_TRUE(inlines.at(random()).empty());
    }
}

}  // namespace
}  // namespace pmukit::cli

#endif
