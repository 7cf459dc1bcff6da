#include "collector/agent/code_objects.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "collector/agent/provider.h"

namespace dcmt::agent {
namespace {

constexpr std::uint32_t kMostObjects = 2048;

constinit CodeObject* g_objects = nullptr;
constinit std::atomic<std::uint32_t> g_count{0};
constinit std::atomic<std::uint64_t> g_epoch{0};
constinit std::atomic<bool> g_finds{false};    ///< between begin and forget
constinit std::atomic<bool> g_finding{false};  ///< a thread does

/// The folder of a path, with its last slash.
std::string_view folder_of(std::string_view path) noexcept { return {path.data(), path.rfind('/') + 1}; }

std::string_view name_of(std::string_view path) noexcept {
  path.remove_prefix(path.rfind('/') + 1);
  return path;
}

/// The folder of torch's libraries; empty: not found.
struct TorchFolder {
  char text[4096];
  std::size_t length;
};

int find_torch(dl_phdr_info* object, std::size_t, void* found) noexcept {
  const std::string_view path = object->dlpi_name;
  if (!name_of(path).starts_with("libc10.so")) return 0;
  auto& folder = *static_cast<TorchFolder*>(found);
  folder.length = std::min(folder_of(path).size(), sizeof folder.text);
  memcpy(folder.text, path.data(), folder.length);
  return 1;
}

/// True if the object names one of torch's libraries among those that it needs.
bool is_linked_with_torch(const dl_phdr_info& object) noexcept {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    }
  }
  const char* names = nullptr;
  for (const ElfW(Dyn)* each = dynamic; each != nullptr && each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_STRTAB) continue;
    // The loader has added the base, but for the kernel's own object.
    const std::uint64_t at =
        each->d_un.d_ptr < object.dlpi_addr ? each->d_un.d_ptr + object.dlpi_addr : each->d_un.d_ptr;
    names = reinterpret_cast<const char*>(at);
  }
  for (const ElfW(Dyn)* each = dynamic; names != nullptr && each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_NEEDED) continue;
    const std::string_view needed = names + each->d_un.d_val;
    if (needed.starts_with("libtorch") || needed.starts_with("libc10")) return true;
  }
  return false;
}

CodeObject describe(const dl_phdr_info& object, const TorchFolder& torch) noexcept {
  CodeObject code{};
  code.base = object.dlpi_addr;
  code.begin = ~std::uint64_t{0};
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    const std::uint64_t begin = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) code.index = begin;
    if (segment.p_type != PT_LOAD) continue;
    code.begin = std::min(code.begin, begin);
    code.end = std::max<std::uint64_t>(code.end, begin + segment.p_memsz);
  }
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    const std::uint64_t begin = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || code.index < begin || code.index >= begin + segment.p_filesz) continue;
    code.tables_begin = begin;
    code.tables_end = begin + segment.p_filesz;
  }
  std::string_view path = object.dlpi_name;
  char program[4096];
  if (path.empty()) {
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    path = {program, length > 0 ? static_cast<std::size_t>(length) : 0};
    code.is_program = true;
  } else {
    const bool is_torchs = folder_of(path) == std::string_view(torch.text, torch.length);
    code.is_ours = name_of(path).starts_with("libdcmt_");
    code.is_program = !is_torchs && !code.is_ours && is_linked_with_torch(object);
  }
  code.path = intern(path.data(), path.size());
  return code;
}

int add_object(dl_phdr_info* object, std::size_t, void* torch) noexcept {
  // The kernel's own object has no path either, and is no file.
  if (object->dlpi_name[0] == '\0' && g_count.load(std::memory_order_relaxed) != 0) return 0;
  const std::uint32_t count = g_count.load(std::memory_order_relaxed);
  if (count == kMostObjects) return 1;
  const CodeObject code = describe(*object, *static_cast<const TorchFolder*>(torch));
  bool replaces = false;
  for (std::uint32_t i = count; i-- > 0;) {
    const CodeObject& other = g_objects[i];
    if (other.end <= code.begin || code.end <= other.begin) continue;
    if (other.base == code.base && other.end == code.end && other.path == code.path) return 0;
    replaces = true;
    break;
  }
  g_objects[count] = code;
  g_count.store(count + 1, std::memory_order_release);
  if (replaces) g_epoch.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

}  // namespace

bool begin_code_objects() noexcept {
  if (g_objects == nullptr) g_objects = static_cast<CodeObject*>(arena(kMostObjects * sizeof(CodeObject)));
  if (g_objects == nullptr) return false;
  g_epoch.fetch_add(1, std::memory_order_relaxed);
  g_finds.store(true, std::memory_order_relaxed);
  find_code_objects();
  return true;
}

void forget_code_objects() noexcept {
  g_finds.store(false, std::memory_order_relaxed);
  g_count.store(0, std::memory_order_relaxed);
}

void find_code_objects() noexcept {
  if (!g_finds.load(std::memory_order_relaxed)) return;
  if (g_finding.exchange(true, std::memory_order_acquire)) {
    g_hot.objects_changed.store(1, std::memory_order_relaxed);  // for the next hook
    return;
  }
  TorchFolder torch{};
  dl_iterate_phdr(find_torch, &torch);
  dl_iterate_phdr(add_object, &torch);
  g_finding.store(false, std::memory_order_release);
}

const CodeObject* code_object_at(std::uint64_t address) noexcept {
  // The latest first: it may have the addresses of one that is gone.
  for (std::uint32_t i = g_count.load(std::memory_order_acquire); i-- > 0;) {
    const CodeObject& object = g_objects[i];
    if (address >= object.begin && address < object.end) return &object;
  }
  return nullptr;
}

std::uint64_t code_epoch() noexcept { return g_epoch.load(std::memory_order_relaxed); }

}  // namespace dcmt::agent
