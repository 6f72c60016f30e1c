// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A valid body of every record, then every prefix of it: a parser returns the whole record or
// nothing.
#include "perfdata/records.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

// Builds a body field by field.
class Body {
public:
    explicit Body(std::endian order = std::endian::little) : order_(order) {}
    Body &u16(uint16_t value) { return put(value); }
    Body &u32(uint32_t value) { return put(value); }
    Body &u64(uint64_t value) { return put(value); }
    Body &text(std::string_view text)
    {
        for (char letter : text)
            bytes_.push_back(static_cast<std::byte>(letter));
        return *this;
    }
    const std::vector<std::byte> &bytes() const { return bytes_; }

private:
    template <std::unsigned_integral T>
    Body &put(T value)
    {
        bytes_.resize(bytes_.size() + sizeof value);
        store(bytes_.data() + bytes_.size() - sizeof value, value, order_);
        return *this;
    }
    std::vector<std::byte> bytes_;
    std::endian order_;
};

// Expects that parse() refuses each prefix of fewer than `needed` bytes, the size of the required
// fields. A text may follow these fields.
template <typename Parse>
void expect_refuses_prefixes(const Body &body, size_t needed, Parse parse)
{
    for (size_t size = 0; size < needed; size++)
        EXPECT_FALSE(parse(Bytes(body.bytes()).first(size))) << size;
    EXPECT_TRUE(parse(Bytes(body.bytes()).first(needed)));
}

class Records : public testing::TestWithParam<std::endian> {
protected:
    std::endian order() const { return GetParam(); }
    Body body() const { return Body(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(BothOrders, Records,
                         testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

TEST_P(Records, ParsesMmap)
{
    Body good = body().u32(1).u32(2).u64(0x1000).u64(0x2000).u64(0x3000).text({"/bin/x\0junk", 11});
    auto parse = [this](Bytes bytes) { return parse_mmap(bytes, order()); };
    auto record = parse(good.bytes());
    ASSERT_TRUE(record);
    EXPECT_EQ(record->tid, 2U);
    EXPECT_EQ(record->address, 0x1000U);
    EXPECT_EQ(record->bytes, 0x2000U);
    EXPECT_EQ(record->file_offset, 0x3000U);
    EXPECT_EQ(record->path, "/bin/x");
    expect_refuses_prefixes(good, 32, parse);
}

TEST_P(Records, ParsesMmap2WithAnInode)
{
    Body good = body().u32(1).u32(2).u64(0x1000).u64(0x2000).u64(0x3000);
    good.u32(8).u32(9).u64(10).u64(11).u32(5).u32(6).text("/lib/y");
    auto parse = [this](Bytes bytes) { return parse_mmap2(bytes, 0, order()); };
    auto record = parse(good.bytes());
    ASSERT_TRUE(record);
    EXPECT_EQ(record->major, 8U);
    EXPECT_EQ(record->minor, 9U);
    EXPECT_EQ(record->inode, 10U);
    EXPECT_EQ(record->inode_generation, 11U);
    EXPECT_EQ(record->protection, 5U);
    EXPECT_EQ(record->flags, 6U);
    EXPECT_EQ(record->path, "/lib/y");
    EXPECT_TRUE(record->build_id.empty());
    expect_refuses_prefixes(good, 64, parse);
}

TEST_P(Records, ParsesMmap2WithABuildId)
{
    for (size_t size : {8, 20}) {
        Body good = body().u32(1).u32(2).u64(0x1000).u64(0x2000).u64(0x3000);
        std::string id("ABCDEFGHIJKLMNOPQRST", size);
        id.resize(20);
        good.text(std::string{static_cast<char>(size), '\0', '\0', '\0'}).text(id);
        good.u32(5).u32(6).text("/lib/y");
        auto record = parse_mmap2(good.bytes(), PERF_RECORD_MISC_MMAP_BUILD_ID, order());
        ASSERT_TRUE(record);
        EXPECT_EQ(record->build_id.size(), size);
        EXPECT_EQ(record->build_id[7], std::byte{'H'});
        EXPECT_EQ(record->inode, 0U);
        EXPECT_EQ(record->path, "/lib/y");
    }
}

// Devices 0, 8 and 254 (of tmpfs, of a SCSI disk and of virtio) are no sizes of a build id.
TEST_P(Records, TakesTheInodeFromMmap2WhoseFlagOfABuildIdIsThatOfAnotherEvent)
{
    for (uint32_t major : {0U, 8U, 20U, 254U}) {
        Body leaked = body().u32(1).u32(2).u64(0x1000).u64(0x2000).u64(0x3000);
        leaked.u32(major).u32(1).u64(10).u64(0x7711223344556677).u32(5).u32(6).text("/lib/y");
        auto record = parse_mmap2(leaked.bytes(), PERF_RECORD_MISC_MMAP_BUILD_ID, order());
        ASSERT_TRUE(record);
        // A size of 20 leaves no unused byte to tell them apart.
        const bool taken_for_id = major == 20 && order() == std::endian::little;
        EXPECT_EQ(record->build_id.size(), taken_for_id ? 20U : 0U) << major;
        EXPECT_EQ(record->inode, taken_for_id ? 0U : 10U) << major;
        EXPECT_EQ(record->path, "/lib/y");
    }
}

TEST_P(Records, ParsesCommTaskAndThread)
{
    Body comm = body().u32(7).u32(8).text("bash");
    EXPECT_EQ(parse_comm(comm.bytes(), order())->name, "bash");
    expect_refuses_prefixes(comm, 8, [this](Bytes bytes) { return parse_comm(bytes, order()); });
    Body task = body().u32(1).u32(2).u32(3).u32(4).u64(5);
    auto parse = [this](Bytes bytes) { return parse_task(bytes, order()); };
    EXPECT_EQ(parse(task.bytes())->parent_pid, 2U);
    EXPECT_EQ(parse(task.bytes())->parent_tid, 4U);
    EXPECT_EQ(parse(task.bytes())->time_ns, 5U);
    expect_refuses_prefixes(task, 24, parse);
    Body thread = body().u32(1).u32(2);
    EXPECT_EQ(parse_thread(thread.bytes(), order())->tid, 2U);
    expect_refuses_prefixes(thread, 8,
                            [this](Bytes bytes) { return parse_thread(bytes, order()); });
}

TEST_P(Records, ParsesLostAndThrottle)
{
    Body good = body().u64(1).u64(2);
    EXPECT_EQ(parse_lost(good.bytes(), order())->lost, 2U);
    EXPECT_EQ(parse_lost_samples(good.bytes(), order()), 1U);
    expect_refuses_prefixes(good, 16, [this](Bytes bytes) { return parse_lost(bytes, order()); });
    Body throttle = body().u64(1).u64(2).u64(3);
    EXPECT_EQ(parse_throttle(throttle.bytes(), order())->stream_id, 3U);
    expect_refuses_prefixes(throttle, 24,
                            [this](Bytes bytes) { return parse_throttle(bytes, order()); });
}

TEST_P(Records, ParsesCountsOfAReadRecord)
{
    Attr attr;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                       PERF_FORMAT_ID | PERF_FORMAT_LOST;
    Body good = body().u32(1).u32(2).u64(100).u64(7).u64(6).u64(42).u64(3);
    auto parse = [&](Bytes bytes) { return parse_read(bytes, attr, order()); };
    auto record = parse(good.bytes());
    ASSERT_TRUE(record);
    ASSERT_EQ(record->counts.size(), 1U);
    EXPECT_EQ(record->counts[0].value, 100U);
    EXPECT_EQ(record->counts[0].id, 42U);
    EXPECT_EQ(record->counts[0].lost, 3U);
    EXPECT_EQ(record->counts.time_enabled_ns(), 7U);
    EXPECT_EQ(record->counts.time_running_ns(), 6U);
    expect_refuses_prefixes(good, 48, parse);
}

TEST_P(Records, ParsesAux)
{
    Body good = body().u64(1).u64(2).u64(3);
    auto parse = [this](Bytes bytes) { return parse_aux(bytes, order()); };
    EXPECT_EQ(parse(good.bytes())->flags, 3U);
    expect_refuses_prefixes(good, 24, parse);
    EXPECT_EQ(parse_aux_output_hw_id(good.bytes(), order()), 1U);
}

TEST_P(Records, ParsesKsymbolAndBpf)
{
    Body symbol = body().u64(0x10).u32(20).u16(1).u16(2).text("bpf_prog");
    auto parse = [this](Bytes bytes) { return parse_ksymbol(bytes, order()); };
    EXPECT_EQ(parse(symbol.bytes())->name, "bpf_prog");
    EXPECT_EQ(parse(symbol.bytes())->bytes, 20U);
    EXPECT_EQ(parse(symbol.bytes())->flags, 2U);
    expect_refuses_prefixes(symbol, 16, parse);
    Body bpf = body().u16(1).u16(0).u32(77).text("12345678");
    auto parse_it = [this](Bytes bytes) { return parse_bpf(bytes, order()); };
    EXPECT_EQ(parse_it(bpf.bytes())->id, 77U);
    EXPECT_EQ(parse_it(bpf.bytes())->tag.size(), 8U);
    expect_refuses_prefixes(bpf, 16, parse_it);
}

TEST_P(Records, ParsesCgroupAndTextPoke)
{
    Body cgroup = body().u64(5).text("/user.slice");
    EXPECT_EQ(parse_cgroup(cgroup.bytes(), order())->path, "/user.slice");
    expect_refuses_prefixes(cgroup, 8,
                            [this](Bytes bytes) { return parse_cgroup(bytes, order()); });
    Body poke = body().u64(5).u16(2).u16(3).text("aabbb");
    auto parse = [this](Bytes bytes) { return parse_text_poke(bytes, order()); };
    EXPECT_EQ(parse(poke.bytes())->before.size(), 2U);
    EXPECT_EQ(parse(poke.bytes())->after[0], std::byte{'b'});
    expect_refuses_prefixes(poke, 17, parse);
}

TEST_P(Records, ParsesAuxtraceAndAuxtraceInfo)
{
    Body good = body().u64(1).u64(2).u64(3).u32(4).u32(5).u32(6).u32(0);
    auto parse = [this](Bytes bytes) { return parse_auxtrace(bytes, order()); };
    EXPECT_EQ(parse(good.bytes())->reference, 3U);
    EXPECT_EQ(parse(good.bytes())->cpu, 6U);
    expect_refuses_prefixes(good, 40, parse);
    Body info = body().u32(6).u32(0).u64(24);
    EXPECT_EQ(parse_auxtrace_info(info.bytes(), order())->type, 6U);
    EXPECT_EQ(parse_auxtrace_info(info.bytes(), order())->priv[0], 24U);
    expect_refuses_prefixes(info, 8,
                            [this](Bytes bytes) { return parse_auxtrace_info(bytes, order()); });
}

TEST_P(Records, ParsesAuxtraceErrorsOfBothFormats)
{
    Body old = body().u32(1).u32(2).u32(3).u32(4).u32(5).u32(0).u64(6).text("lost");
    EXPECT_EQ(parse_auxtrace_error(old.bytes(), order())->message, "lost");
    Body timed = body().u32(1).u32(2).u32(3).u32(4).u32(5).u32(1).u64(6).u64(7).text("lost");
    auto parse = [this](Bytes bytes) { return parse_auxtrace_error(bytes, order()); };
    EXPECT_EQ(parse(timed.bytes())->message, "lost");
    EXPECT_EQ(parse(timed.bytes())->ip, 6U);
    expect_refuses_prefixes(timed, 40, parse);
}

TEST_P(Records, ParsesBuildIdsWithAndWithoutLength)
{
    Body good = body().u32(9).text("ABCDEFGHIJKLMNOPQRST").text({"\x08\0\0\0", 4}).text("/bin/x");
    auto plain = parse_build_id(good.bytes(), 0, order());
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->build_id.size(), 20U);
    EXPECT_EQ(plain->path, "/bin/x");
    EXPECT_EQ(parse_build_id(good.bytes(), 1 << 15, order())->build_id.size(), 8U);
    expect_refuses_prefixes(good, 28,
                            [this](Bytes bytes) { return parse_build_id(bytes, 0, order()); });
}

TEST_P(Records, ParsesEventUpdates)
{
    Body good = body().u64(EventUpdateRecord::kName).u64(42).text({"cycles\0\0", 8});
    auto parse = [this](Bytes bytes) { return parse_event_update(bytes, order()); };
    EXPECT_EQ(parse(good.bytes())->text, "cycles");
    EXPECT_EQ(parse(good.bytes())->id, 42U);
    expect_refuses_prefixes(good, 16, parse);
}

TEST_P(Records, ParsesCpuMapsOfEveryType)
{
    auto cpus = [this](const Body &map) {
        return cpus_of(*parse_cpu_map(map.bytes(), order()), order());
    };
    using Cpus = std::vector<uint32_t>;
    EXPECT_EQ(cpus(body().u16(0).u16(3).u16(0).u16(2).u16(UINT16_MAX)), (Cpus{0, 2, UINT32_MAX}));
    EXPECT_EQ(cpus(body().u16(0).u16(9).u16(1)), Cpus{1}) << "says more than it has";
    EXPECT_EQ(cpus(body().u16(1).u16(2).u16(4).u32(5).u32(1)), (Cpus{0, 2, 32}));
    EXPECT_EQ(cpus(body().u16(1).u16(1).u16(8).u32(0).u64(uint64_t{1} << 63 | 1)), (Cpus{0, 63}));
    EXPECT_EQ(cpus(body().u16(1).u16(2).u16(8).u32(0).u32(1)), Cpus()) << "half a word";
    const uint16_t any = order() == std::endian::little ? 1 : 0x100;
    EXPECT_EQ(cpus(body().u16(2).u16(0).u16(4).u16(6)), (Cpus{4, 5, 6}));
    EXPECT_EQ(cpus(body().u16(2).u16(any).u16(7).u16(7)), (Cpus{UINT32_MAX, 7}));
    EXPECT_EQ(cpus(body().u16(2).u16(0).u16(7).u16(6)), Cpus()) << "backwards";
    EXPECT_EQ(cpus(body().u16(2).u16(0).u16(7)), Cpus());
    EXPECT_EQ(cpus(body().u16(9).u16(1).u16(7)), Cpus()) << "of another kind";
}

TEST_P(Records, ParsesSchedstat)
{
    Body cpu = body().u64(1).u32(2).u16(17).u16(0);
    for (uint32_t count = 10; count < 16; count++)
        cpu.u32(count);
    cpu.u64(20).u64(21).u64(22);
    auto parse_cpu = [this](Bytes bytes) { return parse_schedstat_cpu(bytes, order()); };
    auto of_cpu = parse_cpu(cpu.bytes());
    ASSERT_TRUE(of_cpu);
    EXPECT_EQ(of_cpu->cpu, 2U);
    EXPECT_EQ(of_cpu->counts[5], 15U);
    EXPECT_EQ(of_cpu->wait_ns, 21U);
    expect_refuses_prefixes(cpu, cpu.bytes().size(), parse_cpu);

    Body domain = body().u64(1).u32(2).u16(17).u16(3);
    for (uint32_t count = 0; count < 45; count++)
        domain.u32(count);
    auto parse_domain = [this](Bytes bytes) { return parse_schedstat_domain(bytes, order()); };
    auto of_domain = parse_domain(domain.bytes());
    ASSERT_TRUE(of_domain);
    EXPECT_EQ(of_domain->domain, 3U);
    EXPECT_EQ(load<uint32_t>(of_domain->counts.data() + 44 * 4, order()), 44U);
    expect_refuses_prefixes(domain, domain.bytes().size(), parse_domain);
    Body older = body().u64(1).u32(2).u16(15).u16(3);
    for (uint32_t count = 0; count < 36; count++)
        older.u32(count);
    expect_refuses_prefixes(older, older.bytes().size(), parse_domain);
}

TEST_P(Records, ParsesBpfMetadata)
{
    Body good = body().text("bpf_prog_1").text(std::string(512 - 10, '\0')).u64(1);
    good.text("owner").text(std::string(64 - 5, '\0')).text(std::string(256, '\0'));
    auto parse = [this](Bytes bytes) { return parse_bpf_metadata(bytes, order()); };
    auto record = parse(good.bytes());
    ASSERT_TRUE(record);
    EXPECT_EQ(record->program, "bpf_prog_1");
    EXPECT_EQ(record->entries.size(), 320U);
    expect_refuses_prefixes(good, good.bytes().size(), parse);
}

TEST_P(Records, ParsesStatAndTimeConv)
{
    Body stat = body().u64(1).u32(2).u32(3).u64(4).u64(5).u64(6);
    auto parse = [this](Bytes bytes) { return parse_stat(bytes, order()); };
    EXPECT_EQ(parse(stat.bytes())->value, 4U);
    EXPECT_EQ(parse(stat.bytes())->running_ns, 6U);
    expect_refuses_prefixes(stat, 40, parse);
    Body round = body().u64(1).u64(2);
    EXPECT_EQ(parse_stat_round(round.bytes(), order())->time_ns, 2U);
    Body conv = body().u64(1).u64(2).u64(3);
    EXPECT_EQ(parse_time_conv(conv.bytes(), order())->mask, 0U);
    conv.u64(4).u64(5).text({"\x01\0\0\0\0\0\0\0", 8});
    EXPECT_EQ(parse_time_conv(conv.bytes(), order())->mask, 5U);
    EXPECT_TRUE(parse_time_conv(conv.bytes(), order())->user_time_zero);
    EXPECT_FALSE(parse_time_conv(conv.bytes(), order())->user_time_short);
    expect_refuses_prefixes(conv, 24,
                            [this](Bytes bytes) { return parse_time_conv(bytes, order()); });
    EXPECT_EQ(parse_cpu_map(body().u16(1).u16(7).bytes(), order())->data.size(), 2U);
}

// A record with a count and its elements; sizes in words.
struct Counted {
    const char *what;
    size_t words_before, words_each;
    std::function<bool(Bytes, std::endian)> parse;
};

TEST_P(Records, CountsThatExceedTheBodyAreRefused)
{
    const Counted cases[] = {
        {"id index", 0, 4, [](Bytes b, std::endian o) { return parse_id_index(b, o).has_value(); }},
        {"thread map", 0, 3,
         [](Bytes b, std::endian o) { return parse_thread_map(b, o).has_value(); }},
        {"stat config", 0, 2,
         [](Bytes b, std::endian o) { return parse_stat_config(b, o).has_value(); }},
        {"namespaces", 1, 2,
         [](Bytes b, std::endian o) { return parse_namespaces(b, o).has_value(); }},
        {"deferred callchain", 1, 1,
         [](Bytes b, std::endian o) { return parse_callchain_deferred(b, o).has_value(); }},
    };
    for (const Counted &test : cases)
        for (uint64_t count : {uint64_t{0}, uint64_t{2}, uint64_t{3}, UINT64_MAX, UINT64_MAX / 8,
                               UINT64_MAX / 4 + 2, UINT64_MAX / 2 + 2}) {
            Body two = body();
            for (size_t i = 0; i < test.words_before; i++)
                two.u64(0);
            two.u64(count);
            for (size_t i = 0; i < 2 * test.words_each; i++)
                two.u64(i);
            EXPECT_EQ(test.parse(two.bytes(), order()), count <= 2) << test.what << " " << count;
        }
}

TEST(RecordName, IsKnownForEveryTypeOfLinux7_2)
{
    EXPECT_EQ(record_name(0), "");
    for (uint32_t type = 1; type <= kRecordCallchainDeferred; type++)
        EXPECT_NE(record_name(type), "") << type;
    for (uint32_t type = kHeaderAttr; type <= kSchedstatDomain; type++)
        EXPECT_NE(record_name(type), "") << type;
    EXPECT_EQ(record_name(PERF_RECORD_SAMPLE), "SAMPLE");
    EXPECT_EQ(record_name(PERF_RECORD_AUX_OUTPUT_HW_ID), "AUX_OUTPUT_HW_ID");
    EXPECT_EQ(record_name(kAuxtrace), "AUXTRACE");
    EXPECT_EQ(record_name(kCompressed2), "COMPRESSED2");
    for (uint32_t type : {23U, 63U, 87U, UINT32_MAX})
        EXPECT_EQ(record_name(type), "") << type;
}

}  // namespace
}  // namespace pmukit::perfdata
