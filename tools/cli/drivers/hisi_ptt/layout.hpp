// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Layout of the AUX data of a PCIe trace. It depends on the event's config and on the decoder
// version in the file, which --hisi-ptt-headers overrides.
#pragma once

#include <fmt/core.h>

#include <string>

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

inline decode::hisi_ptt::Layout layout_of(const Stream &stream)
{
    return {decode::hisi_ptt::format_of(stream.config),
            decode::hisi_ptt::has_wide_tags(stream.decoder_version)};
}

// `headers` is the argument of --hisi-ptt-headers, "narrow" or "wide". If it is empty, the layout
// is the recorded one. Call before Recording::walk().
inline void claim_headers(Recording &recording, const std::string &headers)
{
    if (!headers.empty())
        recording.claim_decoder_version(headers == "wide" ? 2 : 1);
}

// Returns a text with the layout that is used and, if --hisi-ptt-headers overrides it, the decoder
// version in the file. For version 1 without --hisi-ptt-headers, the text is empty.
inline std::string headers_text(const Recording &recording)
{
    const uint64_t version = recording.decoder_version();
    if (recording.claimed_decoder_version())
        return fmt::format("headers {} (--hisi-ptt-headers), file has decoder version {}",
                           decode::hisi_ptt::has_wide_tags(version) ? "wide" : "narrow",
                           recording.decoder_version_of_file());
    return version == 1 ? "" : fmt::format("decoder version {}", version);
}

}  // namespace pmukit::cli
