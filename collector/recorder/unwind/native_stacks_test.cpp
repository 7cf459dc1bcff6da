#include "collector/recorder/unwind/native_stacks.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace dcmt::recorder {
namespace {

void add_loaded_objects(NativeStacks& stacks) {
  const auto visit = [](dl_phdr_info* info, std::size_t, void* to) {
    char program[4096] = {};
    const bool is_program = info->dlpi_name == nullptr || *info->dlpi_name == '\0';
    if (is_program && readlink("/proc/self/exe", program, sizeof program - 1) < 0) return 0;
    static_cast<NativeStacks*>(to)->add_object(info->dlpi_addr, is_program ? program : info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(visit, &stacks);
}

struct Captured {
  wire::StackRegisters registers{};
  std::string stack;
  std::vector<void*> expected;  ///< as the C library unwinds
};

__attribute__((noinline)) void capture(Captured& out, std::size_t bytes) {
  out.expected.resize(64);
  out.expected.resize(static_cast<std::size_t>(backtrace(out.expected.data(), 64)));
  asm volatile(
      "leaq 0(%%rip), %%rax\n\tmovq %%rax, 0(%0)\n\tmovq %%rsp, 8(%0)\n\tmovq %%rbp, 16(%0)\n\tmovq %%rbx, 24(%0)\n\t"
      "movq %%r12, 32(%0)\n\tmovq %%r13, 40(%0)\n\tmovq %%r14, 48(%0)\n\tmovq %%r15, 56(%0)"
      :
      : "r"(&out.registers)
      : "rax", "memory");
  out.stack.assign(reinterpret_cast<const char*>(out.registers.rsp), bytes);
}

/// Frames of several kinds: with a frame pointer, for a variable number of bytes, and through the C library.
__attribute__((noinline)) int deep(Captured& out, int left) {
  if (left == 0) {
    capture(out, 4096);
    return 1;
  }
  auto* room = static_cast<volatile char*>(__builtin_alloca(static_cast<std::size_t>(left) * 16));
  room[0] = 1;
  return deep(out, left - 1) + room[0];
}

int compare(const void* a, const void* b, void* context) {
  auto& out = *static_cast<Captured*>(context);
  if (out.stack.empty()) deep(out, 5);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

TEST(NativeStacks, TheStackIsTheOneThatTheCLibraryUnwinds) {
  NativeStacks stacks;
  add_loaded_objects(stacks);
  Captured captured;
  int numbers[] = {3, 1, 2};
  qsort_r(numbers, 3, sizeof numbers[0], compare, &captured);
  const std::vector<std::uint64_t> calls = stacks.walk(captured.registers, captured.stack);
  // The innermost one is the place of each capture itself, which differs.
  ASSERT_GE(calls.size(), 10U);
  for (std::size_t i = 1; i < std::min(calls.size(), captured.expected.size()); ++i) {
    EXPECT_EQ(calls[i] + 1, reinterpret_cast<std::uint64_t>(captured.expected[i])) << "frame " << i;
  }
  const UnwoundFrame inner = stacks.name(calls[1]);
  EXPECT_NE(inner.function.find("deep("), std::string::npos) << inner.function;
  EXPECT_TRUE(inner.file.ends_with("native_stacks_test.cpp")) << inner.file;
  EXPECT_NEAR(static_cast<double>(inner.line), 50, 8);
  const auto is_sort = [&](std::uint64_t call) { return stacks.name(call).function.starts_with("qsort"); };
  EXPECT_TRUE(std::ranges::any_of(calls, is_sort));
}

TEST(NativeStacks, ACopyThatEndsEarlyEndsTheStack) {
  NativeStacks stacks;
  add_loaded_objects(stacks);
  Captured captured;
  deep(captured, 8);
  const std::size_t whole = stacks.walk(captured.registers, captured.stack).size();
  const std::size_t part = stacks.walk(captured.registers, captured.stack.substr(0, 256)).size();
  EXPECT_GE(part, 1U);
  EXPECT_LT(part, whole);
  EXPECT_EQ(stacks.walk(captured.registers, {}).size(), 1U);
}

TEST(NativeStacks, WithoutObjectsThereIsNoStack) {
  NativeStacks stacks;
  Captured captured;
  deep(captured, 1);
  EXPECT_TRUE(stacks.walk(captured.registers, captured.stack).empty());
  stacks.add_object(0x1000, "/does/not/exist");
  EXPECT_TRUE(stacks.name(0x1100).object.empty());
}

TEST(NativeStacks, AnObjectAtTheSameAddressesReplacesTheOneBefore) {
  NativeStacks stacks;
  stacks.add_object(0x7f0000000000, "/proc/self/exe");
  EXPECT_EQ(stacks.name(0x7f0000001000).object, "/proc/self/exe");
  char program[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", program, sizeof program - 1), 0);
  stacks.add_object(0x7f0000000000, program);
  EXPECT_EQ(stacks.name(0x7f0000001000).object, program);
}

}  // namespace
}  // namespace dcmt::recorder
