// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace pmukit::decode {
namespace {

struct SkipLog {
    void skipped(uint64_t offset, uint64_t bytes) { pieces.emplace_back(offset, bytes); }
    std::vector<std::pair<uint64_t, uint64_t>> pieces;
};

TEST(Position, ReportsAdjacentSkippedBytesTogetherAndOnce)
{
    SkipLog skip_log;
    Position position(16);
    position.tell_skipped(skip_log);
    EXPECT_TRUE(skip_log.pieces.empty());
    position.move(8);
    position.skip(3);
    position.skip(5);
    EXPECT_EQ(position.offset(), 32U);
    position.tell_skipped(skip_log);
    position.tell_skipped(skip_log);
    ASSERT_EQ(skip_log.pieces.size(), 1U);
    EXPECT_EQ(skip_log.pieces[0], std::pair(uint64_t{24}, uint64_t{8}));
}

Bytes bytes_of(const std::string &text)
{
    return std::as_bytes(std::span(text));
}

// Consumes words that end with a blank and have at most seven letters.
struct Words {
    size_t operator()(Bytes bytes)
    {
        const std::string text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
        size_t used = 0;
        for (size_t end = text.find(' '); end != text.npos; end = text.find(' ', used)) {
            words.push_back(text.substr(used, end - used));
            used = end + 1;
        }
        return used;
    }
    std::vector<std::string> words;
};

TEST(Carry, PiecesOfAnySizeGiveTheSameResult)
{
    const std::string text = "a decoder wants its records whole but they come in pieces ";
    Words whole;
    whole(bytes_of(text));
    ASSERT_EQ(whole.words.size(), 11U);
    for (size_t size = 1; size <= text.size(); size++) {
        Carry<8> carry;
        Words words;
        for (size_t at = 0; at < text.size(); at += size)
            carry.data(bytes_of(text).subspan(at, std::min(size, text.size() - at)),
                       [&](Bytes bytes) { return words(bytes); });
        EXPECT_EQ(words.words, whole.words) << size;
        EXPECT_EQ(carry.size(), 0U) << size;
    }
}

TEST(Carry, KeepsBytesThatCannotBeUsedYet)
{
    Carry<8> carry;
    const auto nothing = [](Bytes) { return size_t{0}; };
    carry.data(bytes_of("abc"), nothing);
    carry.data(bytes_of(""), nothing);
    carry.data(bytes_of("de"), nothing);
    EXPECT_EQ(carry.size(), 5U);
    Bytes seen;
    carry.settle([&](Bytes bytes) {
        seen = bytes;
        EXPECT_EQ(std::to_integer<char>(bytes[0]), 'a');
        return size_t{2};
    });
    EXPECT_EQ(seen.size(), 5U);
    EXPECT_EQ(carry.size(), 3U);
    carry.settle([](Bytes bytes) {
        EXPECT_EQ(std::to_integer<char>(bytes[0]), 'c');
        return size_t{0};
    });
    carry.clear();
    EXPECT_EQ(carry.size(), 0U);
}

}  // namespace
}  // namespace pmukit::decode
