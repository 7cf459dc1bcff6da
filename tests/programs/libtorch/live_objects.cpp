#include "live_objects.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

// Where torch 2.11 keeps what is read here, in words of 8 bytes.
constexpr std::size_t kCounts = 1;        // both: strong references in the lower, weak ones in the upper half
constexpr std::size_t kData = 2;          // StorageImpl
constexpr std::size_t kBytes = 6;         // StorageImpl
constexpr std::size_t kStorage = 2;       // TensorImpl
constexpr std::size_t kLongestField = 7;  // words of an object that are read
constexpr std::size_t kChunkHeader = 2;   // words before what malloc returns; the last has the chunk's size and flags
constexpr std::size_t kAlignment = 2;     // words: malloc aligns to 16 bytes
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::vector<std::uint64_t> g_storage_classes;
std::vector<std::uint64_t> g_tensor_classes;

bool contains(const std::vector<std::uint64_t>& all, std::uint64_t one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// Private writable memory that no file backs: every heap lies in such ranges.
std::vector<Range> heaps() {
  std::vector<Range> ranges;
  FILE* maps = std::fopen("/proc/self/maps", "re");
  char line[4096];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    Range range{};
    char protection[5] = {};
    unsigned long inode = 1;
    char name[16] = {};
    // The kernel writes these numbers. NOLINTNEXTLINE(cert-err34-c)
    const int fields =
        std::sscanf(line, "%lx-%lx %4s %*x %*s %lu %15s", &range.begin, &range.end, protection, &inode, name);
    if (fields >= 4 && std::strcmp(protection, "rw-p") == 0 && inode == 0 && std::strncmp(name, "[stack", 6) != 0) {
      ranges.push_back(range);
    }
  }
  if (maps != nullptr) std::fclose(maps);
  return ranges;
}

/// Copies through the kernel: a range that is given back meanwhile is an error and no crash.
bool copy(std::uintptr_t from, void* to, std::size_t bytes) {
  iovec local{to, bytes};
  iovec remote{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool has_references(std::uint64_t counts) {
  constexpr std::uint64_t kMost = 1u << 24;  // more is not a count but something else
  const std::uint64_t strong = counts & 0xffffffffu;
  const std::uint64_t weak = (counts >> 32) & 0x7fffffffu;
  return strong > 0 && strong < kMost && weak > 0 && weak < kMost;
}

/// Torch makes each of its objects by a malloc of its own. Other words that match an object are a copy of its
/// fields: on a thread's stack, or inside of something larger.
bool begins_a_chunk(std::uint64_t size_and_flags) {
  constexpr std::uint64_t kFlags = 7;
  constexpr std::uint64_t kLargestObject = 4096;
  const std::uint64_t bytes = size_and_flags & ~kFlags;
  return bytes % 16 == 0 && bytes >= kLongestField * sizeof(std::uint64_t) && bytes <= kLargestObject;
}

/// Memory that is freed is overwritten from the start on: otherwise what ended there would still appear to be alive.
__attribute__((constructor)) void overwrite_freed_memory() { mallopt(M_PERTURB, 0x5a); }

long write_objects(const std::uint64_t* words, std::size_t count, std::uintptr_t address, FILE* file) {
  long found = 0;
  for (std::size_t i = kChunkHeader; i + kLongestField <= count; i += kAlignment) {
    const std::uint64_t* object = words + i;
    if (!has_references(object[kCounts]) || !begins_a_chunk(object[-1])) continue;
    const unsigned long at = address + i * sizeof *words;
    if (contains(g_storage_classes, object[0])) {
      // Symbolic sizes are tagged in their upper bits.
      const std::uint64_t bytes = object[kData] != 0 && object[kBytes] >> 62 == 0 ? object[kBytes] : 0;
      std::fprintf(file, "storage %lu %lu\n", at, bytes);
      ++found;
    } else if (contains(g_tensor_classes, object[0])) {
      std::fprintf(file, "tensor %lu %lu\n", at, object[kStorage]);
      ++found;
    }
  }
  return found;
}

}  // namespace

void live_objects_storage_class(const void* table) {
  g_storage_classes.push_back(reinterpret_cast<std::uint64_t>(table));
}

void live_objects_tensor_class(const void* table) {
  g_tensor_classes.push_back(reinterpret_cast<std::uint64_t>(table));
}

long live_objects_write(const char* path) {
  void* mapped = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  FILE* file = std::fopen(path, "ae");
  if (mapped == MAP_FAILED || file == nullptr) return -1;
  auto* words = static_cast<std::uint64_t*>(mapped);
  long found = 0;
  for (const Range& range : heaps()) {
    constexpr std::size_t kOverlap = (kChunkHeader + kLongestField) * sizeof *words / 16 * 16;
    for (std::uintptr_t at = range.begin; at < range.end;) {
      const std::size_t bytes = std::min<std::size_t>(kBufferBytes, range.end - at);
      if (copy(at, words, bytes)) found += write_objects(words, bytes / sizeof *words, at, file);
      if (at + bytes >= range.end) break;
      at += bytes - kOverlap;  // an object may stand across the end
    }
  }
  munmap(mapped, kBufferBytes);
  return std::fclose(file) == 0 ? found : -1;
}
