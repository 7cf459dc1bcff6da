// Publishes what the recorder needs to analyse a variable: bytecode, tables and names of a code object, and the origin
// of the lines of a generated file. Each is published once.
#pragma once

#include <Python.h>

#include <cstdint>

namespace dcmt::python_provider {

/// Publishes the CodeBodyRecords of a code object at first sight of its id. Needs no GIL while a frame keeps it alive.
void publish_body(PyCodeObject* code, std::uint64_t id) noexcept;

/// Publishes the SourceLineRecords of the file at its first sight. Python must not run meanwhile: the caller holds the
/// main interpreter's GIL, or keeps it free. Runs no Python code. False if Inductor has no map of the file's lines
/// (yet).
bool publish_source_lines(PyObject* filename) noexcept;

}  // namespace dcmt::python_provider
