#include "collector/scan/agreement.h"

#include <gtest/gtest.h>

namespace dcmt::scan {
namespace {

Census with(std::vector<Holder> holders, Address data = 0x2000) {
  Census census;
  HeldStorage& storage = census.storages.emplace_back();
  storage.storage = 0x1000;
  storage.data = data;
  storage.bytes = 4096;
  storage.holders = std::move(holders);
  return census;
}

Holder confirmed_holder(const std::string& path, bool rooted) {
  Holder holder;
  holder.path = path;
  holder.confirmed = true;
  holder.rooted = rooted;
  return holder;
}

const Holder kVariable = confirmed_holder("main.kept", true);
const Holder kCycle = confirmed_holder("cycle Node.me → Node", false);
const Holder kOther = confirmed_holder("cycle Box.me → Box", false);

std::vector<std::string> confirmed(const Census& census) {
  std::vector<std::string> paths;
  for (const Holder& holder : census.storages.front().holders) {
    if (holder.confirmed) paths.push_back(holder.path);
  }
  return paths;
}

TEST(Agreement, RootedHoldersNeedNoOtherPass) {
  Census census = with({kVariable, kCycle});
  keep_agreed(census, with({}));
  EXPECT_EQ(confirmed(census), std::vector<std::string>{kVariable.path});
}

TEST(Agreement, ACycleThatBothPassesFoundStays) {
  Census census = with({kOther, kCycle});
  keep_agreed(census, with({kCycle}));
  EXPECT_EQ(confirmed(census), std::vector<std::string>{kCycle.path});
  EXPECT_TRUE(census.storages.front().holders.front().confirmed) << "confirmed holders come first";
}

TEST(Agreement, AnotherStorageAtTheAddressIsNoAgreement) {
  Census census = with({kCycle});
  keep_agreed(census, with({kCycle}, 0x3000));
  EXPECT_TRUE(confirmed(census).empty());
}

TEST(Agreement, NoneWhileTheCollectorRan) {
  for (const bool in_earlier : {false, true}) {
    Census census = with({kCycle});
    Census earlier = with({kCycle});
    (in_earlier ? earlier : census).collecting = true;
    keep_agreed(census, earlier);
    EXPECT_TRUE(confirmed(census).empty());
  }
}

}  // namespace
}  // namespace dcmt::scan
