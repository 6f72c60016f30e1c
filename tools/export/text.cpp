// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/text.hpp"

#include "base/escape.hpp"
#include "base/text.hpp"

namespace pmukit::exporter {
namespace {

// Copies the first UTF-8 character of `text` and removes it from `text`. Copies U+FFFD for an
// invalid byte.
char *put_character(char *at, std::string_view &text)
{
    const size_t bytes = utf8_bytes(text);
    at = put_text(at, bytes ? text.substr(0, bytes) : kReplacementCharacter);
    text.remove_prefix(bytes ? bytes : 1);
    return at;
}

}  // namespace

char *put_json_escaped(char *at, std::string_view text)
{
    while (!text.empty()) {
        const uint8_t c = static_cast<uint8_t>(text[0]);
        if (c == '"' || c == '\\') {
            *at++ = '\\';
            *at++ = text[0];
            text.remove_prefix(1);
        } else if (c >= ' ' && c <= '~') {
            *at++ = text[0];
            text.remove_prefix(1);
        } else if (const size_t unsafe = utf8_bytes(text) ? unsafe_bytes(text) : 0) {
            at = put_json_escape(at, text, unsafe);
            text.remove_prefix(unsafe);
        } else {
            at = put_character(at, text);
        }
    }
    return at;
}

char *put_utf8(char *at, std::string_view text)
{
    while (!text.empty())
        at = put_character(at, text);
    return at;
}

}  // namespace pmukit::exporter
