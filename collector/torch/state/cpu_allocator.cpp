#include "collector/torch/state/cpu_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <stdlib.h>
#include <unistd.h>

namespace dcmt::torch_provider {

bool is_of_cpu_allocator(const StorageCopy& storage) noexcept {
  static const c10::DeleterFnPtr deleter = c10::GetDefaultCPUAllocator()->raw_deleter();
  if (!storage.readable || deleter == nullptr) return false;
  // Only reads; torch has no const access that does not copy a COW storage.
  auto* object = static_cast<c10::StorageImpl*>(const_cast<void*>(storage.fields()));
  const at::DataPtr& data = object->_mutable_data_ptr_no_checks();
  return data.get_deleter() == deleter && data.get() == data.get_context();
}

void* alloc_pages(std::size_t bytes) noexcept {
  // A block of a few numbers would need many times its size.
  constexpr std::size_t kLeast = 256;
  static const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* block = nullptr;
  if (bytes < kLeast || posix_memalign(&block, page, (bytes + page - 1) / page * page) != 0) return nullptr;
  return block;
}

}  // namespace dcmt::torch_provider
