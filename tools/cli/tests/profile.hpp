// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads a profile of pprof in tests, by the numbers of its fields in profile.proto
// (github.com/google/pprof, proto/profile.proto).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/tests/wire_fields.hpp"

namespace pmukit::cli::testing {

struct ProfileLocation {
    uint64_t address = 0;
    std::string object;
    std::vector<std::string> functions;  // inlined ones first
};
struct ProfileSample {
    std::vector<ProfileLocation> stack;      // the innermost first
    std::map<std::string, uint64_t> values;  // by the name of their type
    std::map<std::string, std::string> texts;
    std::map<std::string, uint64_t> numbers;
};
struct Profile {
    std::vector<std::string> types, comments;
    std::string default_type;
    uint64_t time_ns = 0;
    std::vector<ProfileSample> samples;
};

class ProfileReader {
public:
    static Profile read(std::string_view bytes)
    {
        ProfileReader reader;
        const std::vector<WireField> fields = wire_fields(bytes);
        for (const WireField &field : fields)
            if (field.number == 6)
                reader.texts_.emplace_back(field.text);
        EXPECT_TRUE(!reader.texts_.empty() && reader.texts_[0].empty());
        for (const WireField &field : fields)
            reader.note(field);
        for (const WireField &field : fields)
            if (field.number == 2)
                reader.profile_.samples.push_back(reader.sample(field.text));
        return reader.profile_;
    }

private:
    std::string text(uint64_t id)
    {
        EXPECT_LT(id, texts_.size());
        return id < texts_.size() ? texts_[id] : "";
    }
    static std::map<uint64_t, uint64_t> numbers_of(std::string_view message)
    {
        std::map<uint64_t, uint64_t> numbers;
        for (const WireField &field : wire_fields(message))
            numbers[field.number] = field.value;
        return numbers;
    }
    void note(const WireField &field)
    {
        switch (field.number) {
            case 1:
                EXPECT_EQ(text(numbers_of(field.text)[2]), "count");
                profile_.types.push_back(text(numbers_of(field.text)[1]));
                break;
            case 3: {
                auto mapping = numbers_of(field.text);
                EXPECT_EQ(mapping[7], 1U) << "has_functions";
                EXPECT_TRUE(objects_.emplace(mapping[1], text(mapping[5])).second);
                break;
            }
            case 4:
                EXPECT_TRUE(locations_.emplace(numbers_of(field.text)[1], field.text).second);
                break;
            case 5: {
                auto function = numbers_of(field.text);
                EXPECT_EQ(function[2], function[3]);
                EXPECT_TRUE(functions_.emplace(function[1], text(function[2])).second);
                break;
            }
            case 9:
                profile_.time_ns = field.value;
                break;
            case 13:
                profile_.comments.push_back(text(field.value));
                break;
            case 14:
                profile_.default_type = text(field.value);
                break;
            default:
                EXPECT_TRUE(field.number == 2 || field.number == 6) << field.number;
        }
    }
    ProfileLocation location(uint64_t id)
    {
        ProfileLocation location;
        EXPECT_TRUE(locations_.contains(id)) << id;
        for (const WireField &field : wire_fields(locations_[id])) {
            if (field.number == 2 && field.value != 0)
                location.object = objects_.at(field.value);
            if (field.number == 3)
                location.address = field.value;
            if (field.number == 4)
                location.functions.push_back(functions_.at(numbers_of(field.text)[1]));
        }
        return location;
    }
    ProfileSample sample(std::string_view message)
    {
        ProfileSample sample;
        for (const WireField &field : wire_fields(message)) {
            if (field.number == 1)
                for (const uint64_t id : packed_numbers(field.text))
                    sample.stack.push_back(location(id));
            if (field.number == 2) {
                const std::vector<uint64_t> values = packed_numbers(field.text);
                EXPECT_EQ(values.size(), profile_.types.size());
                for (size_t i = 0; i < values.size() && i < profile_.types.size(); i++)
                    sample.values[profile_.types[i]] = values[i];
            }
            if (field.number == 3) {
                auto label = numbers_of(field.text);
                if (label.contains(2))
                    sample.texts[text(label[1])] = text(label[2]);
                else
                    sample.numbers[text(label[1])] = label[3];
            }
        }
        return sample;
    }

    Profile profile_;
    std::vector<std::string> texts_;
    std::map<uint64_t, std::string> objects_, functions_;
    std::map<uint64_t, std::string_view> locations_;
};

}  // namespace pmukit::cli::testing
