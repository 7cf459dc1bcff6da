// What depends on the processor, by the names of the architectures: each has a header in this folder that defines the
// same names in dcmt::arch. Assembly is a pair of files beside its user, NAME.x86_64.S and NAME.aarch64.S. Nothing else
// asks for the architecture. Freestanding: included by the agent.
#pragma once

#if defined(__x86_64__)
#include "trace/arch/x86_64.h"
#elif defined(__aarch64__)
#include "trace/arch/aarch64.h"
#else
#error "dc-memtrace is for x86-64 and aarch64"
#endif
