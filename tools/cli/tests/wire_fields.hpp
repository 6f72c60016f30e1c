// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the wire format of Protocol Buffers in tests, without the code that writes it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit::cli::testing {

struct WireField {
    uint64_t number = 0;
    uint64_t value = 0;     // of a varint
    std::string_view text;  // of a length-delimited field
};

// Returns the value, and removes it from the front.
inline uint64_t take_varint(std::string_view &bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !bytes.empty() && shift < 64; shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        value |= uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80)
            return value;
    }
    ADD_FAILURE() << "a varint that does not end";
    bytes = {};
    return 0;
}

inline std::vector<WireField> wire_fields(std::string_view message)
{
    std::vector<WireField> fields;
    while (!message.empty()) {
        const uint64_t tag = take_varint(message);
        WireField field{tag >> 3, 0, {}};
        const uint64_t value = take_varint(message);
        if ((tag & 7) == 0) {
            field.value = value;
        } else if ((tag & 7) == 2 && value <= message.size()) {
            field.text = message.substr(0, value);
            message.remove_prefix(value);
        } else {
            ADD_FAILURE() << "wire type " << (tag & 7) << ", length " << value;
            return fields;
        }
        fields.push_back(field);
    }
    return fields;
}

inline std::vector<uint64_t> packed_numbers(std::string_view bytes)
{
    std::vector<uint64_t> numbers;
    while (!bytes.empty())
        numbers.push_back(take_varint(bytes));
    return numbers;
}

}  // namespace pmukit::cli::testing
