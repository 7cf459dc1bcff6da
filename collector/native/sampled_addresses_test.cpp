#include "collector/native/sampled_addresses.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace dcmt::native_provider {
namespace {

class SampledAddressesTest : public ::testing::Test {
 protected:
  SampledAddressesTest() { addresses_.use(memory_.get()); }
  static void* address(std::uint64_t number) { return reinterpret_cast<void*>(0x7f0000000000 + 16 * number); }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_{std::calloc(1, SampledAddresses::kBytes)};
  SampledAddresses addresses_;
};

TEST_F(SampledAddressesTest, WhatIsAddedIsThereUntilItIsRemoved) {
  for (std::uint64_t i = 0; i < 40'000; ++i) ASSERT_TRUE(addresses_.add(address(i)));
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    ASSERT_TRUE(addresses_.may_have(address(i)));
    ASSERT_TRUE(addresses_.remove(address(i)));
    ASSERT_FALSE(addresses_.remove(address(i)));
  }
  for (std::uint64_t i = 0; i < 40'000; ++i) ASSERT_FALSE(addresses_.may_have(address(i)));
}

TEST_F(SampledAddressesTest, FewOtherAddressesLookAsIfTheyWereThere) {
  for (std::uint64_t i = 0; i < 10'000; ++i) addresses_.add(address(7 * i));
  int maybe = 0, wrong = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    if (i % 7 == 0) continue;
    maybe += addresses_.may_have(address(i)) ? 1 : 0;
    wrong += addresses_.remove(address(i)) ? 1 : 0;
  }
  EXPECT_LT(maybe, 1'000);
  EXPECT_EQ(wrong, 0);
}

TEST_F(SampledAddressesTest, AFullGroupRefusesAndLosesNothing) {
  std::vector<void*> added;
  std::uint64_t next = 0;
  while (addresses_.add(address(next))) added.push_back(address(next++));
  EXPECT_GT(added.size(), SampledAddresses::kGroups);
  for (void* each : added) ASSERT_TRUE(addresses_.remove(each));
}

TEST_F(SampledAddressesTest, ThreadsDoNotLoseEachOthersAddresses) {
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (std::uint64_t round = 0; round < 20; ++round) {
        for (std::uint64_t i = 0; i < 2'000; ++i) ASSERT_TRUE(addresses_.add(address(4 * i + thread)));
        for (std::uint64_t i = 0; i < 2'000; ++i) ASSERT_TRUE(addresses_.remove(address(4 * i + thread)));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (std::uint64_t i = 0; i < 8'000; ++i) ASSERT_FALSE(addresses_.may_have(address(i)));
}

}  // namespace
}  // namespace dcmt::native_provider
