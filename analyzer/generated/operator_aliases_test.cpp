#include "analyzer/generated/operator_aliases.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"
#include "trace/sql/trace_file.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

Expected<std::vector<OperatorAliases>> aliases_in(TestTrace& trace, const std::string& sql) {
  trace.allocate(1);
  const std::string path = trace.save();
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    EXPECT_TRUE(database.ok());
    const Status done = database->execute(sql);
    EXPECT_TRUE(done.ok()) << done.error().message;
  }
  Expected<Database> database = open_trace(path);
  EXPECT_TRUE(database.ok());
  return operator_aliases(*database);
}

TEST(OperatorAliases, DeclaredAndObservedAreHeldBesideEachOther) {
  TestTrace trace;
  const auto found =
      aliases_in(trace,
                 "INSERT INTO string(id, text) VALUES(901, 'my::wait'), (902, 'my::wait(Tensor t, int id) -> Tensor'),"
                 " (903, 'my::copy'), (904, 'my::copy(Tensor(a) t, Tensor u) -> Tensor(a)'), (905, 'my::ok'),"
                 " (906, 'my::ok(Tensor(a) t) -> Tensor(a)');"
                 // One call of wait shared nothing, the next one did.
                 "INSERT INTO operator_alias VALUES(1, 901, 902, 0, 0), (2, 901, 902, 0, 1), (3, 903, 904, 1, 512),"
                 " (4, 905, 906, 1, 1)");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3u);
  const OperatorAliases& copy = (*found)[0];
  ASSERT_EQ(copy.facts.size(), 2u);
  EXPECT_EQ(copy.facts[0].consequence(), AliasConsequence::kLate);
  EXPECT_EQ(copy.facts[0].argument_name, "t");
  EXPECT_EQ(copy.facts[1].consequence(), AliasConsequence::kEarly);
  EXPECT_EQ(copy.facts[1].output, 1);
  EXPECT_EQ(copy.facts[1].argument_name, "u");
  EXPECT_TRUE((*found)[1].agrees());
  const OperatorAliases& wait = (*found)[2];
  ASSERT_EQ(wait.facts.size(), 1u);
  EXPECT_EQ(wait.facts[0].consequence(), AliasConsequence::kEarly);
  EXPECT_FALSE(wait.agrees());
}

TEST(OperatorAliases, AnOlderTraceHasNone) {
  TestTrace trace;
  const auto found = aliases_in(trace, "DROP TABLE operator_alias; PRAGMA user_version = 3");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->empty());
}

TEST(OperatorAliases, NamesOfArgumentsComeFromTheSchema) {
  const char* schema = "a::b.c(Tensor(x)[] all, int[2] size=[1, 2], *, ScalarType? dtype=None) -> (Tensor, Tensor(x))";
  EXPECT_EQ(argument_name(schema, 0), "all");
  EXPECT_EQ(argument_name(schema, 1), "size");
  EXPECT_EQ(argument_name(schema, 3), "dtype");
  EXPECT_EQ(argument_name(schema, 4), "");
  EXPECT_EQ(argument_name("a::b() -> Tensor", 0), "");
  EXPECT_EQ(argument_name("(unknown)", 3), "");
  EXPECT_EQ(argument_name("", 0), "");
}

}  // namespace
}  // namespace dcmt::analyzer
