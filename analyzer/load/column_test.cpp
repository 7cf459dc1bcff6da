#include "analyzer/load/column.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "trace/base/typed_id.h"

namespace dcmt::analyzer {
namespace {

using Id = OperatorId;

struct Row {
  Id id, parent;
};

constexpr std::int64_t kRows = 200'000;  // some chunks

/// The rows of every `distance`th id in (from, to].
Column<Row> rows(std::int64_t from, std::int64_t to, std::int64_t distance) {
  Column<Row> column;
  for (std::int64_t id = from + distance; id <= to; id += distance) column.push_back({Id(id), Id(id - distance)});
  return column;
}

TEST(Column, HoldsRowsInOrderAndFindsThem) {
  for (const std::int64_t distance : {1, 3}) {
    Column<Row> column = rows(0, kRows * distance, distance);
    EXPECT_EQ(column.size(), static_cast<std::size_t>(kRows));
    std::int64_t id = 0;
    for (const Row& row : column) {
      ASSERT_EQ(row.id, Id(id += distance));
      ASSERT_EQ(column.find(row.id), &row);
    }
    EXPECT_EQ(id, kRows * distance);
    for (const std::int64_t none : {std::int64_t{-1}, std::int64_t{0}, distance - 1, kRows * distance + 1}) {
      EXPECT_EQ(column.find(Id(none)), nullptr);
    }
  }
}

TEST(Column, RowsStayWhereTheyAre) {
  Column<Row> column;
  std::vector<const Row*> places;
  for (std::int64_t id = 1; id <= kRows; ++id) {
    column.push_back({Id(id), {}});
    places.push_back(column.find(Id(id)));
  }
  Column<Row> whole;
  whole.append(std::move(column));
  for (std::int64_t id = 1; id <= kRows; ++id) {
    ASSERT_EQ(whole.find(Id(id)), places[static_cast<std::size_t>(id - 1)]);
  }
}

TEST(Column, PartsAreJoined) {
  Column<Row> whole;
  EXPECT_TRUE(whole.empty());
  EXPECT_EQ(whole.begin(), whole.end());
  for (const std::int64_t from : {0, 100, 200}) {
    whole.append(from == 100 ? Column<Row>() : rows(from, from + 100, 10));
  }
  std::vector<std::int64_t> ids;
  for (const Row& row : whole) ids.push_back(row.id.value);
  EXPECT_EQ(ids.size(), 20u);
  EXPECT_EQ(ids[9], 100);
  EXPECT_EQ(ids[10], 210);
  EXPECT_EQ(whole.find(Id(150)), nullptr);
  ASSERT_NE(whole.find(Id(210)), nullptr);
  EXPECT_EQ(whole.find(Id(210))->parent, Id(200));
}

TEST(Column, ACircleThroughPartsIsCutOnce) {
  Column<Row> whole;
  whole.append(rows(0, 3, 1));
  Column<Row> later;
  later.push_back({Id(4), Id(5)});
  later.push_back({Id(5), Id(2)});
  whole.append(std::move(later));
  Column<Row> circle;
  circle.push_back({Id(6), Id(7)});
  whole.append(std::move(circle));
  Column<Row> last;
  last.push_back({Id(7), Id(6)});
  whole.append(std::move(last));
  whole.cut_circles();
  std::vector<std::int64_t> parents;
  for (const Row& row : whole) parents.push_back(row.parent.value);
  EXPECT_EQ(parents, (std::vector<std::int64_t>{0, 1, 2, 5, 2, 7, 0}));
}

TEST(RowIndex, HasTheRowsOfAKeyInTheirOrder) {
  const Column<Row> column = rows(0, 6, 1);
  RowIndex<int, Row> index;
  for (const Row& row : column) index.add(row.id.value % 2 == 0 ? 2 : 1, &row);
  index.build();
  std::vector<std::int64_t> even;
  for (const Row* row : index.of(2)) even.push_back(row->id.value);
  EXPECT_EQ(even, (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_TRUE(index.of(3).empty());
}

}  // namespace
}  // namespace dcmt::analyzer
