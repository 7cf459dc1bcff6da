// All wire records. record_header.h says what they have in common.
#pragma once

#include "trace/wire/block_records.h"
#include "trace/wire/gpu_records.h"
#include "trace/wire/native_records.h"
#include "trace/wire/operator_records.h"
#include "trace/wire/process_records.h"
#include "trace/wire/record_header.h"
#include "trace/wire/reference_records.h"
#include "trace/wire/release_records.h"
#include "trace/wire/stack_records.h"
#include "trace/wire/storage_records.h"
