/* Marks: how a program tells dc-memtrace what it is doing. Plain C, header only, safe without the tool.
 *
 *   const dcmt_marks* marks = dcmt_get_marks_table();   // NULL if this process is not recorded
 *   if (marks) marks->step(7);
 *
 * The table grows at its end only: check `size` before using a field newer than the version you need. Every function
 * may be called from any thread; none throws or keeps a pointer it is given, and only find_holders and cpu_memory wait.
 */
/* This is C. NOLINTBEGIN(modernize-*) */
#ifndef DCMT_MARKS_H
#define DCMT_MARKS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DCMT_MARKS_VERSION 1u

/* Bytes that torch's allocator of the CPU has handed out, blocks of every size. */
typedef struct dcmt_cpu_memory {
  uint64_t allocated; /* now */
  uint64_t peak;      /* at the highest since the recording began */
  uint64_t highest;   /* the same since it was begun anew */
  uint64_t complete;  /* 1: with what there was before the recording; 0: without, and without the frees of that */
} dcmt_cpu_memory;

typedef struct dcmt_marks {
  uint32_t size;    /* bytes of this table */
  uint32_t version; /* DCMT_MARKS_VERSION of the agent */

  int (*recording)(void); /* 1 while records are taken */

  void (*mark)(const char* name);            /* a moment */
  uint64_t (*phase_begin)(const char* name); /* a span; hand the result to phase_end on the same thread */
  void (*phase_end)(uint64_t phase);
  void (*step)(int64_t number); /* the step that was running ends here; switches automatic steps off */

  /* A parameter's cycle. `key` names the parameter within `graph` (0 if there is one graph only). `tensor` is a
   * c10::TensorImpl*, `object` a PyObject* of a torch.Tensor (in CPython: id(tensor)); give one, NULL for the other. */
  void (*gather)(int64_t graph, int64_t key, void* tensor, void* object);
  void (*wait)(int64_t graph, int64_t key, void* tensor, void* object);
  void (*persist)(int64_t graph, int64_t key);
  /* Around the code that releases one use; `users` is the count of uses of the cycle (the first value wins). */
  void (*release_begin)(int64_t graph, int64_t key, int32_t users);
  void (*release_end)(int64_t graph, int64_t key);

  /* Names the holders of one tensor's storage now. */
  void (*census)(void* tensor, void* object);

  /* Waits until the recorder has read the memory of this process and found who holds each storage, for so many
   * nanoseconds at most and not beyond the next signal. 1 if it has. Objects that other threads change meanwhile may be
   * missed: in CPython, call it with the GIL held. */
  int (*find_holders)(uint64_t timeout_ns);

  /* What the recorder counts: with a timeout, of everything before this call, which waits a hundredth of a second or
   * two for that; with 0, as of its latest count. `begins_anew`: `highest` counts from here on (with a timeout only). 0
   * if this process is not recorded, what it had before is still being read, or there was no answer in time. */
  int (*cpu_memory)(dcmt_cpu_memory* memory, uint64_t timeout_ns, int begins_anew);
} dcmt_marks;

/* Exported by the agent. */
typedef const dcmt_marks* (*dcmt_get_marks_fn)(uint32_t version);

static inline const dcmt_marks* dcmt_get_marks_table(void) {
  dcmt_get_marks_fn get = (dcmt_get_marks_fn)dlsym(RTLD_DEFAULT, "dcmt_get_marks");
  return get ? get(DCMT_MARKS_VERSION) : NULL;
}

#ifdef __cplusplus
}
#endif
#endif /* DCMT_MARKS_H */
/* NOLINTEND(modernize-*) */
