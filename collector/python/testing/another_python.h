// Included before all other headers, to compile the provider as if for CPython 3.99.
#pragma once

#include <Python.h>

#undef PY_MINOR_VERSION
#define PY_MINOR_VERSION 99
