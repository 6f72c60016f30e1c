// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Escapes untrusted names for a terminal: the name of a file or thread may contain characters that
// move the cursor, set the title, or change the order in which other characters are shown.
// Output::print() and warn() of tools/console, the JSON writers and the pages all use this rule.
#pragma once

#include <string>
#include <string_view>

namespace pmukit {

// Returns the length in bytes of the character at the start of the text if a terminal must not get
// it: a control character (C0, DEL, C1), a directional character (Unicode Standard Annex 9), a line
// or paragraph separator, or a byte that belongs to no UTF-8 character, because a terminal may take
// it for a C1 control. Returns 0 for any other character. The text must not be empty.
size_t unsafe_bytes(std::string_view text);

// Replaces each byte of unsafe characters with \xNN, except characters in `kept`.
std::string escape(std::string_view text, std::string_view kept = {});

// Replaces each unsafe character with `instead`, for formats without escapes. Replaces invalid
// UTF-8 with U+FFFD.
std::string replace_unsafe(std::string_view text, char instead);

// Replaces unsafe characters in serialized JSON with \uNNNN, which means the same character: JSON
// itself escapes only C0 controls. The JSON must be valid UTF-8 without line ends.
std::string escape_json(std::string json);

// Appends \uNNNN for the unsafe UTF-8 character of `bytes` bytes at the start of the text. Returns
// the end. All unsafe characters are below U+10000.
char *put_json_escape(char *at, std::string_view text, size_t bytes);
constexpr size_t kJsonEscapeBytes = 6;

}  // namespace pmukit
