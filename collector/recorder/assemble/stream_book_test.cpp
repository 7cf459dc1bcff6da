#include "collector/recorder/assemble/stream_book.h"

#include <gtest/gtest.h>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;
using wire::StreamCall;

constexpr std::uint64_t kSide = 0x5000, kEvent = 0x7000;
constexpr const char* kCalls =
    "SELECT c.id, kind, stream, blocks, event, s.text FROM stream_call c LEFT JOIN string s ON s.id = c.name "
    "ORDER BY c.id";

class StreamBookTest : public testing::AssemblerFixture {};

TEST_F(StreamBookTest, ACallUsesTheBlocksThatWereAliveThen) {
  TestStream s;
  s.reserved(3000, true);
  const auto first = s.cuda_alloc(0x10000, 100);
  const auto second = s.cuda_alloc(0x20000, 100);
  s.alloc(0x30000, 100);  // of the CPU
  const auto call = s.stream_call(StreamCall::kKernel, kSide, 0, "_Z5scalePf", {0x10000, 0x10063, 0x10064, 0x30000});
  s.cuda_free(0x10000);
  const auto copy = s.stream_call(StreamCall::kCopy, 0, 0, "cuMemcpyAsync", {0x10000, 0x20010}, wire::kStreamBlocks);
  s.stream_call(StreamCall::kFill, 0, 0, "cuMemsetD8Async", {0x10000});
  Database db = record(s);
  EXPECT_EQ(rows(db, kCalls),
            (Rows{row(call, "kernel", 1, 0, "-", "scale(float*)"), row(copy, "copy", 0, 1, "-", "cuMemcpyAsync")}))
      << "the fill uses no block";
  EXPECT_EQ(rows(db, "SELECT call, block FROM stream_use ORDER BY call, block"),
            (Rows{row(call, first), row(copy, second)}));
}

TEST_F(StreamBookTest, WhatOrdersWorkIsKept) {
  TestStream s;
  std::vector<std::string> expected;
  constexpr StreamCall kOrdering[] = {StreamCall::kEventRecord, StreamCall::kWaitEvent, StreamCall::kEventDone,
                                      StreamCall::kStreamDone,  StreamCall::kAllDone,   StreamCall::kCaptureBegins,
                                      StreamCall::kCaptureEnds};
  constexpr const char* kKinds[] = {"record",   "wait",           "event done",  "stream done",
                                    "all done", "capture begins", "capture ends"};
  for (std::size_t i = 0; i < std::size(kOrdering); ++i) {
    expected.push_back(row(s.stream_call(kOrdering[i], kSide, kEvent, {}, {}), kKinds[i], 1, 0, kEvent, "-"));
  }
  Database db = record(s);
  EXPECT_EQ(rows(db, kCalls), expected);
}

TEST_F(StreamBookTest, AnUnknownKindIsABadRecord) {
  TestStream s;
  s.stream_call(static_cast<StreamCall>(11), kSide, kEvent, {}, {});
  Database db = record(s);
  EXPECT_EQ(rows(db, kCalls), Rows{});
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), Rows{"1"});
}

}  // namespace
}  // namespace dcmt::recorder
