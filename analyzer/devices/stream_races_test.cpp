#include "analyzer/devices/stream_races.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/gpu_trace.h"

namespace dcmt::analyzer {
namespace {

using Handle = testing::TestTrace::Handle;
using Pairs = std::set<std::pair<std::int64_t, std::int64_t>>;

/// A random program that makes calls and blocks, and what follows from the definition: every call is a node, its
/// predecessors are those that CUDA's manual names, and one use comes before another if there is a path.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    streams_ = 2 + pick(3);
    for (int i = 0; i < streams_; ++i) blocking_.push_back(i == 0 || pick(4) == 0);
    for (int i = 0; i < 60; ++i) step();
    for (std::size_t i = 0; i < blocks_.size(); ++i) data.blocks.push_back(blocks_[i].row);
  }

  TraceData data;

  /// Pairs of blocks, by the definition.
  [[nodiscard]] Pairs races() const {
    Pairs pairs;
    for (std::size_t next = 0; next < blocks_.size(); ++next) {
      for (std::int64_t at = blocks_[next].begin; at < blocks_[next].end; ++at) {
        const std::optional<std::size_t> former = last_user(at, next);
        if (!former) continue;
        for (const std::size_t earlier : blocks_[*former].uses) {
          for (const std::size_t later : blocks_[next].uses) {
            if (!has_path(earlier, later)) pairs.emplace(id(*former), id(next));
          }
        }
      }
    }
    return pairs;
  }

 private:
  struct Life {
    Block row;
    std::int64_t begin, end;
    std::vector<std::size_t> uses;  ///< nodes
  };

  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  [[nodiscard]] std::int64_t id(std::size_t block) const { return blocks_[block].row.id.value; }

  void step() {
    switch (pick(10)) {
      case 0:
      case 1:
        return allocate();
      case 2:
      case 3:
        return free();
      case 4: {
        const int stream = pick(streams_);
        const int event = pick(3) + 1;
        recorded_[event] = on_stream(StreamCallKind::kRecord, stream, event);
        return;
      }
      case 5: {
        const int event = pick(3) + 1;
        const std::size_t node = on_stream(StreamCallKind::kWait, pick(streams_), event);
        if (recorded_.contains(event)) before_[node].push_back(recorded_.at(event));
        return;
      }
      case 6:
        return host();
      default:
        return use();
    }
  }

  void allocate() {
    const std::int64_t begin = pick(8);
    const std::int64_t end = begin + 1 + pick(3);
    for (const Life& life : blocks_) {
      if (!life.row.span.ended() && life.begin < end && begin < life.end) return;
    }
    Life life{{}, begin, end, {}};
    life.row.id = BlockId(++seq_);
    life.row.bytes = Bytes(end - begin);
    life.row.stream = pick(streams_);
    life.row.span.from_seq = Sequence(seq_);
    blocks_.push_back(life);
    data.streams.blocks.push_back({life.row.id, 0, begin});
  }
  void free() {
    if (blocks_.empty()) return;
    Life& life = blocks_[static_cast<std::size_t>(pick(static_cast<int>(blocks_.size())))];
    if (life.row.span.ended()) return;
    life.row.span.to_seq = Sequence(++seq_);
    life.row.span.to_ns = TimeNs(1);
  }
  void use() {
    std::vector<std::size_t> alive;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (!blocks_[i].row.span.ended()) alive.push_back(i);
    }
    const std::size_t node = on_stream(StreamCallKind::kWork, pick(streams_), 0);
    for (const std::size_t i : alive) {
      if (pick(2) == 0) continue;
      blocks_[i].uses.push_back(node);
      data.streams.uses.push_back({Sequence(seq_), blocks_[i].row.id});
    }
  }

  std::size_t node(StreamCallKind kind, int stream, std::int64_t event) {
    StreamCall call;
    call.seq = Sequence(++seq_);
    call.kind = kind;
    call.stream = stream;
    call.blocks = blocking_[static_cast<std::size_t>(stream)];
    call.event = event;
    data.streams.calls.push_back(call);
    before_.emplace_back();
    return before_.size() - 1;
  }
  std::size_t on_stream(StreamCallKind kind, int stream, std::int64_t event) {
    const std::size_t node = this->node(kind, stream, event);
    if (host_) before_[node].push_back(*host_);
    for (const auto& [other, last] : last_) {
      const bool one_is_default = stream == 0 || other == 0;
      const bool both_block = blocking_[static_cast<std::size_t>(stream)] && blocking_[static_cast<std::size_t>(other)];
      if (other == stream || (one_is_default && both_block)) before_[node].push_back(last);
    }
    last_[stream] = node;
    return node;
  }
  void host() {
    const int kind = pick(4);
    if (kind == 0) {
      const int event = pick(3) + 1;
      host_waits_for(node(StreamCallKind::kEventDone, 0, event),
                     recorded_.contains(event) ? std::vector{recorded_.at(event)} : std::vector<std::size_t>{});
    } else if (kind < 3) {
      const std::size_t node = on_stream(StreamCallKind::kStreamDone, pick(streams_), 0);
      host_waits_for(node, {});
    } else {
      std::vector<std::size_t> all;
      for (const auto& [stream, last] : last_) all.push_back(last);
      host_waits_for(node(StreamCallKind::kAllDone, 0, 0), all);
    }
  }
  void host_waits_for(std::size_t node, const std::vector<std::size_t>& nodes) {
    before_[node].insert(before_[node].end(), nodes.begin(), nodes.end());
    if (host_) before_[node].push_back(*host_);
    host_ = node;
  }

  [[nodiscard]] bool has_path(std::size_t from, std::size_t to) const {
    if (from == to) return true;
    std::vector<bool> seen(before_.size());
    std::vector<std::size_t> open{to};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t before : before_[at]) {
        if (before == from) return true;
        if (!seen[before]) open.push_back(before);
        seen[before] = true;
      }
    }
    return false;
  }

  /// The last block with uses that had the address before `next`.
  [[nodiscard]] std::optional<std::size_t> last_user(std::int64_t at, std::size_t next) const {
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < next; ++i) {
      if (blocks_[i].begin <= at && at < blocks_[i].end && !blocks_[i].uses.empty()) last = i;
    }
    return last;
  }

  std::mt19937 random_;
  int streams_ = 0;
  std::vector<bool> blocking_;
  std::int64_t seq_ = 0;
  std::vector<Life> blocks_;  ///< by birth
  std::vector<std::vector<std::size_t>> before_;
  std::map<int, std::size_t> last_, recorded_;
  std::optional<std::size_t> host_;
};

TEST(StreamRaces, AreThoseOfTheDefinition) {
  std::size_t races = 0;
  std::size_t without = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const RandomProgram program(seed);
    Pairs found;
    for (const StreamRace& race : stream_races(program.data).races) {
      found.emplace(race.block->id.value, race.next->id.value);
    }
    const Pairs expected = program.races();
    ASSERT_EQ(found, expected) << "seed " << seed;
    races += expected.size();
    if (expected.empty()) ++without;
  }
  EXPECT_GT(races, 1000u);
  EXPECT_GT(without, 100u);
}

constexpr std::int64_t kMain = 0, kSide = 1, kOther = 2;
constexpr std::int64_t kEvent = 0x7000;

/// A block of the default stream that the side stream uses, and its next owner there.
class ReusedInFlightTest : public ::testing::Test {
 protected:
  Handle allocate(std::int64_t line, std::int64_t on = kMain) { return trace.at(line, on, 64); }
  void call(std::string_view kind, std::int64_t stream, std::int64_t event = 0) {
    trace.stream_call({.kind = kind, .stream = stream, .event = event});
  }
  void use(std::int64_t line, std::int64_t stream, Handle block, std::string_view kind = "kernel") {
    trace.stack = {{"/home/user/train.py", "main", line}};
    trace.stream_call({.kind = kind, .stream = stream, .uses = {block}, .name = "void scale<float>(float*)"});
  }
  Handle used_on_side() {
    const Handle block = allocate(1);
    use(2, kMain, block);
    call("record", kMain, kEvent);
    call("wait", kSide, kEvent);
    use(3, kSide, block);
    return block;
  }
  void free(Handle block) {
    trace.stack = {{"/home/user/train.py", "main", 4}};
    trace.drop(block);
  }
  Handle next(Handle block, std::int64_t line = 5) {
    trace.reuse(block);
    return allocate(line);
  }
  std::vector<Finding> findings() {
    trace.allocator_peaks(64, 64);
    data = trace.load();
    return analyze(data).findings;
  }

  testing::GpuTrace trace;
  TraceData data;
};

TEST_F(ReusedInFlightTest, HasBothBlocksWithTheirUses) {
  const Handle block = used_on_side();
  free(block);
  use(6, kMain, next(block));
  const std::vector<Finding> found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "reused_in_flight");
  EXPECT_EQ(found[0].classes, std::vector<std::string>{"D25"});
  EXPECT_EQ(found[0].confidence, Confidence::kPartial) << "a kernel need not use what it gets";
  EXPECT_EQ(found[0].bytes, Bytes(64));
  const ReusedInFlight& reused = *found[0].in_flight;
  EXPECT_EQ(reused.missing, "record_stream");
  EXPECT_EQ(reused.times, 1);
  EXPECT_EQ(reused.allocated.site, "user/train.py:1 main");
  EXPECT_EQ(reused.allocated.stream, kMain);
  EXPECT_EQ(reused.used.site, "user/train.py:3 main");
  EXPECT_EQ(reused.used.stream, kSide);
  EXPECT_EQ(reused.used.name, "void scale<float>(float*)");
  EXPECT_EQ(reused.freed.site, "user/train.py:4 main");
  EXPECT_EQ(reused.allocated_again.site, "user/train.py:5 main");
  EXPECT_EQ(reused.used_again.site, "user/train.py:6 main");
  EXPECT_EQ(found[0].identity.born, "record_stream in main (train.py)");
}

TEST_F(ReusedInFlightTest, IsCertainBetweenCopies) {
  const Handle block = allocate(1);
  use(3, kSide, block, "copy");
  free(block);
  use(6, kMain, next(block), "fill");
  const std::vector<Finding> found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, Confidence::kCertain);
}

TEST_F(ReusedInFlightTest, IsNoneIfTheMemoryHasNoNextUse) {
  const Handle block = used_on_side();
  free(block);
  next(block);
  EXPECT_TRUE(findings().empty());
}

TEST_F(ReusedInFlightTest, IsNoneIfItsOwnStreamWaits) {
  for (const bool before_the_free : {true, false}) {
    const Handle block = used_on_side();
    if (!before_the_free) free(block);
    call("record", kSide, kEvent + 1);
    call("wait", kMain, kEvent + 1);
    if (before_the_free) free(block);
    use(6, kMain, next(block));
  }
  EXPECT_TRUE(findings().empty());
}

TEST_F(ReusedInFlightTest, IsNoneIfTheHostWaits) {
  for (const std::string_view how : {"event done", "stream done", "all done"}) {
    const Handle block = used_on_side();
    call("record", kSide, kEvent + 1);
    call(how, kSide, kEvent + 1);
    free(block);
    use(6, kMain, next(block));
  }
  EXPECT_TRUE(findings().empty());
}

TEST_F(ReusedInFlightTest, IsOneIfTheEventWasRecordedTooEarlyOrElsewhere) {
  for (const bool elsewhere : {true, false}) {
    const Handle block = used_on_side();
    call("record", elsewhere ? kOther : kSide, kEvent + 1);
    use(3, kSide, block);
    call("wait", kMain, kEvent + 1);
    free(block);
    use(6, kMain, next(block));
  }
  const std::vector<Finding> found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].in_flight->times, 2);
}

TEST_F(ReusedInFlightTest, IsOneIfOnlyOneOfTwoStreamsIsWaitedFor) {
  const Handle block = used_on_side();
  use(7, kOther, block);
  call("record", kSide, kEvent + 1);
  call("wait", kMain, kEvent + 1);
  free(block);
  use(6, kMain, next(block));
  const std::vector<Finding> found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].in_flight->used.stream, kOther);
}

TEST_F(ReusedInFlightTest, LacksAWaitOfTheStreamThatUsesItNext) {
  const Handle block = allocate(1);
  use(2, kMain, block);
  free(block);
  use(6, kSide, next(block), "copy");
  const std::vector<Finding> found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].in_flight->missing, "wait_stream");
}

TEST_F(ReusedInFlightTest, IsNoneBetweenTheDefaultStreamAndOneThatBlocks) {
  const Handle block = allocate(1);
  trace.stream_call({.stream = kSide, .uses = {block}, .blocks = true});
  free(block);
  use(6, kMain, next(block));
  EXPECT_TRUE(findings().empty());
}

TEST_F(ReusedInFlightTest, IsNotJudgedWhereCallsAreMissing) {
  for (const bool lost : {true, false}) {
    const Handle block = used_on_side();
    free(block);
    lost ? trace.lose() : trace.launches(false, 1);
    use(6, kMain, next(block));
  }
  EXPECT_TRUE(findings().empty());
}

TEST_F(ReusedInFlightTest, IsNotJudgedInACapture) {
  call("capture begins", kMain);
  const Handle block = allocate(1);
  call("record", kMain, kEvent);
  call("wait", kSide, kEvent);
  use(3, kSide, block);
  free(block);
  const Handle again = next(block);
  use(6, kMain, again);
  call("capture ends", kMain);
  use(6, kOther, again);
  free(again);
  use(7, kMain, next(again));
  EXPECT_TRUE(findings().empty());
  EXPECT_EQ(stream_races(data).captured, 2);
}

}  // namespace
}  // namespace dcmt::analyzer
