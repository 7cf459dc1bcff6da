/* The only door to CPython's internals: what the provider reads of frames, threads and code objects, behind functions
 * whose types do not change from version to version. Plain C, because the internal headers are.
 *
 * Unless said, nothing here needs the GIL for the calling thread's own frames (they cannot move while the thread is
 * inside C code), nothing allocates, and nothing takes a reference. */
#ifndef DCMT_PYTHON_INTERPRETER_H
#define DCMT_PYTHON_INTERPRETER_H

#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The Python this was compiled for, as (major << 8) | minor. */
#define DCMT_PYTHON_VERSION ((PY_MAJOR_VERSION << 8) | PY_MINOR_VERSION)

/* Where a frame stands. The instruction lies inside of the code object, so while that lives it names both. */
struct dcmt_py_position {
  PyCodeObject* code;
  const void* instruction; /* that runs, or one of its inline caches */
};

/* The instruction's place in the bytecode, in bytes. */
int32_t dcmt_py_offset(const struct dcmt_py_position* position);

/* The other way round. */
struct dcmt_py_position dcmt_py_position_at(PyCodeObject* code, int32_t offset);

/* A frame, looked at in place. */
struct dcmt_py_frame {
  PyCodeObject* code;
  PyObject** slots;   /* localsplus, then the evaluation stack */
  const void* handle; /* for dcmt_py_next_frame */
  int32_t offset;     /* as above; negative: not started */
  int32_t locals;     /* number of slots of localsplus; 0 while the frame is being torn down */
  int32_t stack_top;  /* slots in use if the interpreter has written it down, else `locals`: a frame that is inside
                         a C function keeps its stack depth in a register */
};

/* 1 while Python is up and not going down. For every thread. */
int dcmt_py_runs(void);

/* The calling thread's state, NULL if it has none or Python is not up or going down. */
PyThreadState* dcmt_py_thread(void);

/* 1 if the caller, whose state is `thread` (may be NULL), holds the GIL. */
int dcmt_py_holds_gil(const PyThreadState* thread);

/* For a thread that does not hold the GIL: if nobody holds it, keeps everybody from taking it until dcmt_py_thaw().
 * Returns 1 if so; never waits. The GIL itself is not taken: a thread that asks for it while Python is going down is
 * ended by CPython, and this one is not ours to end. */
int dcmt_py_freeze(void);
void dcmt_py_thaw(void);

/* The variables of the main interpreter's sys, borrowed; NULL if there are none. */
PyObject* dcmt_py_sys(void);

/* The innermost frame of `thread`, for identity; NULL if there is none. */
const void* dcmt_py_innermost(const PyThreadState* thread);

/* Innermost frames of `thread`, complete ones only. Returns how many were stored; *more becomes 1 if there are others.
 */
unsigned dcmt_py_positions(const PyThreadState* thread, struct dcmt_py_position* out, unsigned capacity, int* more);

/* The innermost complete frame, and the caller of a frame. Return 0 when there is none. */
int dcmt_py_first_frame(const PyThreadState* thread, struct dcmt_py_frame* out);
int dcmt_py_next_frame(const struct dcmt_py_frame* frame, struct dcmt_py_frame* out);

/* What kind of variable slot `index` of localsplus is. */
enum dcmt_py_slot { DCMT_PY_LOCAL, DCMT_PY_CELL, DCMT_PY_FREE };
enum dcmt_py_slot dcmt_py_slot_kind(PyCodeObject* code, int index);

/* An attribute that the object itself has (a descriptor of its type would run code), a new reference; NULL if it has
 * none. Sets no exception. Needs the GIL. */
PyObject* dcmt_py_attribute(PyObject* object, const char* name);

/* Length of co_code in bytes. */
size_t dcmt_py_code_bytes(const PyCodeObject* code);

/* Copies units [from, from + count) of the code as the compiler wrote it: specialised and instrumented instructions
 * turned back, inline caches zero. *caches carries how many cache units are left between calls; start with 0. */
void dcmt_py_copy_code(const PyCodeObject* code, size_t from, size_t count, unsigned char* out, unsigned* caches);

#ifdef __cplusplus
}
#endif
#endif
