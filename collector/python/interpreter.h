/* The only access to CPython's internals: the provider reads frames, threads and code objects through functions whose
 * types are the same in all versions. It is plain C, because the internal headers are.
 *
 * Unless a comment says otherwise, functions need no GIL for the calling thread's own frames (these cannot move while
 * the thread is inside C code), allocate nothing, and take no reference. */
#ifndef DCMT_PYTHON_INTERPRETER_H
#define DCMT_PYTHON_INTERPRETER_H

#include <Python.h>
#include <stdint.h>

#include "collector/python/frame_word.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of Python that this was compiled for, as (major << 8) | minor. */
#define DCMT_PYTHON_VERSION ((PY_MAJOR_VERSION << 8) | PY_MINOR_VERSION)

/* 1 if the words of its frames have tags. */
#define DCMT_PY_TAGGED (PY_VERSION_HEX >= 0x030E0000)

/* The position of a frame. The instruction is inside the code object, so this identifies both while that lives. */
struct dcmt_py_position {
  PyCodeObject* code;
  const void* instruction; /* the running instruction, or one of its inline caches */
};

/* The instruction's offset in the bytecode, in bytes. */
int32_t dcmt_py_offset(const struct dcmt_py_position* position);

/* The position for an offset. */
struct dcmt_py_position dcmt_py_position_at(PyCodeObject* code, int32_t offset);

/* A frame, read in place. */
struct dcmt_py_frame {
  PyCodeObject* code;
  const uintptr_t* words; /* localsplus, then the evaluation stack; see dcmt_py_object and dcmt_py_value */
  const void* handle;     /* for dcmt_py_next_frame */
  int32_t offset;         /* as in dcmt_py_offset; negative: not started */
  int32_t locals;         /* number of slots of localsplus; 0 while the frame is being destroyed */
  int32_t stack_top;      /* slots in use if the interpreter has written it down, else `locals`: a frame that is inside
                             a C function keeps its stack depth in a register (before 3.14) */
};

/* The object that slot `index` of a frame owns; NULL if there is none. */
static inline PyObject* dcmt_py_object(const struct dcmt_py_frame* frame, int32_t index) {
  return (PyObject*)dcmt_owned_object(frame->words[index], DCMT_PY_TAGGED);
}

/* The object in slot `index` of a frame, whether the frame owns or borrows it; NULL if there is none. */
static inline PyObject* dcmt_py_value(const struct dcmt_py_frame* frame, int32_t index) {
  return (PyObject*)dcmt_object_of(frame->words[index], DCMT_PY_TAGGED);
}

/* A member whose offset, as the running interpreter states it, is not the one that was compiled in. */
struct dcmt_py_difference {
  const char* member;
  uint64_t stated;
  uint64_t compiled;
};

/* Since 3.13, the interpreter states offsets for debuggers. Returns 1 if one differs: micro versions can. */
int dcmt_py_differs(struct dcmt_py_difference* out);

/* 1 while Python is initialised and not finalizing. Any thread may call it. */
int dcmt_py_runs(void);

/* The calling thread's state; NULL if it has none, or if Python is not initialised or is finalizing. */
PyThreadState* dcmt_py_thread(void);

/* 1 if the caller, whose state is `thread` (may be NULL), holds the GIL. */
int dcmt_py_holds_gil(const PyThreadState* thread);

/* For a thread without the GIL: if no thread holds it, prevents all threads from acquiring it until dcmt_py_thaw().
 * Returns 1 on success; never waits. It does not acquire the GIL itself: CPython ends a thread that requests the GIL
 * while Python is finalizing, and this thread belongs to the program. */
int dcmt_py_freeze(void);
void dcmt_py_thaw(void);

/* The dictionary of the main interpreter's sys, borrowed; NULL if there is none. */
PyObject* dcmt_py_sys(void);

/* A text as CPython stores it: characters of `kind` bytes. */
struct dcmt_py_text {
  const void* data;
  Py_ssize_t length; /* in characters */
  int kind;
};

/* The value for a text in a dictionary, borrowed; NULL if there is none, or if `dict` is none. It runs no code
 * of Python, and uses the hash, so that a large dictionary like sys.modules costs no more than a small one. The caller
 * holds the GIL or keeps it free. */
PyObject* dcmt_py_item(PyObject* dict, struct dcmt_py_text text);

/* The innermost frame of `thread`, only to compare identity; NULL if there is none. */
const void* dcmt_py_innermost(const PyThreadState* thread);

/* The innermost complete frames of `thread`. Returns how many were stored; *more is 1 if there are others. *first_local
 * is the first variable of the innermost one of these that runs `function`, only for its address; NULL: none does. */
unsigned dcmt_py_positions(const PyThreadState* thread, struct dcmt_py_position* out, unsigned capacity, int* more,
                           const PyCodeObject* function, const PyObject** first_local);

/* The innermost complete frame, and the caller of a frame. They return 0 if there is none. */
int dcmt_py_first_frame(const PyThreadState* thread, struct dcmt_py_frame* out);
int dcmt_py_next_frame(const struct dcmt_py_frame* frame, struct dcmt_py_frame* out);

/* The kind of variable in slot `index` of localsplus. */
enum dcmt_py_slot { DCMT_PY_LOCAL, DCMT_PY_CELL, DCMT_PY_FREE };
enum dcmt_py_slot dcmt_py_slot_kind(PyCodeObject* code, int index);

/* An attribute in the object's own dictionary (a descriptor of its type could run code), as a new reference; NULL if
 * there is none. Sets no exception. Needs the GIL. */
PyObject* dcmt_py_attribute(PyObject* object, const char* name);

/* Length of co_code in bytes. */
size_t dcmt_py_code_bytes(const PyCodeObject* code);

/* Copies units [from, from + count) of the code as the compiler wrote it: specialised and instrumented instructions are
 * replaced by their originals, inline caches by zeros. *caches carries the number of remaining cache units between
 * calls; start with 0. */
void dcmt_py_copy_code(const PyCodeObject* code, size_t from, size_t count, unsigned char* out, unsigned* caches);

#ifdef __cplusplus
}
#endif
#endif
