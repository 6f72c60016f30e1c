// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace pmukit::cli {
namespace {

using nlohmann::ordered_json;

// True if the text needs no escaping between quotes.
bool is_plain(std::string_view text)
{
    return std::ranges::all_of(
        text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// Serializes a value. Invalid UTF-8 becomes U+FFFD, as a path may have any bytes.
std::string text_of(const ordered_json &value)
{
    return escape_json(value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

// Writes the text in quotes, and `behind` after it. Short texts, which are frequent, take only one
// call of Output::text().
void put_text(std::string_view text, std::string_view behind, Output &out)
{
    std::array<char, 128> piece;
    if (!is_plain(text) || text.size() + behind.size() + 2 > piece.size()) {
        out.text(text_of(text));
        return out.text(behind);
    }
    char *at = piece.data();
    *at++ = '"';
    at = std::ranges::copy(text, at).out;
    *at++ = '"';
    at = std::ranges::copy(behind, at).out;
    out.text({piece.data(), at});
}

}  // namespace

JsonWriter::JsonWriter(Output &out) : out_(out)
{
    open(kObject);
    member("schema_version", unsigned{kJsonSchemaVersion});
}

void JsonWriter::separate()
{
    if (!first_)
        out_.text(",");
    first_ = false;
}

void JsonWriter::name(std::string_view name)
{
    separate();
    put_text(name, ":", out_);
}

// Only values of rare types use the serializer of the JSON library, which is slower.
void JsonWriter::put(const JsonValue &value)
{
    if (const auto *const number = std::get_if<uint64_t>(&value.value_)) {
        char digits[20];
        const char *const end = std::to_chars(digits, std::end(digits), *number).ptr;
        return out_.text({digits, end});
    }
    if (const auto *const text = std::get_if<std::string_view>(&value.value_))
        return put_text(*text, {}, out_);
    if (const auto *const json = std::get_if<const ordered_json *>(&value.value_))
        return out_.text(text_of(**json));
    if (const auto *const number = std::get_if<double>(&value.value_))
        return out_.text(text_of(*number));
    const auto *const truth = std::get_if<bool>(&value.value_);
    out_.text(!truth ? "null" : *truth ? "true" : "false");
}

void JsonWriter::open(Kind kind)
{
    out_.text(kind == kObject ? "{" : "[");
    ends_ += static_cast<char>(kind);
    first_ = true;
}

void JsonWriter::member(std::string_view name, const JsonValue &value)
{
    this->name(name);
    put(value);
}

void JsonWriter::members(std::initializer_list<JsonMember> members)
{
    for (const auto &[name, value] : members)
        member(name, value);
}

void JsonWriter::members(const ordered_json &object)
{
    for (const auto &[name, value] : object.items())
        member(name, value);
}

void JsonWriter::begin(std::string_view name, Kind kind)
{
    this->name(name);
    open(kind);
}

void JsonWriter::element(const ordered_json &value)
{
    separate();
    out_.text(text_of(value));
}

void JsonWriter::element(std::initializer_list<JsonMember> members)
{
    begin_element();
    this->members(members);
    end();
}

void JsonWriter::begin_element()
{
    separate();
    open(kObject);
}

void JsonWriter::end()
{
    out_.text(std::string_view(&ends_.back(), 1));
    ends_.pop_back();
    first_ = false;
}

void JsonWriter::finish()
{
    end();
    out_.text("\n");
}

}  // namespace pmukit::cli
