// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/server.hpp"

#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <future>

#include "vfu/test_support.hpp"

namespace pmukit::vfu {
namespace {

using namespace test;
using wire::Command;

constexpr int kPatience_ms = 10000;

class ServerTest : public testing::Test {
protected:
    ServerTest()
    {
        char folder[] = "/tmp/pmukit-vfu-XXXXXX";
        folder_ = mkdtemp(folder);
        path = folder_ / "socket";
    }
    ~ServerTest() override { std::filesystem::remove_all(folder_); }

    void start(Server::Until until)
    {
        auto listening = Server::listen(path);
        ASSERT_TRUE(listening) << listening.error().message;
        server = std::move(*listening);
        finished = std::async(std::launch::async, [this, until] {
            return static_cast<bool>(server->run(device, until));
        });
    }
    bool ended()
    {
        return finished.wait_for(std::chrono::milliseconds(kPatience_ms)) ==
               std::future_status::ready;
    }
    TestClient connect()
    {
        Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.string().copy(address.sun_path, sizeof address.sun_path - 1);
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

    std::filesystem::path folder_;
    std::filesystem::path path;
    FakeDevice device;
    std::unique_ptr<Server> server;
    std::future<bool> finished;
};

TEST_F(ServerTest, OnceEndsWhenTheClientLeaves)
{
    start(Server::Until::kClientLeaves);
    {
        TestClient client = connect();
        ASSERT_TRUE(greet(client));
        ASSERT_TRUE(read_once(client));
    }
    ASSERT_TRUE(ended());
    EXPECT_TRUE(finished.get());
}

TEST_F(ServerTest, ServesOneClientAfterAnother)
{
    start(Server::Until::kStopped);
    for (int i = 0; i < 5; i++) {
        TestClient client = connect();
        ASSERT_TRUE(greet(client)) << i;
        ASSERT_TRUE(read_once(client)) << i;
    }
    server->stop();
    ASSERT_TRUE(ended());
    EXPECT_TRUE(finished.get());
    EXPECT_EQ(device.resets, 5u);
}

TEST_F(ServerTest, ASecondClientWaitsItsTurn)
{
    start(Server::Until::kStopped);
    TestClient first = connect();
    ASSERT_TRUE(greet(first));
    TestClient second = connect();
    second.send_raw(TestClient::message(Command::kVersion, version_body()));
    EXPECT_TRUE(read_once(first));
    EXPECT_FALSE(second.receive(50));
    first.leave();
    EXPECT_TRUE(second.receive(kPatience_ms));
    server->stop();
    ASSERT_TRUE(ended());
}

TEST_F(ServerTest, StopEndsItWithAndWithoutAClient)
{
    start(Server::Until::kStopped);
    server->stop();
    ASSERT_TRUE(ended());

    server.reset();
    start(Server::Until::kStopped);
    TestClient client = connect();
    ASSERT_TRUE(greet(client));
    server->stop();
    ASSERT_TRUE(ended());
    EXPECT_TRUE(client.closed_by_peer(kPatience_ms));
}

TEST_F(ServerTest, AMalformedStreamCostsTheClientItsConnectionOnly)
{
    start(Server::Until::kStopped);
    TestClient bad = connect();
    bad.send_raw(std::vector<std::byte>(64, std::byte{0xff}));
    EXPECT_TRUE(bad.closed_by_peer(kPatience_ms));
    TestClient good = connect();
    EXPECT_TRUE(greet(good));
    server->stop();
    ASSERT_TRUE(ended());
}

TEST_F(ServerTest, KeepsTheDevicesDeadlines)
{
    device.deadline_ns = 0;  // set before run(): no other thread touches it
    start(Server::Until::kClientLeaves);
    {
        TestClient client = connect();
        ASSERT_TRUE(greet(client));
    }
    ASSERT_TRUE(ended());
    EXPECT_EQ(device.deadlines_met, 1u);
}

TEST_F(ServerTest, RemovesItsSocketFile)
{
    auto listening = Server::listen(path);
    ASSERT_TRUE(listening);
    EXPECT_TRUE(std::filesystem::exists(path));
    listening.value().reset();
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ServerTest, ReplacesADeadSocketAndSparesALivingOne)
{
    {
        const Fd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.string().copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    }
    const auto living = Server::listen(path);
    ASSERT_TRUE(living);
    const auto second = Server::listen(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::kBusy);
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ServerTest, SparesAFileThatIsNoSocket)
{
    const Fd file(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    const auto listening = Server::listen(path);
    ASSERT_FALSE(listening);
    EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST_F(ServerTest, RefusesPathsThatDoNotFit)
{
    EXPECT_FALSE(Server::listen(""));
    const auto too_long = Server::listen(std::string(200, 'x'));
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().code, Errc::kUsage);
}

}  // namespace
}  // namespace pmukit::vfu
