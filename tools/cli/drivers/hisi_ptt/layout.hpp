// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How the AUX data of a PCIe trace is laid out, by what the file says of its event.
#pragma once

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

inline decode::hisi_ptt::Layout layout_of(const Stream &stream)
{
    return {decode::hisi_ptt::format_of(stream.config),
            decode::hisi_ptt::has_wide_tags(stream.decoder_version)};
}

}  // namespace pmukit::cli
