#include "render/wording/memory_class.h"

namespace dcmt::wording {

std::string_view memory_class_text(std::string_view name) {
  if (name == "numpy") return "arrays of numpy";
  if (name == "graph") return "nodes of autograd's graphs";
  if (name == "malloc") return "the C library's allocator";
  if (name == "python") return "Python's small objects";
  if (name == "libraries") return "programs and libraries";
  if (name == "files") return "mapped files";
  if (name == "shared tensors") return "tensors shared with other processes";
  if (name == "shared memory") return "shared memory without tensors";
  if (name == "driver") return "the GPU's driver";
  if (name == "stacks") return "stacks of threads";
  if (name == "recorder") return "this tool's own memory";
  return "anonymous mappings";
}

}  // namespace dcmt::wording
