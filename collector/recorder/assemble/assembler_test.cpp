#include "collector/recorder/assemble/assembler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "collector/recorder/testing/test_stream.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

using testing::TestRecord;
using testing::TestStream;
using wire::MarkKind;
using wire::OpScope;
using wire::RecordType;

constexpr ClockOrigin kOrigin{1'000'000'000, 0, 0};

/// All rows of a query, columns separated by '|', NULL as '-'.
std::vector<std::string> rows(Database& database, const std::string& sql) {
  std::vector<std::string> result;
  Expected<Statement> query = database.prepare(sql);
  EXPECT_TRUE(query.ok()) << query.error().message;
  if (!query.ok()) return result;
  while (true) {
    Expected<bool> more = query->step();
    EXPECT_TRUE(more.ok()) << more.error().message;
    if (!more.ok() || !*more) return result;
    std::string line;
    for (int column = 0; column < query->column_count(); ++column) {
      if (column > 0) line += '|';
      line += query->is_null(column) ? "-" : std::string(query->text(column));
    }
    result.push_back(line);
  }
}

using Rows = std::vector<std::string>;

class AssemblerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dcmt_assembler_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static void check(const Status& status) { ASSERT_TRUE(status.ok()) << status.error().message; }

  /// Records the stream, with a commit after every record if asked, and finishes.
  Database record(const TestStream& stream, bool commit_each = false) {
    const std::string file = path("t" + std::to_string(files_++));
    Expected<Database> database = create_trace(file);
    EXPECT_TRUE(database.ok());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    EXPECT_TRUE(writer.ok());
    Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
    EXPECT_TRUE(assembler.ok());
    for (const TestRecord& r : stream.records) {
      check((*assembler)->apply(r.header(), r.thread));
      if (commit_each) check((*assembler)->commit("x"));
    }
    check((*assembler)->finish());
    totals_ = (*assembler)->totals();
    check(finish_trace(writer->database()));
    assembler->reset();
    return std::move(writer->database());
  }

  std::filesystem::path folder_;
  int files_ = 0;
  Totals totals_;
};

/// Everything that a reader can see.
std::string dump(Database& database) {
  std::string text;
  for (const char* table :
       {"string",   "thread",         "frame",   "stack", "operator", "block",       "storage",    "tensor",
        "mark",     "launches",       "sample",  "edge",  "source",   "source_line", "diagnostic", "loss",
        "interval", "interval_curve", "key_sum", "meta",  "oom",      "parameter"}) {
    text += std::string(table) + "\n";
    for (const std::string& row : rows(database, std::string("SELECT * FROM ") + table + " ORDER BY 1, 2")) {
      text += row + "\n";
    }
  }
  return text;
}

TEST_F(AssemblerTest, TensorStorageAndBlockLifetimes) {
  TestStream s;
  s.named_thread(100, "python");
  s.code(0xC0, "/x/model.py", "forward");
  s.stack(0x51, {{0xC0, 4, 12}, {0xC0, 8, 40}});
  s.alloc(0xD000, 4096);
  s.op_begin("aten::empty", 3);
  s.birth(0xA0, 0xB0, 0xD000, 4096, 0x51);
  s.op_end(3);
  s.birth(0xA1, 0xB0, 0xD000, 4096);
  s.death(0xA0);
  s.death(0xA1);
  s.storage_death(0xB0, 0x51);
  s.free(0xD000);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, object, storage, to_seq IS NULL FROM tensor"), (Rows{"9|9|9|0", "11|11|9|0"}));
  EXPECT_EQ(rows(db,
                 "SELECT s.id, s.address, s.bytes, s.first_seen, o.ordinal, s.stack = s.end_stack, s.end_thread,"
                 " s.end_operator FROM storage s JOIN operator o ON o.id = s.operator"),
            (Rows{"9|176|4096|1|3|1|1|-"}));
  EXPECT_EQ(rows(db, "SELECT bytes, device, storage, to_seq - from_seq FROM block"), (Rows{"4096|cpu|9|9"}));
  EXPECT_EQ(rows(db,
                 "WITH RECURSIVE w(id, depth) AS (SELECT stack, 0 FROM storage UNION ALL"
                 " SELECT stack.parent, depth + 1 FROM w JOIN stack ON stack.id = w.id WHERE parent IS NOT NULL)"
                 " SELECT f.line, text FROM w JOIN stack ON stack.id = w.id JOIN frame f ON f.id = stack.frame"
                 " JOIN string ON string.id = f.function ORDER BY depth"),
            (Rows{"12|forward", "40|forward"}));
  EXPECT_EQ(rows(db, "SELECT thread.id, tid, text FROM thread JOIN string ON string.id = thread.name"),
            (Rows{"1|100|python"}));
  EXPECT_EQ(totals_.peak_bytes, 4096);
  EXPECT_EQ(totals_.allocated_bytes, 0);
  EXPECT_EQ(rows(db, "SELECT bytes FROM allocated"), (Rows{"4096", "0"}));
  EXPECT_EQ(rows(db, "SELECT name FROM sqlite_master WHERE name LIKE 'wire%' OR name LIKE 'recorder%'"), Rows{});
  EXPECT_EQ(rows(db, "SELECT count(*) FROM meta WHERE key = 'drained'"), (Rows{"0"}));
}

TEST_F(AssemblerTest, BirthAtALiveAddressIsALostDeath) {
  TestStream s;
  s.birth(0xA0, 0xB0);
  const auto tensor = s.birth(0xA0, 0xB0);
  s.alloc(0xD0, 8);
  const auto block = s.alloc(0xD0, 16);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, to_seq FROM tensor"), (Rows{"1|" + std::to_string(tensor), "2|-"}));
  EXPECT_EQ(rows(db, "SELECT id, to_seq FROM block"), (Rows{"3|" + std::to_string(block), "4|-"}));
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'lost_deaths'"), (Rows{"2"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'lost_death'"), (Rows{"1"})) << "one example";
  EXPECT_EQ(totals_.allocated_bytes, 16);
}

TEST_F(AssemblerTest, EndsOfWhatWasNotSeenToBeginAreCounted) {
  TestStream s;
  s.death(0xA0);
  s.free(0xD0);
  s.birth(0xA1, 0xB1);
  s.tensor(RecordType::kTensorRelease, 0xA1, 0xB1);
  s.death(0xA1);  // the second half of the same end
  wire::StorageRecord shown_at_its_end{};
  shown_at_its_end.storage = 0xB2;
  shown_at_its_end.bytes = 64;
  const auto storage = s.add(RecordType::kStorageDeath, 0, shown_at_its_end);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'unseen_births'"), (Rows{"2"}));
  const std::string moment = std::to_string(storage);
  EXPECT_EQ(rows(db, "SELECT bytes, from_seq, to_seq FROM storage ORDER BY id DESC LIMIT 1"),
            (Rows{"64|" + moment + "|" + moment}));
}

TEST_F(AssemblerTest, AStorageCanLiveBeforeItsTensors) {
  TestStream s;
  wire::StorageRecord birth{};
  birth.storage = 0xB0;
  birth.bytes = 64;
  const auto from = s.add(RecordType::kStorageBirth, 0, birth);
  s.birth(0xA0, 0xB0, 0, 64);
  const auto again = s.add(RecordType::kStorageBirth, 0, birth);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, from_seq, to_seq FROM storage"),
            (Rows{"1|" + std::to_string(from) + "|" + std::to_string(again),
                  std::to_string(again) + "|" + std::to_string(again) + "|-"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'lost_death'"), (Rows{"1"}));
}

TEST_F(AssemblerTest, AChangeThatOnlyShowsAtTheEndIsSaid) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 64);
  s.birth(0xA1, 0xB1, 0, 64);
  wire::StorageRecord grown{};
  grown.storage = 0xB0;
  grown.bytes = 128;
  const auto moved = s.add(RecordType::kStorageDeath, 0, grown);
  const auto end = s.death(0xA0, 0xB1);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'unseen_change'"), (Rows{"2"}));
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'unseen_changes'"), (Rows{"2"}));
  EXPECT_EQ(rows(db, "SELECT storage, bytes FROM mark WHERE kind = 'resize'"), (Rows{"1|128"}));
  const std::string moment = std::to_string(moved);
  EXPECT_EQ(rows(db, "SELECT storage, from_seq, to_seq FROM tensor WHERE object = 1 ORDER BY id"),
            (Rows{"1|1|" + moment, "2|" + moment + "|" + std::to_string(end)}));
}

TEST_F(AssemblerTest, ReleaseEndsAndALaterDeathEndsNothing) {
  TestStream s;
  s.birth(0xA0, 0xB0);
  const auto tensor = s.tensor(RecordType::kTensorRelease, 0xA0, 0xB0);
  const auto storage = s.storage_end(RecordType::kStorageRelease, 0xB0);
  s.death(0xA0);
  s.storage_death(0xB0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT to_seq FROM tensor"), (Rows{std::to_string(tensor)}));
  EXPECT_EQ(rows(db, "SELECT to_seq FROM storage"), (Rows{std::to_string(storage)}));
}

TEST_F(AssemblerTest, EndsOfTheUnknownAreIgnored) {
  TestStream s;
  s.death(0xA0);
  s.storage_death(0xB0);
  s.free(0xD0);
  s.op_end(9);
  s.mark(RecordType::kMarkEnd, MarkKind::kUser, "m", 77);
  Database db = record(s);
  for (const char* table : {"tensor", "storage", "block", "operator", "mark", "diagnostic"}) {
    EXPECT_EQ(rows(db, std::string("SELECT count(*) FROM ") + table), (Rows{"0"})) << table;
  }
}

TEST_F(AssemblerTest, RepointKeepsTheObjectAndMarksIt) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 100);
  s.repoint(0xA0, 0xB0, 0xB1);
  s.death(0xA0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, object, storage, from_seq, to_seq FROM tensor"), (Rows{"1|1|1|1|2", "2|1|2|2|3"}));
  EXPECT_EQ(rows(db, "SELECT tensor, storage, from_seq FROM mark WHERE kind = 'repoint'"), (Rows{"1|1|2"}));
}

TEST_F(AssemblerTest, ResizeLinksTheNewBlock) {
  TestStream s;
  s.alloc(0xD0, 100);
  s.birth(0xA0, 0xB0, 0xD0, 100);
  s.alloc(0xD1, 200);
  s.resize(0xB0, 100, 200, 0xD1);
  s.free(0xD0);
  s.resize(0xB0, 200, 0, 0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT bytes, storage FROM block ORDER BY id"), (Rows{"100|2", "200|2"}));
  EXPECT_EQ(rows(db, "SELECT storage, bytes FROM mark WHERE kind = 'resize' ORDER BY id"), (Rows{"2|200", "2|0"}));
  EXPECT_EQ(rows(db, "SELECT bytes FROM storage"), (Rows{"100"}));
}

TEST_F(AssemblerTest, OperatorsNestAndLostEndsAreMadeUp) {
  TestStream s;
  s.op_begin("a", 5);
  s.op_begin("b", 7);
  s.op_begin("c", 8);
  const auto end = s.op_end(7);          // c's end was lost
  const auto next = s.op_begin("d", 6);  // not deeper than a's: cannot be, but does no harm
  s.thread = 2;
  s.op_begin("e", 1);
  s.op_end(1);
  s.thread = 1;
  s.op_begin("f", 5);  // a's and d's ends were lost
  Database db = record(s);
  const std::string e = std::to_string(end);
  EXPECT_EQ(rows(db, "SELECT text, thread, parent, ordinal, CASE WHEN to_seq = " + e +
                         " THEN 'x' ELSE to_seq IS NULL"
                         " END FROM operator JOIN string ON string.id = name ORDER BY operator.id"),
            (Rows{"a|1|-|5|0", "b|1|2|7|x", "c|1|4|8|x", "d|1|2|6|0", "e|2|-|1|0", "f|1|-|5|1"}));
  EXPECT_GT(next, end);
}

TEST_F(AssemblerTest, ABlockInANodeIsTheNodeAndTheBlock) {
  TestStream apart;
  TestStream together;
  for (TestStream* s : {&apart, &together}) {
    s->named_thread(100, "python");
    s->text("MulBackward0");
    s->op_begin("autograd::engine::execute", 1, OpScope::kBackward);
  }
  const auto node = apart.op_begin("MulBackward0", 2, OpScope::kBackward);
  apart.alloc(0x1000, 100'000);
  apart.op_end(2);
  EXPECT_EQ(together.alloc_in_node("MulBackward0", 2, 0x1000, 100'000), node);
  for (TestStream* s : {&apart, &together}) {
    s->birth(1, 10, 0x1000, 100'000);
    s->op_end(1);
  }
  Database one = record(apart);
  Database other = record(together);
  for (const char* query : {"SELECT name, thread, parent, ordinal, from_seq, to_seq FROM operator",
                            "SELECT id, address, bytes, thread, operator, from_seq, storage FROM block",
                            "SELECT id, storage, thread, operator, from_seq FROM tensor"}) {
    EXPECT_EQ(rows(one, query), rows(other, query)) << query;
  }
  EXPECT_EQ(rows(other,
                 "SELECT text, bytes FROM block JOIN operator ON operator.id = block.operator"
                 " JOIN string ON string.id = operator.name"),
            (Rows{"MulBackward0|100000"}));
}

TEST_F(AssemblerTest, PhasesAndStepsComeFromTheOperators) {
  TestStream s;
  const auto first = s.named_thread(100, "python");
  std::vector<std::string> expected;
  std::string step_begin = std::to_string(first);
  std::vector<std::string> steps;
  for (int step = 0; step < 2; ++step) {
    const auto forward = s.op("aten::addmm");
    s.op("aten::mse_loss");
    const auto backward = s.op_begin("autograd::engine::evaluate_function: AddmmBackward0", 100 + 10 * step);
    s.op_begin("AddmmBackward0", 101 + 10 * step, OpScope::kBackward);
    s.op_begin("aten::mm", 102 + 10 * step);
    s.op_end(102 + 10 * step);
    s.op_end(101 + 10 * step);
    const auto backward_end = s.op_end(100 + 10 * step);
    s.op("aten::norm");  // clipping: neither backward nor a forward
    s.text("Optimizer.step#SGD.step");
    const auto optimizer = s.op_begin("Optimizer.step#SGD.step", 105 + 10 * step, OpScope::kUser);
    const auto optimizer_end = s.op_end(105 + 10 * step);
    expected.push_back("forward|" + std::to_string(forward) + "|" + std::to_string(backward));
    expected.push_back("backward|" + std::to_string(backward) + "|" + std::to_string(backward_end));
    expected.push_back("optimizer|" + std::to_string(optimizer) + "|" + std::to_string(optimizer_end));
    steps.push_back(std::to_string(step) + "|" + step_begin + "|" + std::to_string(optimizer_end));
    step_begin = std::to_string(optimizer_end);
  }
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT text, from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE kind = 'phase'"
                 " ORDER BY from_seq"),
            expected);
  EXPECT_EQ(rows(db, "SELECT value, from_seq, to_seq FROM mark WHERE kind = 'step' ORDER BY id"), steps);
  EXPECT_EQ(totals_.steps, 2);
}

TEST_F(AssemblerTest, PhasesAreToldFromMemoryWhereNoOperatorIsObserved) {
  TestStream s;
  s.named_thread(100, "python");
  const auto forward = s.alloc(0x1000, 100);
  s.alloc(0x2000, 100);
  const auto backward = s.op_begin("autograd::engine::execute", 1, OpScope::kBackward);
  s.thread = 2;
  s.op("MmBackward0", OpScope::kBackward);
  s.alloc(0x3000, 100);  // between two nodes of the device's thread
  s.op("AddBackward0", OpScope::kBackward);
  s.thread = 1;
  const auto backward_end = s.op_end(1);
  s.free(0x1000);        // no begin of a forward
  s.alloc(0x4000, 100);  // nor this, with no backward after it
  const auto optimizer = s.op("Optimizer.step#SGD.step", OpScope::kUser);
  s.free(0x2000);
  const auto again = s.alloc(0x1000, 100);
  const auto next = s.op("autograd::engine::execute", OpScope::kBackward);
  Database db = record(s);
  const auto phase = [](const char* name, std::uint64_t from, std::uint64_t to) {
    return std::string(name) + "|" + std::to_string(from) + "|" + std::to_string(to);
  };
  EXPECT_EQ(rows(db,
                 "SELECT text, from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE kind = 'phase'"
                 " ORDER BY from_seq"),
            (Rows{phase("forward", forward, backward), phase("backward", backward, backward_end),
                  phase("optimizer", optimizer, optimizer + 1), phase("forward", again, next),
                  phase("backward", next, next + 1)}));
}

TEST_F(AssemblerTest, ForwardAgainAfterBackwardAndASecondOptimizer) {
  TestStream s;
  s.op("aten::addmm");
  s.op("AddmmBackward0", OpScope::kBackward);
  const auto again = s.op("aten::addmm");
  s.op("aten::relu");
  const auto backward = s.op("ReluBackward0", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  const auto second = s.op("Optimizer.step#Adam.step", OpScope::kUser);
  Database db = record(s);
  const auto phases = rows(db,
                           "SELECT text, from_seq, to_seq FROM mark JOIN string ON string.id = name"
                           " WHERE kind = 'phase' ORDER BY from_seq");
  ASSERT_EQ(phases.size(), 6u);
  EXPECT_EQ(phases[2], "forward|" + std::to_string(again) + "|" + std::to_string(backward));
  EXPECT_EQ(rows(db, "SELECT value, to_seq FROM mark WHERE kind = 'step'"), (Rows{"0|" + std::to_string(second + 1)}));
}

TEST_F(AssemblerTest, BackwardOnItsOwnThreadEndsWithTheForwardThreadsNextOperator) {
  TestStream s;
  s.op("aten::addmm");
  s.thread = 2;
  const auto begin = s.op("AddmmBackward0", OpScope::kBackward);
  s.thread = 1;
  s.op("aten::norm");
  Database db = record(s);
  EXPECT_EQ(
      rows(db, "SELECT thread, from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE text = 'backward'"),
      (Rows{"2|" + std::to_string(begin) + "|" + std::to_string(begin + 1)}));
}

TEST_F(AssemblerTest, ExplicitStepsReplaceAutomaticOnes) {
  TestStream s;
  const auto first = s.op("aten::addmm") - 1;  // the text's record comes first
  s.op("AddmmBackward0", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  const auto a = s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 10);
  s.op("AddmmBackward0", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  const auto b = s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 11);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT value, from_seq, to_seq FROM mark WHERE kind = 'step' ORDER BY id"),
              (Rows{"10|" + std::to_string(first) + "|" + std::to_string(a),
                    "11|" + std::to_string(a) + "|" + std::to_string(b)}));
    EXPECT_EQ(totals_.steps, 2);
  }
}

TEST_F(AssemblerTest, AStepThatEndsWithinABackwardDoesNotEndIt) {
  TestStream s;
  s.op("aten::addmm");
  const auto backward = s.op_begin("AddmmBackward0", 100, OpScope::kBackward);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);  // in a hook
  const auto end = s.op_end(100);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE kind = 'phase'"
                 " AND text = 'backward'"),
            (Rows{std::to_string(backward) + "|" + std::to_string(end)}));
}

TEST_F(AssemblerTest, AMarkHasItsStack) {
  TestStream s;
  s.code(0xC0, "/home/u/model.py", "forward");
  s.stack(0x51, {{0xC0, 0, 12}});
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0, 1, 0x51);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT f.line FROM mark JOIN stack ON stack.id = mark.stack JOIN frame f ON f.id = frame"),
            (Rows{"12"}));
}

TEST_F(AssemblerTest, UserMarksAreMomentsAndSpans) {
  TestStream s;
  s.mark(RecordType::kMarkPoint, MarkKind::kUser, "moment");
  s.mark(RecordType::kMarkBegin, MarkKind::kPhase, "warmup", 5);
  s.mark(RecordType::kMarkBegin, MarkKind::kUser, "open", 6);
  s.mark(RecordType::kMarkEnd, MarkKind::kPhase, "warmup", 5);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT kind, text, to_seq - from_seq FROM mark JOIN string ON string.id = name ORDER BY mark.id"),
            (Rows{"user|moment|0", "phase|warmup|3", "user|open|-"}));
}

TEST_F(AssemblerTest, ReleaseCycleOfAKey) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0);
  s.key(RecordType::kWait, 3, 0xB0, 4096, 0, 0xA0);
  s.key(RecordType::kPersist, 4, 0, 0, wire::kKeyExplicit | wire::kKeyStorageDead);
  const auto begin = s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.repoint(0xA0, 0xB0, 0xB1);
  const auto end = s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  const auto settled = s.key(RecordType::kReleaseSettled, 3, 0xB0, 4096);
  s.read(3, 0xB0, 0xA0, 4096);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT kind, text, graph, key, cycle, storage, tensor, bytes, flags FROM mark"
                 " JOIN string ON string.id = name WHERE kind IN ('gather', 'wait', 'persist') ORDER BY mark.id"),
            (Rows{"gather|zero::cycle|7|3|1|1|1|4096|-", "wait|zero::cycle|7|3|1|1|1|4096|-",
                  "persist|zero::cycle|7|4|1|-|-|0|explicit"}));
  EXPECT_EQ(rows(db,
                 "SELECT from_seq, to_seq, settled_seq, bytes, bytes_after, bytes_settled, declared, remaining, flags"
                 " FROM release"),
            (Rows{std::to_string(begin) + "|" + std::to_string(end) + "|" + std::to_string(settled) +
                  "|4096|4096|4096|2|0|final,metadata_only"}));
  EXPECT_EQ(rows(db,
                 "SELECT r.storage, r.bytes, text, p.kind FROM mark r JOIN mark p ON p.id = r.parent"
                 " JOIN string ON string.id = r.name WHERE r.kind = 'read'"),
            (Rows{"1|4096|aten::addmm|release"}));
  EXPECT_EQ(rows(db, "SELECT storage, tensor FROM mark WHERE kind = 'repoint'"), (Rows{"1|1"}));
}

TEST_F(AssemblerTest, OfAnUntrackedStorageNoBytesAreKnown) {
  TestStream s;
  s.key(RecordType::kGather, 3, 0, 0, wire::kKeyUntracked, 0xA0);
  s.key(RecordType::kReleaseBegin, 3, 0, 0, wire::kKeyUntracked);
  s.key(RecordType::kRelease, 3, 0, 0, wire::kKeyFinal | wire::kKeyUntracked);
  s.key(RecordType::kReleaseSettled, 3, 0, 0, wire::kKeyUntracked);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT kind, storage, bytes, bytes_after, bytes_settled, flags FROM mark ORDER BY id"),
            (Rows{"gather|-|-|-|-|untracked", "release|-|-|-|-|final,untracked"}));
  EXPECT_EQ(rows(db, "SELECT final, residual FROM key_sum"), (Rows{"1|0"}));
}

TEST_F(AssemblerTest, WhatIsOnlyWrittenIsNoRead) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.read(3, 0xB0, 0xA0, 4096, wire::kReadOverwrites);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT kind, storage, parent > 0 FROM mark WHERE kind IN ('read', 'write')"),
            (Rows{"write|1|1"}));
  EXPECT_EQ(rows(db, "SELECT reads FROM key_sum"), (Rows{"0"}));
}

TEST_F(AssemblerTest, KernelsReadByTheirNames) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0);
  const auto before = s.launches(true, 10, 1);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.last_touch(3, 0xB0, "_Z4usesPf", 5, 1000);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.read(3, 0xB0, 0xA0, 4096);
  s.kernel_read(3, 0xB0, "_ZN2at6native4fillIfEEvPT_");
  s.kernel_read(3, 0xB0, "triton_poi_fused_add_0");
  s.kernel_read(3, 0xB0, "_Z is no such name");
  const auto after = s.launches(false, 20, 3, 2);
  s.launches(true, std::uint64_t{1} << 63);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT text, flags, storage, tensor, bytes, p.kind FROM mark JOIN string ON string.id = name"
                 " JOIN (SELECT id AS release, kind FROM mark) p ON release = parent WHERE mark.kind = 'read'"
                 " ORDER BY mark.id"),
            (Rows{"aten::addmm|-|1|1|4096|release", "void at::native::fill<float>(float*)|kernel|1|-|4096|release",
                  "triton_poi_fused_add_0|kernel|1|-|4096|release", "_Z is no such name|kernel|1|-|4096|release"}));
  EXPECT_EQ(rows(db, "SELECT id, looking, calls, graphs, nccl, unknown, copies FROM launches"),
            (Rows{std::to_string(before) + "|1|10|1|0|0|0", std::to_string(after) + "|0|20|3|2|0|0"}));
  EXPECT_EQ(rows(db, "SELECT reads, kernel_reads FROM key_sum"), (Rows{"1|3"}));
  EXPECT_EQ(rows(db,
                 "SELECT text, graph, key, storage, value, to_seq - from_seq, to_ns > from_ns FROM mark"
                 " JOIN string ON string.id = name WHERE kind = 'touch'"),
            (Rows{"uses(float*)|7|3|1|5|0|1"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(AssemblerTest, ReleaseThatFreesIsNotMetadataOnly) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.repoint(0xA0, 0xB0, 0xB1);
  s.storage_death(0xB0);
  s.key(RecordType::kRelease, 3, 0, 0, wire::kKeyFinal | wire::kKeyStorageDead);
  s.key(RecordType::kReleaseBegin, 4, 0xB1, 4096);
  s.thread = 2;
  s.repoint(0xA0, 0xB1, 0xB2);  // another thread's is not this release's doing
  s.thread = 1;
  s.key(RecordType::kRelease, 4, 0xB1, 4096);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT key, storage, bytes, bytes_after, bytes_settled, flags FROM release ORDER BY id"),
            (Rows{"3|1|4096|0|-|final", "4|4|4096|4096|-|-"}));
}

TEST_F(AssemblerTest, ReleaseWithoutABeginAndBeginWithoutAnEnd) {
  TestStream s;
  s.key(RecordType::kRelease, 3, 0xB0, 64);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 64);
  const auto again = s.key(RecordType::kReleaseBegin, 3, 0xB0, 64);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT bytes, bytes_after, declared, to_seq FROM release ORDER BY id"),
            (Rows{"-|64|2|" + std::to_string(2), "64|-|2|" + std::to_string(again), "64|-|2|-"}));
}

TEST_F(AssemblerTest, StreamsAndWhatTheCudaAllocatorHas) {
  TestStream s;
  s.reserved(2048, false);
  s.cuda_alloc(0x10, 512);  // before the allocator's trace is attached
  s.reserved(2048, true);
  s.cuda_alloc(0x20, 256);
  s.cuda_alloc(0x30, 128);
  s.block_stream(0x30, 0x55550000);
  s.cuda_alloc(0x40, 64);
  s.block_stream(0x40, 0x66660000);
  s.cuda_alloc(0x50, 32);
  s.block_stream(0x50, 0x55550000);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);
  s.cuda_free(0x30, true);
  s.cuda_free(0x20);
  s.reserved(4096, true);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 2);
  s.cuda_free_done(0x30);
  s.cuda_free_done(0x99);  // of none that is known
  s.reserved(1024, true);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 3);
  s.cuda_free(0x40, true);
  s.cuda_alloc(0x40, 64);  // handed out again: its wait was over, though nobody said so
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 4);
  s.reserved(1, true, wire::kCpuDevice);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT address, stream FROM block ORDER BY id"),
            (Rows{"16|-", "32|0", "48|1", "64|2", "80|1", "64|0"}));
  EXPECT_EQ(rows(db,
                 "SELECT step, end_bytes, active_end_bytes, reserved_end_bytes, active_peak_bytes, reserved_peak_bytes"
                 " FROM interval JOIN interval_curve ON interval = id WHERE step IS NOT NULL AND device = 'cuda:0'"
                 " ORDER BY step"),
            (Rows{"1|992|992|2048|992|2048", "2|608|736|4096|992|4096", "3|608|608|1024|736|4096",
                  "4|608|608|1024|608|1024"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(AssemblerTest, SumsOfSmallBlocksTakeEachOthersPlace) {
  TestStream s;
  s.alloc(0x10, 1000);
  const auto first = s.small_blocks(64);
  s.small_blocks(80, wire::cuda_device(1));
  const auto second = s.small_blocks(32);
  s.free(0x10);
  const auto none = s.small_blocks(0);
  s.small_blocks(std::uint64_t{1} << 60);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT from_seq, to_seq, bytes, gpu, address, thread FROM block JOIN string ON string.id = owner"
                 " WHERE text = 'under 64 KiB, not followed' ORDER BY from_seq"),
            (Rows{std::to_string(first) + "|" + std::to_string(second) + "|64|-|0|1",
                  std::to_string(first + 1) + "|-|80|1|0|1",
                  std::to_string(second) + "|" + std::to_string(none) + "|32|-|0|-"}));
  EXPECT_EQ(rows(db,
                 "SELECT device, peak_bytes, end_bytes, allocs, alloc_bytes, frees, free_bytes FROM interval_curve"
                 " JOIN interval ON interval = id WHERE step = 1 ORDER BY device"),
            (Rows{"cpu|1064|0|1|1064|1|1064", "cuda:1|80|80|0|80|0|0"}));
  EXPECT_EQ(rows(db, "SELECT max(bytes) FROM allocated WHERE device = 'cpu'"), (Rows{"1064"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(AssemblerTest, HowLongFreedBlocksWaitedForStreams) {
  TestStream s;
  s.reserved(4096, true);
  for (const std::uint64_t address : {0x10, 0x20, 0x30, 0x40}) s.cuda_alloc(address, 64);
  s.alloc(0x50, 64);
  const auto freed = s.cuda_free(0x10, true);
  s.cuda_free(0x20);
  s.cuda_free(0x30, true);
  s.cuda_free(0x40, true);
  wire::BlockRecord nonsense{};
  nonsense.address = 0x50;
  nonsense.bytes = wire::kFreeAwaitsStream;
  s.add(RecordType::kBlockFree, wire::kCpuDevice, nonsense);
  const auto done = s.cuda_free_done(0x10);
  s.cuda_free_done(0x10);
  s.cuda_free_done(0x20);
  const auto again = s.cuda_alloc(0x30, 32);  // so its wait was over
  const std::string waited = "1|" + std::to_string(done - freed) + "|" + std::to_string((done - freed) * 1000) + "|";
  for (const bool commit_each : {false, true}) {
    Database db = record(s, commit_each);
    EXPECT_EQ(rows(db,
                   "SELECT address, to_seq IS NOT NULL, wait_seq_length, wait_ns_length, done_seq, done_ns = to_ns +"
                   " wait_ns_length FROM block ORDER BY id"),
              (Rows{"16|" + waited + std::to_string(done) + "|1", "32|1|-|-|-|-",
                    "48|1|" + std::to_string(again - freed - 2) + "|" + std::to_string((again - freed - 2) * 1000) +
                        "|" + std::to_string(again) + "|1",
                    "64|1|0|0|-|-", "80|1|-|-|-|-", "48|0|-|-|-|-"}));
  }
}

TEST_F(AssemblerTest, StoragesThatShareABlock) {
  TestStream s;
  s.cuda_alloc(0x1000, 0x100);
  s.cuda_alloc(0x2000, 0x100);
  const auto inside = s.birth(0xA0, 0xB0, 0x1040, 64);  // not at its start
  const auto second = s.birth(0xA1, 0xB1, 0x1080, 64);
  s.birth(0xA2, 0xB2, 0x1100, 64);  // behind its end
  s.birth(0xA3, 0xB3, 0x0fff, 64);  // before it
  const auto own = s.birth(0xA4, 0xB4, 0x2000, 256);
  Database db = record(s, true);
  EXPECT_EQ(rows(db, "SELECT address, storage FROM block ORDER BY id"),
            (Rows{"4096|" + std::to_string(inside), "8192|" + std::to_string(own)}));
  s.storage_death(0xB0);
  db = record(s, true);
  EXPECT_EQ(rows(db, "SELECT storage FROM block WHERE address = 4096"), (Rows{std::to_string(second)}))
      << "the next one that lies in it";
  s.cuda_free(0x1000);
  const auto fresh = s.cuda_alloc(0x1000, 0x80);
  const auto third = s.birth(0xA5, 0xB5, 0x1000, 64);
  s.storage_death(0xB1);
  db = record(s, true);
  EXPECT_EQ(rows(db, "SELECT storage FROM block WHERE id = " + std::to_string(fresh)), (Rows{std::to_string(third)}))
      << "what lay in an earlier block at this address has no part in it";
}

TEST_F(AssemblerTest, StoragesThatExchangeTheirDataExchangeTheirBlocks) {
  TestStream s;
  const auto one = s.cuda_alloc(0x1000, 0x100);
  const auto two = s.cuda_alloc(0x2000, 0x100);
  const auto first = s.birth(0xA0, 0xB0, 0x1000, 0x100);
  const auto second = s.birth(0xA1, 0xB1, 0x2000, 0x100);
  s.storage_end(RecordType::kStorageDeath, 0xB0, 0, 0x2000);
  s.cuda_free(0x2000);
  s.storage_end(RecordType::kStorageDeath, 0xB1, 0, 0x1000);
  s.cuda_free(0x1000);
  Database db = record(s, true);
  const auto of = [&](std::uint64_t block) { return "SELECT storage FROM block WHERE id = " + std::to_string(block); };
  EXPECT_EQ(rows(db, of(one)), (Rows{std::to_string(second)}));
  EXPECT_EQ(rows(db, of(two)), (Rows{std::to_string(first)}));
}

TEST_F(AssemblerTest, OwnersThatAreNoTensor) {
  TestStream s;
  s.cuda_alloc(0x1000, 0x100);
  wire::BlockOwnerRecord owner{};
  owner.address = 0x1000;
  owner.owner = s.text("cuBLAS workspace");
  s.add(RecordType::kBlockOwner, wire::cuda_device(0), owner);
  owner.address = 0x3000;  // no block
  s.add(RecordType::kBlockOwner, wire::cuda_device(0), owner);
  s.cuda_alloc(0x2000, 0x100);
  Database db = record(s, true);
  EXPECT_EQ(rows(db, "SELECT string.text FROM block LEFT JOIN string ON string.id = owner ORDER BY block.id"),
            (Rows{"cuBLAS workspace", "-"}));
}

class CensusTest : public AssemblerTest {
 protected:
  static std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
  }

  /// The code object `straight` of the bytecode tests: buf assigned in line 2 and deleted in 5, alias in line 3 and
  /// never deleted, return in 6; the frame stands at offset 52.
  static void straight_body(TestStream& s, std::uint64_t code) {
    std::ifstream file(std::string(DCMT_SOURCE_DIR) + "/collector/recorder/testdata/bytecode_3.11.json");
    for (const auto& fixture : nlohmann::json::parse(file)) {
      if (fixture["name"] != "straight") continue;
      s.body(code, wire::CodeBodyPart::kInstructions, from_hex(fixture["instructions"]));
      s.body(code, wire::CodeBodyPart::kLineTable, from_hex(fixture["line_table"]));
      s.body(code, wire::CodeBodyPart::kExceptionTable, from_hex(fixture["exception_table"]));
      s.body(code, wire::CodeBodyPart::kLocalNames, std::string("buf\0alias\0", 10));
    }
  }

  std::string write_source() const {
    const std::string file = path("generated.py");
    std::ofstream(file)
        << "def call():\n    buf = gather()\n    alias = buf\n    use(alias)\n    del buf\n    return 1\n";
    return file;
  }

  /// A storage with two tensors, one of them named by two locals, released before.
  static void census(TestStream& s, const std::string& file, bool body_first) {
    s.named_thread(100, "python");
    s.birth(0xA0, 0xB0, 0, 4096);
    const auto view = s.birth(0xA1, 0xB0, 0, 4096);
    static_cast<void>(view);
    s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
    s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
    s.key(RecordType::kReleaseSettled, 3, 0xB0, 4096);
    s.code(0xC0, file, "Runner.call");
    s.source_line(file, 1,
                  " File \"/home/u/model.py\", line 41, in forward\n    x = F.linear(x, self.weight)\n"
                  " File \"/v/site-packages/torch/nn/functional.py\", line 5, in linear\n    return f()\n");
    s.census(RecordType::kCensusBegin, 1, 0xB0, 2, 1, 0, 3);
    s.census_tensor(1, 0xA0, 1, 0x90, 3);
    s.census_tensor(1, 0xA1, 2, 0, 0);
    s.census_local(1, 0x90, 0xC0, 0, 52, 4, "buf");
    s.census_local(1, 0x90, 0xC0, 1, 52, 4, "alias");
    s.census_local(1, 0x90, 0xC0, 1, 52, 4, "alias");  // seen twice, one slot
    s.census_local(1, 0x90, 0xC0, 0, 52, 4, "", wire::LocalKind::kEvalStack);
    if (body_first) straight_body(s, 0xC0);
    s.census(RecordType::kCensusEnd, 1, 0xB0, 2, wire::kCensusOtherThreads, 0, 3);
    if (!body_first) straight_body(s, 0xC0);
  }
};

TEST_F(CensusTest, EquationsAndEdges) {
  const std::string file = write_source();
  TestStream s;
  census(s, file, true);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT c.key, c.bytes, c.flags, c.trigger, p.kind FROM mark c JOIN mark p ON p.id = c.parent"
                 " WHERE c.kind = 'census'"),
            (Rows{"3|4096|other_threads_unseen|release|release"}));
  EXPECT_EQ(rows(db, "SELECT subject, tensor, count, explained, unexplained FROM sample ORDER BY id"),
            (Rows{"storage|-|2|2|0", "tensor|2|1|1|0", "object|2|3|3|0", "tensor|3|2|0|2"}));
  EXPECT_EQ(rows(db, "SELECT DISTINCT sample.storage = mark.storage FROM sample JOIN mark ON mark.id = census"),
            (Rows{"1"}));
  EXPECT_EQ(
      rows(db,
           "SELECT held, holder, tensor, object, from_seq IN (SELECT from_seq FROM tensor), confidence FROM edge"
           " ORDER BY id"),
      (Rows{"storage|tensor|2|-|1|certain", "tensor|python_object|2|144|0|certain", "storage|tensor|3|-|1|certain",
            "object|local|2|144|0|certain", "object|local|2|144|0|certain", "object|eval_stack|2|144|0|certain"}));
  EXPECT_EQ(rows(db,
                 "SELECT name, function, line, assignment, delete_line, return_line, model_file, model_line, model_text"
                 " FROM holder WHERE held = 'object' ORDER BY id"),
            (Rows{"buf|Runner.call|2|buf = gather()|5|6|/home/u/model.py|41|x = F.linear(x, self.weight)",
                  "alias|Runner.call|3|alias = buf|-|6|/home/u/model.py|41|x = F.linear(x, self.weight)",
                  "-|Runner.call|-|-|-|-|-|-|-"}));
  EXPECT_EQ(rows(db, "SELECT thread, current_line FROM edge WHERE holder = 'local'"), (Rows{"1|4", "1|4"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM source"), (Rows{"1"}));
  EXPECT_EQ(totals_.censuses, 1);
}

TEST_F(CensusTest, AViewKeepsItsBase) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.birth(0xA1, 0xB0, 0, 4096);
  s.census(RecordType::kCensusBegin, 1, 0xB0, 2, 3, 0, 3);
  s.census_tensor(1, 0xA0, 1, 0, 0);
  s.census_tensor(1, 0xA1, 1, 0x90, 1, 0xA0);
  s.census(RecordType::kCensusEnd, 1, 0xB0, 2, 0, 0, 3);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT subject, tensor, count, explained, unexplained FROM sample ORDER BY id"),
            (Rows{"storage|-|2|2|0", "tensor|1|1|1|0", "tensor|2|1|1|0", "object|2|1|0|1"}));
  EXPECT_EQ(rows(db, "SELECT held, tensor, object FROM edge WHERE holder = 'view'"), (Rows{"tensor|1|161"}));
}

TEST_F(CensusTest, TheBodyMayComeLater) {
  const std::string file = write_source();
  TestStream early;
  census(early, file, true);
  TestStream late;
  census(late, file, false);
  Database expected = record(early);
  for (const bool commits : {false, true}) {
    Database db = record(late, commits);
    const char* sql = "SELECT name, function, line, assignment, delete_line, model_line FROM holder ORDER BY id";
    EXPECT_EQ(rows(db, sql), rows(expected, sql));
  }
}

TEST_F(CensusTest, EdgesEndWithWhatTheyHold) {
  TestStream s;
  census(s, write_source(), true);
  const auto tensor = s.death(0xA0);
  const auto storage = s.storage_death(0xB0);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT DISTINCT tensor, to_seq FROM edge ORDER BY tensor"),
              (Rows{"2|" + std::to_string(tensor), "3|" + std::to_string(storage)}));
  }
}

TEST_F(CensusTest, EdgesEndWhereTheirTensorMoves) {
  TestStream s;
  census(s, write_source(), true);
  const auto moved = s.repoint(0xA0, 0xB0, 0xB1);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT DISTINCT tensor, to_seq FROM edge ORDER BY tensor"),
              (Rows{"2|" + std::to_string(moved), "3|-"}));
  }
}

TEST_F(CensusTest, ACensusMakesNoStorageAndEndsNoDeath) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.key(RecordType::kReleaseSettled, 3, 0xB0, 4096);
  s.thread = 2;  // drops the last reference while the first one goes on to its census
  s.death(0xA0, 0xB0);
  const auto end = s.storage_death(0xB0);
  s.thread = 1;
  s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 1, 0, 3);
  s.census_tensor(1, 0xA0, 1, 0, 0);
  s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0, 0, 3);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, to_seq FROM storage"), (Rows{"1|" + std::to_string(end)}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM mark WHERE kind = 'census'"), (Rows{"0"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), (Rows{"0"}));
}

TEST_F(CensusTest, MoreHoldersThanReferencesIsUnstable) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 3);
  s.census_tensor(1, 0xA0, 1, 0, 0);
  s.census_tensor(1, 0xA1, 1, 0, 0);
  s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT flags, parent, trigger FROM mark WHERE kind = 'census'"), (Rows{"unstable|-|call"}));
  EXPECT_EQ(rows(db, "SELECT count, explained, unexplained FROM sample WHERE subject = 'storage'"), (Rows{"1|1|0"}));
}

TEST_F(AssemblerTest, DefinitionsMayComeAfterTheirFirstUse) {
  TestStream s;
  wire::OpRecord op{};
  op.name = 0x77;
  op.ordinal = 1;
  s.add(RecordType::kOpBegin, 0, op);
  s.birth(0xA0, 0xB0, 0, 8, 0x51);
  s.publish_text(0x77, "late name");
  s.stack(0x51, {{0xC0, 0, 9}});
  s.code(0xC0, "f.py", "late function");
  s.birth(0xA1, 0xB0, 0, 8, 0x99);  // never defined
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT text FROM operator JOIN string ON string.id = name"), (Rows{"late name"}));
    EXPECT_EQ(rows(db,
                   "SELECT fn.text, frame.line FROM tensor t JOIN stack ON stack.id = t.stack JOIN frame ON"
                   " frame.id = stack.frame JOIN string fn ON fn.id = frame.function ORDER BY t.id"),
              (Rows{"late function|9", "(unknown)|0"}));
  }
}

TEST_F(AssemblerTest, ClockFollowsTheReadings) {
  TestStream s;
  s.op_begin("a", 1);  // text at 1, operator at counter 2000: 1 GHz until a reading says otherwise
  s.clock(1'000'000);  // at counter 3000
  s.skip(100'000);
  s.clock(1'000'000 + 200'002'000);  // 100'001 records of 1000 cycles later: 2 ns a cycle
  s.op_end(1);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT from_ns, to_ns FROM operator"), (Rows{"2000|201004000"}));
}

TEST_F(AssemblerTest, AJumpOfTheClockIsSaidAndTheErrorIsKept) {
  TestStream s;
  s.clock(1'000'000'000);  // at counter 1000
  s.skip(20'000);
  s.clock(1'020'000'100);  // 20'001'000 cycles later, 100 ns less than 1 GHz says
  s.skip(1'000'000);
  s.clock(1'030'000'000);  // 1 s of the counter, but 10 ms of the clock
  s.mark(RecordType::kMarkPoint, MarkKind::kUser, "after");
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT code FROM diagnostic"), (Rows{"clock"}));
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key IN ('clock_error_ns', 'clock_readings') ORDER BY key"),
            (Rows{"900", "3"}));
  EXPECT_EQ(rows(db, "SELECT from_ns FROM mark WHERE kind = 'user'"), (Rows{"1030002000"}));
}

TEST_F(AssemblerTest, AParameterWithoutAMechanismIsNone) {
  TestStream s;
  wire::ParameterRecord parameter{};
  parameter.key = 3;
  s.add(RecordType::kParameter, 0, parameter);
  parameter.mechanism = s.text("FSDP2");
  s.add(RecordType::kParameter, 0, parameter);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT key, name, text FROM parameter JOIN string ON string.id = mechanism"),
            (Rows{"3|-|FSDP2"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(AssemblerTest, AliasesOfAnOperatorAreRows) {
  TestStream s;
  wire::OperatorAliasRecord alias{};
  alias.declared = 1;
  s.add(RecordType::kOperatorAlias, 0, alias);  // of nobody
  alias.name = s.text("my::wait.out");
  alias.schema = s.text("my::wait.out(Tensor(a) t) -> Tensor(a)");
  alias.observed = 1 << 9;
  s.add(RecordType::kOperatorAlias, 0, alias);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT n.text, s.text, declared, observed FROM operator_alias"
                 " JOIN string n ON n.id = name JOIN string s ON s.id = schema"),
            (Rows{"my::wait.out|my::wait.out(Tensor(a) t) -> Tensor(a)|1|512"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(AssemblerTest, LossesAndDiagnosticsAreRows) {
  TestStream s;
  wire::LostRecord lost{};
  lost.count = 5;
  lost.since_tsc = 400;
  s.add(RecordType::kLost, 1, lost);
  wire::DiagnosticRecord diagnostic{};
  diagnostic.text = s.text("no python");
  s.add(RecordType::kDiagnostic, 1, diagnostic);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT reason, count, from_ns FROM loss"), (Rows{"no_room|5|400"}));
  EXPECT_EQ(rows(db, "SELECT code, string.text FROM diagnostic JOIN string ON string.id = diagnostic.text"),
            (Rows{"provider_off|no python"}));
  EXPECT_EQ(totals_.lost, 5);
}

TEST_F(AssemblerTest, GapIsALoss) {
  Expected<Database> database = create_trace(path("gap"));
  Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
  Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
  ASSERT_TRUE(assembler.ok());
  check((*assembler)->note_gap(1, 3));
  EXPECT_EQ((*assembler)->last_seq(), 3u);
  EXPECT_EQ((*assembler)->totals().lost, 3);
  check((*assembler)->finish());
  EXPECT_EQ(rows(writer->database(), "SELECT reason, count, from_seq, to_seq FROM loss"), (Rows{"in_flight|3|1|3"}));
}

/// Of those that a record takes.
std::uint64_t last_sequence(const TestRecord& record) {
  return record.header().seq + wire::sequences_of(record.header().type) - 1;
}

/// A small stream with something of everything in it, and much of it unfinished at any moment.
TestStream everything(const std::string& file) {
  TestStream s;
  s.clock(5'000'000);
  s.named_thread(100, "python");
  s.code(0xC1, "/x/model.py", "forward");
  s.stack(0x51, {{0xC1, 4, 12}, {0xC9, 8, 40}});  // 0xC9 comes later
  s.alloc(0xD0, 4096);
  s.op_begin("aten::empty", 1);
  s.birth(0xA0, 0xB0, 0xD0, 4096, 0x51);
  s.op_end(1);
  s.birth(0xA1, 0xB0, 0xD0, 4096, 0x52);  // 0x52 comes later
  s.code(0xC9, "/x/train.py", "main");
  s.stack(0x52, {{0xC9, 8, 41}});
  s.mark(RecordType::kMarkBegin, MarkKind::kUser, "span", 5);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.repoint(0xA0, 0xB0, 0xB1);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.op("aten::addmm");
  s.key(RecordType::kReleaseSettled, 3, 0xB0, 4096);
  s.code(0xC0, file, "Runner.call");
  s.source_line(file, 1, " File \"/home/u/model.py\", line 41, in forward\n    x = 1\n");
  s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 1, 0, 3);
  s.census_tensor(1, 0xA1, 1, 0x90, 2);
  s.census_local(1, 0x90, 0xC0, 0, 52, 4, "buf");
  s.census_local(1, 0x90, 0xC0, 1, 52, 4, "alias");
  s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0, 0, 3);
  s.read(3, 0xB0, 0xA1, 4096);
  s.kernel_read(3, 0xB0, "_Z4readPf");
  s.launches(true, 7);
  s.thread = 2;
  s.op("AddmmBackward0", OpScope::kBackward);
  s.alloc_in_node("MmBackward0", 2, 0xD7, 100'000);
  s.free(0xD7);
  s.thread = 1;
  s.op("aten::norm");
  s.op("AddmmBackward0", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  s.op("Optimizer.step#Adam.step", OpScope::kUser);
  s.op("aten::addmm");
  s.mark(RecordType::kMarkEnd, MarkKind::kUser, "span", 5);
  s.small_blocks(64);
  s.alloc(0xD1, 64);
  s.small_blocks(32);
  s.resize(0xB0, 4096, 64, 0xD1);
  s.free(0xD0);
  s.reserved(8192, false);
  s.reserved(8192, true);
  for (const std::uint64_t address : {0x10, 0x20, 0x30}) {
    s.cuda_alloc(address, 512);
    s.block_stream(address, 0x55550000 + address % 0x20);
  }
  s.cuda_free(0x10, true);
  s.cuda_free(0x20, true);
  s.cuda_free_done(0x10);
  s.cuda_alloc(0x10, 256);
  s.block_stream(0x10, 0x55550000);
  s.out_of_memory(wire::cuda_device(0), 4096, 768, 8192, 1, 8192);
  s.reserved(4096, true);
  return s;
}

class ResumeTest : public CensusTest {
 protected:
  /// Records up to `cut`, forgets the recorder without a finish, and goes on with another.
  std::string cut_and_resumed(const TestStream& s, std::size_t cut, std::size_t uncommitted) {
    const std::string file = path("cut" + std::to_string(files_++));
    {
      Expected<Database> database = create_trace(file);
      Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
      Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
      for (std::size_t i = 0; i < cut; ++i) check((*assembler)->apply(s.records[i].header(), s.records[i].thread));
      check((*assembler)->commit("position " + std::to_string(cut)));
      for (std::size_t i = cut; i < std::min(s.records.size(), cut + uncommitted); ++i) {
        check((*assembler)->apply(s.records[i].header(), s.records[i].thread));
      }
    }
    Expected<Database> database = reopen_trace(file);
    EXPECT_TRUE(database.ok());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    Expected<std::unique_ptr<Assembler>> assembler = Assembler::resume(*writer, kOrigin);
    EXPECT_TRUE(assembler.ok()) << assembler.error().message;
    EXPECT_EQ((*assembler)->last_seq(), cut == 0 ? 0 : last_sequence(s.records[cut - 1]));
    EXPECT_EQ((*assembler)->drained(), "position " + std::to_string(cut));
    for (const TestRecord& r : s.records) check((*assembler)->apply(r.header(), r.thread));
    check((*assembler)->finish());
    EXPECT_EQ((*assembler)->totals().records, static_cast<std::int64_t>(last_sequence(s.records.back())));
    return dump(writer->database());
  }
};

TEST_F(ResumeTest, CutAtEveryRecordEqualsUninterrupted) {
  TestStream s = everything(write_source());
  s.death(0xA1);
  straight_body(s, 0xC0);  // of edges that have ended
  s.storage_death(0xB0);
  Database whole = record(s);
  const std::string expected = dump(whole);
  EXPECT_NE(expected.find("buf = gather()"), std::string::npos);
  for (std::size_t cut = 0; cut <= s.records.size(); ++cut) {
    ASSERT_EQ(cut_and_resumed(s, cut, 7), expected) << "cut after record " << cut;
  }
}

TEST_F(ResumeTest, CommitsChangeNothing) {
  TestStream s = everything(write_source());
  straight_body(s, 0xC0);
  Database once = record(s);
  Database often = record(s, true);
  EXPECT_EQ(dump(often), dump(once));
}

TEST_F(ResumeTest, EveryCommitIsAConsistentPicture) {
  const TestStream s = everything(write_source());
  const std::string file = path("growing");
  Expected<Database> database = create_trace(file);
  Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
  Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
  for (const TestRecord& r : s.records) {
    check((*assembler)->apply(r.header(), r.thread));
    check((*assembler)->commit({}));
    Expected<Database> reader = open_trace(file);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(rows(*reader, "SELECT value FROM meta WHERE key = 'last_seq'"), (Rows{std::to_string(last_sequence(r))}));
    for (const char* dangling :
         {"SELECT * FROM tensor WHERE storage IS NOT NULL AND storage NOT IN (SELECT id FROM storage)",
          "SELECT * FROM tensor WHERE object IS NOT NULL AND object NOT IN (SELECT id FROM tensor)",
          "SELECT * FROM tensor WHERE stack IS NOT NULL AND stack NOT IN (SELECT id FROM stack)",
          "SELECT * FROM tensor WHERE operator IS NOT NULL AND operator NOT IN (SELECT id FROM operator)",
          "SELECT * FROM stack WHERE frame IS NOT NULL AND frame NOT IN (SELECT id FROM frame)",
          "SELECT * FROM stack WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM stack)",
          "SELECT * FROM frame WHERE file IS NOT NULL AND file NOT IN (SELECT id FROM string)",
          "SELECT * FROM operator WHERE name IS NOT NULL AND name NOT IN (SELECT id FROM string)",
          "SELECT * FROM operator WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM operator)",
          "SELECT * FROM operator WHERE thread IS NOT NULL AND thread NOT IN (SELECT id FROM thread)",
          "SELECT * FROM block WHERE storage IS NOT NULL AND storage NOT IN (SELECT id FROM storage)",
          "SELECT * FROM mark WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM mark)",
          "SELECT * FROM mark WHERE storage IS NOT NULL AND storage NOT IN (SELECT id FROM storage)",
          "SELECT * FROM edge WHERE census IS NOT NULL AND census NOT IN (SELECT id FROM mark)",
          "SELECT * FROM sample WHERE census IS NOT NULL AND census NOT IN (SELECT id FROM mark)"}) {
      EXPECT_EQ(rows(*reader, dangling), Rows{}) << dangling;
    }
  }
  check((*assembler)->finish());
}

TEST_F(AssemblerTest, GarbageNeverCrashes) {
  std::mt19937_64 random(20240607);
  Expected<Database> database = create_trace(path("garbage"));
  Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
  Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
  ASSERT_TRUE(assembler.ok());
  std::uint64_t seq = 0;
  for (int i = 0; i < 60000; ++i) {
    std::vector<std::uint64_t> words(3 + random() % 40);
    // Small numbers make addresses, ids and enums collide, large ones overflow whatever is added up.
    for (auto& word : words) word = random() % 3 != 0 ? random() % 8 : random();
    auto* header = reinterpret_cast<wire::RecordHeader*>(words.data());
    header->type = static_cast<RecordType>(random() % (static_cast<unsigned>(RecordType::kBlockAllocInNode) + 2));
    header->words = static_cast<std::uint16_t>(words.size());
    if (i % 50 != 0) header->seq = ++seq;
    if (header->seq > seq + 1000000) header->seq = ++seq;
    seq = std::max(seq, header->seq);
    header->aux = static_cast<std::uint32_t>(random() % 2 != 0 ? random() % 6 : random());
    check((*assembler)->apply(*header, static_cast<std::uint32_t>(random() % 3)));
    if (i % 5000 == 0) check((*assembler)->commit({}));
  }
  check((*assembler)->finish());
  EXPECT_EQ(rows(writer->database(), "PRAGMA integrity_check"), (Rows{"ok"}));
  EXPECT_EQ(rows(writer->database(), "SELECT count(*) <= 1000 FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(AssemblerTest, EveryTruncatedRecordIsSkipped) {
  const std::string file = path("generated.py");
  const TestStream s = everything(file);
  Expected<Database> database = create_trace(path("short"));
  Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
  Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
  std::uint64_t seq = 0;
  for (const TestRecord& r : s.records) {
    for (std::size_t words = 0; words < r.words.size(); ++words) {
      std::vector<std::uint64_t> cut(r.words.begin(),
                                     r.words.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(words, 3)));
      auto* header = reinterpret_cast<wire::RecordHeader*>(cut.data());
      header->words = static_cast<std::uint16_t>(words);
      header->seq = ++seq;
      check((*assembler)->apply(*header, r.thread));
    }
  }
  check((*assembler)->finish());
  EXPECT_EQ(rows(writer->database(), "SELECT count(*) FROM tensor"), (Rows{"0"}));
}

}  // namespace
}  // namespace dcmt::recorder
