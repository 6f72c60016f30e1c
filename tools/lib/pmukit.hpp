// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// <pmukit/pmukit.hpp> includes all headers for reading, writing and decoding recordings.
#pragma once

// IWYU pragma: begin_exports
#include "decode/cache_qos/cache_qos_decode.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_dump.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"
#include "decode/hisi_ptt/hisi_ptt_scan.hpp"
#include "decode/hisi_ptt/hisi_ptt_traffic.hpp"
#include "decode/imc/imc_decode.hpp"
#include "decode/uncore_pmon/uncore_pmon_decode.hpp"
#include "lib/version.hpp"
#include "perfdata/aux.hpp"
#include "perfdata/aux_file.hpp"
#include "perfdata/cut.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/generic_events.hpp"
#include "perfdata/merge.hpp"
#include "perfdata/ordered.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/records.hpp"
#include "perfdata/recover.hpp"
#include "perfdata/sample.hpp"
#include "perfdata/writer.hpp"
// IWYU pragma: end_exports
