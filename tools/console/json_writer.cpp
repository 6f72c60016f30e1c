// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/json_writer.hpp"

#include <nlohmann/json.hpp>

namespace pmukit::cli {
namespace {

using nlohmann::ordered_json;

// What is no UTF-8 (a path may be any bytes) is replaced.
std::string text_of(const ordered_json &value)
{
    return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

JsonWriter::JsonWriter(Output &out) : out_(out)
{
    open(kObject);
    member("schema_version", kJsonSchemaVersion);
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
    out_.text(text_of(name));
    out_.text(":");
}

void JsonWriter::open(Kind kind)
{
    out_.text(kind == kObject ? "{" : "[");
    ends_ += static_cast<char>(kind);
    first_ = true;
}

void JsonWriter::member(std::string_view name, const ordered_json &value)
{
    this->name(name);
    out_.text(text_of(value));
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
