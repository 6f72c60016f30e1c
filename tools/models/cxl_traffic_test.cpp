// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A guest with a CXL memory expander below a root port, and uncore units that observe the port's
// link, each on a separate vfio-user socket. The units must count the guest's loads and stores.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "models/cxl_hmu/cxl_hmu_model.hpp"
#include "models/uncore_pmon/uncore_pmon_model.hpp"
#include "vfu/session.hpp"
#include "vfu/test_support.hpp"

namespace pmukit::models {
namespace {

using vfu::test::access_body;
using vfu::test::bytes_of;
using vfu::test::TestClient;
using vfu::wire::Command;

constexpr vfu::LinkPlace kExpander = {0x0100, 0x0080};
constexpr uint16_t kOtherPort = 0x0088;
constexpr unsigned kExpanderRegisters = 0, kExpanderMemory = 2;

// One device with its client.
class Place {
public:
    void connect(vfu::Device &device)
    {
        session.bind(device);
        session.attach(client_.connect());
        const auto greeted =
            exchange(TestClient::message(Command::kVersion, vfu::test::version_body()));
        EXPECT_TRUE(greeted && greeted->good());
    }
    uint64_t read(unsigned region, uint64_t offset, uint32_t width)
    {
        const auto reply =
            exchange(TestClient::message(Command::kRegionRead, access_body(region, offset, width)));
        if (!reply || !reply->good()) {
            ADD_FAILURE() << "read of region " << region << " at " << offset;
            return 0;
        }
        uint64_t value = 0;
        for (size_t i = 0; i < width; i++)
            value |= std::to_integer<uint64_t>(reply->body[sizeof(vfu::wire::RegionAccess) + i])
                     << (8 * i);
        return value;
    }
    void write(unsigned region, uint64_t offset, uint32_t width, uint64_t value)
    {
        std::vector<std::byte> bytes = bytes_of(value);
        bytes.resize(width);
        const auto reply = exchange(
            TestClient::message(Command::kRegionWrite, access_body(region, offset, width, bytes)));
        EXPECT_TRUE(reply && reply->good());
    }

    vfu::Session session;

private:
    std::optional<vfu::test::Reply> exchange(const std::vector<std::byte> &message)
    {
        client_.send_raw(message);
        session.on_ready();
        return client_.receive();
    }

    TestClient client_;
};

uncore_pmon::Options watching(std::vector<uint16_t> ports)
{
    uncore_pmon::Options options;
    options.root_ports = std::move(ports);
    return options;
}

class CxlTraffic : public testing::Test {
protected:
    CxlTraffic()
    {
        traffic.add(uncore_model);
        expander.session.set_link(vfu::Link(traffic, kExpander));
        expander.connect(expander_model);
        uncore.connect(uncore_model);
        expander.write(vfu::wire::kRegionConfig, 0x18, 4, 0x80000000);
        uncore.write(vfu::wire::kRegionConfig, 0x18, 4, 0xe0000000);
    }
    // Returns the BAR offset of a unit's control, found through the table.
    uint64_t find(uint16_t type, uint16_t id)
    {
        const unsigned units = uncore.read(0, 2, 2) & 0x3ff;
        const uint64_t stride = 8 * uncore.read(0, 1, 1);
        for (unsigned i = 1; i <= units; i++)
            if (uncore.read(0, i * stride + 16, 4) == (type | uint32_t{id} << 16))
                return uncore.read(0, i * stride + 8, 8) - 0xe0000000;
        ADD_FAILURE() << "no unit " << type << '.' << id;
        return 0;
    }
    void control(uint64_t unit, unsigned counter, uint32_t value)
    {
        uncore.write(uncore_pmon::kUnitBar, unit + 0x10 + 8 * counter, 4, value);
    }
    uint64_t count(uint64_t unit, unsigned counter)
    {
        return uncore.read(uncore_pmon::kUnitBar, unit + 0x50 + 8 * counter, 8);
    }

    vfu::Traffic traffic;
    Place expander, uncore;
    AccessLog expander_log;
    uncore_pmon::AccessRecord record;
    cxl_hmu::CxlHmuModel expander_model{{}, expander_log, expander.session};
    uncore_pmon::UncorePmonModel uncore_model{watching({kExpander.root_port, kOtherPort}), record,
                                              uncore.session};
};

TEST_F(CxlTraffic, UncoreUnitsOfTheLinkCountTheGuestsLoadsAndStores)
{
    const uint64_t cxlcm = find(12, 0), cxldp = find(13, 0), b2cxl = find(17, 0);
    const uint64_t elsewhere = find(12, 1), imc = find(6, 0);
    control(cxlcm, 0, 0x0802);
    control(cxlcm, 1, 0x1002);
    control(cxlcm, 4, 0x1041);
    control(cxlcm, 5, 0x0841);
    control(cxldp, 0, 0x1002);
    control(cxldp, 1, 0x2002);
    control(b2cxl, 0, 0x0424);
    control(b2cxl, 1, 0x1025);
    control(elsewhere, 0, 0x0802);
    uncore.write(uncore_pmon::kUnitBar, imc + 0x40, 4, 0xff05);

    std::mt19937 random(7);
    uint64_t loads = 0, stores = 0;
    for (unsigned i = 0; i < 2000; i++) {
        const uint32_t width = 1u << random() % 4;
        const uint64_t offset = random() % (cxl_hmu::Options{}.memory_bytes / 8) * 8;
        if (random() % 3 == 0) {
            stores++;
            expander.write(kExpanderMemory, offset, width, i);
        } else {
            loads++;
            expander.read(kExpanderMemory, offset, width);
        }
        if (i % 10 == 0)  // CXL.io, on the same link
            expander.read(kExpanderRegisters, 0, 8);
    }
    EXPECT_EQ(count(cxlcm, 0), loads);
    EXPECT_EQ(count(cxlcm, 1), stores);
    EXPECT_EQ(count(cxlcm, 4), loads);
    EXPECT_EQ(count(cxlcm, 5), stores);
    EXPECT_EQ(count(cxldp, 0), loads);
    EXPECT_EQ(count(cxldp, 1), stores);
    EXPECT_EQ(count(b2cxl, 0), loads);
    EXPECT_EQ(count(b2cxl, 1), stores);
    EXPECT_EQ(count(elsewhere, 0), 0u);
    EXPECT_EQ(uncore.read(uncore_pmon::kUnitBar, imc + 0x08, 8), 0u);

    EXPECT_EQ(record.tally().cxl_reads, loads);
    EXPECT_EQ(record.tally().cxl_writes, stores);
    EXPECT_EQ(expander_log.reads(), loads);
    EXPECT_EQ(expander_log.writes(), stores);
}

TEST_F(CxlTraffic, AFrozenUncoreUnitCountsNothing)
{
    const uint64_t cxlcm = find(12, 0);
    control(cxlcm, 0, 0x0802);
    uncore.write(uncore_pmon::kUnitBar, cxlcm, 4, 1);
    expander.read(kExpanderMemory, 0, 8);
    EXPECT_EQ(count(cxlcm, 0), 0u);
    uncore.write(uncore_pmon::kUnitBar, cxlcm, 4, 0);
    expander.read(kExpanderMemory, 0, 8);
    EXPECT_EQ(count(cxlcm, 0), 1u);
}

}  // namespace
}  // namespace pmukit::models
