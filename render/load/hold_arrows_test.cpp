#include "render/load/hold_arrows.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"
#include "render/load/session.h"

namespace dcmt::load {
namespace {

using testing::TestTrace;

TEST(HoldArrows, OfTheSelectionAlone) {
  TestTrace trace;
  const auto held = [&](const std::string& path) {
    const auto handle = trace.allocate(1 << 20);
    trace.held(handle, {.path = path, .otherwise = true});
    return StorageId(static_cast<std::int64_t>(handle) + 1);
  };
  const StorageId loss = held("main.losses[0]");
  const StorageId saved = held("main.losses[0].grad_fn MulBackward0._saved_self");
  held("main.model.weight");
  held("main.model.weight.grad");
  const auto session = open_session(trace.save());
  ASSERT_TRUE(session.ok());
  const DeviceTimeline& device = *(*session)->devices.front();
  for (const StorageId selected : {loss, saved}) {
    const auto arrows = hold_arrows(device, (*session)->holds, {*device.lifetime_of(selected)});
    ASSERT_EQ(arrows.size(), 1U);
    EXPECT_EQ(device.block_of(arrows[0].holder).storage, loss);
    EXPECT_EQ(device.block_of(arrows[0].held).storage, saved);
    EXPECT_LT(arrows[0].at, device.recording().units());
  }
  EXPECT_TRUE(hold_arrows(device, (*session)->holds, {}).empty());
}

}  // namespace
}  // namespace dcmt::load
