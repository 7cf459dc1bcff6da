#include "collector/scan/native/thread_locals.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/scan/process/interpreters.h"
#include "trace/arch/arch.h"

namespace dcmt::scan {
namespace {

// glibc's tcbhead_t: its own address, the table (dtv), its own address again. An entry of the table is an address and
// what to free.
constexpr Address kTable = 8, kSelf = 16;
constexpr Address kEntry = 16;
constexpr Address kMostModules = 4096;
/// Variables of libraries loaded at the program's start lie right before the control block.
constexpr Address kMostBefore = 64 << 10;
/// The control block is a part of glibc's data of the thread, which has the kernel's number here, and is aligned.
constexpr Address kNumber = 0x2d0, kAligned = 64, kMostBehind = 8 << 10;

}  // namespace

ThreadLocals::ThreadLocals(Mirror& memory, const PythonLayout& layout, Address runtime) {
  each_interpreter(memory, layout, runtime, [&](Address interpreter) {
    each_thread(memory, layout, interpreter, [&](Address thread) {
      // pthread_self() precedes the kernel's number; in glibc it is the address of the control block.
      const Address id = thread + layout.thread_native_id;
      add(memory, memory.word(id - 8), memory.word(id));
    });
  });
  add_of_stacks(memory);
}

/// glibc has the control block of a thread at the end of the mapping of its stack.
void ThreadLocals::add_of_stacks(Mirror& memory) {
  const std::vector<Region>& regions = memory.source().regions();
  for (std::size_t i = 1; i < regions.size(); ++i) {
    const Region &guard = regions[i - 1], &stack = regions[i];
    if (guard.readable || guard.end != stack.begin || !stack.writable || !stack.path.empty()) continue;
    const Address from = std::max(stack.begin, stack.end - std::min(stack.end, kMostBehind));
    for (Address control = (from + kAligned - 1) / kAligned * kAligned; control + kNumber + 4 <= stack.end;
         control += kAligned) {
      if (memory.word(control) == control) add(memory, control, memory.value<std::uint32_t>(control + kNumber));
    }
  }
}

void ThreadLocals::add(Mirror& memory, Address control, std::uint64_t id) {
  const bool is_known = std::ranges::find(threads_, id, &Thread::id) != threads_.end();
  if (is_known || !arch::kVariablesBeforeThread || memory.word(control) != control ||
      memory.word(control + kSelf) != control)
    return;
  Thread thread{id, {}};
  const Address table = memory.word(control + kTable);
  const Address modules = memory.word(table - kEntry);  // the capacity of the table
  if (modules <= kMostModules) {
    thread.variables.push_back({table, table + (modules + 1) * kEntry});
    Address lowest = control;
    for (Address i = 1; i <= modules; ++i) {
      const Address block = memory.word(table + i * kEntry);
      if (block < control && control - block < kMostBefore) lowest = std::min(lowest, block);
    }
    thread.variables.push_back({lowest, control});
  }
  threads_.push_back(std::move(thread));
}

std::optional<std::string> ThreadLocals::at(Address address) const {
  for (const Thread& thread : threads_) {
    const auto covers = [&](const Range& range) { return range.begin <= address && address < range.end; };
    if (std::ranges::any_of(thread.variables, covers)) {
      return fmt::format("thread {}: thread_local", thread.id);
    }
  }
  return std::nullopt;
}

}  // namespace dcmt::scan
