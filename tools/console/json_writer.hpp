// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One object of JSON in one line, as print_json() prints one, member by member: so lists of any
// length take no memory.
//
//     JsonWriter json(out);                    {"schema_version":2
//     json.member("lost", 5);                  ,"lost":5
//     json.begin("pmus", JsonWriter::kArray);  ,"pmus":[
//     json.element({{"pmu", "imc"}});          {"pmu":"imc"}
//     json.end();                              ]
//     json.finish();                           }
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "console/output.hpp"

namespace pmukit::cli {

// null: nothing.
template <typename T, typename Json = nlohmann::ordered_json>
Json json_or_null(const std::optional<T> &value)
{
    return value ? Json(*value) : Json(nullptr);
}

class JsonWriter {
public:
    enum Kind : char { kObject = '}', kArray = ']' };  // what ends it

    // Begins the object. All that is begun ends before finish().
    explicit JsonWriter(Output &out);
    JsonWriter(const JsonWriter &) = delete;
    JsonWriter &operator=(const JsonWriter &) = delete;

    // Of an object:
    void member(std::string_view name, const nlohmann::ordered_json &value);
    void members(const nlohmann::ordered_json &object);
    void begin(std::string_view name, Kind kind);
    // Of an array:
    void element(const nlohmann::ordered_json &value);
    void begin_element();  // an object

    void end();
    void finish();

private:
    void separate();
    void name(std::string_view name);
    void open(Kind kind);

    Output &out_;
    std::string ends_;   // of what has begun
    bool first_ = true;  // in that
};

}  // namespace pmukit::cli
