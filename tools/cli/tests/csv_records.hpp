// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: reads a CSV file, independent of the code that writes it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace pmukit::cli {

// Parses CSV as RFC 4180 specifies it. nullopt: an empty field without quotes, which is unknown.
inline std::vector<std::vector<std::optional<std::string>>> csv_records(const std::string &text)
{
    std::vector<std::vector<std::optional<std::string>>> records(1);
    for (size_t at = 0; at < text.size();) {
        std::optional<std::string> field;
        if (text[at] == '"') {
            field.emplace();
            for (at++; text[at] != '"' || text[at + 1] == '"'; at++) {
                at += text[at] == '"';
                *field += text[at];
            }
            at++;
        } else {
            const size_t end = text.find_first_of(",\r", at);
            if (end != at)
                field = text.substr(at, end - at);
            at = end;
        }
        records.back().push_back(field);
        if (text[at] == ',') {
            at++;
            continue;
        }
        EXPECT_EQ(text.substr(at, 2), "\r\n");
        at += 2;
        records.emplace_back();
    }
    records.pop_back();
    return records;
}

}  // namespace pmukit::cli
