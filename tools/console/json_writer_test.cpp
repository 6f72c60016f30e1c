// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/json_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/fd.hpp"
#include "base/test_folder.hpp"

namespace pmukit::cli {
namespace {

using nlohmann::ordered_json;

class Written : public testing::Test {
protected:
    // Returns the text that the function writes.
    template <typename Write>
    std::string text_of(Write write)
    {
        const std::string path = folder_.path("out");
        const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        Output out(fd.get(), path);
        JsonWriter json(out);
        write(json);
        json.finish();
        EXPECT_TRUE(out.finish());
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    TestFolder folder_;
};

TEST_F(Written, PrintsValuesLikeTheJsonLibrary)
{
    const std::string odd = "a\"b\\c\x01\n \xc3\xa9 \xff/";
    const std::optional<uint64_t> none, some = 5;
    const ordered_json nested = {{"x", {1, -2}}, {"y", "z"}};
    const ordered_json expected = {{"schema_version", kJsonSchemaVersion},
                                   {"zero", 0U},
                                   {"largest", UINT64_MAX},
                                   {"small", uint16_t{7}},
                                   {"yes", true},
                                   {"no", false},
                                   {"half", 0.5},
                                   {"third", 1.0 / 3},
                                   {"whole", 2.0},
                                   {"nothing", nullptr},
                                   {"none", nullptr},
                                   {"some", 5U},
                                   {"text", "a, b"},
                                   {odd, odd},
                                   {"nested", nested}};
    const std::string text = text_of([&](JsonWriter &json) {
        json.members({{"zero", 0U},
                      {"largest", UINT64_MAX},
                      {"small", uint16_t{7}},
                      {"yes", true},
                      {"no", false},
                      {"half", 0.5},
                      {"third", 1.0 / 3},
                      {"whole", 2.0},
                      {"nothing", nullptr},
                      {"none", none},
                      {"some", some},
                      {"text", "a, b"},
                      {odd, odd},
                      {"nested", nested}});
    });
    EXPECT_EQ(text, expected.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

TEST_F(Written, EscapesCharactersThatATerminalMustNotGet)
{
    const std::string name = "\x7f\xc2\x9b\xe2\x80\xae";
    const std::string text = text_of([&](JsonWriter &json) {
        json.member(name, name);
        json.member("list", ordered_json{name});
    });
    constexpr const char *kShown = R"("\u007f\u009b\u202e")";
    EXPECT_EQ(text, fmt::format("{{\"schema_version\":2,{0}:{0},\"list\":[{0}]}}\n", kShown));
}

TEST_F(Written, SeparatesElementsAndMembersWithCommas)
{
    const std::string text = text_of([](JsonWriter &json) {
        json.begin("list", JsonWriter::kArray);
        json.element({{"a", 1U}, {"b", 2U}});
        json.begin_element();
        json.member("c", 3U);
        json.end();
        json.end();
        json.begin("empty", JsonWriter::kObject);
        json.end();
    });
    EXPECT_EQ(text, "{\"schema_version\":2,\"list\":[{\"a\":1,\"b\":2},{\"c\":3}],\"empty\":{}}\n");
}

}  // namespace
}  // namespace pmukit::cli
