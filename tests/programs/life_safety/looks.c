// Preloaded: counts how often somebody goes through the list of loaded objects.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

typedef int (*Visit)(struct dl_phdr_info*, size_t, void*);
typedef int (*Iterate)(Visit, void*);

static int looks;

int dl_iterate_phdr(Visit visit, void* data) {
  static Iterate real;
  if (real == NULL) real = (Iterate)dlsym(RTLD_NEXT, "dl_iterate_phdr");
  __atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED);
  return real(visit, data);
}

int life_looks(void) { return __atomic_load_n(&looks, __ATOMIC_RELAXED); }
