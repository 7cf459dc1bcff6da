/* Prints where CPython keeps what a census reads, one "name value" a line, from the internal headers of one version:
     gcc -DPy_BUILD_CORE -I$INC -I$INC/internal python_layout.c -o p && ./p > python-3.11.layout
   where INC is sysconfig.get_path("include"). Nothing of libpython is linked. Names are those of python_layout.h.

   From 3.13 on, a running interpreter states some of these offsets itself, in _PyRuntime.debug_offsets. Then a line
   "stated name where" says at which byte of _PyRuntime it does. */
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <frameobject.h>
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_genobject.h"
#include "internal/pycore_interpframe.h"
#endif
#include "internal/pycore_moduleobject.h"
#include "internal/pycore_runtime.h"

static void print(const char* name, long value) { printf("%s %ld\n", name, value); }
#define OFFSET(name, type, member) print(#name, (long)offsetof(type, member));
#define STATED(name, field) printf("stated %s %ld\n", #name, (long)offsetof(_PyRuntimeState, debug_offsets.field));

/* The lowest bit of a member of a str's state. */
#define STATE_BIT(name, member)              \
  {                                          \
    PyASCIIObject text;                      \
    memset(&text, 0, sizeof text);           \
    text.state.member = 1;                   \
    unsigned bits;                           \
    memcpy(&bits, &text.state, sizeof bits); \
    print(#name, __builtin_ctz(bits));       \
  }

int main(void) {
  print("version", PY_VERSION_HEX >> 16);
  OFFSET(runtime_interpreters, _PyRuntimeState, interpreters.head)
  OFFSET(interpreter_next, PyInterpreterState, next)
  OFFSET(interpreter_threads, PyInterpreterState, threads.head)
  OFFSET(interpreter_gc, PyInterpreterState, gc)
  OFFSET(interpreter_sysdict, PyInterpreterState, sysdict)
  OFFSET(interpreter_builtins, PyInterpreterState, builtins)
#if PY_VERSION_HEX >= 0x030C0000
  OFFSET(interpreter_modules, PyInterpreterState, imports.modules)
#else
  OFFSET(interpreter_modules, PyInterpreterState, modules)
#endif
  OFFSET(gc_enabled, struct _gc_runtime_state, enabled)
  OFFSET(gc_generations, struct _gc_runtime_state, generations)
  print("gc_generation_size", sizeof(struct gc_generation));
  OFFSET(gc_permanent, struct _gc_runtime_state, permanent_generation)
  OFFSET(gc_collecting, struct _gc_runtime_state, collecting)
  OFFSET(thread_next, PyThreadState, next)
  OFFSET(thread_native_id, PyThreadState, native_thread_id)
  OFFSET(thread_dict, PyThreadState, dict)
  OFFSET(thread_exc_info, PyThreadState, exc_info)
  OFFSET(thread_context, PyThreadState, context)
#if PY_VERSION_HEX >= 0x030D0000
  print("thread_cframe", -1);
  OFFSET(thread_frame, PyThreadState, current_frame)
#else
  OFFSET(thread_cframe, PyThreadState, cframe)
  OFFSET(thread_frame, _PyCFrame, current_frame)
#endif
#if PY_VERSION_HEX >= 0x030C0000
  OFFSET(thread_exception, PyThreadState, current_exception)
#else
  OFFSET(thread_exception, PyThreadState, curexc_value)
#endif
#if PY_VERSION_HEX >= 0x030D0000
  OFFSET(frame_code, _PyInterpreterFrame, f_executable)
  OFFSET(frame_instruction, _PyInterpreterFrame, instr_ptr)
#else
  OFFSET(frame_code, _PyInterpreterFrame, f_code)
  OFFSET(frame_instruction, _PyInterpreterFrame, prev_instr)
#endif
#if PY_VERSION_HEX >= 0x030C0000
  OFFSET(frame_function, _PyInterpreterFrame, f_funcobj)
#else
  OFFSET(frame_function, _PyInterpreterFrame, f_func)
#endif
  OFFSET(frame_previous, _PyInterpreterFrame, previous)
  OFFSET(frame_locals_dict, _PyInterpreterFrame, f_locals)
#if PY_VERSION_HEX >= 0x030E0000
  print("frame_stacktop", -1);
  OFFSET(frame_stackpointer, _PyInterpreterFrame, stackpointer)
  print("reference_tags", 3);
#else
  OFFSET(frame_stacktop, _PyInterpreterFrame, stacktop)
  print("frame_stackpointer", -1);
  print("reference_tags", 0);
#endif
  OFFSET(frame_locals, _PyInterpreterFrame, localsplus)
  OFFSET(frameobject_frame, PyFrameObject, f_frame)
  OFFSET(frameobject_back, PyFrameObject, f_back)
  OFFSET(generator_frame, PyGenObject, gi_iframe)
  OFFSET(generator_state, PyGenObject, gi_frame_state)
#if PY_VERSION_HEX >= 0x030D0000
  print("generator_finished", FRAME_CLEARED);
#else
  print("generator_finished", FRAME_COMPLETED);
#endif
  OFFSET(code_localsplusnames, PyCodeObject, co_localsplusnames)
  OFFSET(code_nlocalsplus, PyCodeObject, co_nlocalsplus)
  OFFSET(code_filename, PyCodeObject, co_filename)
  OFFSET(code_qualname, PyCodeObject, co_qualname)
  OFFSET(code_firstlineno, PyCodeObject, co_firstlineno)
  OFFSET(code_linetable, PyCodeObject, co_linetable)
  OFFSET(code_bytecode, PyCodeObject, co_code_adaptive)
  OFFSET(tp_name, PyTypeObject, tp_name)
  OFFSET(tp_basicsize, PyTypeObject, tp_basicsize)
  OFFSET(tp_itemsize, PyTypeObject, tp_itemsize)
  OFFSET(tp_flags, PyTypeObject, tp_flags)
  OFFSET(tp_members, PyTypeObject, tp_members)
  OFFSET(tp_dict, PyTypeObject, tp_dict)
  OFFSET(tp_base, PyTypeObject, tp_base)
  OFFSET(tp_dictoffset, PyTypeObject, tp_dictoffset)
  OFFSET(tp_weaklistoffset, PyTypeObject, tp_weaklistoffset)
  OFFSET(tp_mro, PyTypeObject, tp_mro)
  OFFSET(tp_bases, PyTypeObject, tp_bases)
  OFFSET(tp_cache, PyTypeObject, tp_cache)
  OFFSET(tp_subclasses, PyTypeObject, tp_subclasses)
  print("type_size", sizeof(PyTypeObject));
  OFFSET(heaptype_cached_keys, PyHeapTypeObject, ht_cached_keys)
  print("heaptype_size", sizeof(PyHeapTypeObject));
  OFFSET(dict_keys, PyDictObject, ma_keys)
  OFFSET(dict_values, PyDictObject, ma_values)
  print("dict_size", sizeof(PyDictObject));
  OFFSET(keys_log2_size, PyDictKeysObject, dk_log2_size)
  OFFSET(keys_log2_index_bytes, PyDictKeysObject, dk_log2_index_bytes)
  OFFSET(keys_kind, PyDictKeysObject, dk_kind)
  OFFSET(keys_nentries, PyDictKeysObject, dk_nentries)
  OFFSET(keys_indices, PyDictKeysObject, dk_indices)
  OFFSET(values_items, PyDictValues, values)
#if PY_VERSION_HEX >= 0x030D0000
  OFFSET(values_valid, PyDictValues, valid)
  print("flag_inline_values", Py_TPFLAGS_INLINE_VALUES);
#else
  print("values_valid", 0);
  print("flag_inline_values", 0);
#endif
  print("flag_managed_dict", Py_TPFLAGS_MANAGED_DICT);
  OFFSET(var_size, PyVarObject, ob_size)
  OFFSET(list_items, PyListObject, ob_item)
  OFFSET(tuple_items, PyTupleObject, ob_item)
  OFFSET(set_table, PySetObject, table)
  OFFSET(set_mask, PySetObject, mask)
  OFFSET(cell_content, PyCellObject, ob_ref)
  OFFSET(function_globals, PyFunctionObject, func_globals)
  OFFSET(function_defaults, PyFunctionObject, func_defaults)
  OFFSET(function_kwdefaults, PyFunctionObject, func_kwdefaults)
  OFFSET(function_closure, PyFunctionObject, func_closure)
  OFFSET(function_code, PyFunctionObject, func_code)
  OFFSET(function_dict, PyFunctionObject, func_dict)
  OFFSET(function_annotations, PyFunctionObject, func_annotations)
  OFFSET(method_function, PyMethodObject, im_func)
  OFFSET(method_self, PyMethodObject, im_self)
  OFFSET(builtin_self, PyCFunctionObject, m_self)
  OFFSET(exception_traceback, PyBaseExceptionObject, traceback)
  OFFSET(exception_dict, PyBaseExceptionObject, dict)
  OFFSET(exception_args, PyBaseExceptionObject, args)
  OFFSET(exception_context, PyBaseExceptionObject, context)
  OFFSET(exception_cause, PyBaseExceptionObject, cause)
  OFFSET(traceback_next, PyTracebackObject, tb_next)
  OFFSET(traceback_frame, PyTracebackObject, tb_frame)
  OFFSET(traceback_line, PyTracebackObject, tb_lineno)
  OFFSET(module_dict, PyModuleObject, md_dict)
#if PY_VERSION_HEX >= 0x030F0000
  print("module_definition", -1);
  OFFSET(module_state_size, PyModuleObject, md_state_size)
#else
  OFFSET(module_definition, PyModuleObject, md_def)
  OFFSET(module_state_size, PyModuleDef, m_size)
#endif
  OFFSET(module_state, PyModuleObject, md_state)
  OFFSET(weakref_callback, PyWeakReference, wr_callback)
  print("weakref_size", sizeof(PyWeakReference));
  STATE_BIT(text_kind_bit, kind)
  STATE_BIT(text_compact_bit, compact)
  STATE_BIT(text_ascii_bit, ascii)
  print("ascii_text", sizeof(PyASCIIObject));
  print("compact_text", sizeof(PyCompactUnicodeObject));
  OFFSET(bytes_content, PyBytesObject, ob_sval)
#if PY_VERSION_HEX >= 0x030D0000
  STATED(runtime_interpreters, runtime_state.interpreters_head)
  STATED(interpreter_next, interpreter_state.next)
  STATED(interpreter_threads, interpreter_state.threads_head)
  STATED(interpreter_gc, interpreter_state.gc)
  STATED(interpreter_sysdict, interpreter_state.sysdict)
  STATED(interpreter_builtins, interpreter_state.builtins)
  STATED(interpreter_modules, interpreter_state.imports_modules)
  STATED(gc_collecting, gc.collecting)
  STATED(thread_next, thread_state.next)
  STATED(thread_native_id, thread_state.native_thread_id)
  STATED(thread_frame, thread_state.current_frame)
  STATED(frame_code, interpreter_frame.executable)
  STATED(frame_instruction, interpreter_frame.instr_ptr)
  STATED(frame_previous, interpreter_frame.previous)
  STATED(frame_locals, interpreter_frame.localsplus)
  STATED(code_localsplusnames, code_object.localsplusnames)
  STATED(code_filename, code_object.filename)
  STATED(code_qualname, code_object.qualname)
  STATED(code_firstlineno, code_object.firstlineno)
  STATED(code_linetable, code_object.linetable)
  STATED(code_bytecode, code_object.co_code_adaptive)
  STATED(tp_name, type_object.tp_name)
  STATED(tp_flags, type_object.tp_flags)
  STATED(type_size, type_object.size)
  STATED(dict_keys, dict_object.ma_keys)
  STATED(dict_values, dict_object.ma_values)
  STATED(dict_size, dict_object.size)
  STATED(var_size, list_object.ob_size)
  STATED(list_items, list_object.ob_item)
  STATED(tuple_items, tuple_object.ob_item)
  STATED(ascii_text, unicode_object.asciiobject_size)
  STATED(bytes_content, bytes_object.ob_sval)
#endif
#if PY_VERSION_HEX >= 0x030E0000
  STATED(set_table, set_object.table)
  STATED(set_mask, set_object.mask)
  STATED(frame_stackpointer, interpreter_frame.stackpointer)
  STATED(generator_frame, gen_object.gi_iframe)
  STATED(generator_state, gen_object.gi_frame_state)
#endif
  return 0;
}
