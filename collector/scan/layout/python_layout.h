// Offsets that a census needs in the structures of one CPython version, in bytes, named after the fields. They come
// from CPython's internal headers (scripts/layouts/python_layout.c prints them). The values are data: one file for each
// version.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::scan {

// clang-format off
#define DCMT_PYTHON_LAYOUT(X) \
  X(version) X(runtime_interpreters) X(interpreter_next) X(interpreter_threads) X(interpreter_gc) \
  X(interpreter_sysdict) X(interpreter_builtins) X(interpreter_modules) X(gc_enabled) X(gc_generations) \
  X(gc_generation_size) X(gc_permanent) X(gc_collecting) X(thread_next) X(thread_native_id) X(thread_dict) X(thread_exc_info) \
  X(thread_context) X(thread_cframe) X(thread_frame) X(thread_exception) X(frame_code) X(frame_instruction) \
  X(frame_function) X(frame_previous) X(frame_locals_dict) X(frame_stacktop) X(frame_stackpointer) \
  X(reference_tags) X(frame_locals) X(frameobject_frame) X(frameobject_back) X(generator_frame) X(generator_state) X(generator_finished) X(code_localsplusnames) \
  X(code_nlocalsplus) X(code_filename) X(code_qualname) X(code_firstlineno) X(code_linetable) X(code_bytecode) \
  X(tp_name) X(tp_basicsize) X(tp_itemsize) X(tp_flags) X(tp_members) X(tp_dict) X(tp_base) X(tp_dictoffset) \
  X(tp_weaklistoffset) X(tp_mro) X(tp_bases) X(tp_cache) X(tp_subclasses) X(type_size) X(heaptype_cached_keys) \
  X(heaptype_size) X(dict_keys) X(dict_values) X(dict_size) X(keys_log2_size) X(keys_log2_index_bytes) \
  X(keys_kind) X(keys_nentries) X(keys_indices) X(values_items) X(values_valid) X(flag_inline_values) \
  X(flag_managed_dict) X(var_size) X(list_items) X(tuple_items) X(set_table) X(set_mask) X(cell_content) \
  X(function_globals) X(function_defaults) X(function_kwdefaults) X(function_closure) X(function_code) X(function_dict) \
  X(function_annotations) X(method_function) X(method_self) X(builtin_self) X(exception_traceback) \
  X(exception_dict) X(exception_args) X(exception_context) X(exception_cause) X(traceback_next) \
  X(traceback_frame) X(traceback_line) X(module_dict) X(module_definition) X(module_state_size) X(module_state) \
  X(weakref_callback) X(weakref_size) X(text_kind_bit) X(text_compact_bit) X(text_ascii_bit) X(ascii_text) X(compact_text) X(bytes_content)
// clang-format on

struct PythonLayout;

/// A value of a layout that the interpreter states itself.
struct StatedValue {
  std::string_view name;  ///< of the member
  std::int64_t PythonLayout::*member;
  std::int64_t where = 0;  ///< the byte of _PyRuntime at which a word has the value
};

struct PythonLayout {
#define DCMT_FIELD(name) std::int64_t name = 0;
  DCMT_PYTHON_LAYOUT(DCMT_FIELD)
#undef DCMT_FIELD
  std::vector<StatedValue> stated;  ///< since 3.13

  /// The object to which a reference in a frame refers. Since 3.14, the low bits of such a reference are a tag.
  [[nodiscard]] std::uint64_t without_tag(std::uint64_t reference) const {
    return reference & ~static_cast<std::uint64_t>(reference_tags);
  }
  /// `version` is PY_VERSION_HEX >> 16.
  [[nodiscard]] bool is_312_or_later() const { return version >= 0x30C; }
  [[nodiscard]] bool is_313_or_later() const { return version >= 0x30D; }
};

/// Reads "name value" and "stated name where" lines. Fails with kBadInput if a field is missing or a line is invalid.
[[nodiscard]] Expected<PythonLayout> parse_python_layout(std::string_view text);

/// The layout of a CPython version, given as PY_VERSION_HEX >> 16. Fails with kCannotRecord if this build has none.
[[nodiscard]] Expected<PythonLayout> python_layout(std::int64_t version);

}  // namespace dcmt::scan
