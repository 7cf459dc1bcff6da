#include "trace/sql/pyramid.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trace/sql/trace_file.h"
#include "trace/sql/trace_writer.h"

namespace dcmt {
namespace {

class PyramidTable : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dcmt_pyramid_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    Expected<Database> database = create_trace((folder_ / "t.dcmt").string());
    ASSERT_TRUE(database.ok());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    ASSERT_TRUE(writer.ok());
    writer_.emplace(std::move(*writer));
  }
  void TearDown() override {
    writer_.reset();
    std::filesystem::remove_all(folder_);
  }

  /// @param to  0: alive
  void block(std::int64_t from, std::int64_t to, std::int64_t bytes, std::optional<std::int64_t> gpu = {}) {
    BlockRow row;
    row.id = from;
    row.address = 64;
    row.bytes = bytes;
    row.gpu = gpu;
    const auto ns = [](std::int64_t seq) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(seq) * 10); };
    row.span = {{from, ns(from)}, {to, ns(to)}};
    ASSERT_TRUE(writer_->write(row).ok());
  }
  void births(std::int64_t count) {
    for (std::int64_t seq = 1; seq <= count; ++seq) block(seq, 0, 1);
  }
  void build() {
    const Status built = build_pyramid(writer_->database(), "main");
    ASSERT_TRUE(built.ok()) << built.error().message;
  }

  using Rows = std::vector<std::vector<std::int64_t>>;
  Rows read(const std::string& what) {
    Expected<Statement> query = writer_->database().prepare("SELECT " + what);
    EXPECT_TRUE(query.ok());
    Rows rows;
    for (Expected<bool> row = query->step(); row.ok() && *row; row = query->step()) {
      auto& values = rows.emplace_back();
      for (int column = 0; column < query->column_count(); ++column) values.push_back(query->integer(column));
    }
    return rows;
  }

  std::filesystem::path folder_;
  std::optional<TraceWriter> writer_;
};

TEST_F(PyramidTable, ARowHas64ChangesOrTheRest) {
  births(64 * 64 + 1);
  build();
  EXPECT_EQ(read("level, count(*) FROM pyramid GROUP BY level"), (Rows{{0, 65}, {1, 2}, {2, 1}}));
  EXPECT_EQ(read("from_seq, last, lowest, highest, highest_seq FROM pyramid WHERE level = 0 ORDER BY from_seq LIMIT 2"),
            (Rows{{1, 64, 1, 64, 64}, {65, 128, 65, 128, 128}}));
  EXPECT_EQ(read("from_seq, last, lowest, highest, highest_seq FROM pyramid WHERE level = 1"),
            (Rows{{1, 4096, 1, 4096, 4096}, {4097, 4097, 4097, 4097, 4097}}));
  EXPECT_EQ(read("from_seq, from_ns, lowest, highest, highest_seq, highest_ns FROM pyramid WHERE level = 2"),
            (Rows{{1, 10, 1, 4097, 4097, 40970}}));
}

TEST_F(PyramidTable, TheTopIsTheFirstLevelWithOneRow) {
  births(64);
  build();
  EXPECT_EQ(read("level, highest FROM pyramid"), (Rows{{0, 64}}));
  // Build again after one more change: nothing of the earlier pyramid is left.
  block(100, 0, 5);
  build();
  EXPECT_EQ(read("level, from_seq, highest FROM pyramid"), (Rows{{0, 1, 64}, {0, 100, 69}, {1, 1, 69}}));
}

TEST_F(PyramidTable, NothingAllocatedHasNoRow) {
  build();
  EXPECT_EQ(read("count(*) FROM pyramid"), (Rows{{0}}));
}

TEST_F(PyramidTable, EveryDeviceHasItsOwn) {
  block(1, 6, 100);
  block(2, 4, 30, 1);
  block(3, 0, 50, 1);
  block(5, 0, 7);
  build();
  EXPECT_EQ(read("device = 'cuda:1', from_seq, last, lowest, highest, highest_seq FROM pyramid ORDER BY device"),
            (Rows{{0, 1, 7, 7, 107, 5}, {1, 2, 50, 30, 80, 3}}));
}

TEST_F(PyramidTable, ABlockInThePlaceOfOneWhoseEndWasLostIsOneChange) {
  block(1, 5, 100);
  block(5, 0, 90);
  build();
  EXPECT_EQ(read("last, lowest, highest FROM pyramid"), (Rows{{90, 90, 100}}));
}

TEST_F(PyramidTable, AnIntervalWithoutRowsIsOneChange) {
  block(1, 0, 100);
  block(12, 25, 1);  // born and ended in an interval without rows
  const auto interval = [&](RowId id, Kept kept, std::int64_t from, std::int64_t to) {
    IntervalRow row;
    row.id = id;
    row.kept = kept;
    const auto ns = [](std::int64_t seq) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(seq) * 10); };
    row.span = {{from, ns(from)}, {to, ns(to)}};
    ASSERT_TRUE(writer_->write(row).ok());
  };
  interval(1, Kept::kAll, 0, 10);
  interval(2, Kept::kNo, 10, 20);
  interval(3, Kept::kNo, 20, 26);
  interval(4, Kept::kLast, 26, 30);
  ASSERT_TRUE(writer_->write(IntervalCurveRow{2, "cpu", 100, 700, {15, 150}, 60, 0, 0, 0, 0}).ok());
  // The curve is never above its begin, which it had reached before.
  ASSERT_TRUE(writer_->write(IntervalCurveRow{3, "cpu", 60, 60, {20, 200}, 55, 0, 0, 0, 0}).ok());
  build();
  EXPECT_EQ(read("last, lowest, highest, highest_seq, highest_ns, sums_only FROM pyramid"),
            (Rows{{55, 55, 700, 15, 150, 2}}));
  ASSERT_TRUE(writer_->database().execute("DELETE FROM block").ok());
  build();
  EXPECT_EQ(read("from_seq, from_ns, highest, highest_seq FROM pyramid"), (Rows{{11, 100, 600, 15}}));
}

TEST_F(PyramidTable, RowsThatMakeNoSenseAreRefusedAndNothingIsLeftHalf) {
  births(70);
  build();
  ASSERT_TRUE(writer_->database().execute("UPDATE block SET late = 50 WHERE id = 60").ok());
  const Status built = build_pyramid(writer_->database(), "main");
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code, ErrorCode::kBadInput);
  EXPECT_NE(built.error().message.find("row 60 of block"), std::string::npos) << built.error().message;
  EXPECT_EQ(read("count(*) FROM pyramid"), (Rows{{3}})) << "the one before";
}

TEST_F(PyramidTable, IsMadeAtTheFinish) {
  births(3);
  ASSERT_TRUE(finish_trace(writer_->database()).ok());
  EXPECT_EQ(read("highest FROM pyramid"), (Rows{{3}}));
}

TEST_F(PyramidTable, RowsThatMakeNoSenseAreFinishedWithoutIt) {
  block((std::int64_t{1} << 61) + 1, 0, 1);
  ASSERT_TRUE(finish_trace(writer_->database()).ok());
  EXPECT_TRUE(read("1 FROM sqlite_schema WHERE name = 'pyramid'").empty());
}

}  // namespace
}  // namespace dcmt
