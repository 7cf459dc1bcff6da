// Included before everything else where the provider is compiled as if for CPython 3.99.
#pragma once

#include <Python.h>

#undef PY_MINOR_VERSION
#define PY_MINOR_VERSION 99
