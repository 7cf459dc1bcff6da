#define Py_BUILD_CORE 1
#include "collector/python/interpreter.h"

#include <pthread.h>
#include <string.h>

#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#endif
#if PY_VERSION_HEX >= 0x030D0000
#define NEED_OPCODE_METADATA
#include "internal/pycore_opcode_metadata.h"
#include "internal/pycore_optimizer.h"
#else
#define NEED_OPCODE_TABLES
#include "internal/pycore_opcode.h"
#endif
#include "opcode.h"

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x03100000
#error "the layouts below are those of CPython 3.11 to 3.15"
#endif
#ifdef Py_GIL_DISABLED
#error "free-threaded CPython has no GIL to rely on"
#endif

/* A longer chain is not a chain of frames. */
#define MAX_FRAMES 100000

int dcmt_py_runs(void) { return _PyRuntime.initialized && _PyRuntimeState_GetFinalizing(&_PyRuntime) == NULL; }

#if PY_VERSION_HEX >= 0x030E0000
static PyCodeObject* code_of(const _PyInterpreterFrame* frame) {
  return (PyCodeObject*)PyStackRef_AsPyObjectBorrow(frame->f_executable);
}
static const PyObject* first_local_of(const _PyInterpreterFrame* frame) {
  return PyStackRef_AsPyObjectBorrow(frame->localsplus[0]);
}
#elif PY_VERSION_HEX >= 0x030D0000
static PyCodeObject* code_of(const _PyInterpreterFrame* frame) { return (PyCodeObject*)frame->f_executable; }
#else
static PyCodeObject* code_of(const _PyInterpreterFrame* frame) { return frame->f_code; }
#endif

#if PY_VERSION_HEX < 0x030E0000
static const PyObject* first_local_of(const _PyInterpreterFrame* frame) { return frame->localsplus[0]; }
#endif

#if PY_VERSION_HEX >= 0x030D0000
static int is_locked(const struct _gil_runtime_state* gil) { return _Py_atomic_load_int_relaxed(&gil->locked); }
static const _Py_CODEUNIT* instruction_of(const _PyInterpreterFrame* frame) { return frame->instr_ptr; }
static _PyInterpreterFrame* innermost_of(const PyThreadState* thread) { return thread->current_frame; }
#else
static int is_locked(const struct _gil_runtime_state* gil) { return _Py_atomic_load_relaxed(&gil->locked); }
static const _Py_CODEUNIT* instruction_of(const _PyInterpreterFrame* frame) { return frame->prev_instr; }
static _PyInterpreterFrame* innermost_of(const PyThreadState* thread) { return thread->cframe->current_frame; }
#endif

#if PY_VERSION_HEX >= 0x030D0000
#define STATED(field, type, member) \
  { #member, _PyRuntime.debug_offsets.field, offsetof(type, member) }

int dcmt_py_differs(struct dcmt_py_difference* out) {
  const struct dcmt_py_difference compared[] = {
    STATED(
        free_threaded, struct { char gil[1]; }, gil),
    STATED(runtime_state.interpreters_head, _PyRuntimeState, interpreters.head),
    STATED(runtime_state.finalizing, _PyRuntimeState, _finalizing),
    STATED(interpreter_state.ceval_gil, PyInterpreterState, ceval.gil),
    STATED(interpreter_state.sysdict, PyInterpreterState, sysdict),
    STATED(thread_state.interp, PyThreadState, interp),
    STATED(thread_state.native_thread_id, PyThreadState, native_thread_id),
    STATED(thread_state.current_frame, PyThreadState, current_frame),
    STATED(interpreter_frame.previous, _PyInterpreterFrame, previous),
    STATED(interpreter_frame.executable, _PyInterpreterFrame, f_executable),
    STATED(interpreter_frame.instr_ptr, _PyInterpreterFrame, instr_ptr),
    STATED(interpreter_frame.owner, _PyInterpreterFrame, owner),
#if PY_VERSION_HEX >= 0x030E0000
    STATED(interpreter_frame.stackpointer, _PyInterpreterFrame, stackpointer),
#endif
    STATED(interpreter_frame.localsplus, _PyInterpreterFrame, localsplus),
    STATED(code_object.filename, PyCodeObject, co_filename),
    STATED(code_object.qualname, PyCodeObject, co_qualname),
    STATED(code_object.linetable, PyCodeObject, co_linetable),
    STATED(code_object.firstlineno, PyCodeObject, co_firstlineno),
    STATED(code_object.localsplusnames, PyCodeObject, co_localsplusnames),
    STATED(code_object.localspluskinds, PyCodeObject, co_localspluskinds),
    STATED(code_object.co_code_adaptive, PyCodeObject, co_code_adaptive),
    STATED(dict_object.ma_keys, PyDictObject, ma_keys),
    STATED(dict_object.ma_values, PyDictObject, ma_values),
  };
  for (size_t i = 0; i < sizeof compared / sizeof *compared; ++i) {
    if (compared[i].stated == compared[i].compiled) continue;
    *out = compared[i];
    return 1;
  }
  return 0;
}
#else
int dcmt_py_differs(struct dcmt_py_difference* out) {
  (void)out;
  return 0;
}
#endif

PyThreadState* dcmt_py_thread(void) {
  if (!dcmt_py_runs()) return NULL;
#if PY_VERSION_HEX >= 0x030F0000
  return PyGILState_GetThisThreadState(); /* one thread-local variable */
#else
    /* PyGILState_GetThisThreadState() without its three calls into another library: it is called for every stack. */
#if PY_VERSION_HEX >= 0x030C0000
  const Py_tss_t* const key = &_PyRuntime.autoTSSkey;
#else
  const Py_tss_t* const key = &_PyRuntime.gilstate.autoTSSkey;
#endif
  return key->_is_initialized ? pthread_getspecific(key->_key) : NULL;
#endif
}

int dcmt_py_holds_gil(const PyThreadState* thread) {
  /* PyGILState_Check is not used: it returns 1 on every thread once there is a sub-interpreter. */
#if PY_VERSION_HEX >= 0x030D0000
  return thread != NULL && PyThreadState_GetUnchecked() == thread;
#else
  return thread != NULL && _PyThreadState_UncheckedGet() == thread;
#endif
}

static struct _gil_runtime_state* gil_of_main(void) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyInterpreterState_Main()->ceval.gil;
#else
  return &_PyRuntime.ceval.gil;
#endif
}

int dcmt_py_freeze(void) {
  if (!dcmt_py_runs()) return 0;
  struct _gil_runtime_state* const gil = gil_of_main();
  /* Every thread that acquires the GIL locks this mutex, and unlocks it at once or sleeps without it. */
  if (gil == NULL || pthread_mutex_trylock(&gil->mutex) != 0) return 0;
  /* Finalization begins and ends with the GIL held. If it has not begun here, it cannot begin before the thaw. */
  if (is_locked(gil) == 0 && dcmt_py_runs()) return 1;
  pthread_mutex_unlock(&gil->mutex);
  return 0;
}

void dcmt_py_thaw(void) { pthread_mutex_unlock(&gil_of_main()->mutex); }

PyObject* dcmt_py_sys(void) { return PyInterpreterState_Main()->sysdict; }

static int is_text(PyObject* object, const struct dcmt_py_text* text) {
  return PyUnicode_CheckExact(object) && PyUnicode_IS_READY(object) && (int)PyUnicode_KIND(object) == text->kind &&
         PyUnicode_GET_LENGTH(object) == text->length &&
         memcmp(PyUnicode_DATA(object), text->data, (size_t)(text->length * text->kind)) == 0;
}

static int64_t index_at(const PyDictKeysObject* keys, size_t slot) {
  const char* const indices = keys->dk_indices;
  const unsigned bits = keys->dk_log2_size;
  if (bits < 8) return ((const int8_t*)indices)[slot];
  if (bits < 16) return ((const int16_t*)indices)[slot];
  return bits < 32 ? ((const int32_t*)indices)[slot] : ((const int64_t*)indices)[slot];
}

/* Follows CPython's own lookup, which can compare by code of Python if a key is of another type. */
static PyObject* item_by_hash(PyDictKeysObject* keys, const struct dcmt_py_text* text) {
  const Py_hash_t hash = PyHash_GetFuncDef()->hash(text->data, text->length * text->kind);
  const size_t size = (size_t)DK_SIZE(keys);
  size_t perturb = (size_t)hash;
  size_t slot = (size_t)hash & (size - 1);
  const size_t most_tries = size + 64; /* from when `perturb` is 0, each slot comes once */
  for (size_t tries = 0; tries < most_tries; ++tries) {
    const int64_t index = index_at(keys, slot);
    if (index == DKIX_EMPTY) return NULL;
    if (index >= 0) {
      const PyDictUnicodeEntry* const entry = &DK_UNICODE_ENTRIES(keys)[index];
      if (((PyASCIIObject*)entry->me_key)->hash == hash && is_text(entry->me_key, text)) return entry->me_value;
    }
    perturb >>= 5; /* PERTURB_SHIFT */
    slot = (slot * 5 + perturb + 1) & (size - 1);
  }
  return NULL;
}

PyObject* dcmt_py_item(PyObject* dict, struct dcmt_py_text text) {
  if (dict == NULL || !PyDict_CheckExact(dict)) return NULL;
  const PyDictObject* const table = (const PyDictObject*)dict;
  if (table->ma_values == NULL && table->ma_keys->dk_kind == DICT_KEYS_UNICODE) {
    return item_by_hash(table->ma_keys, &text);
  }
  PyObject* key;
  PyObject* value;
  for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &value) != 0;) {
    if (is_text(key, &text)) return value;
  }
  return NULL;
}

/* True if it is not one of the interpreter's own frames: where C calls it, and below a frequently called __init__. */
static int of_python(const _PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030E0000
  return frame->owner < FRAME_OWNED_BY_INTERPRETER && !PyStackRef_IsNone(frame->f_funcobj);
#elif PY_VERSION_HEX >= 0x030C0000
  return frame->owner != FRAME_OWNED_BY_CSTACK && frame->f_funcobj != Py_None;
#else
  (void)frame;
  return 1;
#endif
}

static int complete(_PyInterpreterFrame* frame) { return of_python(frame) && !_PyFrame_IsIncomplete(frame); }

static int32_t offset_of(const _PyInterpreterFrame* frame) {
  return (int32_t)(instruction_of(frame) - _PyCode_CODE(code_of(frame))) * (int32_t)sizeof(_Py_CODEUNIT);
}

const void* dcmt_py_innermost(const PyThreadState* thread) { return innermost_of(thread); }

unsigned dcmt_py_positions(const PyThreadState* thread, struct dcmt_py_position* out, unsigned capacity, int* more,
                           const PyCodeObject* function, const PyObject** first_local) {
  unsigned count = 0;
  *more = 0;
  *first_local = NULL;
  _PyInterpreterFrame* frame = innermost_of(thread);
  if (frame != NULL && !complete(frame)) frame = frame->previous;
  /* A frame that has called another one has begun. Checking that in its code object would cost two fifths of the walk.
   * (3.11 can collect garbage while a frame begins: that frame is then in a finalizer's chain, with its first line.) */
  for (; frame != NULL; frame = frame->previous) {
    if (!of_python(frame)) continue;
    if (count == capacity) {
      *more = 1;
      break;
    }
    out[count].code = code_of(frame);
    out[count].instruction = instruction_of(frame);
    if (out[count].code == function && *first_local == NULL) *first_local = first_local_of(frame);
    ++count;
  }
  return count;
}

int32_t dcmt_py_offset(const struct dcmt_py_position* position) {
  return (int32_t)((const _Py_CODEUNIT*)position->instruction - _PyCode_CODE(position->code)) *
         (int32_t)sizeof(_Py_CODEUNIT);
}

struct dcmt_py_position dcmt_py_position_at(PyCodeObject* code, int32_t offset) {
  return (struct dcmt_py_position){code, _PyCode_CODE(code) + offset / (int32_t)sizeof(_Py_CODEUNIT)};
}

#if PY_VERSION_HEX >= 0x030C0000
/* The opcode in whose place INSTRUMENTED_LINE is. CPython 3.12 has two bytes for each unit, 3.14 the size of an entry
 * and then the entries; that came to 3.13 in one of its micro versions. Sizes are 2 to 5, and no code begins with such
 * an opcode. */
static unsigned opcode_below_line(const void* lines, size_t unit) {
  const uint8_t* bytes = (const uint8_t*)lines;
#if PY_VERSION_HEX >= 0x030D0000
  if (bytes[0] >= 2 && bytes[0] <= 5) return bytes[1 + unit * bytes[0]];
#endif
  return bytes[2 * unit];
}
#endif

static unsigned base_opcode(const PyCodeObject* code, size_t unit) {
  unsigned opcode = _Py_OPCODE(_PyCode_CODE(code)[unit]);
#if PY_VERSION_HEX >= 0x030C0000
  const _PyCoMonitoringData* const monitoring = code->_co_monitoring;
  if (opcode == INSTRUMENTED_LINE && monitoring != NULL && monitoring->lines != NULL) {
    opcode = opcode_below_line(monitoring->lines, unit);
  }
  if (opcode == INSTRUMENTED_INSTRUCTION && monitoring != NULL && monitoring->per_instruction_opcodes != NULL) {
    opcode = monitoring->per_instruction_opcodes[unit];
  }
  switch (opcode) {
    case INSTRUMENTED_LOAD_SUPER_ATTR:
      return LOAD_SUPER_ATTR;
    case INSTRUMENTED_POP_JUMP_IF_NONE:
      return POP_JUMP_IF_NONE;
    case INSTRUMENTED_POP_JUMP_IF_NOT_NONE:
      return POP_JUMP_IF_NOT_NONE;
    case INSTRUMENTED_POP_JUMP_IF_FALSE:
      return POP_JUMP_IF_FALSE;
    case INSTRUMENTED_POP_JUMP_IF_TRUE:
      return POP_JUMP_IF_TRUE;
    case INSTRUMENTED_RESUME:
      return RESUME;
#if PY_VERSION_HEX >= 0x030D0000
    case INSTRUMENTED_CALL_KW:
      return CALL_KW;
#endif
#if PY_VERSION_HEX >= 0x030E0000
    case INSTRUMENTED_NOT_TAKEN:
      return NOT_TAKEN;
    case INSTRUMENTED_POP_ITER:
      return POP_ITER;
    case INSTRUMENTED_END_ASYNC_FOR:
      return END_ASYNC_FOR;
#else
    case INSTRUMENTED_RETURN_CONST:
      return RETURN_CONST;
#endif
    case INSTRUMENTED_CALL:
      return CALL;
    case INSTRUMENTED_CALL_FUNCTION_EX:
      return CALL_FUNCTION_EX;
    case INSTRUMENTED_RETURN_VALUE:
      return RETURN_VALUE;
    case INSTRUMENTED_YIELD_VALUE:
      return YIELD_VALUE;
    case INSTRUMENTED_JUMP_FORWARD:
      return JUMP_FORWARD;
    case INSTRUMENTED_JUMP_BACKWARD:
      return JUMP_BACKWARD;
    case INSTRUMENTED_FOR_ITER:
      return FOR_ITER;
    case INSTRUMENTED_END_FOR:
      return END_FOR;
    case INSTRUMENTED_END_SEND:
      return END_SEND;
    default:
      break;
  }
#endif
  return _PyOpcode_Deopt[opcode];
}

static int find_frame(_PyInterpreterFrame* frame, struct dcmt_py_frame* out) {
  for (int steps = 0; frame != NULL && steps < MAX_FRAMES; frame = frame->previous, ++steps) {
    if (!complete(frame)) continue;
    out->code = code_of(frame);
    out->words = (const uintptr_t*)frame->localsplus;
    out->handle = frame;
    out->offset = offset_of(frame);
    out->locals = code_of(frame)->co_nlocalsplus;
#if PY_VERSION_HEX >= 0x030E0000
    out->stack_top = (int32_t)(frame->stackpointer - frame->localsplus); /* written down before each call */
#else
    /* These versions set it to -1 while the frame runs. A positive value was saved for a call into Python. */
    out->stack_top = frame->stacktop;
#endif
#if PY_VERSION_HEX < 0x030C0000
    /* 3.11 drops a frame's variables while the frame is still in the chain, and does not clear the pointers. */
    if (out->offset >= 0 && base_opcode(out->code, (size_t)out->offset / sizeof(_Py_CODEUNIT)) == RETURN_VALUE) {
      out->locals = 0;
      out->stack_top = 0;
    }
#endif
    if (out->stack_top < out->locals) out->stack_top = out->locals;
    if (out->stack_top > out->locals + out->code->co_stacksize) out->stack_top = out->locals;
    return 1;
  }
  return 0;
}

int dcmt_py_first_frame(const PyThreadState* thread, struct dcmt_py_frame* out) {
  return find_frame(innermost_of(thread), out);
}

int dcmt_py_next_frame(const struct dcmt_py_frame* frame, struct dcmt_py_frame* out) {
  return find_frame(((const _PyInterpreterFrame*)frame->handle)->previous, out);
}

enum dcmt_py_slot dcmt_py_slot_kind(PyCodeObject* code, int index) {
  const unsigned char kind = (unsigned char)PyBytes_AS_STRING(code->co_localspluskinds)[index];
  if ((kind & CO_FAST_CELL) != 0) return DCMT_PY_CELL;
  if ((kind & CO_FAST_FREE) != 0) return DCMT_PY_FREE;
  return DCMT_PY_LOCAL;
}

#if PY_VERSION_HEX >= 0x030D0000
#define get_optional PyObject_GetOptionalAttr
#else
#define get_optional _PyObject_LookupAttr
#endif

PyObject* dcmt_py_attribute(PyObject* object, const char* name) {
  PyTypeObject* const type = Py_TYPE(object);
  /* The lookup would mistake an exception in flight for its own error. */
  if (type->tp_getattro != PyObject_GenericGetAttr || PyErr_Occurred() != NULL) return NULL;
  PyObject* const key = PyUnicode_InternFromString(name);
  if (key == NULL) {
    PyErr_Clear();
    return NULL;
  }
  PyObject* value = NULL;
  if (_PyType_Lookup(type, key) == NULL) get_optional(object, key, &value);
  Py_DECREF(key);
  return value;
}

size_t dcmt_py_code_bytes(const PyCodeObject* code) { return (size_t)Py_SIZE(code) * sizeof(_Py_CODEUNIT); }

void dcmt_py_copy_code(const PyCodeObject* code, size_t from, size_t count, unsigned char* out, unsigned* caches) {
  for (size_t i = 0; i < count; ++i) {
    unsigned opcode = CACHE;
    unsigned argument = 0;
    if (*caches > 0) {
      --*caches;
    } else {
      opcode = base_opcode(code, from + i);
      argument = _Py_OPARG(_PyCode_CODE(code)[from + i]);
#if PY_VERSION_HEX >= 0x030D0000
      if (opcode == ENTER_EXECUTOR) {
        /* If the optimizer has replaced an instruction by a trace, the trace has its opcode and argument. */
        const _PyVMData* const replaced = &code->co_executors->executors[argument]->vm_data;
        opcode = _PyOpcode_Deopt[replaced->opcode];
        argument = replaced->oparg;
      }
#endif
      *caches = _PyOpcode_Caches[opcode];
    }
    out[2 * i] = (unsigned char)opcode;
    out[2 * i + 1] = (unsigned char)argument;
  }
}
