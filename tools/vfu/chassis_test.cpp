// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/chassis.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <thread>

#include "base/test_folder.hpp"
#include "vfu/test_support.hpp"

namespace pmukit::vfu {
namespace {

using namespace test;
using wire::Command;

constexpr int kPatience_ms = 10000;

using Until = Chassis::Until;

class ChassisTest : public testing::Test {
protected:
    ChassisTest()
    {
        for (const char *name : {"a", "b", "c"})
            paths.push_back(folder_.path(name));
        auto created = Chassis::create();
        EXPECT_TRUE(created);
        chassis = std::move(*created);
    }
    ~ChassisTest() override
    {
        chassis->stop();
        if (finished.valid())
            finished.wait();
    }

    // Starts `count` slots with one device each; the first two have a link.
    void start(Until until, size_t count = 1)
    {
        const std::optional<LinkPlace> links[] = {LinkPlace{0x0100, 0x0008},
                                                  LinkPlace{0x0200, 0x0010}, std::nullopt};
        for (size_t i = 0; i < count; i++) {
            const auto slot = chassis->add_slot({paths[i], links[i]});
            ASSERT_TRUE(slot) << slot.error().message;
            (*slot)->insert(devices[i]);
        }
        finished = std::async(std::launch::async,
                              [this, until] { return static_cast<bool>(chassis->run(until)); });
    }
    bool ended(int wait_ms = kPatience_ms)
    {
        return finished.wait_for(std::chrono::milliseconds(wait_ms)) == std::future_status::ready;
    }
    TestClient connect(size_t index = 0)
    {
        Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        paths[index].string().copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        return TestClient(std::move(fd));
    }
    static bool greet(TestClient &client)
    {
        client.send_raw(TestClient::message(Command::kVersion, version_body()));
        const auto reply = client.receive(kPatience_ms);
        return reply && reply->good();
    }
    static bool read_once(TestClient &client)
    {
        client.send_raw(TestClient::message(Command::kRegionRead, access_body(2, 0, 8)));
        const auto reply = client.receive(kPatience_ms);
        return reply && reply->good();
    }

    TestFolder folder_;
    std::vector<std::filesystem::path> paths;
    std::array<FakeDevice, 3> devices;
    FakeDevice &device = devices[0];
    std::unique_ptr<Chassis> chassis;
    std::future<bool> finished;
};

TEST_F(ChassisTest, RunEndsWhenTheClientLeaves)
{
    start(Until::kClientsLeave);
    {
        TestClient client = connect();
        ASSERT_TRUE(greet(client));
        ASSERT_TRUE(read_once(client));
    }
    ASSERT_TRUE(ended());
    EXPECT_TRUE(finished.get());
}

TEST_F(ChassisTest, ServesOneClientAfterAnother)
{
    start(Until::kStopped);
    for (int i = 0; i < 5; i++) {
        TestClient client = connect();
        ASSERT_TRUE(greet(client)) << i;
        ASSERT_TRUE(read_once(client)) << i;
    }
    chassis->stop();
    ASSERT_TRUE(ended());
    EXPECT_TRUE(finished.get());
    EXPECT_EQ(device.resets, 5u);
}

TEST_F(ChassisTest, SecondClientWaitsUntilTheFirstLeaves)
{
    start(Until::kStopped);
    TestClient first = connect();
    ASSERT_TRUE(greet(first));
    TestClient second = connect();
    second.send_raw(TestClient::message(Command::kVersion, version_body()));
    EXPECT_TRUE(read_once(first));
    EXPECT_FALSE(second.receive(50));
    first.leave();
    EXPECT_TRUE(second.receive(kPatience_ms));
    chassis->stop();
    ASSERT_TRUE(ended());
}

TEST_F(ChassisTest, StopEndsRunWithAndWithoutAClient)
{
    start(Until::kStopped);
    chassis->stop();
    ASSERT_TRUE(ended());

    finished = {};
    auto created = Chassis::create();
    ASSERT_TRUE(created);
    chassis = std::move(*created);
    devices[0].resets = 0;
    start(Until::kStopped);
    TestClient client = connect();
    ASSERT_TRUE(greet(client));
    chassis->stop();
    ASSERT_TRUE(ended());
    EXPECT_TRUE(client.closed_by_peer(kPatience_ms));
}

TEST_F(ChassisTest, MalformedStreamClosesOnlyItsConnection)
{
    start(Until::kStopped);
    TestClient bad = connect();
    bad.send_raw(std::vector<std::byte>(64, std::byte{0xff}));
    EXPECT_TRUE(bad.closed_by_peer(kPatience_ms));
    TestClient good = connect();
    EXPECT_TRUE(greet(good));
    chassis->stop();
    ASSERT_TRUE(ended());
}

TEST_F(ChassisTest, AdvancesTheDeviceAtItsDeadline)
{
    device.deadline_ns = 0;  // run() has not started: no other thread uses it
    start(Until::kClientsLeave);
    {
        TestClient client = connect();
        ASSERT_TRUE(greet(client));
    }
    ASSERT_TRUE(ended());
    EXPECT_EQ(device.deadlines_met, 1u);
}

TEST_F(ChassisTest, RemovesItsSocketFileWhenDestroyed)
{
    ASSERT_TRUE(chassis->add_slot({paths[0]}));
    EXPECT_TRUE(std::filesystem::exists(paths[0]));
    chassis = Chassis::create().value();
    EXPECT_FALSE(std::filesystem::exists(paths[0]));
}

TEST_F(ChassisTest, ReplacesDeadSocketButNotALiveOne)
{
    {
        const Fd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        paths[0].string().copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    }
    ASSERT_TRUE(chassis->add_slot({paths[0]}));
    const auto second = chassis->add_slot({paths[0]});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::kBusy);
    EXPECT_TRUE(std::filesystem::exists(paths[0]));
}

TEST_F(ChassisTest, BoundSocketThatDoesNotListenIsBusy)
{
    const Fd bound(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    paths[0].string().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(bound.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    const auto slot = chassis->add_slot({paths[0]});
    ASSERT_FALSE(slot);
    EXPECT_EQ(slot.error().code, Errc::kBusy);
}

TEST_F(ChassisTest, ProbeOfASocketInUseDoesNotCountAsAClient)
{
    start(Until::kClientsLeave);
    const auto other = Chassis::create();
    ASSERT_TRUE(other);
    const auto slot = (*other)->add_slot({paths[0]});
    ASSERT_FALSE(slot);
    EXPECT_EQ(slot.error().code, Errc::kBusy);
    EXPECT_FALSE(ended(100));
    {
        TestClient client = connect();
        ASSERT_TRUE(greet(client));
    }
    ASSERT_TRUE(ended());
    EXPECT_EQ(device.resets, 1u);
}

TEST_F(ChassisTest, ASocketInUseIsReportedBusyEachTime)
{
    start(Until::kStopped);
    TestClient client = connect();
    ASSERT_TRUE(greet(client));
    const auto other = Chassis::create();
    ASSERT_TRUE(other);
    constexpr int kMoreThanTheQueueHolds = 4;
    for (int i = 0; i < kMoreThanTheQueueHolds; i++) {
        const auto slot = (*other)->add_slot({paths[0]});
        ASSERT_FALSE(slot);
        EXPECT_EQ(slot.error().code, Errc::kBusy);
    }
    EXPECT_TRUE(read_once(client));
    chassis->stop();
    ASSERT_TRUE(ended());
    EXPECT_EQ(device.resets, 1u);
}

TEST_F(ChassisTest, DoesNotReplaceARegularFile)
{
    const Fd file(open(paths[0].c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    ASSERT_FALSE(chassis->add_slot({paths[0]}));
    EXPECT_TRUE(std::filesystem::is_regular_file(paths[0]));
}

TEST_F(ChassisTest, RefusesEmptyAndTooLongPaths)
{
    EXPECT_FALSE(chassis->add_slot({""}));
    const auto too_long = chassis->add_slot({std::string(200, 'x')});
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().code, Errc::kUsage);
}

// Several devices

TEST_F(ChassisTest, ServesSeveralDevicesAtOnce)
{
    start(Until::kStopped, 3);
    TestClient clients[] = {connect(0), connect(1), connect(2)};
    for (TestClient &client : clients)
        ASSERT_TRUE(greet(client));
    for (int round = 0; round < 3; round++)
        for (TestClient &client : clients)
            EXPECT_TRUE(read_once(client));
    chassis->stop();
    ASSERT_TRUE(ended());
    for (const FakeDevice &one : devices)
        EXPECT_EQ(one.calls.size(), 3u);
}

TEST_F(ChassisTest, ReconnectingClientDoesNotDisturbOthers)
{
    start(Until::kStopped, 2);
    TestClient staying = connect(0);
    ASSERT_TRUE(greet(staying));
    for (int i = 0; i < 20; i++) {
        TestClient passing = connect(1);
        ASSERT_TRUE(greet(passing));
        ASSERT_TRUE(read_once(staying)) << i;
    }
    TestClient bad = connect(1);
    bad.send_raw(std::vector<std::byte>(64, std::byte{0xff}));
    EXPECT_TRUE(bad.closed_by_peer(kPatience_ms));
    EXPECT_TRUE(read_once(staying));
    chassis->stop();
    ASSERT_TRUE(ended());
    EXPECT_EQ(devices[0].resets, 1u);
    EXPECT_EQ(devices[1].resets, 21u);
}

size_t open_files()
{
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST_F(ChassisTest, ThousandClientsLeakNoDescriptors)
{
    start(Until::kStopped, 2);
    TestClient staying = connect(1);
    ASSERT_TRUE(greet(staying));
    const size_t before = open_files();
    const Fd memory = make_memory(0x1000);
    const Fd event = make_eventfd();
    for (int i = 0; i < 1000; i++) {
        TestClient client = connect(0);
        ASSERT_TRUE(greet(client)) << i;
        client.send_raw(
            TestClient::message(Command::kDmaMap, bytes_of(wire::DmaMap{32, 3, 0, 0, 0x1000})),
            {memory.get()});
        client.send_raw(
            TestClient::message(Command::kSetIrqs,
                                irqs_body(wire::kIrqDataEventfd | wire::kIrqActionTrigger, 0, 1)),
            {event.get()});
        if (i % 3 == 0)  // every third client leaves in the middle of a message
            client.send_raw(std::vector<std::byte>(7));
        else
            ASSERT_TRUE(client.receive(kPatience_ms) && client.receive(kPatience_ms)) << i;
    }
    ASSERT_TRUE(read_once(staying));
    // The chassis detaches the previous client before it answers the next one.
    TestClient last = connect(0);
    ASSERT_TRUE(greet(last));
    // The four new descriptors are both ends of a connection, the memory and the eventfd.
    EXPECT_LE(open_files(), before + 4);
    chassis->stop();
    ASSERT_TRUE(ended());
    EXPECT_EQ(devices[0].resets, 1001u);
}

// Measures the CPU time of the process: this thread sleeps, and the chassis runs on another.
TEST_F(ChassisTest, UsesNoCpuTimeAfterAClientHasLeft)
{
    start(Until::kStopped, 2);
    {
        TestClient rude = connect(0);
        ASSERT_TRUE(greet(rude));
        rude.send_raw(std::vector<std::byte>(7));
        ASSERT_EQ(shutdown(rude.fd(), SHUT_WR), 0);
        EXPECT_TRUE(rude.closed_by_peer(kPatience_ms));
    }
    const auto used_ns = [] {
        timespec used{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return used.tv_sec * 1'000'000'000 + used.tv_nsec;
    };
    const auto before = used_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_LT(used_ns() - before, 100'000'000);
}

TEST_F(ChassisTest, AnswersAWholeBurstWithoutFurtherInput)
{
    start(Until::kStopped);
    TestClient client = connect();
    ASSERT_TRUE(greet(client));
    std::vector<std::byte> burst;
    constexpr unsigned kMessages = 10 * Session::kMessagesPerBatch;
    for (unsigned i = 0; i < kMessages; i++)
        burst = burst + TestClient::message(Command::kRegionRead, access_body(2, 0, 8));
    client.send_raw(burst);
    for (unsigned i = 0; i < kMessages; i++)
        ASSERT_TRUE(client.receive(kPatience_ms)) << i;
}

// Uses up all file descriptors. UBSan opens a pipe when it first checks an object's type, so the
// constructor lets it check the types that the log uses.
class NoFilesLeft {
public:
    NoFilesLeft()
    {
        EXPECT_FALSE(fmt::format("{}", std::strerror(EMFILE)).empty());
        getrlimit(RLIMIT_NOFILE, &before_);
        rlimit small = before_;
        small.rlim_cur = 64;
        setrlimit(RLIMIT_NOFILE, &small);
        for (;;) {
            Fd fd(dup(STDERR_FILENO));
            if (!fd)
                break;
            taken_.push_back(std::move(fd));
        }
    }
    ~NoFilesLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
    std::vector<Fd> taken_;
};

TEST_F(ChassisTest, RetriesAcceptWhenOutOfDescriptors)
{
    start(Until::kStopped, 2);
    TestClient staying = connect(1);
    ASSERT_TRUE(greet(staying));
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    paths[0].string().copy(address.sun_path, sizeof address.sun_path - 1);
    std::optional<NoFilesLeft> none(std::in_place);
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    TestClient waiting(std::move(fd));
    waiting.send_raw(TestClient::message(Command::kVersion, version_body()));
    EXPECT_FALSE(waiting.receive(250));
    EXPECT_TRUE(read_once(staying));
    none.reset();
    EXPECT_TRUE(waiting.receive(kPatience_ms));
}

TEST_F(ChassisTest, ClientThatReadsNoAnswersDelaysNoOtherClient)
{
    start(Until::kStopped, 2);
    TestClient deaf = connect(0);
    ASSERT_TRUE(greet(deaf));
    const auto ask = TestClient::message(Command::kRegionRead, access_body(2, 0, 0x10000));
    constexpr int kMoreThanSocketsHold = 64;
    for (int i = 0; i < kMoreThanSocketsHold; i++)
        deaf.send_raw(ask);
    TestClient other = connect(1);
    ASSERT_TRUE(greet(other));
    EXPECT_TRUE(read_once(other));
    for (int i = 0; i < kMoreThanSocketsHold; i++) {
        const auto reply = deaf.receive(kPatience_ms);
        ASSERT_TRUE(reply && reply->good()) << i;
        ASSERT_EQ(reply->body.size(), sizeof(wire::RegionAccess) + 0x10000);
    }
}

TEST_F(ChassisTest, RunWaitsForAClientOfEveryDevice)
{
    start(Until::kClientsLeave, 2);
    {
        TestClient first = connect(0);
        ASSERT_TRUE(greet(first));
    }
    EXPECT_FALSE(ended(100));  // the second slot has had no client
    {
        TestClient again = connect(0);
        ASSERT_TRUE(greet(again));
        TestClient second = connect(1);
        ASSERT_TRUE(greet(second));
        second.leave();
        EXPECT_TRUE(read_once(again));
    }
    EXPECT_TRUE(ended());
}

// The chassis calls on_packet() on its thread. The test reads the packets only after run() has
// ended.
class Watcher final : public TrafficObserver {
public:
    void on_packet(const Packet &packet) override { packets.push_back(packet); }
    std::vector<Packet> packets;
};

TEST_F(ChassisTest, AnObserverSeesThePacketsOfEveryLink)
{
    Watcher watcher;
    chassis->traffic().add(watcher);
    start(Until::kStopped, 3);
    for (size_t i = 0; i < 3; i++) {
        TestClient client = connect(i);
        ASSERT_TRUE(greet(client));
        ASSERT_TRUE(read_once(client));
    }
    chassis->stop();
    ASSERT_TRUE(ended());
    ASSERT_EQ(watcher.packets.size(), 4u);  // the third device has no link
    EXPECT_EQ(watcher.packets[0].function, 0x0100);
    EXPECT_EQ(watcher.packets[1].kind, PacketKind::kCompletion);
    EXPECT_EQ(watcher.packets[2].function, 0x0200);
    EXPECT_EQ(watcher.packets[2].root_port, 0x0010);
}

}  // namespace
}  // namespace pmukit::vfu
