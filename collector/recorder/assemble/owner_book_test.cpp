#include "collector/recorder/assemble/owner_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/testing/trace_fixture.h"

namespace dcmt::recorder {
namespace {

using Rows = std::vector<std::string>;

class OwnerBookTest : public testing::TraceFixture {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(TraceFixture::SetUp());
    Expected<PrivateState> state = PrivateState::create(writer_->database());
    ASSERT_TRUE(state.ok());
    journal_ = std::make_unique<Journal>(Journal{*writer_, std::move(*state), RowKeeper(*writer_, {})});
    owners_ = std::make_unique<OwnerBook>(*journal_);
  }
  void TearDown() override {
    owners_.reset();
    journal_.reset();
    TraceFixture::TearDown();
  }

  void now(std::int64_t seq, std::int64_t ns) { journal_->now = {seq, ns}; }

  static scan::HeldStorage held(std::uint64_t address, const std::string& path, bool rooted = true) {
    scan::HeldStorage storage;
    storage.storage = address;
    storage.bytes = 100'000;
    storage.holders.push_back({path, "train.py:1", true, rooted});
    return storage;
  }

  /// A reading that lasts from `from_ns` until `to_ns`.
  void end(std::int64_t from_ns, std::int64_t to_ns, std::vector<scan::HeldStorage> found) {
    MemoryReading reading;
    reading.from_ns = from_ns;
    reading.to_ns = to_ns;
    reading.found.storages = std::move(found);
    ASSERT_TRUE(owners_->end(reading).ok());
  }

  Rows rows(const std::string& sql) {
    Rows result;
    EXPECT_TRUE(each_row(writer_->database(), sql, [&](const Statement& row) {
                  result.push_back(std::to_string(row.integer(0)) + "|" + std::string(row.text(1)) + "|" +
                                   std::to_string(row.integer(2)) + "|" + std::to_string(row.integer(3)) + "|" +
                                   std::to_string(row.integer(4)));
                }).ok());
    return result;
  }
  Rows owners() {
    return rows(
        "SELECT storage, text, scan, last_scan, confirmed FROM owner JOIN string ON string.id = path ORDER BY"
        " owner.id");
  }

  std::unique_ptr<Journal> journal_;
  std::unique_ptr<OwnerBook> owners_;
};

TEST_F(OwnerBookTest, WhatLivedFromBeforeTheReadingUntilAfterItHasTheOwner) {
  now(10, 100);
  owners_->begin({{0xA0, 1}, {0xB0, 2}, {0xC0, 3}});
  now(11, 150);
  owners_->storage_ended(2);  // in the reading: whose address 0xB0 was when it was read is not known
  now(12, 250);
  owners_->storage_ended(3);  // after it
  end(100, 200, {held(0xA0, "main: a"), held(0xB0, "main: b"), held(0xC0, "main: c"), held(0xD0, "main: later")});
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|1|1", "3|main: c|1|1|1"}));
  EXPECT_EQ(rows("SELECT id, '', from_seq, storages, owned FROM scan"), (Rows{"1||10|2|2"}));
}

TEST_F(OwnerBookTest, AnOwnerThatIsFoundAgainIsOneRowWithALongerLife) {
  for (int scan = 1; scan <= 4; ++scan) {
    owners_->begin({{0xA0, 1}, {0xB0, 2}});
    std::vector<scan::HeldStorage> found{held(0xA0, "main: a")};
    if (scan != 2) found.push_back(held(0xB0, "main: b"));
    end(100, 200, std::move(found));
  }
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|4|1", "2|main: b|1|1|1", "2|main: b|3|4|1"}));
}

TEST_F(OwnerBookTest, ThatNoRootLeadsToAHolderHasToBeFoundTwice) {
  for (int scan = 1; scan <= 2; ++scan) {
    owners_->begin({{0xA0, 1}});
    end(100, 200, {held(0xA0, "cycle Node.next → Node", false)});
  }
  EXPECT_EQ(owners(), (Rows{"1|cycle Node.next → Node|1|1|0", "1|cycle Node.next → Node|2|2|1"}));
}

TEST_F(OwnerBookTest, ContainersKeepTheirRowsAndWhatLeftThemIsNotInThem) {
  for (int scan = 1; scan <= 2; ++scan) {
    owners_->begin({{0xA0, 1}, {0xB0, 2}});
    MemoryReading reading;
    reading.found.containers = {{"main: losses", "train.py:1", "list", 7}};
    reading.found.storages = {held(0xA0, "main: losses[0]"), held(0xB0, "main: losses[1]")};
    for (scan::HeldStorage& each : reading.found.storages) {
      each.otherwise = false;
      each.containers = {0};
    }
    if (scan == 2) {
      reading.found.storages[1].containers.clear();
      reading.found.storages[1].otherwise = true;
    }
    ASSERT_TRUE(owners_->end(reading).ok());
  }
  EXPECT_EQ(rows("SELECT container.id, text, entries, scan, last_scan FROM container JOIN string ON string.id = path"),
            (Rows{"1|main: losses|7|1|2"}));
  EXPECT_EQ(rows("SELECT storage, '', container, scan, 0 FROM held_in"), (Rows{"1||1|2|0", "2||1|1|0"}));
  EXPECT_EQ(rows("SELECT storage, '', scan, otherwise, 0 FROM held"), (Rows{"1||2|0|0", "2||2|1|0"}));
}

TEST_F(OwnerBookTest, WhatCameToNothingLeavesNothing) {
  owners_->begin({{0xA0, 1}});
  owners_->cancel();
  owners_->begin({{0xA0, 2}});
  end(100, 200, {held(0xA0, "main: a")});
  EXPECT_EQ(owners(), (Rows{"2|main: a|1|1|1"}));
}

TEST_F(OwnerBookTest, WhatIsHeldByNothingIsUnsureUntilItIsFoundAgain) {
  EXPECT_EQ(owners_->read_until(), 0);
  for (int scan = 1; scan <= 2; ++scan) {
    now(30 + scan, 50);
    owners_->begin({{0xA0, 7}, {0xB0, 8}});
    end(100, 200, {held(0xA0, "cycle Node.next → Node", false), held(0xB0, "main: b")});
    EXPECT_EQ(owners_->read_until(), 30 + scan);
    EXPECT_EQ(owners_->is_unsure_of(6, 7), scan == 1);
    EXPECT_FALSE(owners_->is_unsure_of(7, 9)) << "it began before";
    EXPECT_FALSE(owners_->is_unsure_of(1, 6)) << "it began later";
  }
}

}  // namespace
}  // namespace dcmt::recorder
