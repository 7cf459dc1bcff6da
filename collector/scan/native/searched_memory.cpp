#include "collector/scan/native/searched_memory.h"

#include <cstring>

#include "collector/scan/native/memory_words.h"
#include "collector/scan/process/elf_symbols.h"

namespace dcmt::scan {
namespace {

/// Limit of searched memory: more would take seconds.
constexpr std::uint64_t kMostMemory = std::uint64_t{8} << 30;

constexpr Address kVirtualTable = 16;  // distance from a virtual table's symbol to the address in objects

}  // namespace

std::optional<SearchedMemory> SearchedMemory::read(MemorySource& source, std::vector<Range> data, bool with_stack) {
  const auto storage_table = symbol_address(source, "/libc10.so", "_ZTVN3c1011StorageImplE");
  const auto tensor_table = symbol_address(source, "/libc10.so", "_ZTVN3c1010TensorImplE");
  MemoryWords words(source, std::move(data), with_stack);
  if (!storage_table || !tensor_table || words.bytes() > kMostMemory) return std::nullopt;
  SearchedMemory found;
  words.each_first_block([&](const Region& region, Address, std::span<const std::byte> bytes) {
    if (HeapChunks::is_heap(region, bytes)) found.pointers.add_heap({region.begin, region.end});
  });
  words.each_block([&](const Region& region, Address at, std::span<const std::byte> bytes) {
    found.heap.add_block(region, at, bytes);
    found.pointers.add_block(at, bytes);
    for (std::size_t offset = 0; offset < bytes.size(); offset += 8) {
      Address word = 0;
      std::memcpy(&word, bytes.data() + offset, 8);
      if (word == *storage_table + kVirtualTable) found.storages.push_back(at + offset);
      if (word == *tensor_table + kVirtualTable) found.tensors.push_back(at + offset);
    }
  });
  found.heap.finish();
  return found;
}

}  // namespace dcmt::scan
