#include "analyzer/load/huge_pages.h"

#include <sys/mman.h>

namespace dcmt::analyzer {

void ask_for_huge_pages(void* memory, std::size_t bytes) { static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE)); }

}  // namespace dcmt::analyzer
