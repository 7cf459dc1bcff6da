#include "analyzer/load/table_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {
namespace {

Database trace_of(int version, const std::string& rows) {
  Database database = std::move(*Database::open(":memory:", OpenMode::kCreate));
  // Of a trace that is recorded, all is read by one connection: another one would have a memory of its own.
  const Status made =
      database.execute(create_sql(version) + "INSERT INTO meta(key, value) VALUES('state', 'recording');" + rows);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return database;
}

constexpr char kRowsSql[] =
    "INSERT INTO storage(id, address, bytes, first_seen, late, from_ns) VALUES(4, 1, 100, 0, 1, 30);"
    "INSERT INTO block(id, address, bytes, gpu, storage_back, thread, late, seq_length, from_ns, ns_length)"
    " VALUES(5, 1, 128, NULL, 1, 0, 0, 3, 50, 30);"
    "INSERT INTO mark(id, kind, name, from_seq, to_seq, from_ns, to_ns) VALUES(1, 'gather', 2, 6, 6, 60, 60);"
    "INSERT INTO loss(id, reason, count, from_seq, to_seq, ns) VALUES(1, 'no_room', 3, 7, 8, 70);";

TEST(TableReader, ColumnsAndTablesOfLaterSchemasAreAbsent) {
  for (int version = 1; version <= kSchemaVersion; ++version) {
    Database database = trace_of(version, kRowsSql);
    const Expected<TraceData> data = TraceData::load(database);
    ASSERT_TRUE(data.ok()) << version << ": " << data.error().message;
    ASSERT_EQ(data->blocks.size(), 1u);
    const Block& block = *data->blocks.begin();
    EXPECT_EQ(block.storage, StorageId(4));
    EXPECT_EQ(block.span.to_seq, Sequence(8));
    EXPECT_EQ(block.stream, kNoStream);
    EXPECT_FALSE(block.owner.valid());
    EXPECT_EQ(data->storages.begin()->span.from_seq, Sequence(3));
    EXPECT_FALSE(data->marks.begin()->dtype.valid());
    EXPECT_FALSE(data->losses.begin()->from_ns.valid());
    EXPECT_TRUE(data->owners.containers.empty() && data->owners.collections.empty());
    EXPECT_TRUE(data->gpu_memory.empty() && data->parameters.empty());
  }
}

TEST(TableReader, AColumnIsOnlyReadIfItsSchemaHasIt) {
  Database database =
      trace_of(kSchemaVersion,
               "INSERT INTO container(id, path, type, entries, scan, last_scan, small_bytes, small_scan)"
               " VALUES(1, 1, 1, 1, 1, 1, 64, 1);");
  EXPECT_EQ(TraceData::load(database)->owners.containers.front().small, Bytes(64));
  ASSERT_TRUE(database.execute("PRAGMA user_version = 7").ok());
  EXPECT_EQ(TraceData::load(database)->owners.containers.front().small, Bytes(0));
}

TEST(TableReader, AValueThatNoRecorderWritesIsDamage) {
  for (const std::string bad : {"bytes = -1", "late = 9223372036854775807", "thread = -5", "storage_back = 6"}) {
    Database database = trace_of(kSchemaVersion, std::string(kRowsSql) + "UPDATE block SET " + bad);
    const Expected<TraceData> data = TraceData::load(database);
    ASSERT_FALSE(data.ok()) << bad;
    EXPECT_EQ(data.error().message, ":memory:: damaged: the row of block with id 5 makes no sense.");
  }
}

}  // namespace
}  // namespace dcmt::analyzer
