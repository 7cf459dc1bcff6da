#include "collector/torch/state/cpu_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <malloc.h>
#include <stdlib.h>

#include "collector/elf/elf_patch.h"
#include "trace/base/page_size.h"

namespace dcmt::torch_provider {
namespace {
constinit bool g_is_malloc = true;
}

void find_cpu_allocator() noexcept {
  void** slots[1];
  g_is_malloc = elf::import_slots("libc10.so", "posix_memalign", slots) != 0;
}

std::size_t usable_bytes(void* block) noexcept { return g_is_malloc ? malloc_usable_size(block) : 0; }

bool is_of_cpu_allocator(const StorageCopy& storage) noexcept {
  static const c10::DeleterFnPtr deleter = c10::GetDefaultCPUAllocator()->raw_deleter();
  if (!g_is_malloc || !storage.readable || deleter == nullptr) return false;
  // Only reads; torch has no const access that does not copy a COW storage.
  auto* object = static_cast<c10::StorageImpl*>(const_cast<void*>(storage.fields()));
  const at::DataPtr& data = object->_mutable_data_ptr_no_checks();
  return data.get_deleter() == deleter && data.get() == data.get_context();
}

void* alloc_pages(std::size_t bytes) noexcept {
  // A block of a few numbers would need many times its size.
  constexpr std::size_t kLeast = 256;
  const std::size_t page = page_size();
  void* block = nullptr;
  if (!g_is_malloc || bytes < kLeast || posix_memalign(&block, page, (bytes + page - 1) / page * page) != 0)
    return nullptr;
  return block;
}

}  // namespace dcmt::torch_provider
