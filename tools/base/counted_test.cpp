// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/counted.hpp"

#include <gtest/gtest.h>

namespace pmukit {
namespace {

TEST(Counted, PluralUnlessTheNumberIsOne)
{
    EXPECT_EQ(counted(0, "entries were lost"), "0 entries were lost");
    EXPECT_EQ(counted(1, "entries were lost"), "1 entry was lost");
    EXPECT_EQ(counted(2, "entries were lost"), "2 entries were lost");
    EXPECT_EQ(counted(UINT64_MAX, "rows"), "18446744073709551615 rows");
}

TEST(Counted, SingularUpToTheVerbsOfTheNoun)
{
    constexpr struct {
        const char *plural, *singular;
    } kCases[] = {
        {"rows", "1 row"},
        {"", "1"},
        {"samples or records were lost between kernel and recorder; record with a larger -m",
         "1 sample or record was lost between kernel and recorder; record with a larger -m"},
        {"losses of AUX data are of unknown size", "1 loss of AUX data is of unknown size"},
        {"times the hot list was full and the device may have dropped units; raise it",
         "1 time the hot list was full and the device may have dropped units; raise it"},
        {"bytes of AUX data never reached the file", "1 byte of AUX data never reached the file"},
        {"records of unknown types were skipped", "1 record of unknown types was skipped"},
        {"counts are the largest the counter can hold",
         "1 count is the largest the counter can hold"},
        {"times data was lost; requests outstanding then are not counted",
         "1 time data was lost; requests outstanding then are not counted"},
        {"bytes held no record and were skipped", "1 byte held no record and was skipped"},
        {"records were read and others were not", "1 record was read and others were not"},
        {"of them are only counted per program", "1 of them is only counted per program"},
        {"TLPs of further requesters", "1 TLP of further requesters"},
        {"more units; --top 0 shows all", "1 more unit; --top 0 shows all"},
        {"entries, 2 units", "1 entry, 2 units"},
        {"cases have no word in the table", "1 cases have no word in the table"},
    };
    for (const auto &[plural, singular] : kCases)
        EXPECT_EQ(counted(1, plural), singular);
}

}  // namespace
}  // namespace pmukit
