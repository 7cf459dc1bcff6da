#include "collector/agent/cpp_stacks.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collector/agent/code_objects.h"
#include "collector/agent/provider.h"
#include "collector/agent/testing/test_spool.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::agent {
namespace {

struct Walked {
  std::uint64_t id = 0;
  std::vector<std::uint64_t> expected;  ///< return addresses in this program, as the C library unwinds
};

std::uint64_t base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? reinterpret_cast<std::uint64_t>(info.dli_fbase) : 0;
}

__attribute__((noinline)) void walk(Walked& out) {
  void* returns[64];
  const int count = backtrace(returns, 64);
  const std::uint64_t own = base_of(reinterpret_cast<const void*>(&base_of));
  out.expected.clear();
  for (int i = 0; i < count; ++i) {
    if (base_of(returns[i]) == own) out.expected.push_back(reinterpret_cast<std::uint64_t>(returns[i]) - own);
  }
  const Inside inside;
  out.id = cpp_stack(code_point_here());
}

/// Frames of several kinds: with a frame pointer, for a variable number of bytes, aligned, and through the C library.
__attribute__((noinline)) int deep(Walked& out, int left) {
  if (left == 0) {
    walk(out);
    return 1;
  }
  alignas(64) volatile char aligned[64] = {};
  auto* room = static_cast<volatile char*>(__builtin_alloca(static_cast<std::size_t>(left) * 16));
  room[0] = 1;
  return deep(out, left - 1) + room[0] + aligned[3];
}

int compare(const void* a, const void* b, void* context) {
  deep(*static_cast<Walked*>(context), 5);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

/// The stacks that were published, by their ids.
std::map<std::uint64_t, std::vector<std::uint64_t>> published() {
  std::map<std::uint64_t, std::vector<std::uint64_t>> stacks;
  while (test_spool().read() != 0) {
    for (spool::SequencedRecord r = test_spool().next(); r.header != nullptr; r = test_spool().next()) {
      if (r.header->type != wire::RecordType::kNativeStack) continue;
      const auto* stack = reinterpret_cast<const wire::NativeStackRecord*>(r.header);
      const auto* frames = reinterpret_cast<const wire::ReturnAddress*>(stack + 1);
      for (std::uint64_t i = 0; i < stack->count; ++i) stacks[stack->id].push_back(frames[i].offset);
    }
    test_spool().give_back();
  }
  return stacks;
}

class CppStacks : public testing::Test {
 protected:
  void SetUp() override {
    test_spool();
    const Inside inside;
    begin_cpp_stacks();
  }
  void TearDown() override {
    end_cpp_stacks();
    published();
  }
};

TEST_F(CppStacks, TheFramesOfTheProgramAreThoseThatTheCLibraryUnwinds) {
  Walked walked;
  int numbers[] = {2, 1};
  qsort_r(numbers, 2, sizeof numbers[0], compare, &walked);
  const auto stacks = published();
  ASSERT_TRUE(stacks.contains(walked.id));
  const std::vector<std::uint64_t>& frames = stacks.at(walked.id);
  ASSERT_GE(frames.size(), 9U);
  ASSERT_EQ(frames.size(), walked.expected.size());
  // The innermost one is the place of each walk itself, which differs.
  for (std::size_t i = 1; i < frames.size(); ++i) EXPECT_EQ(frames[i], walked.expected[i]) << "frame " << i;
}

TEST_F(CppStacks, AStackIsPublishedOnce) {
  std::map<int, std::uint64_t> ids;
  for (int round = 0; round < 3; ++round) {
    Walked walked;
    deep(walked, 2);
    ids[round] = walked.id;
  }
  EXPECT_EQ(ids[1], ids[2]);
  EXPECT_LE(published().size(), 3U);
  Walked other;
  deep(other, 3);
  EXPECT_NE(other.id, ids[1]);
}

TEST_F(CppStacks, AThreadHasAStackOfItsOwn) {
  Walked walked;
  std::thread([&] { deep(walked, 1); }).join();
  EXPECT_NE(walked.id, 0U);
  EXPECT_GE(published()[walked.id].size(), 3U);
}

TEST_F(CppStacks, AStackOfAllObjectsHasTheCLibraryToo) {
  std::uint64_t id = 0;
  int numbers[] = {2, 1};
  const auto walk_all = [](const void*, const void*, void* context) {
    const Inside inside;
    *static_cast<std::uint64_t*>(context) = native_stack(code_point_here());
    return 0;
  };
  qsort_r(numbers, 2, sizeof numbers[0], walk_all, &id);
  Walked walked;
  deep(walked, 0);
  const auto stacks = published();
  ASSERT_TRUE(stacks.contains(id));
  EXPECT_GE(stacks.at(id).size(), stacks.at(walked.id).size()) << "without the three frames of the walk, with qsort";
}

TEST_F(CppStacks, OutsideOfCodeThereIsNone) {
  EXPECT_EQ(cpp_stack({0x10, 0x20, 0x30}), 0U);
  std::uint64_t word[4] = {};
  EXPECT_EQ(cpp_stack({reinterpret_cast<std::uint64_t>(word), reinterpret_cast<std::uint64_t>(word), 0}), 0U);
}

/// A frame that cannot be read ends the stack, and does not end the program.
TEST_F(CppStacks, AStackPointerThatLeadsNowhereEndsTheStack) {
  EXPECT_NE(cpp_stack({reinterpret_cast<std::uint64_t>(&walk) + 8, 0x1000, 0x1000}), 0U);
}

TEST_F(CppStacks, TheProgramIsKnownAndTheCLibraryIsNotIt) {
  const CodeObject* own = code_object_at(reinterpret_cast<std::uint64_t>(&walk));
  const CodeObject* c = code_object_at(reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "qsort")));
  ASSERT_TRUE(own != nullptr && c != nullptr);
  EXPECT_TRUE(own->is_program);
  EXPECT_FALSE(c->is_program);
}

TEST(CppStacksOff, WithoutABeginThereIsNone) {
  end_cpp_stacks();
  EXPECT_EQ(cpp_stack(code_point_here()), 0U);
  EXPECT_EQ(native_stack(code_point_here()), 0U);
}

}  // namespace
}  // namespace dcmt::agent
