#include "analyzer/growth/growth.h"

#include <gtest/gtest.h>

#include <utility>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

TEST(HeldStorages, APartIsOfSeveralHoldersTogether) {
  testing::TestTrace trace;
  const StorageId one = trace.storage_id(trace.allocate(100)), both = trace.storage_id(trace.allocate(300)),
                  other = trace.storage_id(trace.allocate(200));
  const TraceData data = trace.load();
  const auto add = [&](HeldStorages& held, StorageId id, bool alone) {
    const Storage& storage = *data.storages.find(id);
    held.add(storage, {.storage = id, .bytes = storage.bytes, .needed_until = {}, .frees = true, .alone = alone});
  };
  HeldStorages first, second;
  add(first, one, true);
  add(first, both, false);
  add(second, both, false);
  add(second, other, true);
  EXPECT_EQ(first.shared_part(), 0);
  first.add(data, std::move(second));
  EXPECT_EQ(first.bytes(), Bytes(600));
  EXPECT_EQ(first.shared_part(), 0.5);
}

}  // namespace
}  // namespace dcmt::analyzer
