// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace pmukit::exporter {
namespace {

template <typename Put, typename... Args>
std::string put(Put function, Args... args)
{
    std::string text(256, '#');
    text.resize(static_cast<size_t>(function(text.data(), args...) - text.data()));
    return text;
}

TEST(Text, WritesDecimalsOfEveryLength)
{
    uint64_t value = 0;
    for (int digits = 0; digits < 20; digits++) {
        for (const uint64_t near : {value - 1, value, value + 1})
            EXPECT_EQ(put(put_decimal, near), std::to_string(near));
        value = value * 10 + 9;
    }
    for (uint64_t small = 0; small < 1100; small++)
        EXPECT_EQ(put(put_decimal, small), std::to_string(small));
    EXPECT_EQ(put(put_decimal, UINT64_MAX), "18446744073709551615");
}

TEST(Text, WritesAddressesWithoutLeadingZeros)
{
    EXPECT_EQ(put(put_address, uint64_t{0}), "0x0");
    EXPECT_EQ(put(put_address, uint64_t{0xf}), "0xf");
    EXPECT_EQ(put(put_address, uint64_t{0x10}), "0x10");
    EXPECT_EQ(put(put_address, uint64_t{0xc000000000001000}), "0xc000000000001000");
}

TEST(Text, WritesBdfs)
{
    EXPECT_EQ(put(put_bdf, uint64_t{0x0100}), "01:00.0");
    EXPECT_EQ(put(put_bdf, uint64_t{0xffff}), "ff:1f.7");
}

TEST(Text, WritesWordsOfEveryLength)
{
    const std::string letters = "abcdefghijklmnopqrstuvwxyz";
    for (size_t size = 0; size <= letters.size(); size++)
        EXPECT_EQ(put(put_word, std::string_view(letters).substr(0, size)),
                  letters.substr(0, size));
}

// Writing a number must not overwrite more bytes than callers reserve for it.
TEST(Text, NumbersOccupyAtMostTheReservedBytes)
{
    for (uint64_t value = UINT64_MAX; value != 0; value /= 3)
        for (char *(*function)(char *, uint64_t) : {&put_decimal, &put_address}) {
            std::string text(kMostDigits + 1, '#');
            function(text.data(), value);
            EXPECT_EQ(text.back(), '#') << value;
        }
}

TEST(Text, EscapesForJson)
{
    EXPECT_EQ(put(put_json_escaped, std::string_view("a\"b\\c\n\x01z")), R"(a\"b\\c\u000a\u0001z)");
    EXPECT_EQ(put(put_json_escaped, std::string_view("\x7f\xc2\x9b\xe2\x80\xae\x9b")),
              "\\u007f\\u009b\\u202e\xef\xbf\xbd");
    EXPECT_EQ(put(put_json_escaped, std::string_view("\xc3\xa9\xf0\x9f\x98\x80")),
              "\xc3\xa9\xf0\x9f\x98\x80");
}

// Any bytes of a name in a recording must give valid JSON.
TEST(Text, EscapedTextIsValidJsonForAnyBytes)
{
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        std::string bytes;
        for (int i = 0; i < 8; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            // Half of the bytes are values at boundaries of UTF-8's byte ranges.
            constexpr uint8_t kEdges[] = {0xc1, 0xc2, 0xe0, 0x9f, 0xa0, 0xed, 0xf0, 0x8f,
                                          0x90, 0xf4, 0xf5, 0x80, 0xbf, 0x7f, 0x1f, 0xef};
            const uint8_t byte = static_cast<uint8_t>(random >> 40);
            bytes += static_cast<char>(random >> 63 ? byte : kEdges[byte & 15]);
        }
        const std::string text = '"' + put(put_json_escaped, std::string_view(bytes)) + '"';
        EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded()) << text;
    }
}

}  // namespace
}  // namespace pmukit::exporter
