// A new trace in a folder of its own, for tests of code that writes rows.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "trace/sql/trace_file.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder::testing {

class TraceFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dcmt_rows_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    Expected<Database> database = create_trace((folder_ / "t").string());
    ASSERT_TRUE(database.ok());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    ASSERT_TRUE(writer.ok());
    writer_ = std::make_unique<TraceWriter>(std::move(*writer));
    ASSERT_TRUE(writer_->begin().ok());
  }
  void TearDown() override {
    writer_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;
  std::unique_ptr<TraceWriter> writer_;
};

}  // namespace dcmt::recorder::testing
