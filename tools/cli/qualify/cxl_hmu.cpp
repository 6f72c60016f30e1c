// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Statements about a CXL hotness monitoring unit, from CXL 3.2 section 8.2.8; see
// Documentation/devices/cxl_hmu.rst. A device is a CHMU, the register block of one register locator
// entry; most checks examine each of its instances.
#include <algorithm>
#include <bit>

#include "cli/qualify/pci.hpp"
#include "cli/qualify/tables.hpp"

namespace pmukit::cli::qualify {
namespace {

constexpr uint16_t kCxlVendor = 0x1e98, kDeviceDvsec = 0, kLocatorDvsec = 8;
constexpr uint32_t kCxlClass = 0x050200;  // with its programming interface
constexpr uint8_t kChmuBlock = 5;
// Size of the common registers of the block; offsets of registers in an instance, and the size of
// all registers of an instance.
constexpr uint64_t kHmuCommonBytes = 0x10, kHmuCap1 = 0x08, kHmuConfig0 = 0x40, kHmuConfig1 = 0x48,
                   kHmuConfig2 = 0x50, kHmuStatus = 0x60, kHmuHead = 0x68, kHmuTail = 0x6a,
                   kHmuRegisters = 0x70;
constexpr uint64_t kHmuEnable = 1 << 16, kHmuResetCounters = 1 << 17;
constexpr uint64_t kRangeBytes = uint64_t{1} << 28;  // memory per bit of the bitmap: 256 MiB
constexpr unsigned kMostInstances = 8, kLeastList = 64, kMostMessages = 16;

constexpr uint64_t bits(uint64_t word, unsigned high, unsigned low)
{
    return word >> low & (high - low == 63 ? ~uint64_t{0} : (uint64_t{1} << (high - low + 1)) - 1);
}

struct Entry {
    uint64_t place, word;
};

// What run_instance() observes while it enables an instance once.
struct HmuRun {
    bool idle_after_reset = false, reset_cleared = false, kept_by_reset = false;
    bool list_emptied = false;
    bool enabled = false, locked = false, disabled = false, config_kept = false;
    int64_t enable_us = 0, disable_us = 0;
    uint64_t width = 0, unit_log2 = 0, head = 0, most_tail = 0;
    bool always_on = false, bits_set = false, bits_cleared = false;
    std::vector<Entry> entries;
};

struct Instance {
    std::string name;
    uint64_t at = 0;  // offset in the BAR
    uint64_t cap[4] = {};
    std::optional<HmuRun> run{};

    uint64_t list_size() const { return bits(cap[0], 63, 48); }
    uint64_t bitmap() const { return at + cap[2]; }
    uint64_t list() const { return at + cap[3]; }
    bool epochs() const { return bits(cap[1], 48, 48); }
    bool always_on() const { return bits(cap[1], 49, 49); }
};

struct Chmu {
    std::string name;
    PciFunction function;
    unsigned bar = 0;
    uint64_t at = 0;
    Window window{};
    std::optional<Error> closed{};  // reason why there is no window
    uint64_t common0 = 0, common1 = 0;
    uint64_t capacity = 0;  // bytes, from the device DVSEC; 0: unknown
    std::vector<Instance> instances{};

    uint64_t bar_bytes() const { return function.bars[bar].bytes; }
    uint64_t count() const { return bits(common0, 15, 8); }
    uint64_t length() const { return bits(common1, 15, 0); }
};

// Discovery

uint64_t capacity_of(const PciFunction &function)
{
    const auto at = function.dvsec(kCxlVendor, kDeviceDvsec);
    if (!at)
        return 0;
    const unsigned ranges = std::min<unsigned>(function.u16(*at + 0x0a) >> 4 & 3, 2);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < ranges; i++)
        bytes += uint64_t{function.u32(*at + 0x18 + 0x10 * i)} << 32 |
                 (function.u32(*at + 0x1c + 0x10 * i) & 0xf0000000);
    return bytes;
}

void read_block(const Machine &machine, Chmu &chmu)
{
    if (!chmu.function.decodes_memory()) {
        chmu.closed = Error{Errc::kBusy, chmu.function.name +
                                             ": the function does not decode "
                                             "memory; bind a driver first"};
        return;
    }
    Result<Window> window = machine.map(chmu.function.resource(chmu.bar), 0, chmu.bar_bytes(),
                                        machine.active() ? Access::kReadWrite : Access::kRead);
    if (!window) {
        chmu.closed = window.error();
        return;
    }
    chmu.window = std::move(*window);
    chmu.common0 = chmu.window.read<uint64_t>(chmu.at);
    chmu.common1 = chmu.window.read<uint64_t>(chmu.at + 8);
    for (uint64_t i = 0; i < std::min<uint64_t>(chmu.count(), kMostInstances); i++) {
        Instance instance;
        instance.name = text_of("instance {}", i);
        instance.at = chmu.at + kHmuCommonBytes + i * chmu.length();
        for (unsigned q = 0; q < 4; q++)
            instance.cap[q] = chmu.window.read<uint64_t>(instance.at + 8 * q);
        chmu.instances.push_back(std::move(instance));
    }
}

std::vector<Chmu> chmus_of(const Machine &machine, const PciFunction &function)
{
    std::vector<Chmu> found;
    const auto locator = function.dvsec(kCxlVendor, kLocatorDvsec);
    if (!locator)
        return found;
    const size_t end = *locator + (function.u32(*locator + 4) >> 20);
    for (size_t at = *locator + 0x0c; at + 8 <= end; at += 8) {
        const uint32_t low = function.u32(at);
        if ((low >> 8 & 0xff) != kChmuBlock || (low & 7) >= function.bars.size())
            continue;
        Chmu chmu;
        chmu.name = text_of("{} CHMU {}", function.name, found.size());
        chmu.function = function;
        chmu.bar = low & 7;
        chmu.at = uint64_t{function.u32(at + 4)} << 32 | (low & 0xffff0000);
        chmu.capacity = capacity_of(function);
        read_block(machine, chmu);
        found.push_back(std::move(chmu));
    }
    return found;
}

// Checks that only read

Outcome block_outcome(const Chmu &chmu, Outcome (*check)(const Chmu &))
{
    return chmu.closed ? not_tested(*chmu.closed) : check(chmu);
}

Outcome instances_outcome(Chmu &chmu, Outcome (*check)(const Chmu &, const Instance &))
{
    if (chmu.closed)
        return not_tested(*chmu.closed);
    return each(chmu.instances, [&](const Instance &instance) { return check(chmu, instance); });
}

Outcome check_version(const Chmu &chmu)
{
    const uint64_t version = bits(chmu.common0, 3, 0);
    if (chmu.common0 == ~uint64_t{0} || version == 0)
        return fail("the common capability reads {:#x}", chmu.common0);
    return pass("version {}", version);
}

Outcome check_count(const Chmu &chmu)
{
    if (chmu.count() < 1 || chmu.count() > kMostInstances)
        return fail("{} instances", chmu.count());
    return pass("{} instances", chmu.count());
}

Outcome check_block_in_bar(const Chmu &chmu)
{
    const uint64_t bytes = kHmuCommonBytes + chmu.count() * chmu.length();
    if (chmu.at > chmu.bar_bytes() || bytes > chmu.bar_bytes() - chmu.at)
        return fail("{:#x} bytes at {:#x} of a BAR of {:#x}", bytes, chmu.at, chmu.bar_bytes());
    return pass("{:#x} bytes at {:#x} of BAR {}", bytes, chmu.at, chmu.bar);
}

Outcome check_length(const Chmu &chmu)
{
    if (chmu.length() < kHmuRegisters || chmu.length() % 8)
        return fail("{:#x} bytes", chmu.length());
    return pass("{:#x} bytes", chmu.length());
}

// read_block() takes the instance length as the distance between instances. If that is wrong, it
// reads no capabilities at this offset.
Outcome check_stride(const Chmu &, const Instance &instance)
{
    for (unsigned q = 0; q < 2; q++)
        if (instance.cap[q] == 0 || instance.cap[q] == ~uint64_t{0})
            return fail("capability {} reads {:#x}", q, instance.cap[q]);
    return pass("capabilities {:#x} {:#x}", instance.cap[0], instance.cap[1]);
}

Outcome check_units(const Chmu &, const Instance &instance)
{
    const uint64_t units = bits(instance.cap[1], 31, 0);
    return units && units >> 24 == 0 ? pass("mask {:#x}", units) : fail("mask {:#x}", units);
}

Outcome check_access_types(const Chmu &, const Instance &instance)
{
    const uint64_t types = bits(instance.cap[0], 13, 8);
    return types ? pass("mask {:#x}", types) : fail("mask 0");
}

Outcome check_downsampling(const Chmu &, const Instance &instance)
{
    const uint64_t factors = bits(instance.cap[1], 47, 32);
    return factors & 1 ? pass("mask {:#x}", factors)
                       : fail("mask {:#x}: not every request can be counted", factors);
}

Outcome check_modes(const Chmu &, const Instance &instance)
{
    if (!instance.epochs() && !instance.always_on())
        return fail("neither");
    return pass("{}{}", instance.epochs() ? "epochs " : "",
                instance.always_on() ? "always on" : "");
}

constexpr uint64_t kScales_us[] = {0, 100, 1000, 10000, 100000, 1000000};

uint64_t epoch_us(uint64_t scale, uint64_t value)
{
    return scale < std::size(kScales_us) ? kScales_us[scale] * value : 0;
}

uint64_t longest_us(const Instance &instance)
{
    return epoch_us(bits(instance.cap[0], 19, 16), bits(instance.cap[0], 31, 20));
}

uint64_t shortest_us(const Instance &instance)
{
    return epoch_us(bits(instance.cap[0], 35, 32), bits(instance.cap[0], 47, 36));
}

Outcome check_epochs(const Chmu &, const Instance &instance)
{
    if (!instance.epochs())
        return not_tested("the instance has no epoch mode");
    const uint64_t shortest = shortest_us(instance), longest = longest_us(instance);
    if (!shortest || !longest || shortest > longest)
        return fail("shortest {} us, longest {} us", shortest, longest);
    return pass("{} us to {} us", shortest, longest);
}

Outcome check_list_size(const Chmu &, const Instance &instance)
{
    const uint64_t size = instance.list_size();
    return size >= kLeastList ? pass("{} entries", size) : fail("{} entries", size);
}

bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

Outcome check_places(const Chmu &chmu, const Instance &instance)
{
    const uint64_t r = instance.cap[2], h = instance.cap[3], bytes = 8 * instance.list_size();
    if (r % 8 || h % 8 || r >= h)
        return fail("bitmap at {:#x}, list at {:#x}", r, h);
    if (h > chmu.bar_bytes() || instance.list() > chmu.bar_bytes() ||
        bytes > chmu.bar_bytes() - instance.list())
        return fail("a list of {:#x} bytes at {:#x} of a BAR of {:#x}", bytes, instance.list(),
                    chmu.bar_bytes());
    for (const Instance &other : chmu.instances)
        if (overlap(instance.bitmap(), h - r, other.at, kHmuRegisters) ||
            overlap(instance.list(), bytes, other.at, kHmuRegisters))
            return fail("bitmap or list overlaps the registers of {}", other.name);
    return pass("bitmap at {:#x}, list at {:#x}", r, h);
}

Outcome check_bitmap_covers(const Chmu &chmu, const Instance &instance)
{
    if (!chmu.capacity)
        return not_tested("the device DVSEC names no memory");
    if (instance.cap[3] < instance.cap[2])
        return fail("the list lies before the bitmap");
    const uint64_t ranges = (instance.cap[3] - instance.cap[2]) * 8;
    if (ranges < chmu.capacity / kRangeBytes)
        return fail("{} bits for {:#x} bytes", ranges, chmu.capacity);
    return pass("{} bits for {:#x} bytes", ranges, chmu.capacity);
}

Outcome check_reserved(const Chmu &chmu, const Instance &instance)
{
    struct Reserved {
        const char *name;
        uint64_t offset;
        unsigned high, low;
    };
    static constexpr Reserved kReserved[] = {
        {"capability 1", kHmuCap1, 63, 53},       {"configuration 0", kHmuConfig0, 15, 11},
        {"configuration 0", kHmuConfig0, 31, 18}, {"configuration 1", kHmuConfig1, 39, 36},
        {"configuration 2", kHmuConfig2, 63, 16}, {"status", kHmuStatus, 15, 1},
        {"status", kHmuStatus, 63, 42},
    };
    for (const Reserved &field : kReserved) {
        const uint64_t word = chmu.window.read<uint64_t>(instance.at + field.offset);
        if (bits(word, field.high, field.low))
            return fail("{} reads {:#x}: bits {}:{}", field.name, word, field.high, field.low);
    }
    return pass("all read 0");
}

uint64_t status_of(const Chmu &chmu, const Instance &instance)
{
    return chmu.window.read<uint64_t>(instance.at + kHmuStatus);
}

Outcome check_operation(const Chmu &chmu, const Instance &instance)
{
    const uint64_t operation = bits(status_of(chmu, instance), 31, 16);
    return operation <= 3 ? pass("{}", operation) : fail("{}", operation);
}

Outcome check_positions(const Chmu &chmu, const Instance &instance)
{
    const unsigned head = chmu.window.read<uint16_t>(instance.at + kHmuHead),
                   tail = chmu.window.read<uint16_t>(instance.at + kHmuTail);
    if (head >= instance.list_size() || tail >= instance.list_size())
        return fail("head {}, tail {} of {} entries", head, tail, instance.list_size());
    return pass("head {}, tail {}", head, tail);
}

// Number of MSI-X or MSI vectors of the function; 0: none.
unsigned vectors_of(const PciFunction &function)
{
    if (const auto msix = function.capability(0x11))
        return (function.u16(*msix + 2) & 0x7ffu) + 1;
    if (const auto msi = function.capability(0x05))
        return 1u << (function.u16(*msi + 2) >> 1 & 7);
    return 0;
}

Outcome check_message(const Chmu &chmu, const Instance &instance)
{
    const uint64_t message = bits(instance.cap[0], 3, 0);
    if (!bits(instance.cap[0], 5, 4))
        return pass("no interrupts: the list is polled");
    const unsigned vectors = std::min(vectors_of(chmu.function), kMostMessages);
    if (!vectors)
        return not_tested("the function has no vectors: the list is polled");
    return message < vectors ? pass("message {} of {}", message, vectors)
                             : fail("message {} of {}", message, vectors);
}

Outcome check_list_reads(const Chmu &chmu, const Instance &instance)
{
    if (instance.list_size() == 0)
        return fail("the list has no entries");
    const uint64_t first = chmu.window.read<uint64_t>(instance.list()),
                   last =
                       chmu.window.read<uint64_t>(instance.list() + 8 * (instance.list_size() - 1));
    if (first == ~uint64_t{0} || last == ~uint64_t{0})
        return fail("an entry reads as all ones");
    return pass("neither is all ones");
}

Outcome check_capacity(const Machine &machine, Chmu &chmu)
{
    const Host &host = machine.host();
    uint64_t known = 0;
    std::string device;
    for (const std::string &name : host.names(chmu.function.path))
        if (name.starts_with("mem") && name.size() > 3 && name[3] >= '0' && name[3] <= '9')
            device = name;
    if (device.empty())
        return not_tested("cxl_pci has no memory device of this function");
    for (const char *kind : {"ram", "pmem"}) {
        const std::string file = text_of("{}/{}/{}/size", chmu.function.path, device, kind);
        const Result<uint64_t> bytes = parse_number(host.text(file));
        known += bytes ? *bytes : 0;
    }
    if (!known)
        return not_tested("{} has no size: the device is not ready", device);
    if (known != chmu.capacity)
        return fail("{} has {:#x} bytes, the device DVSEC {:#x}", device, known, chmu.capacity);
    return pass("{:#x} bytes in both", known);
}

// Checks that write

std::optional<std::string> hmu_held(const Machine &machine, Chmu &chmu)
{
    if (chmu.closed)
        return chmu.closed->message;
    const uint64_t start = chmu.function.bars[chmu.bar].start + chmu.at;
    const uint64_t bytes = kHmuCommonBytes + chmu.count() * chmu.length();
    if (auto holder = holder_of(machine, chmu.function, start, start + bytes - 1))
        return holder;
    for (const Instance &instance : chmu.instances)
        if (status_of(chmu, instance) & 1)
            return instance.name + " is enabled: another driver or program uses it";
    return std::nullopt;
}

// Returns true as soon as no operation is in progress; false: not within limit_us.
bool wait_idle(const Chmu &chmu, const Instance &instance, int64_t limit_us)
{
    const int64_t until = now_us() + limit_us;
    do {
        if (bits(status_of(chmu, instance), 31, 16) == 0)
            return true;
        sleep_us(100);
    } while (now_us() < until);
    return bits(status_of(chmu, instance), 31, 16) == 0;
}

constexpr int64_t kEnableLimit_us = 1000000, kDisableLimit_us = 300000;

// Repeats the request, which a device may drop while another operation is in progress.
bool disable(const Chmu &chmu, const Instance &instance)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        const uint64_t config = chmu.window.read<uint64_t>(instance.at + kHmuConfig0);
        chmu.window.write<uint64_t>(instance.at + kHmuConfig0,
                                    config & ~(kHmuEnable | kHmuResetCounters));
        if (wait_idle(chmu, instance, kDisableLimit_us) && !(status_of(chmu, instance) & 1))
            return true;
    }
    return false;
}

// Restores the configuration of an instance at the end of a scope, with the instance disabled.
class KeptConfig {
public:
    KeptConfig(const Chmu &chmu, const Instance &instance) : chmu_(chmu), instance_(instance)
    {
        for (unsigned i = 0; i < 3; i++)
            config_[i] = chmu.window.read<uint64_t>(instance.at + kHmuConfig0 + 8 * i);
        for (uint64_t at = instance.cap[2]; at + 8 <= instance.cap[3] && at - instance.cap[2] < 512;
             at += 8)
            bitmap_.push_back(chmu.window.read<uint64_t>(instance.at + at));
    }
    KeptConfig(const KeptConfig &) = delete;
    KeptConfig &operator=(const KeptConfig &) = delete;
    ~KeptConfig()
    {
        disable(chmu_, instance_);
        for (size_t i = 0; i < bitmap_.size(); i++)
            chmu_.window.write<uint64_t>(instance_.bitmap() + 8 * i, bitmap_[i]);
        for (unsigned i = 3; i-- > 0;)
            chmu_.window.write<uint64_t>(instance_.at + kHmuConfig0 + 8 * i,
                                         config_[i] & (i ? ~uint64_t{0} : ~kHmuEnable));
    }
    size_t bitmap_words() const { return bitmap_.size(); }

private:
    const Chmu &chmu_;
    const Instance &instance_;
    uint64_t config_[3];
    std::vector<uint64_t> bitmap_;
};

// A value of register CFG1 in which every field is valid, because a device may ignore a write with
// a reserved value.
uint64_t config1_of(const Instance &instance, unsigned unit_log2)
{
    const uint64_t factor =
        static_cast<uint64_t>(std::countr_zero(bits(instance.cap[1], 47, 32) | uint64_t{1} << 15));
    uint64_t scale = bits(instance.cap[0], 35, 32), value = bits(instance.cap[0], 47, 36);
    if (!epoch_us(scale, value))
        scale = 1, value = 1;
    return unit_log2 | factor << 32 | uint64_t{!instance.epochs()} << 40 | scale << 48 |
           value << 52;
}

// Each supported unit size must give a valid counter width.
Outcome check_width_of(const Chmu &chmu, const Instance &instance)
{
    const KeptConfig kept(chmu, instance);
    std::string seen;
    for (unsigned n = 0; n < 24; n++) {
        if (!(instance.cap[1] >> n & 1))
            continue;
        chmu.window.write<uint64_t>(instance.at + kHmuConfig1, config1_of(instance, n + 8));
        const uint64_t width = bits(status_of(chmu, instance), 39, 32);
        if (width < 1 || width > 63)
            return fail("unit 2^{}: width {}", n + 8, width);
        append(seen, "{}2^{}: {} bits", seen.empty() ? "" : ", ", n + 8, width);
    }
    return seen.empty() ? not_tested("no unit size") : pass("{}", seen);
}

Outcome check_config_of(const Chmu &chmu, const Instance &instance)
{
    const KeptConfig kept(chmu, instance);
    if (!bits(instance.cap[1], 23, 0))
        return not_tested("no unit size");
    const unsigned unit = 8 + static_cast<unsigned>(std::countr_zero(instance.cap[1]));
    const uint64_t wanted1 = config1_of(instance, unit), wanted2 = instance.list_size() / 2;
    chmu.window.write<uint64_t>(instance.at + kHmuConfig1, wanted1);
    chmu.window.write<uint64_t>(instance.at + kHmuConfig2, wanted2);
    const uint64_t one = chmu.window.read<uint64_t>(instance.at + kHmuConfig1),
                   two = chmu.window.read<uint64_t>(instance.at + kHmuConfig2);
    if (one != wanted1 || two != wanted2)
        return fail("wrote {:#x} and {:#x}, read {:#x} and {:#x}", wanted1, wanted2, one, two);
    return pass("{:#x} and {:#x}", one, two);
}

Outcome check_bitmap_of(const Chmu &chmu, const Instance &instance)
{
    const KeptConfig kept(chmu, instance);
    if (!chmu.capacity || !kept.bitmap_words())
        return not_tested("the device names no memory");
    const uint64_t wanted = 1;  // bit 0: the first 256 MiB, which every device has
    chmu.window.write<uint64_t>(instance.bitmap(), wanted);
    const uint64_t seen = chmu.window.read<uint64_t>(instance.bitmap());
    return seen == wanted ? pass("{:#x}", seen) : fail("wrote {:#x}, read {:#x}", wanted, seen);
}

uint64_t access_type(const Instance &instance)
{
    return static_cast<uint64_t>(std::bit_width(bits(instance.cap[0], 13, 8)));
}

void take_entries(const Chmu &chmu, const Instance &instance, HmuRun &run)
{
    const uint64_t size = instance.list_size();
    uint64_t at = run.head;
    const uint64_t tail = chmu.window.read<uint16_t>(instance.at + kHmuTail);
    run.most_tail = std::max(run.most_tail, tail);
    if (tail >= size)
        return;
    for (; at != tail && run.entries.size() < 64; at = (at + 1) % size)
        run.entries.push_back({at, chmu.window.read<uint64_t>(instance.list() + 8 * at)});
    chmu.window.write<uint16_t>(instance.at + kHmuHead, static_cast<uint16_t>(at));
    run.head = at;
}

void reset_counters(const Chmu &chmu, const Instance &instance, HmuRun &run)
{
    const uint64_t before = chmu.window.read<uint64_t>(instance.at + kHmuConfig1);
    chmu.window.write<uint64_t>(instance.at + kHmuConfig0,
                                access_type(instance) | uint64_t{1} << 32 | kHmuResetCounters);
    run.idle_after_reset = wait_idle(chmu, instance, kEnableLimit_us);
    const uint64_t after = chmu.window.read<uint64_t>(instance.at + kHmuConfig0);
    run.reset_cleared = !(after & kHmuResetCounters);
    run.kept_by_reset = chmu.window.read<uint64_t>(instance.at + kHmuConfig1) == before;
}

// Enables the instance for three epochs with threshold 1, then disables it.
HmuRun run_instance(const Chmu &chmu, const Instance &instance)
{
    HmuRun run;
    const KeptConfig kept(chmu, instance);
    const bool has_4k = instance.cap[1] >> 4 & 1;
    run.unit_log2 =
        has_4k ? 12 : 8 + static_cast<unsigned>(std::countr_zero(instance.cap[1] | 1u << 23));
    run.always_on = !instance.epochs();
    const uint64_t config1 = config1_of(instance, static_cast<unsigned>(run.unit_log2));
    chmu.window.write<uint64_t>(instance.at + kHmuConfig1, config1);
    run.width = bits(status_of(chmu, instance), 39, 32);
    for (size_t i = 0; i < kept.bitmap_words(); i++) {
        const uint64_t ranges = chmu.capacity / kRangeBytes;
        const uint64_t left = ranges > 64 * i ? std::min<uint64_t>(ranges - 64 * i, 64) : 0;
        chmu.window.write<uint64_t>(instance.bitmap() + 8 * i,
                                    left == 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1);
    }
    chmu.window.write<uint64_t>(instance.at + kHmuConfig2, instance.list_size() / 2);
    reset_counters(chmu, instance, run);
    run.head = chmu.window.read<uint16_t>(instance.at + kHmuTail);
    chmu.window.write<uint16_t>(instance.at + kHmuHead, static_cast<uint16_t>(run.head));
    run.list_emptied = chmu.window.read<uint16_t>(instance.at + kHmuHead) == run.head;

    const int64_t begin = now_us();
    chmu.window.write<uint64_t>(instance.at + kHmuConfig0,
                                access_type(instance) | uint64_t{1} << 32 | kHmuEnable);
    run.enabled = wait_idle(chmu, instance, kEnableLimit_us) && (status_of(chmu, instance) & 1);
    run.enable_us = now_us() - begin;
    if (run.enabled) {
        chmu.window.write<uint64_t>(instance.at + kHmuConfig2, 1);
        run.locked =
            chmu.window.read<uint64_t>(instance.at + kHmuConfig2) == instance.list_size() / 2;
        const int64_t epoch = static_cast<int64_t>(std::max<uint64_t>(shortest_us(instance), 1000));
        for (int i = 0; i < 3 && epoch <= kEnableLimit_us; i++) {
            sleep_us(epoch);
            take_entries(chmu, instance, run);
        }
        run.config_kept = chmu.window.read<uint64_t>(instance.at + kHmuConfig1) == config1;
    }
    const int64_t end = now_us();
    run.disabled = disable(chmu, instance);
    run.disable_us = now_us() - end;
    // Empty the list first: while it holds more entries than the threshold, the device sets a
    // cleared status bit again.
    chmu.window.write<uint16_t>(instance.at + kHmuHead,
                                chmu.window.read<uint16_t>(instance.at + kHmuTail));
    const uint64_t raised = status_of(chmu, instance) & (uint64_t{3} << 40);
    run.bits_set = raised;
    if (raised)
        chmu.window.write<uint64_t>(instance.at + kHmuStatus, raised);
    run.bits_cleared = !(status_of(chmu, instance) & raised);
    return run;
}

// Calls run_instance() once for each instance; all checks examine the same observations.
Outcome runs_outcome(Chmu &chmu, Outcome (*check)(const Chmu &, const Instance &, const HmuRun &))
{
    return each(chmu.instances, [&](Instance &instance) {
        if (!instance.run)
            instance.run = run_instance(chmu, instance);
        return check(chmu, instance, *instance.run);
    });
}

Outcome check_reset(const Chmu &, const Instance &, const HmuRun &run)
{
    if (!run.idle_after_reset || !run.reset_cleared)
        return fail("the reset {}", run.idle_after_reset ? "does not clear itself" : "never ends");
    return run.kept_by_reset ? pass("done, the configuration is kept")
                             : fail("configuration 1 is lost");
}

Outcome check_emptied(const Chmu &, const Instance &, const HmuRun &run)
{
    return run.list_emptied ? pass("head became {}", run.head) : fail("head did not change");
}

Outcome check_enable(const Chmu &, const Instance &, const HmuRun &run)
{
    return run.enabled ? pass("after {} us", run.enable_us)
                       : fail("not enabled after {} us", run.enable_us);
}

Outcome check_locked(const Chmu &, const Instance &, const HmuRun &run)
{
    if (!run.enabled)
        return not_tested("it could not be enabled");
    return run.locked && run.config_kept ? pass("a write while enabled changes nothing")
                                         : fail("a write while enabled changed the configuration");
}

Outcome check_disable(const Chmu &, const Instance &, const HmuRun &run)
{
    if (!run.disabled)
        return fail("still enabled after {} us", run.disable_us);
    return run.disable_us <= kDisableLimit_us ? pass("after {} us", run.disable_us)
                                              : fail("after {} us", run.disable_us);
}

Outcome check_tail(const Chmu &, const Instance &instance, const HmuRun &run)
{
    if (!run.enabled)
        return not_tested("it could not be enabled");
    return run.most_tail < instance.list_size()
               ? pass("at most {}", run.most_tail)
               : fail("{} of {}", run.most_tail, instance.list_size());
}

Outcome check_entries(const Chmu &chmu, const Instance &, const HmuRun &run)
{
    if (run.entries.empty())
        return not_tested("no unit was hot: access the device's memory during the run");
    for (const Entry &entry : run.entries) {
        const uint64_t unit = entry.word >> run.width;
        const uint64_t count = entry.word & ((uint64_t{1} << run.width) - 1);
        if (chmu.capacity && unit >= chmu.capacity >> run.unit_log2)
            return fail("place {}: the unit is beyond the memory", entry.place);
        if (!run.always_on && count == 0)
            return fail("place {}: a count of 0", entry.place);
    }
    return pass("{} entries of {} bits of count", run.entries.size(), run.width);
}

Outcome check_w1c(const Chmu &, const Instance &, const HmuRun &run)
{
    if (!run.bits_set)
        return not_tested("neither was set: access the device's memory during the run");
    return run.bits_cleared ? pass("cleared") : fail("a written 1 does not clear it");
}

Outcome check_disable_soon(const Chmu &chmu, const Instance &instance)
{
    const KeptConfig kept(chmu, instance);
    if (!bits(instance.cap[1], 23, 0))
        return not_tested("no unit size");
    const unsigned unit = 8 + static_cast<unsigned>(std::countr_zero(instance.cap[1]));
    chmu.window.write<uint64_t>(instance.at + kHmuConfig1, config1_of(instance, unit));
    const uint64_t config = access_type(instance) | uint64_t{1} << 32;
    chmu.window.write<uint64_t>(instance.at + kHmuConfig0, config | kHmuEnable);
    return disable(chmu, instance) ? pass("disabled") : fail("cannot be disabled any more");
}

using HmuCheck = Check<Chmu>;

template <Outcome (*check)(const Chmu &)>
Outcome of_block(const Machine &, Chmu &chmu)
{
    return block_outcome(chmu, check);
}
template <Outcome (*check)(const Chmu &, const Instance &)>
Outcome of_instances(const Machine &, Chmu &chmu)
{
    return instances_outcome(chmu, check);
}
template <Outcome (*check)(const Chmu &, const Instance &, const HmuRun &)>
Outcome of_runs(const Machine &, Chmu &chmu)
{
    return runs_outcome(chmu, check);
}

constexpr const char *kHmuSpec = "CXL 3.2 section 8.2.8";
constexpr const char *kHmuRfc = "the CXL HMU RFC and QEMU's model; not in the public text";

constexpr HmuCheck kHmuChecks[] = {
    {{1, Kind::kRead, "Block 5 of the register locator is a CHMU: it has a version.", kHmuSpec,
      "common capability, bits 3:0"},
     of_block<check_version>},
    {{2, Kind::kRead, "A CHMU has 1 to 8 instances.", kHmuSpec, "common capability, bits 15:8"},
     of_block<check_count>},
    {{3, Kind::kRead, "The block is 0x10 bytes plus the instances long and inside its BAR.",
      "linux-cxl", "length of the BAR"},
     of_block<check_block_in_bar>},
    {{4, Kind::kRead, "An instance length covers the registers and is a multiple of 8.", kHmuSpec,
      "common capability, second word"},
     of_block<check_length>},
    {{5, Kind::kRead, "Instance i is i instance lengths after the common capability.",
      "assumed: one public implementation has another stride",
      "capabilities are there, and not all ones"},
     of_instances<check_stride>},
    {{6, Kind::kRead, "At least one unit size is supported, and bits 31:24 of the mask are 0.",
      kHmuSpec, "capability 1"},
     of_instances<check_units>},
    {{7, Kind::kRead, "At least one access type is supported.", kHmuSpec,
      "capability 0, bits 13:8"},
     of_instances<check_access_types>},
    {{8, Kind::kRead, "Bit n of the downsampling factors is 2^n; bit 0 is set.",
      "linux-cxl; QEMU's model has bit 1", "capability 1, bits 47:32"},
     of_instances<check_downsampling>},
    {{9, Kind::kRead, "Epoch mode or always-on mode is supported.", kHmuSpec,
      "capability 1, bits 49:48"},
     of_instances<check_modes>},
    {{10, Kind::kRead,
      "Epoch limits have scales 1 to 5 and values above 0; the shortest is at most the longest.",
      kHmuSpec, "capability 0"},
     of_instances<check_epochs>},
    {{11, Kind::kRead, "A hot list has 64 or more entries.", kHmuSpec, "capability 0, bits 63:48"},
     of_instances<check_list_size>},
    {{12, Kind::kRead,
      "Bitmap and list offsets are relative to the instance and multiples of 8; the bitmap "
      "precedes the list; both are inside the BAR and overlap no registers.",
      "CXL 3.2 section 8.2.8; that they may leave the instance is assumed", "capabilities 2 and 3"},
     of_instances<check_places>},
    {{13, Kind::kRead, "The bitmap has a bit for each 256 MiB of the memory.", kHmuSpec,
      "its length, and the ranges of the device DVSEC"},
     of_instances<check_bitmap_covers>},
    {{14, Kind::kRead, "Reserved bits read 0.", kHmuSpec,
      "capability 1, configuration 0 to 2, status"},
     of_instances<check_reserved>},
    {{15, Kind::kRead, "The operation in progress is 0 to 3.", kHmuSpec, "status, bits 31:16"},
     of_instances<check_operation>},
    {{16, Kind::kRead, "Head and tail are 2-byte registers with values inside the list.",
      "CXL 3.2 section 8.2.8; one public implementation has one of 4 bytes",
      "two reads of 2 bytes"},
     of_instances<check_positions>},
    {{17, Kind::kRead, "The message number is one of the function's first 16 vectors.", kHmuSpec,
      "MSI-X or MSI capability"},
     of_instances<check_message>},
    {{18, Kind::kRead, "The list can be read 8 bytes at a time, even while disabled.", kHmuSpec,
      "its first and its last entry"},
     of_instances<check_list_reads>},
    {{19, Kind::kRead, "The ranges of the device DVSEC cover all memory of the device.",
      "assumed: not so for dynamic capacity", "ram/size and pmem/size of cxl_pci's memory device"},
     check_capacity},
    {{20, Kind::kWrite,
      "The unit size is written as log2 of bytes; the device reports a counter width for it.",
      kHmuRfc, "configuration 1 with each unit size, status bits 39:32"},
     of_instances<check_width_of>},
    {{21, Kind::kWrite, "A complete, valid configuration reads back as written.", kHmuSpec,
      "configuration 1 and 2"},
     of_instances<check_config_of>},
    {{22, Kind::kWrite, "The bitmap reads back as written.",
      "CXL 3.2 section 8.2.8; QEMU's model reads 0", "the bit of the first range"},
     of_instances<check_bitmap_of>},
    {{23, Kind::kWrite, "The counter reset bit clears itself, and the configuration is kept.",
      "CXL 3.2 section 8.2.8; QEMU's model clears head and tail as well",
      "configuration 0, bit 17"},
     of_runs<check_reset>},
    {{24, Kind::kWrite, "Writing the tail to the head empties the list.", kHmuSpec, "head"},
     of_runs<check_emptied>},
    {{25, Kind::kWrite, "Enabling ends within one second: operation 0, status bit 0 set.",
      "assumed", "polled"},
     of_runs<check_enable>},
    {{26, Kind::kWrite, "The configuration is read-only while enabled.",
      "CXL 3.2 section 8.2.8; no public model does it", "configuration 2 is written"},
     of_runs<check_locked>},
    {{27, Kind::kWrite, "The tail stays inside the list.", kHmuSpec,
      "three of the shortest epochs"},
     of_runs<check_tail>},
    {{28, Kind::kWrite,
      "An entry has a count of the counter width in its lower bits, the unit number above.",
      kHmuSpec, "units are in the memory, counts above 0"},
     of_runs<check_entries>},
    {{29, Kind::kWrite, "Overflow and level bits are cleared by writing 1.",
      "CXL 3.2 section 8.2.8; one public implementation writes 0", "if one of them is set"},
     of_runs<check_w1c>},
    {{30, Kind::kWrite, "Disabling ends within 300 ms.", "assumed", "polled"},
     of_runs<check_disable>},
    {{31, Kind::kWrite,
      "A request to disable while enabling is in progress is carried out, or dropped and then "
      "carried out when it is sent again.",
      "assumed", "both requests at once, then up to two more"},
     of_instances<check_disable_soon>},
    {{32, Kind::kOutside, "The level interrupt comes at the notification threshold.",
      "CXL 3.2 section 8.2.8; QEMU's model interrupts above it",
      "an interrupt handler: counted in a driver's selftests"}},
    {{33, Kind::kOutside, "Overflow means that hot units were dropped, not that the list is full.",
      "CXL 3.2 section 8.2.8; public models set it when the list is full",
      "traffic of a known amount"}},
    {{34, Kind::kOutside, "Counts are host requests: n accesses count n.", kHmuSpec,
      "traffic of a known amount, past the caches"}},
    {{35, Kind::kOutside, "A read during a function reset or containment returns all ones.",
      "assumed; some root ports of arm64 may report an SError", "a reset of memory in use"}},
};

std::vector<Statement> hmu_statements()
{
    return statements_of<Chmu>(kHmuChecks);
}

std::string facts_of(const Chmu &chmu, bool full)
{
    Facts facts{full, {}};
    facts.add("function", text_of("{} {:04x}:{:04x}", chmu.function.name, chmu.function.vendor,
                                  chmu.function.device));
    facts.add("driver", chmu.function.driver.empty() ? "none" : chmu.function.driver);
    facts.add("bar", text_of("{} of {:#x} bytes", chmu.bar, chmu.bar_bytes()));
    facts.address("bar_start", chmu.function.bars[chmu.bar].start);
    facts.hex("block_offset", chmu.at);
    facts.hex("capacity", chmu.capacity);
    if (chmu.closed)
        facts.add("registers", chmu.closed->message);
    facts.hex("common0", chmu.common0);
    facts.hex("common1", chmu.common1);
    for (const Instance &instance : chmu.instances) {
        for (unsigned q = 0; q < 4; q++)
            facts.hex(text_of("{} capability{}", instance.name, q), instance.cap[q]);
        for (uint64_t at : {kHmuConfig0, kHmuConfig1, kHmuConfig2, kHmuStatus})
            facts.hex(text_of("{} at {:#x}", instance.name, at),
                      chmu.window.read<uint64_t>(instance.at + at));
    }
    return facts.text;
}

Result<std::vector<DeviceReport>> examine_hmu(const Machine &machine, bool full)
{
    std::vector<DeviceReport> reports;
    std::vector<PciFunction> functions = pci_functions(machine.host());
    for (PciFunction &function : functions) {
        if ((function.class_code & 0xffff00) != kCxlClass)
            continue;
        read_config(machine.host(), function);
        for (Chmu &chmu : chmus_of(machine, function)) {
            std::string facts = facts_of(chmu, full);
            reports.push_back(
                {chmu.name, run_checks<Chmu>(machine, machine.active(), kHmuChecks, chmu, hmu_held),
                 std::move(facts)});
        }
    }
    if (reports.empty())
        return Error{Errc::kNotFound,
                     "no CXL memory device here has a hotness monitoring unit (register block 5)"};
    return reports;
}

}  // namespace

constinit const Driver kCxlHmuDriver = {"cxl_hmu", hmu_statements, examine_hmu};

}  // namespace pmukit::cli::qualify
