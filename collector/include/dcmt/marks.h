/* Marks: a program names points and spans of its run for dc-memtrace. Plain C, header only, safe without the tool.
 *
 *   const dcmt_marks* marks = dcmt_get_marks_table();   // NULL if this process is not recorded
 *   if (marks) marks->step(7);
 *
 * New fields are only added at the table's end: check `size` before using a field that is newer than the version you
 * need. Any thread may call every function. None throws or keeps a pointer argument. Only find_holders and cpu_memory
 * wait.
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

/* The sum of live blocks of torch's CPU allocator, in bytes; blocks of every size count. */
typedef struct dcmt_cpu_memory {
  uint64_t allocated; /* now */
  uint64_t peak;      /* the highest since the recording began */
  uint64_t highest;   /* the highest since it was last restarted */
  uint64_t complete;  /* 1: includes the memory from before the recording; 0: excludes it and its frees */
} dcmt_cpu_memory;

typedef struct dcmt_marks {
  uint32_t size;    /* bytes of this table */
  uint32_t version; /* DCMT_MARKS_VERSION of the agent */

  int (*recording)(void); /* 1 while events are recorded */

  void (*mark)(const char* name);            /* a point */
  uint64_t (*phase_begin)(const char* name); /* a span; pass the result to phase_end on the same thread */
  void (*phase_end)(uint64_t phase);
  void (*step)(int64_t number); /* ends the current step; switches automatic steps off */

  /* A parameter's cycle. `key` names the parameter within `graph` (0 if there is one graph only). `tensor` is a
   * c10::TensorImpl*, `object` a PyObject* of a torch.Tensor (in CPython: id(tensor)); pass one; the other is NULL. */
  void (*gather)(int64_t graph, int64_t key, void* tensor, void* object);
  void (*wait)(int64_t graph, int64_t key, void* tensor, void* object);
  void (*persist)(int64_t graph, int64_t key);
  /* Around the code that releases one use; `users` is the count of uses of the cycle (the first value counts). */
  void (*release_begin)(int64_t graph, int64_t key, int32_t users);
  void (*release_end)(int64_t graph, int64_t key);

  /* Records the holders of one tensor's storage now. */
  void (*census)(void* tensor, void* object);

  /* Waits until the recorder has read the memory of this process and found the holders of each storage, for at most
   * `timeout_ns` nanoseconds or until the next signal. 1 if the recorder has done so. It may miss objects that other
   * threads change meanwhile: in CPython, call it with the GIL held. */
  int (*find_holders)(uint64_t timeout_ns);

  /* Gets the recorder's count. With a timeout, it includes everything before this call, which usually waits 10 to
   * 20 ms; with 0, it is the latest count. `begins_anew` restarts `highest` here (only with a timeout). Returns 0 if
   * this process is not recorded, if the recorder still reads what it had before, or if there was no answer in time. */
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
