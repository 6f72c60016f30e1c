// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests valid and invalid formats of trace events in tracefs, and reads records with them.
#include "record/trace_format.hpp"

#include <gtest/gtest.h>
#include <pmukit/cxl_hmu.h>

#include <cstddef>
#include <cstring>

namespace pmukit::record {
namespace {

// The format of cxl_hmu_record, as Linux 6.12 prints it.
constexpr const char *kText =
    "name: cxl_hmu_record\n"
    "ID: 1405\n"
    "format:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n"
    "\tfield:char pmu[32];\toffset:8;\tsize:32;\tsigned:0;\n"
    "\tfield:u64 time;\toffset:40;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 flags;\toffset:48;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 sequence;\toffset:56;\tsize:8;\tsigned:0;\n"
    "\tfield:u64 lost;\toffset:64;\tsize:8;\tsigned:0;\n"
    "\tfield:u32 entries;\toffset:72;\tsize:4;\tsigned:0;\n"
    "\tfield:u16 counter_width;\toffset:76;\tsize:2;\tsigned:0;\n"
    "\tfield:u8 unit_log2;\toffset:78;\tsize:1;\tsigned:0;\n"
    "\tfield:u8 downsampling_log2;\toffset:79;\tsize:1;\tsigned:0;\n"
    "\tfield:u32 nr_words;\toffset:80;\tsize:4;\tsigned:0;\n"
    "\tfield:__data_loc u64[] words;\toffset:84;\tsize:4;\tsigned:0;\n"
    "\n"
    "print fmt: \"%s sequence=%llu\", REC->pmu, REC->sequence\n";

struct WithWords {
    pmukit_cxl_hmu_trace head;
    uint64_t words[3];
};

WithWords sample()
{
    WithWords record{};
    std::memcpy(record.head.pmu, "cxl_hmu_mem0.0.0", 16);
    record.head.sequence = 5;
    record.head.counter_width = 16;
    record.head.unit_log2 = 12;
    record.head.words_location = sizeof record.words << 16 | offsetof(WithWords, words);
    record.words[2] = 77;
    return record;
}

TEST(TraceFormat, FieldOffsetsMatchTheUapi)
{
    const Result<TraceFormat> format = parse_trace_format(kText);
    ASSERT_TRUE(format) << format.error().message;
    EXPECT_EQ(format->id, 1405U);
    EXPECT_EQ(format->fixed_bytes, sizeof(pmukit_cxl_hmu_trace));
    EXPECT_EQ(format->fields.at("pmu").offset, offsetof(pmukit_cxl_hmu_trace, pmu));
    EXPECT_EQ(format->fields.at("unit_log2").offset, offsetof(pmukit_cxl_hmu_trace, unit_log2));
    EXPECT_TRUE(format->fields.at("words").located);
    EXPECT_FALSE(format->fields.at("nr_words").located);
}

TEST(TraceFormat, ReadsNumbersTextAndArrays)
{
    const TraceFormat format = *parse_trace_format(kText);
    const WithWords record = sample();
    const Bytes bytes = std::as_bytes(std::span(&record, 1));
    EXPECT_EQ(trace_text(format, bytes, "pmu"), "cxl_hmu_mem0.0.0");
    EXPECT_EQ(trace_number(format, bytes, "sequence"), 5U);
    EXPECT_EQ(trace_number(format, bytes, "counter_width"), 16U);
    EXPECT_EQ(trace_number(format, bytes, "unit_log2"), 12U);
    const auto words = trace_array(format, bytes, "words");
    ASSERT_TRUE(words);
    ASSERT_EQ(words->size(), sizeof record.words);
    EXPECT_EQ(load_le<uint64_t>(words->data() + 16), 77U);
    EXPECT_FALSE(trace_number(format, bytes, "nothing"));
    EXPECT_FALSE(trace_array(format, bytes, "sequence"));
}

TEST(TraceFormat, RejectsARecordThatEndsEarly)
{
    const TraceFormat format = *parse_trace_format(kText);
    const WithWords record = sample();
    const Bytes whole = std::as_bytes(std::span(&record, 1));
    for (size_t bytes = 0; bytes < whole.size(); bytes++)
        EXPECT_FALSE(trace_array(format, whole.first(bytes), "words")) << bytes;
    EXPECT_FALSE(trace_text(format, whole.first(39), "pmu"));
    EXPECT_TRUE(trace_text(format, whole.first(40), "pmu"));
}

TEST(TraceFormat, RejectsAnArrayThatLiesOutsideTheRecord)
{
    const TraceFormat format = *parse_trace_format(kText);
    WithWords record = sample();
    const Bytes bytes = std::as_bytes(std::span(&record, 1));
    for (uint32_t location : {25U << 16 | 88U, 24U << 16 | 89U, 0xffffffffU, 1U << 16 | 0xffffU}) {
        record.head.words_location = location;
        EXPECT_FALSE(trace_array(format, bytes, "words")) << location;
    }
}

TEST(TraceFormat, RejectsMalformedFormats)
{
    for (const char *text :
         {"", "format:\n", "ID: 5\n", "ID: five\nfield:u8 a;\toffset:0;\tsize:1;\n",
          "ID: 5\nfield:u8 a;\tsize:1;\n", "ID: 5\nfield:u8 a;\toffset:9000;\tsize:1;\n",
          "ID: 5\nfield:u8 a;\toffset:8190;\tsize:8;\n",
          "ID: 4294967296\nfield:u8 a;offset:0;size:1;",
          "ID: 5\nfield:__data_loc u8[] a;\toffset:8;\tsize:8;\n", "field:"})
        EXPECT_FALSE(parse_trace_format(text)) << text;
}

TEST(TraceFormat, MissingFormatFileIsNamedInTheError)
{
    const Result<TraceFormat> format = read_trace_format("/nowhere", "a/b");
    ASSERT_FALSE(format);
    EXPECT_EQ(format.error().code, Errc::kNotFound);
    EXPECT_NE(format.error().message.find("/nowhere/events/a/b/format"), std::string::npos);
}

}  // namespace
}  // namespace pmukit::record
