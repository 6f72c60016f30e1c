#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# count_tlps.sh LOG: counts the packets in a TLP log of the model by kind of traffic.
set -eu
awk '
/ out P MWr .* req=00:00.0 .* bytes=8$/ { stores++ }
/ out NP MRd .* bytes=8$/ { loads++ }
/ in CPL CplD .* bytes=8 / { loaded++ }
/ in P MWr / && !/ msi$/ { dma_bytes_in += value("bytes") }
/ in NP MRd / { asked += value("bytes") }
/ out CPL CplD port=00:10.0 req=01:00.0 / { fetched += value("bytes") }
/ in P MWr port=00:11.0 req=04:00.0 .* msi$/ { messages++ }
/ out P MWr port=00:11.0 req=01:00.0 / { peer_stored += value("bytes") }
/ in CPL CplD port=00:11.0 req=01:00.0 / { peer_fetched += value("bytes") }
/ port=00:12.0 / { foreign++ }
# value(NAME): returns the number after NAME= in the current line.
function value(name,    at, rest) {
	at = index($0, " " name "=")
	rest = substr($0, at + length(name) + 2)
	return rest + 0
}
END {
	printf "stores=%d loads=%d loaded=%d end\n", stores, loads, loaded
	printf "dma_in=%d asked=%d fetched=%d end\n", dma_bytes_in, asked, fetched
	printf "peer_stored=%d peer_fetched=%d end\n", peer_stored, peer_fetched
	printf "messages=%d foreign=%d end\n", messages, foreign
}' "$1"
