/* Loads an object by a bare name that only this object's RUNPATH ($ORIGIN/beside) leads to, and asks for the next
 * definition of a symbol it defines itself. */
#define _GNU_SOURCE
#include <dlfcn.h>

__attribute__((visibility("default"))) const char* find_beside(void);
const char* find_beside(void) {
  void* const object = dlopen("libdcmt_test_beside.so", RTLD_NOW);
  const char* (*const where)(void) = object != 0 ? (const char* (*)(void))dlsym(object, "where_am_i") : 0;
  return where != 0 ? where() : "not found";
}

__attribute__((visibility("default"))) const char* find_next(void);
const char* find_next(void) {
  const char* (*const next)(void) = (const char* (*)(void))dlsym(RTLD_NEXT, "find_next");
  return next == 0 ? "none" : next == find_next ? "itself" : "another";
}
