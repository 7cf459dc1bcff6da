#include "collector/recorder/assemble/operator_toml.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dcmt::recorder {
namespace {

class OperatorToml : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path().string() + "/dcmt-operators-" + std::to_string(getpid()) + ".toml";
  }
  void TearDown() override { std::filesystem::remove(path_); }
  Expected<OperatorTables> compile(const std::string& text) {
    std::ofstream(path_) << text;
    return compile_operator_tables({path_});
  }
  std::string error_of(const std::string& text) {
    const Expected<OperatorTables> lines = compile(text);
    EXPECT_FALSE(lines.ok());
    return lines.ok() ? "" : lines.error().message;
  }
  std::string path_;
};

TEST_F(OperatorToml, RowsBecomeLinesInOrder) {
  const auto lines = compile(
      "[[operator]]\npattern='a::g'\nrole='gather'\nkey='id'\n"
      "[[operator]]\npattern='a::r*'\nrole='release'\ngraph='g'\nkey='id'\ncount='n'\n"
      "[[operator]]\npattern='a::w'\nrole='wait'\nkey='id'\n");
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->agent, "a::g\tgather\t\tid\t\t\na::r*\trelease\tg\tid\tn\t\na::w\twait\t\tid\t\t\n");
  EXPECT_EQ(lines->waits_and_releases, (std::vector<std::string>{"a::r*", "a::w"}));
}

TEST_F(OperatorToml, ErrorsNameFileLineAndWhat) {
  EXPECT_EQ(error_of("[[operator]]\npattern='a::g'\nrole='gathers'\nkey='id'\n"),
            path_ + ":1: 'role' must be gather, wait, persist, release or observe");
  EXPECT_EQ(error_of("\n[[operator]]\npattern='a::g'\nrole='gather'\nkeys='id'\n"),
            path_ + ":5: unknown field 'keys'; the fields of this row are count, graph, key, pattern, role, tensor");
  EXPECT_EQ(error_of("[[operator]]\npattern='ag'\nrole='gather'\nkey='id'\n").find(path_ + ":1: 'pattern'"), 0u);
  EXPECT_EQ(error_of("[[operator]]\npattern='a::g'\nrole='gather'\n").find(path_ + ":1: 'key'"), 0u);
  EXPECT_EQ(error_of("[[operator]]\npattern='a::g'\nrole='gather'\nkey=3\n"), path_ + ":4: 'key' must be a string");
  EXPECT_EQ(error_of("a = = 1\n").find(path_ + ":1: "), 0u);
  EXPECT_EQ(error_of("[operators]\n").find(path_ + ":1: expected [[operator]]"), 0u);
}

TEST_F(OperatorToml, RowsAreKnownByTheirLines) {
  const auto tables = compile(
      "\n[[operator]]\npattern='a::g'\nrole='gather'\nkey='id'\n"
      "[[function]]\nfile='a/b.py'\nfunction='C.f'\nrole='release'\nevent='resize'\nmechanism='M'\n");
  ASSERT_TRUE(tables.ok());
  ASSERT_EQ(tables->rows.size(), 2u);
  EXPECT_EQ(tables->rows[0].line, 2u);
  EXPECT_EQ(tables->rows[0].pattern, "a::g");
  EXPECT_FALSE(tables->rows[0].function);
  EXPECT_EQ(tables->rows[1].line, 6u);
  EXPECT_EQ(tables->rows[1].pattern, "C.f");
  EXPECT_EQ(tables->rows[1].role, "release");
  EXPECT_TRUE(tables->rows[1].function);
}

TEST_F(OperatorToml, ARowThatAnEarlierOneHidesIsAnError) {
  const std::string all = "[[operator]]\npattern='a::*'\nrole='observe'\n";
  const std::string one = "[[operator]]\npattern='a::g'\nrole='gather'\nkey='id'\n";
  EXPECT_EQ(error_of(all + one), path_ +
                                     ":4: 'a::g' is never reached: the row of line 1 ('a::*') comes first and "
                                     "matches it; put this row before that one");
  EXPECT_EQ(error_of(one + one).find(path_ + ":5: 'a::g' is never reached"), 0u);
  EXPECT_TRUE(compile(one + all).ok());
}

TEST_F(OperatorToml, FunctionsAndOriginsBecomeLines) {
  const auto lines = compile(
      "[[function]]\nfile='a/b.py'\nfunction='C.f'\nrole='gather'\nevent='move'\nmechanism='M'\nkey='n'\n"
      "[[origin]]\norigin='hook'\nfile='a/c.py'\n[[origin]]\norigin='compiled'\noperator='a::*'\n"
      "[[origin]]\norigin='profiling'\nfile='b.py'\npurpose='trial'\n");
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->agent, "function\ta/b.py\tC.f\tgather\tmove\tM\tn\t\t\t\n");
  EXPECT_EQ(lines->origins, "hook\t\ta/c.py\t\t\ncompiled\ta::*\t\t\t\nprofiling\t\tb.py\t\ttrial\n");
}

TEST_F(OperatorToml, AFunctionThatCannotBeFollowedIsAnError) {
  const std::string row = "[[function]]\nfile='b.py'\nfunction='f'\nmechanism='M'\n";
  EXPECT_EQ(error_of(row + "role='wait'\nevent='move'\nkey='n'\n"), path_ + ":1: 'role' must be gather or release");
  EXPECT_EQ(error_of(row + "role='release'\nevent='birth'\n"), path_ + ":1: a birth releases nothing");
  EXPECT_EQ(error_of(row + "role='gather'\nevent='move'\n"),
            path_ + ":1: 'key' (the tensor's attribute that numbers the parameter) is missing");
  EXPECT_EQ(error_of(row + "role='gather'\nevent='resize'\nowner='self'\n"),
            path_ + ":1: 'owner' (a variable) and 'name' (its attribute) come together");
  EXPECT_EQ(error_of("[[origin]]\norigin='hook'\nfile='a.py'\npurpose='fun'\n"),
            path_ + ":1: 'purpose' must be trial, or be left out");
  EXPECT_EQ(error_of("[[origin]]\norigin='hook'\n"), path_ + ":1: an origin is known by its 'operator' or by a 'file'");
}

TEST_F(OperatorToml, MoreFunctionsThanTheAgentTakesAreAnError) {
  std::string rows;
  for (int i = 0; i < 64; ++i) {
    rows += "[[function]]\nfile='b.py'\nfunction='f'\nmechanism='M'\nrole='gather'\nevent='resize'\n";
  }
  EXPECT_TRUE(compile(rows).ok());
  EXPECT_EQ(error_of(rows + rows.substr(0, rows.size() / 64)).find(path_ + ": too many rows"), 0u);
}

TEST_F(OperatorToml, AMissingFileIsOneLine) {
  const auto lines = compile_operator_tables({"/nowhere/t.toml"});
  ASSERT_FALSE(lines.ok());
  EXPECT_EQ(lines.error().code, ErrorCode::kBadInput);
}

TEST_F(OperatorToml, TheShippedTableIsGood) {
  EXPECT_TRUE(compile_operator_tables({DCMT_SOURCE_DIR "/collector/recorder/operators.toml"}).ok());
}

}  // namespace
}  // namespace dcmt::recorder
