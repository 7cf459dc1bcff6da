// Preloaded: counts the searches through the list of loaded objects.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

typedef int (*Visit)(struct dl_phdr_info*, size_t, void*);
typedef int (*Iterate)(Visit, void*);

static int searches;

int dl_iterate_phdr(Visit visit, void* data) {
  static Iterate real;
  if (real == NULL) real = (Iterate)dlsym(RTLD_NEXT, "dl_iterate_phdr");
  __atomic_fetch_add(&searches, 1, __ATOMIC_RELAXED);
  return real(visit, data);
}

int life_searches(void) { return __atomic_load_n(&searches, __ATOMIC_RELAXED); }
