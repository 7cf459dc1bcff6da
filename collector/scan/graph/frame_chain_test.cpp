#include "collector/scan/graph/frame_chain.h"

#include <gtest/gtest.h>

#include "collector/scan/testing/changing_process.h"

namespace dcmt::scan {
namespace {

constexpr std::int64_t kPython311 = 0x30B;
constexpr Address kPage = 4096, kBase = 0x100000;
constexpr Address kMeta = kBase, kType = kBase + kPage, kNames = kBase + 2 * kPage, kCode = kBase + 3 * kPage,
                  kThread = kBase + 4 * kPage, kCStack = kBase + 5 * kPage, kOuter = kBase + 6 * kPage,
                  kInner = kBase + 7 * kPage, kCoroutineType = kBase + 8 * kPage, kCoroutine = kBase + 9 * kPage;

class FrameChainTest : public ::testing::Test {
 protected:
  FrameChainTest() {
    const PythonLayout& layout = types_.python;
    type(kMeta, kNames, std::uint64_t{1} << kTypeBit);
    process_.set(kNames, 0x65707974);  // "type"
    type(kType, kNames + 16, 0);
    process_.set(kNames + 16, 0x65646F63);  // "code"
    object(kCode, kType);
    process_.set(kThread + layout.thread_cframe, kCStack);
    frame(kOuter, 0);
    frame(kInner, kOuter);
    runs(kInner);
  }

  void object(Address at, Address type) {
    process_.set(at, 1);
    process_.set(at + 8, type);
  }
  void type(Address at, Address name, std::uint64_t flags) {
    object(at, kMeta);
    process_.set(at + types_.python.tp_name, name);
    process_.set(at + types_.python.tp_basicsize, 64);
    process_.set(at + types_.python.tp_flags, flags);
  }
  void frame(Address at, Address previous) {
    process_.set(at + types_.python.frame_code, kCode);
    process_.set(at + types_.python.frame_previous, previous);
  }
  /// Makes the thread's C stack lead to this frame.
  void runs(Address frame) { process_.set(kCStack + types_.python.thread_frame, frame); }

  ProcessTypes types_{*python_layout(kPython311), {}};
  testing::ChangingProcess process_{kBase, 16 * kPage};
  Mirror memory_{process_};
};

TEST_F(FrameChainTest, FramesAreListedFromTheInnermost) {
  EXPECT_EQ(frames_of(kThread, memory_, types_), (std::vector<Address>{kInner, kOuter}));
}

TEST_F(FrameChainTest, WhatWasReadBeforeIsReadAgain) {
  EXPECT_EQ(memory_.word(kCStack + types_.python.thread_frame), kInner);
  runs(kOuter);
  EXPECT_EQ(frames_of(kThread, memory_, types_), std::vector<Address>{kOuter});
}

TEST_F(FrameChainTest, AFunctionThatReturnsMeanwhileDoesNotHideItsCallers) {
  // Before it is read, the C function returns, and other functions write to its stack.
  int reads = 0;
  process_.before_read = [&](Address from) {
    if (from != kCStack + types_.python.thread_frame) return;
    runs(++reads == 1 ? 0x1234 : kOuter);
  };
  EXPECT_EQ(frames_of(kThread, memory_, types_), std::vector<Address>{kOuter});
}

TEST_F(FrameChainTest, ACoroutineThatIsSuspendedMeanwhileDoesNotHideItsCallers) {
  type(kCoroutineType, kNames + 32, 0);
  process_.set(kNames + 32, 0x6E6974756F726F63);  // "coroutin"
  process_.set(kNames + 40, 0x65);                // "e"
  object(kCoroutine, kCoroutineType);
  const Address running = kCoroutine + static_cast<Address>(types_.python.generator_frame);
  int reads = 0;
  process_.before_read = [&](Address from) {
    if (from != kCStack + types_.python.thread_frame) return;
    runs(++reads == 2 ? kInner : running);
    frame(running, 0);
  };
  EXPECT_EQ(frames_of(kThread, memory_, types_), (std::vector<Address>{kInner, kOuter}));
}

TEST_F(FrameChainTest, OfAChainThatStaysBrokenWhatCanBeReadCounts) {
  frame(kInner, 0xDEAD0000);
  EXPECT_EQ(frames_of(kThread, memory_, types_), std::vector<Address>{kInner});
}

TEST_F(FrameChainTest, AThreadThatRunsNoPythonHasNoFrames) {
  runs(0);
  EXPECT_EQ(frames_of(kThread, memory_, types_), std::vector<Address>{});
}

}  // namespace
}  // namespace dcmt::scan
