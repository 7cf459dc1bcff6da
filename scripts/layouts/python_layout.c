/* Prints where CPython keeps what a census reads, one "name value" a line, from the internal headers of one version:
     gcc -DPy_BUILD_CORE -I$INC -I$INC/internal python_layout.c -o p && ./p > python-3.11.layout
   where INC is sysconfig.get_path("include"). Nothing of libpython is linked. Names are those of python_layout.h. */
#include <Python.h>
#include <stddef.h>
#include <stdio.h>

#include <frameobject.h>
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_moduleobject.h"
#include "internal/pycore_runtime.h"

static void print(const char* name, long value) { printf("%s %ld\n", name, value); }
#define OFFSET(name, type, member) print(#name, (long)offsetof(type, member));

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
  OFFSET(frame_stacktop, _PyInterpreterFrame, stacktop)
  OFFSET(frame_locals, _PyInterpreterFrame, localsplus)
  OFFSET(frameobject_frame, PyFrameObject, f_frame)
  OFFSET(frameobject_back, PyFrameObject, f_back)
  OFFSET(generator_frame, PyGenObject, gi_iframe)
  OFFSET(generator_state, PyGenObject, gi_frame_state)
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
  OFFSET(module_definition, PyModuleObject, md_def)
  OFFSET(module_state, PyModuleObject, md_state)
  OFFSET(weakref_callback, PyWeakReference, wr_callback)
  print("weakref_size", sizeof(PyWeakReference));
  print("ascii_text", sizeof(PyASCIIObject));
  print("compact_text", sizeof(PyCompactUnicodeObject));
  OFFSET(bytes_content, PyBytesObject, ob_sval)
  return 0;
}
