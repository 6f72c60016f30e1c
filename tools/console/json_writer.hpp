// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes a JSON object in one line, as print_json() does, but member by member, so that lists of
// any length take no memory.
//
//     JsonWriter json(out);                    {"schema_version":2
//     json.member("lost", 5U);                 ,"lost":5
//     json.begin("pmus", JsonWriter::kArray);  ,"pmus":[
//     json.element({{"pmu", "imc"}});          {"pmu":"imc"}
//     json.end();                              ]
//     json.finish();                           }
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "console/output.hpp"

namespace pmukit::cli {

// nullopt becomes null.
template <typename T, typename Json = nlohmann::ordered_json>
Json json_or_null(const std::optional<T> &value)
{
    return value ? Json(*value) : Json(nullptr);
}

// Value of a member. It borrows texts and JSON, so write the value while they exist.
class JsonValue {
public:
    JsonValue(std::nullptr_t) {}
    template <std::same_as<bool> T>
    JsonValue(T value) : value_(value)
    {
    }
    template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>) JsonValue(T number) : value_(uint64_t{number}) {}
    JsonValue(double number) : value_(number) {}
    JsonValue(std::string_view text) : value_(text) {}
    JsonValue(const std::string &text) : value_(std::string_view(text)) {}
    JsonValue(const char *text) : value_(std::string_view(text)) {}
    JsonValue(const nlohmann::ordered_json &json) : value_(&json) {}
    // nullopt becomes null.
    template <typename T>
    JsonValue(const std::optional<T> &value)
    {
        if (value)
            *this = JsonValue(*value);
    }

private:
    friend class JsonWriter;
    std::variant<std::nullptr_t, bool, uint64_t, double, std::string_view,
                 const nlohmann::ordered_json *>
        value_ = nullptr;
};

struct JsonMember {
    std::string_view name;
    JsonValue value;
};

class JsonWriter {
public:
    enum Kind : char { kObject = '}', kArray = ']' };  // the closing character

    // Begins the object. Each begin() and begin_element() needs an end() before finish().
    explicit JsonWriter(Output &out);
    JsonWriter(const JsonWriter &) = delete;
    JsonWriter &operator=(const JsonWriter &) = delete;

    // In an object:
    void member(std::string_view name, const JsonValue &value);
    void members(std::initializer_list<JsonMember> members);
    void members(const nlohmann::ordered_json &object);
    void begin(std::string_view name, Kind kind);
    // In an array:
    void element(const nlohmann::ordered_json &value);
    void element(std::initializer_list<JsonMember> members);
    void begin_element();  // an object

    void end();
    void finish();

private:
    void separate();
    void name(std::string_view name);
    void open(Kind kind);
    void put(const JsonValue &value);

    Output &out_;
    std::string ends_;   // closing characters of the open objects and arrays
    bool first_ = true;  // the innermost object or array is still empty
};

}  // namespace pmukit::cli
