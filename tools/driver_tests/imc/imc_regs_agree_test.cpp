// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks that the driver and the engine define the registers in the same way. The two sets of
// definitions were written independently from the same sources.
extern "C" {
#include "imc/imc_regs.h"
#include "imc_engine/imc_engine_regs.h"
}

// LDBAR
static_assert(IMC_LDBAR_ENABLE == IMC_ENGINE_LDBAR_ENABLE);
static_assert(IMC_LDBAR_TRACE == IMC_ENGINE_LDBAR_TRACE);
static_assert(IMC_LDBAR_ADDRESS == IMC_ENGINE_BAR_ADDRESS);
static_assert((IMC_LDBAR_ADDRESS & -IMC_LDBAR_ADDRESS) == IMC_MEMORY_ALIGN);

// Trace
static_assert(IMC_RECORD_WORDS == IMC_ENGINE_RECORD_WORDS);
static_assert(IMC_TRACE_BYTES == IMC_ENGINE_BUFFER_RECORDS * IMC_ENGINE_RECORD_WORDS * 8);
static_assert(IMC_RECORD_TB1 == IMC_ENGINE_RECORD_TB1);
static_assert(IMC_RECORD_IP == IMC_ENGINE_RECORD_IP);
static_assert(IMC_RECORD_VAL == IMC_ENGINE_RECORD_PIDR);
static_assert(IMC_RECORD_VAL_HV == IMC_ENGINE_RECORD_HV);
static_assert(IMC_RECORD_VAL_PR == IMC_ENGINE_RECORD_PR);
static_assert(IMC_RECORD_CPMC1 == IMC_ENGINE_RECORD_CPMC1);
static_assert(IMC_RECORD_TB2 == IMC_ENGINE_RECORD_TB2);
static_assert(IMC_RECORD_TB2_TB == IMC_ENGINE_RECORD_TB2_MASK);

// Nest
static_assert(IMC_CB_DEFAULT == IMC_ENGINE_HOMER_CONTROL - IMC_ENGINE_HOMER_COUNTERS);
static_assert(IMC_CB_STATUS == IMC_ENGINE_CB_RUN_STATUS);
static_assert(IMC_CB_COMMAND == IMC_ENGINE_CB_COMMAND);
static_assert(IMC_CB_SPEED == IMC_ENGINE_CB_SPEED);
static_assert(IMC_CB_SPEED_MAX == IMC_ENGINE_SPEED_MAX);
static_assert(IMC_CB_AVAILABLE == IMC_ENGINE_CB_AVAILABILITY);
static_assert(IMC_CB_MODE == IMC_ENGINE_CB_RUN_MODE);
static_assert(IMC_ENGINE_HOMER_CONTROL + IMC_CB_BYTES <= IMC_ENGINE_HOMER_BYTES);
static_assert(IMC_ENGINE_HOMER_BYTES <= IMC_HOMER_BYTES);
