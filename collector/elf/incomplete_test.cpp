// Tests objects that look as if the loader still worked on them: the page that it makes read-only last is writable, as
// another tool that rewrites import slots may leave it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string>
#include <thread>

#include "collector/elf/elf_patch.h"

namespace dcmt::elf {
namespace {

int ours() { return 2; }

const ImportPatch kPatches[] = {{"dcmt_test_imported", pointer(ours), nullptr}};
const std::span<const ImportPatch> kGroups[] = {kPatches};

/// Makes the importer's read-only pages writable.
void open_pages() {
  const auto visit = [](dl_phdr_info* info, std::size_t, void*) {
    if (strstr(info->dlpi_name, "dcmt_test_importer") == nullptr) return 0;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type != PT_GNU_RELRO) continue;
      const std::uintptr_t begin = (info->dlpi_addr + part.p_vaddr) & ~(page - 1);
      const std::uintptr_t end = (info->dlpi_addr + part.p_vaddr + part.p_memsz) & ~(page - 1);
      EXPECT_EQ(mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE), 0);
    }
    return 1;
  };
  EXPECT_EQ(dl_iterate_phdr(visit, nullptr), 1) << "the importer is not loaded";
}

TEST(Incomplete, IsInspectedAFewTimesAndThenAcceptedAsItsSlotsAre) {
  void* importer = dlopen(DCMT_TEST_IMPORTER, RTLD_NOW);
  ASSERT_NE(importer, nullptr) << dlerror();
  auto* const call = reinterpret_cast<int (*)()>(dlsym(importer, "dcmt_test_call"));
  ASSERT_EQ(call(), 1);
  open_pages();

  // Every hook of a job calls this as long as an object is incomplete.
  int searches = 0;
  int calls = 0;
  Patched patched{};
  do {
    patched = patch_imports(kGroups);
    searches += patched.searched ? 1 : 0;
    ++calls;
    if (patched.postponed) {
      EXPECT_EQ(call(), 1);
    }
    std::this_thread::yield();
  } while (patched.postponed);
  EXPECT_GT(calls, 100);
  EXPECT_GT(searches, 3);
  EXPECT_LT(searches, 20);
  EXPECT_EQ(patched.written, 1u);
  EXPECT_EQ(patched.given_up, nullptr);
  EXPECT_EQ(call(), 2);
  EXPECT_FALSE(patch_imports(kGroups).searched);
}

}  // namespace
}  // namespace dcmt::elf
