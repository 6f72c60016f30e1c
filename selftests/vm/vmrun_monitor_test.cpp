// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_monitor.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "vmrun_text.hpp"

namespace pmukit::vm {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::string_view kGreeting = R"({"QMP": {"version": {}, "capabilities": []}})";
constexpr std::string_view kDone = R"({"return": {}})";
constexpr std::string_view kDevice = R"({"driver": "e1000e", "id": "device1", "bus": "rp"})";
constexpr std::string_view kGone =
    R"({"event": "DEVICE_DELETED", "data": {"device": "device1", "path": "/x"}})";

// Replaces QEMU: a test sends QEMU's replies in advance, and checks the received commands later.
class MonitorTest : public testing::Test {
protected:
    MonitorTest()
    {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        qemu_ = Fd(ends[0]);
        ours_ = Fd(ends[1]);
    }

    void says(std::initializer_list<std::string_view> lines)
    {
        for (std::string_view line : lines)
            says_bytes(std::string(line) + "\r\n");
    }
    void says_bytes(std::string_view bytes)
    {
        EXPECT_EQ(::send(qemu_.get(), bytes.data(), bytes.size(), 0),
                  static_cast<ssize_t>(bytes.size()));
    }
    std::vector<json> commands()
    {
        char bytes[4096];
        const ssize_t got = ::recv(qemu_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        std::vector<json> messages;
        for (const std::string &line : lines_of({bytes, static_cast<size_t>(got > 0 ? got : 0)}))
            messages.push_back(json::parse(line));
        return messages;
    }

    Fd qemu_, ours_;
};

TEST_F(MonitorTest, PlugsADeviceAfterNegotiation)
{
    says({kGreeting, kDone, kDone});
    Monitor monitor(std::move(ours_));
    ASSERT_TRUE(monitor.plug(kDevice));
    const std::vector<json> received = commands();
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[0].at("execute"), "qmp_capabilities");
    EXPECT_EQ(received[1].at("execute"), "device_add");
    EXPECT_EQ(received[1].at("arguments"), json::parse(kDevice));
}

TEST_F(MonitorTest, NegotiatesOnceAndSkipsEvents)
{
    says({kGreeting, kDone, R"({"event": "RTC_CHANGE", "data": {}})", kDone, kDone});
    Monitor monitor(std::move(ours_));
    ASSERT_TRUE(monitor.plug(kDevice));
    ASSERT_TRUE(monitor.unplug("device2"));
    const std::vector<json> received = commands();
    ASSERT_EQ(received.size(), 3u);
    EXPECT_EQ(received[2],
              json::parse(R"({"execute": "device_del", "arguments": {"id": "device2"}})"));
}

TEST_F(MonitorTest, PlugReturnsTheErrorTextOfQemu)
{
    says({kGreeting, kDone, R"({"error": {"class": "GenericError", "desc": "no such bus"}})"});
    auto plugged = Monitor(std::move(ours_)).plug(kDevice);
    ASSERT_FALSE(plugged);
    EXPECT_NE(plugged.error().message.find("no such bus"), std::string::npos);
}

TEST_F(MonitorTest, WaitsForUnplugBeforeReplug)
{
    Monitor monitor(std::move(ours_), milliseconds(50));
    says({kGreeting, kDone, kDone});
    ASSERT_TRUE(monitor.unplug("device1"));
    EXPECT_FALSE(monitor.plug(kDevice));
    EXPECT_EQ(commands().size(), 2u);  // device_add was not sent
    says({kGone, kDone});
    EXPECT_TRUE(monitor.plug(kDevice));
}

TEST_F(MonitorTest, DoesNotWaitAfterFailedUnplug)
{
    Monitor monitor(std::move(ours_), milliseconds(50));
    says({kGreeting, kDone, R"({"error": {"desc": "not found"}})", kDone});
    EXPECT_FALSE(monitor.unplug("device1"));
    EXPECT_TRUE(monitor.plug(kDevice));
}

TEST_F(MonitorTest, FailsOnTimeoutInvalidReplyAndClosedSocket)
{
    Monitor monitor(std::move(ours_), milliseconds(20));
    EXPECT_FALSE(monitor.unplug("device1"));  // no reply
    says({"nonsense"});
    EXPECT_FALSE(monitor.unplug("device1"));
    says({"{}"});  // a JSON object, but not QEMU's greeting
    EXPECT_FALSE(monitor.unplug("device1"));
    says_bytes(kGreeting.substr(0, 10));
    qemu_.reset();
    EXPECT_FALSE(monitor.unplug("device1"));
}

TEST_F(MonitorTest, FailsWhenNoMonitorListens)
{
    EXPECT_FALSE(Monitor::connect("/nonexistent/qmp"));
    EXPECT_FALSE(Monitor::connect(std::string(200, 'x')));
}

}  // namespace
}  // namespace pmukit::vm
