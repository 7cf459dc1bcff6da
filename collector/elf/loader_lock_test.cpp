// The loader holds its lock while it lists objects. A malloc that calls the loader for that list (heaptrack's does, to
// find where an allocation was made) holds a lock of its own meanwhile. A thread that calls malloc while the loader
// lists objects, as a hook that searches import slots might, would wait for ever. The test replaces malloc and
// dl_iterate_phdr.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <span>

#include "collector/elf/elf_patch.h"

extern "C" {
void* __libc_malloc(std::size_t);               // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t, std::size_t);  // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void*, std::size_t);       // NOLINT(bugprone-reserved-identifier)
void __libc_free(void*);                        // NOLINT(bugprone-reserved-identifier)
}

namespace {

thread_local bool t_listing = false;
int g_listings = 0;
int g_calls_of_malloc = 0;  ///< calls while objects are listed

void count() { g_calls_of_malloc += t_listing ? 1 : 0; }

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) {
  count();
  return __libc_calloc(number, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  count();
  return __libc_realloc(memory, bytes);
}
void free(void* memory) {
  count();
  __libc_free(memory);
}

int dl_iterate_phdr(int (*callback)(dl_phdr_info*, std::size_t, void*), void* data) {
  static const auto list = reinterpret_cast<decltype(&dl_iterate_phdr)>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  t_listing = true;
  const int result = list(callback, data);
  t_listing = false;
  ++g_listings;
  return result;
}
}

namespace dcmt::elf {
namespace {

int ours() { return 2; }

const ImportPatch kPatches[] = {{"dcmt_test_imported", pointer(ours), nullptr}};
const std::span<const ImportPatch> kGroups[] = {kPatches};

TEST(LoaderLock, MallocIsNotCalledWhileTheLoaderHoldsIt) {
  void* importer = dlopen(DCMT_TEST_IMPORTER, RTLD_NOW);
  ASSERT_NE(importer, nullptr) << dlerror();
  auto* const call = reinterpret_cast<int (*)()>(dlsym(importer, "dcmt_test_call"));

  g_listings = g_calls_of_malloc = 0;
  EXPECT_EQ(patch_imports(kGroups).written, 1u);
  void** slots[4];
  EXPECT_EQ(import_slots("libdcmt_test_importer.so", "dcmt_test_imported", slots), 1u);
  EXPECT_EQ(call(), 2);
  EXPECT_EQ(g_listings, 2);
  EXPECT_EQ(g_calls_of_malloc, 0);

  // Check that the test's own malloc is called.
  t_listing = true;
  std::free(std::malloc(1));
  t_listing = false;
  EXPECT_EQ(g_calls_of_malloc, 2);
}

}  // namespace
}  // namespace dcmt::elf
