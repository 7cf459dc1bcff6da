// Whether the model can predict a run whose allocator could not always get the same. Events by hand.
#include "analyzer/allocator/model_run.h"

#include <gtest/gtest.h>

#include <deque>

#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

using EventKind = AllocatorEvent::Kind;

class EventsOf {
 public:
  const Block* take(std::int64_t mib, bool reserves = true) {
    if (reserves) add(EventKind::kReserved, mib).pools = {0};
    AllocatorEvent& event = add(EventKind::kRequest, mib);
    event.block = &blocks_.emplace_back();
    event.address = next_;
    requests_.addresses.saw(next_, mib * kMiB);
    next_ += mib * kMiB;
    return event.block;
  }
  void free(const Block* block) { add(EventKind::kFree, 0).block = block; }
  void gives_back(std::int64_t mib) { add(EventKind::kReleased, mib).pools = {0}; }
  void refused(std::int64_t mib) { add(EventKind::kRefused, mib).bytes = 0; }

  AllocatorRequests& requests() { return requests_; }

 private:
  AllocatorEvent& add(EventKind kind, std::int64_t mib) {
    AllocatorEvent& event = requests_.events.emplace_back();
    event.seq = Sequence(static_cast<std::int64_t>(requests_.events.size()));
    event.kind = kind;
    event.bytes = mib * kMiB;
    event.request.bytes = mib * kMiB;
    return event;
  }

  AllocatorRequests requests_;
  std::deque<Block> blocks_;
  std::int64_t next_ = std::int64_t{1} << 40;
};

TEST(ModelledRun, WithOneLimitIsPredicted) {
  EventsOf run;
  run.free(run.take(300));
  run.take(400);
  run.refused(2000);
  const ModelledRun modelled_run = modelled(run.requests());
  EXPECT_TRUE(modelled_run.can_predict()) << modelled_run.why_not;
  EXPECT_EQ(modelled_run.check->given_back, 0);
}

TEST(ModelledRun, WhatIsRefusedThoughTheAllocatorHadMoreBeforeIsAChangedLimit) {
  EventsOf run;
  run.free(run.take(500));
  run.gives_back(500);
  run.refused(100);
  EXPECT_EQ(modelled(run.requests()).why_not,
            "what the allocator could get changed during the run: a request that needed 100.0 MiB in all was refused, "
            "and at another time it had 500.0 MiB");
}

TEST(ModelledRun, MoreThanTheLimitIsAChangedLimit) {
  EventsOf run;
  run.take(500);
  run.requests().settings.limit = 400 * kMiB;
  EXPECT_TRUE(modelled(run.requests()).why_not.starts_with("the limit of the process changed: it was 400.0 MiB"));
}

TEST(ModelledRun, ACacheThatIsGivenBackThoughThereWasRoomIsCounted) {
  EventsOf run;
  run.free(run.take(900));
  run.gives_back(900);
  run.free(run.take(100));
  run.gives_back(100);
  run.take(200);
  const ModelledRun modelled_run = modelled(run.requests());
  EXPECT_TRUE(modelled_run.can_predict()) << modelled_run.why_not;
  EXPECT_EQ(modelled_run.check->given_back, 1) << "900 MiB served what came next";
}

}  // namespace
}  // namespace dcmt::analyzer
