// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit tierd with a recording, a machine and a process that are all fake files, and a fake
// move_pages(2).
#include "cli/tierd/tierd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/kernel-page-flags.h>
#include <signal.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/tests/hot_recording.hpp"
#include "tierd/other_migrators.hpp"
#include "topology/test_tree.hpp"

namespace pmukit::cli {
namespace {

constexpr uint64_t kSecond_ns = 1000000000;
constexpr uint64_t kPageBytes = 4096, kNode1 = 0x8000;  // first frame of node 1
constexpr uint64_t kPresentAndMine = uint64_t{1} << 63 | uint64_t{1} << 56;

// Page n of process 42 is page n of the device at the start.
struct Machine {
    TestFolder tree;
    std::vector<uint64_t> frames = {kNode1, kNode1 + 1, kNode1 + 2, kNode1 + 3};
    std::vector<uint64_t> flags = std::vector<uint64_t>(2 * kNode1);
    std::function<void()> on_move = [] {};
    uint64_t moved = 0;

    void write()
    {
        std::vector<uint64_t> entries;
        for (const uint64_t frame : frames)
            entries.push_back(kPresentAndMine | frame);
        tree.put("proc/42/pagemap", std::as_bytes(std::span(entries)));
        tree.put("proc/kpageflags", std::as_bytes(std::span(flags)));
    }
    bool is_fast(size_t page) const { return frames[page] < kNode1; }
};
Machine *machine;

long fake_move_pages(pid_t, unsigned long count, void **pages, const int *nodes, int *status, int)
{
    for (unsigned long i = 0; i < count; i++) {
        uint64_t &frame = machine->frames.at(reinterpret_cast<uintptr_t>(pages[i]) / kPageBytes);
        if (nodes) {
            frame = nodes[i] == 0 ? 0x100 + frame % kNode1 : kNode1 + frame % kNode1;
            machine->moved++;
        }
        status[i] = frame >= kNode1;
    }
    machine->write();
    if (nodes)
        machine->on_move();
    return 0;
}

class TierdCommand : public testing::Test {
protected:
    TierdCommand()
    {
        machine = &fake;
        topology::TreeRegion region;
        region.start = kNode1 * kPageBytes;
        region.dpa_bytes = 0x8000000;
        topology::put_region(fake.tree, region);
        fake.tree.put("devices/system/memory/block_size_bytes", "8000000\n");
        fake.tree.folder("devices/system/memory/memory0/node0");
        fake.tree.folder("devices/system/memory/memory1/node1");
        fake.tree.put("devices/system/node/has_cpu", "0\n");
        fake.tree.put("devices/system/node/has_memory", "0-1\n");
        fake.tree.put("proc/42/maps", "0-4000 rw-p 00000000 00:00 0 \n");
        fake.tree.put("proc/42/numa_maps", "0 default anon=1\n");
        fake.tree.put("proc/sys/kernel/numa_balancing", "0\n");
        fake.write();
        options.replay = fake.tree.path("perf.data");
        options.processes = {42};
        options.policy = "hottest-first";
        options.demotes = false;
        options.cxl_topology = options.sys_root = fake.tree.dir();
        options.proc_root = fake.tree.path("proc");
        options.lock = fake.tree.path("lock");
        options.audit = fake.tree.path("audit");
        options.metrics = fake.tree.path("metrics.prom");
        options.move_pages = fake_move_pages;
        ::sigprocmask(SIG_SETMASK, nullptr, &signals);
        record({{1000, {{1, 10}, {2, 30}}}});
    }
    ~TierdCommand() override { ::sigprocmask(SIG_SETMASK, &signals, nullptr); }

    void record(const std::vector<HotRecord> &records)
    {
        ASSERT_TRUE(write_hot_recording(options.replay, records));
    }
    // Returns what the command prints, standard error last.
    std::string run(Errc wanted_error)
    {
        const std::string text = run_any();
        EXPECT_TRUE(error.has_value()) << text;
        if (error)
            EXPECT_EQ(error->code, wanted_error) << error->message;
        return error ? error->message : std::string();
    }
    std::string run()
    {
        const std::string text = run_any();
        EXPECT_FALSE(error.has_value()) << error->message;
        return text;
    }
    std::string explained(uint64_t address)
    {
        options.explain = address;
        std::string text = run();
        options.explain.reset();
        return text;
    }
    std::vector<nlohmann::json> decisions() const
    {
        std::vector<nlohmann::json> lines;
        std::ifstream log(options.audit);
        for (std::string line; std::getline(log, line);)
            lines.push_back(nlohmann::json::parse(line, nullptr, false));
        return lines;
    }

    Machine fake;
    TierdOptions options;
    std::optional<Error> error{};
    int status = 0;
    sigset_t signals{};

private:
    std::string run_any()
    {
        const std::string path = fake.tree.path("out");
        const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
        Output out(file.get(), path);
        error.reset();
        testing::internal::CaptureStderr();
        const Result<int> done = run_tierd(options, out);
        EXPECT_TRUE(out.finish());
        const std::string warnings = testing::internal::GetCapturedStderr();
        if (done)
            status = *done;
        else
            error = done.error();
        return read_file(path, 1 << 20).value() + warnings;
    }
};

TEST_F(TierdCommand, PromotesHotPagesOfTheProcess)
{
    const std::string text = run();
    EXPECT_FALSE(fake.is_fast(0));
    EXPECT_TRUE(fake.is_fast(1));
    EXPECT_TRUE(fake.is_fast(2));
    EXPECT_EQ(status, 0);
    EXPECT_NE(text.find("1 intervals: promoted 2 pages to node 0, demoted 0 to node 1; 0 pages "
                        "could not be moved\n"),
              std::string::npos)
        << text;
}

// The second list is in the same second as the first, the third is not.
TEST_F(TierdCommand, ReplayDividesTheRecordingByItsTimes)
{
    record({{1000, {{1, 10}}}, {kSecond_ns, {{1, 5}}}, {kSecond_ns + 1000, {{2, 7}}}});
    EXPECT_NE(run().find("2 intervals: promoted 2"), std::string::npos);
    const std::vector<nlohmann::json> log = decisions();
    ASSERT_EQ(log.size(), 2u);
    EXPECT_EQ(log[0]["page"], 1 * kPageBytes);
    EXPECT_EQ(log[0]["heat"], 15);
    EXPECT_EQ(log[1]["page"], 2 * kPageBytes);
    EXPECT_EQ(log[1]["heat"], 7);
}

// In a dry run, page 1 stays where its heat was in the first interval.
TEST_F(TierdCommand, TheHeatOfAnEarlierIntervalDoesNotCountAgain)
{
    record({{1000, {{1, 10}}}, {2 * kSecond_ns, {{2, 7}}}});
    options.dry_run = true;
    run();
    const std::vector<nlohmann::json> log = decisions();
    ASSERT_EQ(log.size(), 2u);
    EXPECT_EQ(log[1]["page"], 2 * kPageBytes);
}

TEST_F(TierdCommand, DryRunMovesNothingAndReportsThePlan)
{
    options.dry_run = true;
    EXPECT_NE(run().find("would have promoted 2 pages"), std::string::npos);
    EXPECT_EQ(fake.moved, 0u);
    ASSERT_EQ(decisions().size(), 2u);
    EXPECT_EQ(decisions()[0]["result"], "planned");
}

TEST_F(TierdCommand, MovesNoMorePagesThanTheLimitOfAnInterval)
{
    options.most_pages = 1;
    const std::string text = run();
    EXPECT_TRUE(fake.is_fast(2));
    EXPECT_FALSE(fake.is_fast(1));
    EXPECT_NE(text.find("; hot pages that stay: 1 without room\n"), std::string::npos) << text;
    EXPECT_NE(text.find("1 hot pages stay, node 0 or a limit has no place for them"),
              std::string::npos)
        << text;
}

TEST_F(TierdCommand, RefusesToRunBesideNumaBalancing)
{
    fake.tree.put("proc/sys/kernel/numa_balancing", "1\n");
    EXPECT_NE(run(Errc::kBusy).find("NUMA balancing"), std::string::npos);
    EXPECT_EQ(fake.moved, 0u);
    options.force = true;
    EXPECT_NE(run().find("going on because of --force"), std::string::npos);
    EXPECT_EQ(fake.moved, 2u);
}

TEST_F(TierdCommand, RefusesToRunBesideASecondTierd)
{
    const Result<Fd> held = tierd::lock_file(options.lock);
    ASSERT_TRUE(held);
    EXPECT_NE(run(Errc::kBusy).find("another pmukit tierd runs"), std::string::npos);
    EXPECT_EQ(fake.moved, 0u);
}

TEST_F(TierdCommand, ADryRunRunsBesideOthers)
{
    const Result<Fd> held = tierd::lock_file(options.lock);
    fake.tree.put("proc/sys/kernel/numa_balancing", "1\n");
    options.dry_run = true;
    run();
}

TEST_F(TierdCommand, ReportsThatThereIsNoSlowNode)
{
    fake.tree.put("devices/system/node/has_cpu", "0-1\n");
    EXPECT_EQ(run(Errc::kNotFound),
              "no slow node: of the nodes with memory (0, 1), each has CPUs; give --slow-node");
    options.slow_node = 1;
    run();
    EXPECT_EQ(fake.moved, 2u);
}

TEST_F(TierdCommand, RejectsANodeWithoutMemory)
{
    options.fast_node = 3;
    EXPECT_EQ(run(Errc::kUsage), "--fast-node 3: the node has no memory; nodes with memory: 0, 1");
}

TEST_F(TierdCommand, ReportsAProcessThatDoesNotExist)
{
    options.processes = {43};
    EXPECT_EQ(run(Errc::kNotFound), "process 43 does not exist");
}

TEST_F(TierdCommand, EndsWithItsProcess)
{
    record({{1000, {{1, 10}}}, {2 * kSecond_ns, {{2, 7}}}});
    fake.on_move = [&] { fake.tree.remove("proc/42"); };
    const std::string text = run();
    EXPECT_EQ(status, 0);
    EXPECT_NE(text.find("1 intervals: promoted"), std::string::npos) << text;
    EXPECT_NE(text.find("process 42 ended"), std::string::npos) << text;
}

TEST_F(TierdCommand, ASignalEndsItAfterTheMovesOfTheInterval)
{
    record({{1000, {{1, 10}, {2, 30}}}, {2 * kSecond_ns, {{3, 7}}}});
    fake.on_move = [] { ::raise(SIGTERM); };
    const std::string text = run();
    EXPECT_EQ(status, 0);
    EXPECT_NE(text.find("1 intervals: promoted 2"), std::string::npos) << text;
    EXPECT_FALSE(fake.is_fast(3));
    sigset_t term;
    ::sigemptyset(&term);
    ::sigaddset(&term, SIGTERM);
    const timespec now{};
    EXPECT_EQ(::sigtimedwait(&term, nullptr, &now), SIGTERM);
}

TEST_F(TierdCommand, AuditLogHasADecisionPerLine)
{
    fake.flags[kNode1 + 1] = uint64_t{1} << KPF_UNEVICTABLE;
    fake.write();
    run();
    const std::vector<nlohmann::json> log = decisions();
    ASSERT_EQ(log.size(), 2u);
    for (nlohmann::json line : log) {
        EXPECT_GT(line["time_ns"], uint64_t{1700000000} * kSecond_ns);
        line.erase("time_ns");
        EXPECT_EQ(line["pid"], 42);
        EXPECT_EQ(line["bytes"], kPageBytes);
        EXPECT_EQ(line["from"], 1);
        EXPECT_EQ(line["to"], 0);
    }
    EXPECT_EQ(log[0]["page"], 1 * kPageBytes);
    EXPECT_EQ(log[0]["reason"], "locked");
    EXPECT_EQ(log[0]["result"], "stayed");
    EXPECT_EQ(log[1]["page"], 2 * kPageBytes);
    EXPECT_EQ(log[1]["reason"], "hot");
    EXPECT_EQ(log[1]["result"], "moved");
}

TEST_F(TierdCommand, ExplainSaysWhyAPageMovedOrStayed)
{
    fake.flags[kNode1 + 1] = uint64_t{1} << KPF_UNEVICTABLE;
    fake.write();
    run();
    const std::string moved = explained(2 * kPageBytes + 0x123);
    EXPECT_NE(moved.find("page 0x2000 of process 42, 4096 bytes, 30 accesses in the interval\n"
                         "  promotion from node 1 to node 0: it was hot\n  result: it moved\n"),
              std::string::npos)
        << moved;
    const std::string stayed = explained(1 * kPageBytes);
    EXPECT_NE(stayed.find("  not promoted from node 1 to node 0: it is locked in memory"),
              std::string::npos)
        << stayed;
    EXPECT_EQ(stayed.find("0x2000"), std::string::npos) << stayed;
    options.explain = 3 * kPageBytes;
    EXPECT_NE(run(Errc::kNotFound).find("no decision about page 0x3000"), std::string::npos);
    options.explain = 2 * kPageBytes;
    options.processes = {43};
    run(Errc::kNotFound);
}

TEST_F(TierdCommand, AnInterruptedLineOfTheAuditLogEndsAtTheNextStart)
{
    fake.tree.put("audit", "{\"schema_version\":2,\"time_ns\":1");
    run();
    ASSERT_EQ(decisions().size(), 3u);
    EXPECT_TRUE(decisions()[0].is_discarded());
    EXPECT_EQ(decisions()[2]["result"], "moved");
    const std::string text = explained(2 * kPageBytes);
    EXPECT_NE(text.find("result: it moved"), std::string::npos);
    EXPECT_NE(text.find("are not decisions"), std::string::npos) << text;
    EXPECT_EQ(status, 1);
}

TEST_F(TierdCommand, DoesNotWriteToFilesOfOthers)
{
    fake.tree.put("audit", "my notes\n");
    EXPECT_NE(run(Errc::kUsage).find("not an audit log"), std::string::npos);
    fake.tree.remove("audit");
    fake.tree.put("metrics.prom", "# HELP node_load1 1m load average.\n");
    EXPECT_NE(run(Errc::kUsage).find("not a file with metrics of pmukit tierd"), std::string::npos);
    EXPECT_EQ(fake.moved, 0u);
}

TEST_F(TierdCommand, MetricsHaveTheStateAfterTheLastInterval)
{
    fake.flags[kNode1 + 1] = uint64_t{1} << KPF_UNEVICTABLE;
    fake.write();
    record({{1000, {{1, 10}, {2, 30}}}, {2 * kSecond_ns, {{3, 7}}}});
    run();
    const std::string text = read_file(options.metrics, 1 << 20).value();
    for (const char *line :
         {"pmukit_tierd_intervals_total 2", "pmukit_tierd_promoted_pages_total 2",
          "pmukit_tierd_demoted_pages_total 0", "pmukit_tierd_processes 1", "pmukit_tierd_pages 4",
          "pmukit_tierd_fast_pages 1", "pmukit_tierd_hot_pages 1", "pmukit_tierd_locked_pages 0",
          "# TYPE pmukit_tierd_promoted_pages counter", "# TYPE pmukit_tierd_pages gauge"})
        EXPECT_NE(text.find("\n" + std::string(line) + "\n"), std::string::npos) << line << text;
    EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST_F(TierdCommand, AMissingPrivilegeIsOneMessageBeforeAnyMove)
{
    fake.tree.remove("proc/kpageflags");
    run(Errc::kNotFound);
    EXPECT_EQ(fake.moved, 0u);
    EXPECT_EQ(decisions().size(), 0u);
}

// Usage

struct Usage {
    std::function<void(TierdOptions &)> change;
    const char *message;
};

TEST(TierdOptions, ContradictionsAreRejected)
{
    TierdOptions good;
    good.events = {"cxl_hmu_mem0.0.0//"};
    good.processes = {42};
    EXPECT_TRUE(check_options(good));
    const Usage cases[] = {
        {[](TierdOptions &o) { o.events.clear(); }, "which device?"},
        {[](TierdOptions &o) { o.replay = "perf.data"; }, "cannot be combined"},
        {[](TierdOptions &o) { o.processes.clear(); }, "whose pages?"},
        {[](TierdOptions &o) { o.all = true; }, "-a cannot be combined"},
        {[](TierdOptions &o) { o.explain = 1; }, "give --audit FILE"},
        {[](TierdOptions &o) { o.most_pages = 0; }, "no page may move"},
        {[](TierdOptions &o) { o.events = {"cycles"}; }, "-e cycles: not an event of cxl_hmu"},
        {[](TierdOptions &o) { o.budget = "120%"; }, "'120%' is not a budget"},
        {[](TierdOptions &o) {
             o.events.clear();
             o.replay = "perf.data";
         },
         "add --dry-run"},
    };
    for (const Usage &usage : cases) {
        TierdOptions options = good;
        usage.change(options);
        const Result<void> checked = check_options(options);
        ASSERT_FALSE(checked) << usage.message;
        EXPECT_EQ(checked.error().code, Errc::kUsage);
        EXPECT_NE(checked.error().message.find(usage.message), std::string::npos)
            << checked.error().message;
    }
}

}  // namespace
}  // namespace pmukit::cli
