// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/placement.hpp"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include "base/test_folder.hpp"
#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"
#include "topology/test_tree.hpp"

namespace pmukit::cli {
namespace {

std::string this_host()
{
    utsname names{};
    EXPECT_EQ(::uname(&names), 0);
    return names.nodename;
}

class TopologyForRecording : public testing::Test {
protected:
    TopologyForRecording()
    {
        topology::put_region(tree_, {});
        tree_.put("devices/system/memory/block_size_bytes", "8000000\n");
    }

    // Opens a Placer for a recording of these hosts. Returns "good" or the error.
    std::string opened(const std::string &hosts, const std::string &dir, const std::string &host)
    {
        perfdata::WriterEvent event{std::vector<std::byte>(128), {7}, "an event"};
        store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
        perfdata::HostInfo info;
        info.hostname = hosts;
        Result<perfdata::Writer> writer =
            perfdata::Writer::create(folder_.path("data"), {event}, info);
        EXPECT_TRUE(writer && writer->finished_round() && writer->finish());
        const Result<Recording> recording = Recording::open(folder_.path("data"), Drivers());
        EXPECT_TRUE(recording);
        const Result<Placer> placer = Placer::open_for(*recording, dir, host);
        return placer ? "good" : placer.error().message;
    }

    TestFolder folder_;
    TestFolder tree_;
};

TEST_F(TopologyForRecording, CopiedTopologyIsAcceptedForARecordingOfAtMostOneHost)
{
    for (const char *hosts : {"", "aaa", "bbb"})
        EXPECT_EQ(opened(hosts, tree_.dir(), ""), "good") << hosts;
}

TEST_F(TopologyForRecording, RecordingOfSeveralHostsIsRefusedUnlessOneOfThemIsNamed)
{
    EXPECT_NE(opened("aaa+bbb", tree_.dir(), "").find("name the host of this topology with --host"),
              std::string::npos);
    EXPECT_EQ(opened("aaa+bbb", tree_.dir(), "bbb"), "good");
    EXPECT_NE(opened("aaa+bbb", tree_.dir(), "ccc").find("--host ccc: "), std::string::npos);
}

TEST_F(TopologyForRecording, LocalTopologyIsRefusedForARecordingOfAnotherHost)
{
    const auto is_refused = [&](const std::string &hosts, const std::string &host) {
        return opened(hosts, "/sys/", host).find("--cxl-topology /sys/: ") != std::string::npos;
    };
    EXPECT_TRUE(is_refused("not-" + this_host(), ""));
    EXPECT_FALSE(is_refused(this_host(), ""));
    EXPECT_FALSE(is_refused("", ""));
    EXPECT_FALSE(is_refused("renamed", "renamed"));
}

TEST_F(TopologyForRecording, AddressesAreTranslatedOnlyForDevicesOfTheNamedHost)
{
    const Result<Placer> placer = Placer::open(tree_.dir(), "bbb");
    ASSERT_TRUE(placer) << placer.error().message;
    EXPECT_TRUE(placer->place("cxl_hmu_mem0.0.0", 0, 4096).hpa);
    EXPECT_TRUE(placer->place("cxl_hmu_mem0.0.0@bbb", 0, 4096).hpa);
    EXPECT_FALSE(placer->place("cxl_hmu_mem0.0.0@aaa", 0, 4096).hpa);
    EXPECT_EQ(placer->why_not("cxl_hmu_mem0.0.0@aaa", 0, 4096), "cxl_hmu_mem0.0.0@aaa: not of bbb");
}

}  // namespace
}  // namespace pmukit::cli
