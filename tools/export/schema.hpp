// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A recording as tables: the list of tables and columns that every format writes. A test compares
// it with its description in Documentation/components/export.rst.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pmukit::exporter {

enum class Kind : uint8_t {
    kNumber,   // unsigned, decimal in text
    kAddress,  // unsigned, 0x... in text
    kText,     // from the recording: any bytes
    kWord,     // one of a few fixed words, such as MRd; needs no escaping
    kBdf,      // bus << 8 | device << 3 | function; 01:00.0 in text
};

struct Column {
    std::string_view name;
    Kind kind;
    std::string_view meaning;
    bool indexed = false;  // formats that have indexes make one for this column
};

struct Table {
    std::string_view name;
    std::string_view meaning;
    // The first kOriginColumns are the same in all tables: see Origin.
    std::span<const Column> columns;
};

// The columns before kCpu are texts.
enum Origin : size_t {
    kSource,
    kRecording,
    kHost,
    kBoot,
    kDriver,
    kPmu,
    kCpu,
    kTime,
    kWall,
    kOriginColumns
};

// The version is raised when a column changes its name or meaning, or is removed.
constexpr int kSchemaVersion = 3;

std::span<const Table> tables();
// Returns nullptr if no table has this name.
const Table *find_table(std::string_view name);
// Returns the index of a column. The table must have this column.
size_t column_of(const Table &table, std::string_view name);

// A field of a row. Depending on the kind of its column, it is a number or a text; or it is
// unknown. If the receiver of a row needs a text after the call, it must copy the text.
struct Value {
    constexpr Value() = default;
    constexpr Value(uint64_t number) : bits{.number = number}, known(true) {}
    constexpr Value(std::string_view text)
        : bits{.text = text.data()}, bytes(static_cast<uint32_t>(text.size())), known(true)
    {
    }
    constexpr uint64_t number() const { return bits.number; }
    constexpr std::string_view text() const { return {bits.text, bytes}; }

    union Bits {
        uint64_t number;
        const char *text;
    } bits{.number = 0};
    uint32_t bytes = 0;
    bool known = false;
};
using Values = std::span<const Value>;

constexpr bool is_text(Kind kind)
{
    return kind == Kind::kText || kind == Kind::kWord;
}

class RowSink {
public:
    virtual ~RowSink() = default;
    // Called with rows whose first fields are equal. `common` has these fields, at least the origin
    // columns. `rest` has the other fields, row by row.
    virtual void rows(const Table &table, Values common, Values rest) = 0;
};

}  // namespace pmukit::exporter
