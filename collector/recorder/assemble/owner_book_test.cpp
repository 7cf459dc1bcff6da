#include "collector/recorder/assemble/owner_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <unordered_map>
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
    modules_ = std::make_unique<ModuleBook>(*journal_);
    owners_ = std::make_unique<OwnerBook>(*journal_, *modules_);
  }
  void TearDown() override {
    owners_.reset();
    modules_.reset();
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

  /// Adds a reading that lasts from `from_ns` to `to_ns`.
  void end(std::int64_t from_ns, std::int64_t to_ns, std::vector<scan::HeldStorage> found,
           scan::Scope scope = scan::Scope::kAll) {
    MemoryReading reading;
    reading.scope = scope;
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
  std::unique_ptr<ModuleBook> modules_;
  std::unique_ptr<OwnerBook> owners_;
};

TEST_F(OwnerBookTest, AStorageHasAHolderIfAReadingProvedOne) {
  now(10, 100);
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}, {0xB0, 2}});
  now(12, 200);
  scan::HeldStorage without = held(0xB0, "");
  without.holders.clear();
  end(100, 200, {held(0xA0, "main: a"), without});
  EXPECT_TRUE(owners_->has_holder(1));
  EXPECT_FALSE(owners_->has_holder(2)) << "found, but nothing leads to it";
  EXPECT_FALSE(owners_->has_holder(11));
}

TEST_F(OwnerBookTest, WhatLivedFromBeforeTheReadingUntilAfterItHasTheOwner) {
  now(10, 100);
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}, {0xB0, 2}, {0xC0, 3}});
  now(11, 150);
  owners_->storage_ended(2);  // during the reading: the storage that was read at 0xB0 is unknown
  now(12, 250);
  owners_->storage_ended(3);  // after the reading
  end(100, 200, {held(0xA0, "main: a"), held(0xB0, "main: b"), held(0xC0, "main: c"), held(0xD0, "main: later")});
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|1|1", "3|main: c|1|1|1"}));
  EXPECT_EQ(rows("SELECT id, '', from_seq, storages, owned FROM scan"), (Rows{"1||10|2|2"}));
}

TEST_F(OwnerBookTest, AnOwnerThatIsFoundAgainIsOneRowWithALongerLife) {
  for (int scan = 1; scan <= 4; ++scan) {
    owners_->begin(scan::Scope::kAll, {{0xA0, 1}, {0xB0, 2}});
    std::vector<scan::HeldStorage> found{held(0xA0, "main: a")};
    if (scan != 2) found.push_back(held(0xB0, "main: b"));
    end(100, 200, std::move(found));
  }
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|4|1", "2|main: b|1|1|1", "2|main: b|3|4|1"}));
}

TEST_F(OwnerBookTest, ThatNoRootLeadsToAHolderHasToBeFoundTwice) {
  for (int scan = 1; scan <= 2; ++scan) {
    owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
    end(100, 200, {held(0xA0, "cycle Node.next → Node", false)});
  }
  EXPECT_EQ(owners(), (Rows{"1|cycle Node.next → Node|1|1|0", "1|cycle Node.next → Node|2|2|1"}));
}

TEST_F(OwnerBookTest, WhatOnlyACycleHoldsKeepsItsRole) {
  const auto read = [&](scan::Role role, const std::string& path, bool rooted) {
    owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
    scan::HeldStorage storage = held(0xA0, path, rooted);
    storage.role = role;
    end(100, 200, {storage});
    return rows("SELECT storage, role, scan FROM held").front();
  };
  EXPECT_EQ(read(scan::Role::kParameter, "main: model.weight", true), "1|parameter|1|0|0");
  EXPECT_EQ(read(scan::Role::kNone, "cycle Model.head → Linear", false), "1|parameter|2|0|0");
  EXPECT_EQ(read(scan::Role::kNone, "main: weights[3]", true), "1||3|0|0") << "it was taken out of the model";
}

TEST_F(OwnerBookTest, ContainersKeepTheirRowsAndWhatLeftThemIsNotInThem) {
  for (int scan = 1; scan <= 2; ++scan) {
    owners_->begin(scan::Scope::kAll, {{0xA0, 1}, {0xB0, 2}});
    MemoryReading reading;
    reading.found.containers = {{"main: losses", "train.py:1", "list", 7, static_cast<std::uint64_t>(scan * 100)}};
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
  EXPECT_EQ(rows("SELECT id, '', small_bytes, small_scan, 0 FROM container"), (Rows{"1||200|2|0"}));
  EXPECT_EQ(rows("SELECT storage, '', container, scan, 0 FROM held_in"), (Rows{"1||1|2|0", "2||1|1|0"}));
  EXPECT_EQ(rows("SELECT storage, '', scan, otherwise, 0 FROM held"), (Rows{"1||2|0|0", "2||2|1|0"}));
}

TEST_F(OwnerBookTest, AReadingThatLacksReferencesDoesNotReplaceOneThatExplainsThemAll) {
  for (int scan = 1; scan <= 3; ++scan) {
    owners_->begin(scan::Scope::kVariables, {{0xA0, 1}, {0xB0, 2}});
    MemoryReading reading;
    reading.scope = scan::Scope::kVariables;
    reading.found.storages = {held(0xA0, "main: losses[0]"), held(0xB0, "main: x")};
    if (scan != 2) {  // the list was growing meanwhile
      reading.found.containers = {{"main: losses", "train.py:1", "list", 7}};
      reading.found.storages[0].containers = {0};
    }
    reading.found.storages[0].otherwise = scan != 1;
    reading.found.storages[0].is_unexplained = scan == 2;  // in the third reading, a variable holds it, too
    ASSERT_TRUE(owners_->end(reading).ok());
    if (scan == 2) {
      EXPECT_EQ(rows("SELECT storage, '', scan, otherwise, 0 FROM held"), (Rows{"1||1|0|0", "2||2|1|0"}));
      EXPECT_EQ(rows("SELECT storage, '', container, scan, 0 FROM held_in"), (Rows{"1||1|1|0"}));
    }
  }
  EXPECT_EQ(rows("SELECT storage, '', scan, otherwise, 0 FROM held"), (Rows{"1||3|1|0", "2||3|1|0"}));
}

/// Else the latest reading would seem to have found only what was made since.
TEST_F(OwnerBookTest, WhatIsStillInItsContainerIsFoundThereAlsoWhereNotAllReferencesAreExplained) {
  for (const bool is_unexplained : {false, true}) {
    owners_->begin(scan::Scope::kVariables, {{0xA0, 1}});
    MemoryReading reading;
    reading.scope = scan::Scope::kVariables;
    reading.found.containers = {{"main: losses", "train.py:1", "list", 7}};
    reading.found.storages = {held(0xA0, "main: losses[0]")};
    reading.found.storages[0].containers = {0};
    reading.found.storages[0].otherwise = reading.found.storages[0].is_unexplained = is_unexplained;
    ASSERT_TRUE(owners_->end(reading).ok());
  }
  EXPECT_EQ(rows("SELECT storage, '', scan, otherwise, 0 FROM held"), (Rows{"1||2|0|0"}));
  EXPECT_EQ(rows("SELECT storage, '', container, scan, 0 FROM held_in"), (Rows{"1||1|2|0"}));
}

TEST_F(OwnerBookTest, AReadingOfVariablesDoesNotLowerWhatAContainerHoldsInSmallStorages) {
  const auto read = [&](scan::Scope scope, std::uint64_t small) {
    owners_->begin(scope, {});
    MemoryReading reading;
    reading.scope = scope;
    reading.found.containers = {{"main: losses", "train.py:1", "list", 7, small}};
    ASSERT_TRUE(owners_->end(reading).ok());
  };
  const std::string sql = "SELECT id, '', small_bytes, small_scan, last_scan FROM container";
  read(scan::Scope::kAll, 300);
  read(scan::Scope::kVariables, 0);
  EXPECT_EQ(rows(sql), (Rows{"1||300|1|2"}));
  read(scan::Scope::kAll, 200);
  EXPECT_EQ(rows(sql), (Rows{"1||200|3|3"}));
}

TEST_F(OwnerBookTest, WhatWasMadeBeforeItsSizeWasTrackedIsSmall) {
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
  MemoryReading reading;
  reading.found.containers = {{"main: losses", "train.py:1", "list", 7, 50}, {"main: seen", "train.py:1", "list", 3}};
  reading.found.storages = {held(0xA0, "main: losses[9]"), held(0xB0, "main: losses[1]"), held(0xC0, "main: losses[2]"),
                            held(0xD0, "main: losses[3]")};
  for (scan::HeldStorage& each : reading.found.storages) {
    each.bytes = 40'000;
    each.otherwise = false;
    each.containers = {0};
  }
  reading.found.storages[2].bytes = kFollowedBytes;  // was made while the process was read
  reading.found.storages[3].containers = {0, 1};
  ASSERT_TRUE(owners_->end(reading).ok());
  EXPECT_EQ(rows("SELECT id, '', small_bytes, 0, 0 FROM container"), (Rows{"1||40050|0|0", "2||0|0|0"}));
}

TEST_F(OwnerBookTest, AReadingOfEverythingExplainsWhatALaterOneOfVariablesDidNot) {
  MemoryReading reading;
  reading.found.containers = {{"main: losses", "train.py:1", "list", 7}};
  reading.found.storages = {held(0xA0, "main: losses[0]")};
  reading.found.storages[0].containers = {0};
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
  now(20, 200);
  owners_->begin(scan::Scope::kVariables, {{0xA0, 1}});
  reading.scope = scan::Scope::kVariables;
  reading.found.storages[0].is_unexplained = true;
  ASSERT_TRUE(owners_->end(reading).ok());
  EXPECT_EQ(rows("SELECT storage, '', scan, otherwise, 0 FROM held"), (Rows{"1||1|1|0"}));
  reading.scope = scan::Scope::kAll;
  reading.found.storages[0].is_unexplained = reading.found.storages[0].otherwise = false;
  ASSERT_TRUE(owners_->end(reading).ok());
  EXPECT_EQ(rows("SELECT storage, '', scan, otherwise, 0 FROM held"), (Rows{"1||2|0|0"}));
}

TEST_F(OwnerBookTest, AReadingThatBeganEarlierIsOlderThoughItEndsLater) {
  now(10, 100);
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}, {0xB0, 2}});
  now(20, 200);
  owners_->begin(scan::Scope::kVariables, {{0xA0, 1}});
  end(200, 220, {held(0xA0, "main: a")}, scan::Scope::kVariables);
  end(100, 300, {held(0xA0, "main: old"), held(0xB0, "main: b")});
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|1|1", "2|main: b|2|2|1"}));
  EXPECT_EQ(rows("SELECT storage, '', scan, 0, 0 FROM held"), (Rows{"1||1|0|0", "2||2|0|0"}));
  now(30, 400);
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
  end(400, 500, {held(0xA0, "main: a")});
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|3|1", "2|main: b|2|2|1"})) << "the owner goes on";
}

TEST_F(OwnerBookTest, WhatCameToNothingLeavesNothing) {
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
  owners_->cancel(scan::Scope::kAll);
  owners_->begin(scan::Scope::kAll, {{0xA0, 2}});
  end(100, 200, {held(0xA0, "main: a")});
  EXPECT_EQ(owners(), (Rows{"2|main: a|1|1|1"}));
}

TEST_F(OwnerBookTest, WhatIsHeldByNothingIsUnsureUntilItIsFoundAgain) {
  EXPECT_EQ(owners_->read_until(), 0);
  for (int scan = 1; scan <= 2; ++scan) {
    now(30 + scan, 50);
    owners_->begin(scan::Scope::kAll, {{0xA0, 7}, {0xB0, 8}});
    end(100, 200, {held(0xA0, "cycle Node.next → Node", false), held(0xB0, "main: b")});
    EXPECT_EQ(owners_->read_until(), 30 + scan);
    EXPECT_EQ(owners_->is_unsure_of(6, 7), scan == 1);
    EXPECT_FALSE(owners_->is_unsure_of(7, 9)) << "it began before";
    EXPECT_FALSE(owners_->is_unsure_of(1, 6)) << "it began later";
  }
}

TEST_F(OwnerBookTest, AReadingSaysHowItWent) {
  now(10, 100);
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}, {0xB0, 2}});
  MemoryReading reading;
  reading.from_ns = 100;
  reading.to_ns = 200;
  reading.found.objects = 7;
  reading.found.torn = 3;
  reading.found.collecting = true;
  reading.found.storages = {held(0xA0, "main: a"), held(0xB0, "main: b")};
  reading.found.storages[1].holders[0].confirmed = false;
  ASSERT_TRUE(owners_->end(reading).ok());
  EXPECT_EQ(rows("SELECT id, '', from_seq, from_ns, to_ns FROM scan"), (Rows{"1||10|100|200"}));
  EXPECT_EQ(rows("SELECT storages, '', owned, objects, torn FROM scan WHERE collecting = 1"), (Rows{"2||1|7|3"}));
}

TEST_F(OwnerBookTest, OwnersComeInTheirOrderWithTheirPlaces) {
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
  scan::HeldStorage storage = held(0xA0, "main: a");
  storage.holders.push_back({"main: b", "", true, true});  // a root other than a frame
  end(100, 200, {storage});
  EXPECT_EQ(rows("SELECT position, p.text, place IS NULL, confirmed, 0 FROM owner JOIN string p ON p.id = path"
                 " ORDER BY position"),
            (Rows{"0|main: a|0|1|0", "1|main: b|1|1|0"}));
  EXPECT_EQ(rows("SELECT 0, text, 0, 0, 0 FROM owner JOIN string ON string.id = place"), (Rows{"0|train.py:1|0|0|0"}));
}

TEST_F(OwnerBookTest, AReadingThatConfirmsNothingDisprovesNothing) {
  for (int scan = 1; scan <= 2; ++scan) {
    owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
    scan::HeldStorage storage = held(0xA0, "main: a");
    storage.holders[0].confirmed = scan == 1;
    end(100, 200, {storage});
  }
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|1|1"}));
}

TEST_F(OwnerBookTest, WhatEndedBeforeAReadingBelongsToThatOneOnly) {
  now(10, 100);
  owners_->storage_ended(1);  // no reading is running
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
  end(100, 200, {held(0xA0, "main: a")});
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|1|1"}));
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
  now(11, 150);
  owners_->storage_ended(1);
  owners_->cancel(scan::Scope::kAll);
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}});
  end(100, 200, {held(0xA0, "main: a")});
  EXPECT_EQ(owners(), (Rows{"1|main: a|1|2|1"})) << "an end belongs to the reading in which it was";
}

TEST_F(OwnerBookTest, AStorageThatEndsWhenTheReadingEndsWasReadInIt) {
  owners_->begin(scan::Scope::kAll, {{0xA0, 1}, {0xB0, 2}});
  now(11, 200);
  owners_->storage_ended(1);
  now(12, 201);
  owners_->storage_ended(2);
  end(100, 200, {held(0xA0, "main: a"), held(0xB0, "main: b")});
  EXPECT_EQ(owners(), (Rows{"2|main: b|1|1|1"}));
}

TEST_F(OwnerBookTest, OfVeryManyStoragesTheLargestGetRows) {
  constexpr int kAll = 20'002;
  std::unordered_map<std::uint64_t, RowId> alive;
  std::vector<scan::HeldStorage> found;
  for (int i = 0; i < kAll; ++i) {
    alive.emplace(0xA0 + i, i + 1);
    scan::HeldStorage storage;
    storage.storage = 0xA0 + i;
    storage.bytes = i == kAll - 1 ? 1'000'000 : kAll - i;
    found.push_back(storage);
  }
  owners_->begin(scan::Scope::kAll, std::move(alive));
  end(100, 200, std::move(found));
  EXPECT_EQ(rows("SELECT count(*), '', max(storage), sum(storage IN (20000, 20001)), 0 FROM held"),
            (Rows{"20000||20002|0|0"}));
  EXPECT_EQ(rows("SELECT storages, '', owned, 0, 0 FROM scan"), (Rows{"20002||0|0|0"}));
}

}  // namespace
}  // namespace dcmt::recorder
