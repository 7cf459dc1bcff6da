#include "collector/recorder/target/kernel_memory.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "trace/base/page_size.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {

std::optional<KernelMemory> kernel_memory(pid_t pid) {
  const std::string line = read_file(fmt::format("/proc/{}/statm", pid)).value_or("");
  long resident = 0;
  long data = 0;
  // size resident shared text lib data dt, in pages; all are 0 for a process that has ended.
  if (std::sscanf(line.c_str(), "%*d %ld %*d %*d %*d %ld", &resident, &data) != 2 || resident == 0) return {};
  const auto page = static_cast<std::int64_t>(page_size());
  return KernelMemory{resident * page, data * page};
}

bool uses_gpu(pid_t pid) {
  return read_file(fmt::format("/proc/{}/maps", pid)).value_or("").find("/libcuda.so") != std::string::npos;
}

}  // namespace dcmt::recorder
