// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Counts TLPs by type and requester only, at about the speed of memory.
#pragma once

#include <cstdint>
#include <memory>

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt {

class Scan final : public RunSink {
public:
    Scan();
    Scan(Scan &&) noexcept;
    Scan &operator=(Scan &&) noexcept;
    ~Scan() override;

    void run(Format format, uint64_t offset, Bytes packets) override;
    void skipped(uint64_t offset, uint64_t bytes) override;
    void lost(uint64_t offset, uint64_t bytes) override;

    // A TLP of unknown type is counted for the requester ID that is found at the offset where a
    // request has it.
    uint64_t count(uint16_t requester, TlpType type) const;
    uint64_t packets() const;
    uint64_t skipped_bytes() const;
    uint64_t losses() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::decode::hisi_ptt
