// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Symbols of ELF files built here word by word, in either byte order, and of the test program
// itself, whose function addresses are known.
#include "session/symbols.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "base/file.hpp"
#include "base/text.hpp"

namespace pmukit::cli {
namespace {

TEST(SymbolTable, FindsTheSymbolThatContainsAnAddress)
{
    SymbolTable table;
    table.add(0x200, 0x10, "second");
    table.add(0x100, 0, "open");
    table.add(0x300, 0, "alias");
    table.add(0x300, 8, "sized");
    table.sort();
    EXPECT_EQ(table.size(), 3U);
    EXPECT_EQ(table.find(0xff), "");
    EXPECT_EQ(table.find(0x100), "open");
    EXPECT_EQ(table.find(0x1ff), "open");
    EXPECT_EQ(table.find(0x20f), "second");
    EXPECT_EQ(table.find(0x210), "") << "after its end";
    EXPECT_EQ(table.find(0x300), "sized");
}

TEST(Kallsyms, ParsesTextAndModuleSymbols)
{
    Result<SymbolTable> table = parse_kallsyms(
        "c000000000001000 T _text\nc000000000002000 d data\nc000000000003000 t a_loop\n"
        "c008000000000000 t probe\t[module]\nnonsense\nzz T bad\n");
    ASSERT_TRUE(table);
    EXPECT_EQ(table->size(), 3U);
    EXPECT_EQ(table->find(0xc000000000002fff), "_text");
    EXPECT_EQ(table->find(0xc000000000003004), "a_loop");
    EXPECT_EQ(table->find(0xc008000000000008), "probe");
}

TEST(Kallsyms, FindsTextAndStextAtTheSameAddress)
{
    Result<SymbolTable> table = parse_kallsyms(
        "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000100 t a_loop\n");
    ASSERT_TRUE(table);
    EXPECT_EQ(table->address_of("_text"), 0xffffffff81000000);
    EXPECT_EQ(table->address_of("_stext"), 0xffffffff81000000);
    EXPECT_FALSE(table->address_of("a_loop"));
    EXPECT_EQ(table->size(), 2U);
}

// Returns lines of different functions with names of kNameBytes.
std::string kallsyms_of(size_t functions)
{
    constexpr int kNameBytes = 480;
    std::string text;
    for (size_t i = 0; i < functions; i++)
        text += fmt::format("{:016x} t {:0{}}\n", 0xffffffff81000000 + 16 * i, i, kNameBytes);
    return text;
}

TEST(Kallsyms, MemoryOfATableIsLimited)
{
    // Of a symbol: 32 bytes for its address, size, rank and place of its name, and the name.
    constexpr size_t kEach = 512, kFit = limits::kKallsyms / kEach;
    Result<SymbolTable> fits = parse_kallsyms(kallsyms_of(kFit * 9 / 10));
    ASSERT_TRUE(fits) << fits.error().message;
    EXPECT_LE(fits->bytes(), limits::kKallsyms);
    Result<SymbolTable> large = parse_kallsyms(kallsyms_of(kFit + 1));
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().message,
              "functions of more than 24 MiB; is it a copy of /proc/kallsyms?");
}

TEST(Kallsyms, LinesMayComeInPieces)
{
    const std::string text = "c000000000001000 T first\nc000000000002000 t second\n" +
                             std::string(100000, 'x') + "\nc000000000003000 t last";
    for (const size_t piece : {1, 7, 4096, 100000}) {
        Kallsyms kallsyms;
        for (size_t at = 0; at < text.size(); at += piece)
            kallsyms.add(std::string_view(text).substr(at, piece));
        const Result<SymbolTable> table = kallsyms.finish();
        ASSERT_TRUE(table);
        EXPECT_EQ(table->size(), 3U) << piece;
        EXPECT_EQ(table->find(0xc000000000002004), "second") << piece;
        EXPECT_EQ(table->find(0xc000000000003004), "last") << piece;
    }
}

TEST(Kallsyms, RejectsATableWithoutAddresses)
{
    EXPECT_FALSE(parse_kallsyms("0000000000000000 T _text\n0000000000000000 t a_loop\n"));
    EXPECT_FALSE(parse_kallsyms(""));
}

TEST(Demangler, LeavesUnmangledNamesUnchanged)
{
    Demangler demangle;
    EXPECT_EQ(demangle("_ZN3abc1fEi"), "abc::f(int)");
    EXPECT_EQ(demangle("_Zwrong"), "_Zwrong");
    EXPECT_EQ(demangle("main"), "main");
    EXPECT_EQ(demangle("printf@plt"), "printf@plt");
    EXPECT_EQ(demangle("_ZN3abc1fEi@plt"), "abc::f(int)@plt");
    EXPECT_EQ(demangle("_Z1fSt6vectorIiSaIiEES1_"),
              "f(std::vector<int, std::allocator<int> >, std::vector<int, std::allocator<int> >)");
}

// f(P<int, int>, P<P<int, int>, P<int, int> >, ...): each parameter is twice the one before.
std::string doubling(size_t times)
{
    const auto reference = [](size_t number) {
        constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        return number < kDigits.size() ? std::string("S") + kDigits[number] + "_"
                                       : std::string("S1") + kDigits[number - kDigits.size()] + "_";
    };
    std::string name = "_Z1f1PIiiE";
    for (size_t i = 0; i < times; i++)
        name += "S_I" + reference(i) + reference(i) + "E";
    return name;
}

TEST(Demangler, DoesNotDemangleNamesThatWouldBecomeTooLong)
{
    Demangler demangle;
    EXPECT_EQ(demangle(doubling(2)),
              "f(P<int, int>, P<P<int, int>, P<int, int> >, "
              "P<P<P<int, int>, P<int, int> >, P<P<int, int>, P<int, int> > >)");
    for (const size_t times : {9, 12, 26, 60}) {
        const std::string name = doubling(times);
        EXPECT_EQ(demangle(name), name) << times;
    }
    const std::string longer = "_Z" + std::string(100000, 'x');
    EXPECT_EQ(demangle(longer).size(), 4096U);
}

TEST(Demangler, LimitsTheTotalSizeOfAllNames)
{
    Demangler demangle(uint64_t{1} << 20);
    // The demangled name has some KiB, which is within the limit for one name.
    const std::string name = doubling(8);
    const std::string text = demangle("_Z1fv");
    EXPECT_EQ(text, "f()");
    for (size_t i = 0; i < 2000 && demangle("_Z1fv") == text; i++)
        demangle(name);
    EXPECT_EQ(demangle("_Z1fv"), "_Z1fv") << "names of a program that was made for it stay";
}

#ifdef PMUKIT_LIBELF

// A program with one function, at address 0x10000420 and file offset 0x420.
class Image {
public:
    explicit Image(std::endian order, uint32_t flags = 2) : order_(order), flags_(flags) {}

    std::vector<std::byte> bytes() const
    {
        std::vector<std::byte> image(kBytes);
        const bool big = order_ == std::endian::big;
        const unsigned char ident[] = {
            0x7f,      'E',        'L',
            'F',       ELFCLASS64, static_cast<unsigned char>(big ? ELFDATA2MSB : ELFDATA2LSB),
            EV_CURRENT};
        std::memcpy(image.data(), ident, sizeof ident);
        put16(image, 16, ET_EXEC);
        put16(image, 18, EM_PPC64);
        put32(image, 20, EV_CURRENT);
        put64(image, 32, 64);           // program headers
        put64(image, 40, kSectionsAt);  // section headers
        put32(image, 48, flags_);
        put16(image, 52, 64);
        put16(image, 54, 56);
        put16(image, 56, 1);
        put16(image, 58, 64);
        put16(image, 60, 6);
        put16(image, 62, 5);
        put32(image, 64, PT_LOAD);
        put32(image, 68, PF_R | PF_X);
        put64(image, 72, 0);
        put64(image, 80, 0x10000000);
        put64(image, 96, kBytes);
        put64(image, 104, kBytes);
        // Symbols: the null symbol, then the function.
        const bool opd = (flags_ & 3) != 2;
        put32(image, 0x200 + 24, 1);
        image[0x200 + 24 + 4] = std::byte{STB_GLOBAL << 4 | STT_FUNC};
        put16(image, 0x200 + 24 + 6, 1);
        put64(image, 0x200 + 24 + 8, opd ? 0x10000300 : 0x10000420);
        put64(image, 0x200 + 24 + 16, 0x20);
        put64(image, 0x300, 0x10000420);  // the function descriptor
        std::memcpy(image.data() + 0x281, "hot_loop", 8);
        // The build id
        put32(image, 0x2a0, 4);
        put32(image, 0x2a4, 8);
        put32(image, 0x2a8, NT_GNU_BUILD_ID);
        std::memcpy(image.data() + 0x2ac, "GNU", 4);
        for (size_t i = 0; i < 8; i++)
            image[0x2b0 + i] = static_cast<std::byte>(i + 1);
        std::memcpy(image.data() + 0x2c1, ".opd", 4);
        section(image, 1, 1, SHT_PROGBITS, 0x300, 24, 0, 0, 0x10000300);
        section(image, 2, 0, SHT_SYMTAB, 0x200, 48, 3, 24, 0);
        section(image, 3, 0, SHT_STRTAB, 0x280, 0x20, 0, 0, 0);
        section(image, 4, 0, SHT_NOTE, 0x2a0, 24, 0, 0, 0);
        section(image, 5, 0, SHT_STRTAB, 0x2c0, 0x10, 0, 0, 0);
        return image;
    }

private:
    static constexpr size_t kBytes = 0x800, kSectionsAt = 0x600;

    void put16(std::vector<std::byte> &to, size_t at, uint16_t value) const
    {
        store(to.data() + at, value, order_);
    }
    void put32(std::vector<std::byte> &to, size_t at, uint32_t value) const
    {
        store(to.data() + at, value, order_);
    }
    void put64(std::vector<std::byte> &to, size_t at, uint64_t value) const
    {
        store(to.data() + at, value, order_);
    }
    void section(std::vector<std::byte> &to, size_t index, uint32_t name, uint32_t type,
                 uint64_t offset, uint64_t bytes, uint32_t link, uint64_t entry,
                 uint64_t address) const
    {
        const size_t at = kSectionsAt + index * 64;
        put32(to, at, name);
        put32(to, at + 4, type);
        put64(to, at + 16, address);
        put64(to, at + 24, offset);
        put64(to, at + 32, bytes);
        put32(to, at + 40, link);
        put64(to, at + 48, 4);
        put64(to, at + 56, entry);
    }

    std::endian order_;
    uint32_t flags_;
};

// The name of the file has the PID, because tests of this program may run in parallel.
Result<ElfSymbols> opened(Bytes bytes)
{
    const std::string path = testing::TempDir() + "pmukit_symbols." + std::to_string(::getpid());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    Result<ElfSymbols> symbols = ElfSymbols::open(path, "");
    std::filesystem::remove(path);
    return symbols;
}

void expect_hot_loop(const std::vector<std::byte> &image)
{
    Result<ElfSymbols> symbols = opened(image);
    ASSERT_TRUE(symbols) << symbols.error().message;
    EXPECT_EQ(symbols->find(0x41f), "");
    EXPECT_EQ(symbols->find(0x420), "hot_loop");
    EXPECT_EQ(symbols->find(0x43f), "hot_loop");
    EXPECT_EQ(symbols->find(0x440), "");
    EXPECT_EQ(symbols->find(0x10000420), "") << "an address is no offset";
    EXPECT_EQ(symbols->build_id().size(), 8U);
}

TEST(ElfSymbols, ReadEitherByteOrder)
{
    expect_hot_loop(Image(std::endian::little).bytes());
    expect_hot_loop(Image(std::endian::big).bytes());
}

TEST(ElfSymbols, AreFoundThroughFunctionDescriptorsOfPpc64)
{
    expect_hot_loop(Image(std::endian::big, 1).bytes());
}

TEST(ElfSymbols, MatchOnlyTheirBuildIdOrAnEmptyOne)
{
    Result<ElfSymbols> symbols = opened(Image(std::endian::little).bytes());
    ASSERT_TRUE(symbols);
    std::vector<std::byte> id = symbols->build_id();
    EXPECT_TRUE(symbols->matches(id));
    EXPECT_TRUE(symbols->matches({}));
    id.resize(20);
    EXPECT_TRUE(symbols->matches(id)) << "as perf of old pads it";
    id[3] ^= std::byte{1};
    EXPECT_FALSE(symbols->matches(id));
}

TEST(SameBuild, FileWithoutABuildIdIsNotARecordedBuild)
{
    const std::vector<std::byte> id(20, std::byte{7}), zeros(20);
    EXPECT_FALSE(same_build(id, {}));
    EXPECT_TRUE(same_build(zeros, {}));
    EXPECT_TRUE(same_build({}, id));
    EXPECT_TRUE(same_build({}, {}));
}

// objdump prints the stubs of this program: "0000000000401030 <getppid@plt>:", "00 <_init>:".
TEST(ElfSymbols, PltStubsHaveTheSameNamesAsInObjdump)
{
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    FILE *said = ::popen(("objdump -d -j .plt -j .plt.sec --no-show-raw-insn " + self +
                          " | grep '@plt>:'; objdump -h " + self + " | grep -w .plt")
                             .c_str(),
                         "r");
    ASSERT_NE(said, nullptr);
    std::map<uint64_t, std::string> stubs;
    uint64_t address = 0, offset = 0;
    char line[4096], name[2048];
    while (std::fgets(line, sizeof line, said)) {
        if (std::sscanf(line, "%lx <%2047[^>]>:", &address, name) == 2)
            stubs[address] = name;
        else if (std::sscanf(line, " %*d .plt %*x %lx %*x %lx", &address, &offset) == 2)
            break;
    }
    ASSERT_EQ(::pclose(said), 0);
    ASSERT_GT(stubs.size(), 10U);
    Result<ElfSymbols> symbols = ElfSymbols::open(self, "");
    ASSERT_TRUE(symbols);
    for (const auto &[at, stub] : stubs)
        EXPECT_EQ(symbols->find(at - address + offset), stub);
    EXPECT_EQ(symbols->find(offset), ".plt") << "the linker's stub, after _init, as in perf";
}

// The C library calls functions of its own through stubs, of which objdump prints the address:
// "0000000000026290 <*ABS*+0x9be70@plt>:".
TEST(ElfSymbols, PltStubsOfFunctionsOfTheSameLibraryAreNamedAfterTheFunction)
{
    Dl_info library;
    ASSERT_NE(::dladdr(reinterpret_cast<const void *>(&gnu_get_libc_version), &library), 0);
    const std::string path = library.dli_fname;
    Result<ElfSymbols> symbols = ElfSymbols::open(path, "");
    ASSERT_TRUE(symbols);
    FILE *said = ::popen(
        ("objdump -d -j .plt --no-show-raw-insn " + path + " | grep '@plt>:'").c_str(), "r");
    ASSERT_NE(said, nullptr);
    size_t compared = 0;
    char line[4096];
    while (std::fgets(line, sizeof line, said)) {
        uint64_t stub = 0, function = 0;
        if (std::sscanf(line, "%lx <*ABS*+0x%lx@plt>:", &stub, &function) != 2)
            continue;
        // Code of the C library is at the same offset in the file and in memory.
        EXPECT_EQ(symbols->find(stub), std::string(symbols->find(function)) + "@plt") << line;
        compared++;
    }
    EXPECT_EQ(::pclose(said), 0);
    EXPECT_GT(compared, 10U);
}

// Without a limit, the search for the end of each name would scan the whole string table.
TEST(ElfSymbols, UnterminatedNamesAreReadInLinearTime)
{
    constexpr size_t kSymbols = 100000, kNames = size_t{8} << 20;
    std::vector<std::byte> image = Image(std::endian::little).bytes();
    const auto put = [&image](size_t at, auto value) {
        store(image.data() + at, value, std::endian::little);
    };
    const size_t symbols_at = image.size(), names_at = symbols_at + kSymbols * 24;
    image.resize(names_at + kNames, std::byte{'n'});
    for (size_t i = 0; i < kSymbols; i++) {
        const size_t at = symbols_at + i * 24;
        put(at, static_cast<uint32_t>(i));
        put(at + 4, uint32_t{STB_GLOBAL << 4 | STT_FUNC | 1 << 16});
        put(at + 8, uint64_t{0x10000000 + i});
        put(at + 16, uint64_t{1});
    }
    constexpr size_t kSections = 0x600;
    put(kSections + 2 * 64 + 24, uint64_t{symbols_at});
    put(kSections + 2 * 64 + 32, uint64_t{kSymbols * 24});
    put(kSections + 3 * 64 + 24, uint64_t{names_at});
    put(kSections + 3 * 64 + 32, uint64_t{kNames});
    const std::clock_t begun = std::clock();
    const Result<ElfSymbols> symbols = opened(image);
    EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 10);
    ASSERT_TRUE(symbols);
    EXPECT_EQ(symbols->find(0x420), std::string(4097, 'n'));
}

// A program for x86-64 with this many stubs in .plt, at file offset 16 and address 0x10000010. All
// are of one function with a name of kStubName bytes: of another file, or of the program itself,
// where the linker gives the relocation no symbol.
constexpr size_t kStubName = 4096 - sizeof(std::string);
std::vector<std::byte> stub_image(size_t stubs, bool of_itself)
{
    constexpr std::string_view kNames("\0.plt\0.rela.plt\0", 17);
    constexpr uint64_t kAt = 0x10000000, kFunction = 0x20000000;
    std::vector<std::byte> image;
    const auto put = [&image](auto value) {
        std::byte bytes[sizeof value];
        store(bytes, value, std::endian::little);
        append(image, bytes);
    };
    const auto end = [&image] { return uint64_t{image.size()}; };
    Elf64_Ehdr head{};
    image.resize(sizeof head + sizeof(Elf64_Phdr));
    const uint64_t names_at = end();
    append(image, as_bytes(kNames));
    const uint64_t strings_at = end();
    append(image, as_bytes('\0' + std::string(kStubName, 'f') + '\0'));
    image.resize((image.size() + 7) / 8 * 8);
    const uint64_t symbols_at = end();
    image.resize(image.size() + sizeof(Elf64_Sym));
    put(uint32_t{1});
    put(uint8_t{STB_GLOBAL << 4 | STT_FUNC});
    put(uint8_t{0});
    put(of_itself ? uint16_t{1} : uint16_t{SHN_UNDEF});
    put(of_itself ? kFunction : uint64_t{0});
    put(uint64_t{16});
    const uint64_t jumps_at = end();
    for (uint64_t i = 0; i < stubs; i++) {
        put(kAt + 0x1000000 + 8 * i);
        put(of_itself ? ELF64_R_INFO(0, R_X86_64_IRELATIVE)
                      : ELF64_R_INFO(uint64_t{1}, R_X86_64_JUMP_SLOT));
        put(kFunction);
    }
    const uint64_t sections_at = end();
    const auto section = [&put](uint32_t name, uint32_t type, uint64_t address, uint64_t offset,
                                uint64_t bytes, uint32_t link, uint64_t entry) {
        put(name);
        put(type);
        put(uint64_t{0});
        for (const uint64_t value : {address, offset, bytes})
            put(value);
        put(link);
        put(uint32_t{0});
        put(uint64_t{8});
        put(entry);
    };
    section(0, SHT_NULL, 0, 0, 0, 0, 0);
    section(1, SHT_NOBITS, kAt, 0, 16 * (stubs + 1), 0, 16);
    section(6, SHT_RELA, 0, jumps_at, stubs * sizeof(Elf64_Rela), 3, sizeof(Elf64_Rela));
    section(0, SHT_SYMTAB, 0, symbols_at, 2 * sizeof(Elf64_Sym), 4, sizeof(Elf64_Sym));
    section(0, SHT_STRTAB, 0, strings_at, kStubName + 2, 0, 0);
    section(0, SHT_STRTAB, 0, names_at, kNames.size(), 0, 0);
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_EXEC;
    head.e_machine = EM_X86_64;
    head.e_version = EV_CURRENT;
    head.e_phoff = sizeof head;
    head.e_shoff = sections_at;
    head.e_ehsize = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = 1;
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = 6;
    head.e_shstrndx = 5;
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_vaddr = kAt;
    segment.p_filesz = segment.p_memsz = 16 * (stubs + 1);
    segment.p_align = 4096;
    std::memcpy(image.data(), &head, sizeof head);
    std::memcpy(image.data() + sizeof head, &segment, sizeof segment);
    return image;
}

TEST(ElfSymbols, StubsHaveNamesUpToTheLimit)
{
    if (std::endian::native != std::endian::little)
        GTEST_SKIP() << "the headers of the image are in the order of this machine";
    constexpr size_t kFit = limits::kStubs / (sizeof(std::string) + kStubName);
    const std::string name = std::string(kStubName, 'f') + "@plt";
    for (const bool of_itself : {false, true}) {
        const Result<ElfSymbols> symbols = opened(stub_image(kFit + 1, of_itself));
        ASSERT_TRUE(symbols);
        EXPECT_EQ(symbols->find(16), name) << of_itself;
        // The name of the linker's stub takes some of the memory of those of the file itself.
        EXPECT_EQ(symbols->find(16 * (kFit - of_itself)), name) << of_itself;
        EXPECT_EQ(symbols->find(16 * (kFit + 1)), "") << of_itself;
        EXPECT_LT(symbols->bytes(), limits::kStubs * 5 / 4) << of_itself;
    }
}

TEST(ElfSymbols, SurviveTruncatedAndDamagedFiles)
{
    const std::vector<std::byte> image = Image(std::endian::big, 1).bytes();
    for (size_t size = 0; size < image.size(); size += 7)
        (void)opened(Bytes(image).first(size));
    for (size_t at = 0; at < image.size(); at += 3) {
        std::vector<std::byte> damaged = image;
        damaged[at] = std::byte{0xff};
        Result<ElfSymbols> symbols = opened(damaged);
        if (symbols)
            (void)symbols->find(0x420);
    }
    EXPECT_FALSE(ElfSymbols::open("/dev/null", "")) << "no regular file";
    EXPECT_FALSE(ElfSymbols::open("/nowhere/at/all", ""));
}

#endif

}  // namespace
}  // namespace pmukit::cli
