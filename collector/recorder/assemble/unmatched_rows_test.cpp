#include "collector/recorder/assemble/unmatched_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "trace/sql/trace_file.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {
namespace {

class UnmatchedRows : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("dcmt-unmatched-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "trace.dcmt";
    Expected<Database> created = create_trace(path_);
    ASSERT_TRUE(created.ok());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*created));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->begin().ok());
    mark(*writer, 1, "gather", "mylib::fetch.default", std::nullopt);
    mark(*writer, 2, "release", "Shards.free", "final,function");
    mark(*writer, 3, "user", "mylib::drop", std::nullopt);
    ASSERT_TRUE(writer->commit().ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }  // with the files that SQLite leaves beside it

  static void mark(TraceWriter& writer, RowId id, const char* kind, const char* name,
                   std::optional<std::string> flags) {
    MarkRow row;
    row.id = id;
    row.kind = kind;
    row.name = *writer.intern(name);
    row.flags = std::move(flags);
    row.span = {{id, id}, {id, id}};
    ASSERT_TRUE(writer.write(row).ok());
  }
  std::vector<std::string> lines(const TableRow& row) {
    const auto lines = unmatched_rows({row}, {path_});
    EXPECT_TRUE(lines.ok());
    return lines.ok() ? *lines : std::vector<std::string>{lines.error().message};
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(UnmatchedRows, WhatWasRecordedMatches) {
  EXPECT_TRUE(lines({"t.toml", 1, false, "mylib::fetch", "gather"}).empty());
  EXPECT_TRUE(lines({"t.toml", 1, false, "mylib::f*", "gather"}).empty());
  EXPECT_TRUE(lines({"t.toml", 1, true, "Shards.free", "release"}).empty());
}

TEST_F(UnmatchedRows, AMisspeltNameIsALine) {
  EXPECT_EQ(lines({"t.toml", 7, false, "mylib::fech", "gather"}),
            std::vector<std::string>{"t.toml:7: no operator of the run matched 'mylib::fech' as gather: is it spelt as "
                                     "it is registered, and was it called?"});
  EXPECT_EQ(lines({"t.toml", 9, true, "Shards.fre", "release"}).size(), 1u);
  EXPECT_EQ(lines({"t.toml", 9, false, "mylib::drop", "release"}).size(), 1u) << "a mark of the user's is no release";
  EXPECT_EQ(lines({"t.toml", 9, true, "mylib::fetch.default", "gather"}).size(), 1u) << "an operator is no function";
}

TEST_F(UnmatchedRows, AnotherRoleIsNamed) {
  EXPECT_EQ(lines({"t.toml", 3, false, "mylib::fetch", "release"}),
            std::vector<std::string>{
                "t.toml:3: no operator of the run matched 'mylib::fetch' as release; it was recorded as gather"});
}

TEST_F(UnmatchedRows, WithoutATraceNothingIsKnown) {
  const auto lines = unmatched_rows({{"t.toml", 1, false, "a::b", "gather"}}, {});
  ASSERT_TRUE(lines.ok());
  EXPECT_TRUE(lines->empty());
  EXPECT_FALSE(unmatched_rows({{"t.toml", 1, false, "a::b", "gather"}}, {"/nowhere.dcmt"}).ok());
}

}  // namespace
}  // namespace dcmt::recorder
