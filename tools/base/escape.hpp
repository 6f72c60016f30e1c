// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Escapes untrusted names for a terminal: the name of a file or thread may contain sequences that
// move the cursor or set the title.
#pragma once

#include <string>
#include <string_view>

namespace pmukit {

// Returns the length of the control character at the start of the text; 0 if the text begins with
// another character. The text must not be empty. A C1 control is two bytes of UTF-8.
inline size_t control_bytes(std::string_view text)
{
    const auto byte = [text](size_t at) { return static_cast<unsigned char>(text[at]); };
    if (byte(0) < 0x20 || byte(0) == 0x7f)
        return 1;
    return text.size() > 1 && byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

// Replaces control characters with \xNN, except those in `kept`.
inline std::string escape(std::string_view text, std::string_view kept = {})
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string shown;
    while (!text.empty()) {
        const size_t control =
            kept.find(text.front()) == std::string_view::npos ? control_bytes(text) : 0;
        if (!control)
            shown += text.front();
        for (size_t i = 0; i < control; i++) {
            const auto byte = static_cast<unsigned char>(text[i]);
            shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
        }
        text.remove_prefix(control ? control : 1);
    }
    return shown;
}

}  // namespace pmukit
