#include "render/load/query.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "analyzer/testing/test_trace.h"

namespace dcmt::load {
namespace {

class QueryTest : public ::testing::Test {
 protected:
  QueryTest() {
    trace_.allocate(100);
    trace_.allocate(50);
    path_ = trace_.save();
  }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  testing::TestTrace trace_;
  std::string path_;
};

TEST_F(QueryTest, AnswersWithRows) {
  const auto result = run_query(path_, " select bytes AS b, NULL FROM block ORDER BY bytes", 10, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->columns.front(), "b");
  ASSERT_EQ(result->rows.size(), 2U);
  EXPECT_EQ(result->rows[0], (std::vector<std::string>{"50", "NULL"}));
  EXPECT_FALSE(result->more);
  const auto first = run_query(path_, "WITH all_of AS (SELECT * FROM block) SELECT bytes FROM all_of", 1, {});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->rows.size(), 1U);
  EXPECT_TRUE(first->more);
}

TEST_F(QueryTest, ChangesNothingAndOpensNothing) {
  const std::string before = content();
  const std::string other = (trace_.folder() / "other.db").string();
  for (const std::string& sql :
       {std::string("DELETE FROM block"), std::string("PRAGMA user_version = 3"), "ATTACH '" + other + "' AS o",
        std::string("WITH x AS (SELECT 1) DELETE FROM block"), std::string("SELECT load_extension('x')"),
        "VACUUM INTO '" + other + "'", std::string("SELECT * FROM no_such"), std::string("selection"), std::string(),
        std::string("SELECT writefile('" + other + "', 'x')")}) {
    const auto result = run_query(path_, sql, 10, {});
    ASSERT_FALSE(result.ok()) << sql;
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << sql;
  }
  EXPECT_EQ(content(), before);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(QueryTest, EndsWhenAskedToAndWhenItIsTooMuch) {
  const std::atomic<bool> stop{true};
  const auto stopped = run_query(path_, "SELECT * FROM block", 10, {{}, &stop});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kStopped);
  const auto endless =
      run_query(path_, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", 10, {});
  EXPECT_FALSE(endless.ok()) << "what has no end is ended";
}

}  // namespace
}  // namespace dcmt::load
