#include "collector/recorder/assemble/operator_toml.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dcmt::recorder {
namespace {

class OperatorToml : public ::testing::Test {
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

TEST_F(OperatorToml, MoreFunctionsThanTheAgentAcceptsAreAnError) {
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

TEST_F(OperatorToml, EachRoleHasWhatItNeeds) {
  const std::string begin = "[[operator]]\npattern='a::g'\n";
  for (const char* role : {"gather", "wait", "persist", "release"}) {
    const std::string row = begin + "role='" + role + "'\n";
    EXPECT_EQ(error_of(row), path_ + ":1: 'key' (the argument that names the parameter) is missing") << role;
    const auto tables = compile(row + "key='id'\n");
    ASSERT_TRUE(tables.ok()) << role;
    const bool ends = std::string(role) == "wait" || std::string(role) == "release";
    EXPECT_EQ(tables->waits_and_releases.size(), ends ? 1u : 0u) << role;
    EXPECT_EQ(tables->rows[0].role, role);
    EXPECT_EQ(compile(row + "key='id'\ncount='n'\n").ok(), std::string(role) == "release") << role;
  }
  EXPECT_TRUE(compile(begin + "role='observe'\n").ok());
  EXPECT_EQ(error_of(begin + "role='gather'\nkey='id'\ncount='n'\n"), path_ + ":1: only a release has a 'count'");
}

TEST_F(OperatorToml, AFieldIsATextOfOneLine) {
  const std::string begin = "[[operator]]\npattern='a::g'\nrole='gather'\n";
  for (const char* value : {"''", "'a\tb'", "\"a\\nb\""}) {
    EXPECT_EQ(error_of(begin + "key=" + value + "\n"), path_ + ":4: 'key' is empty or has a tab or line break")
        << value;
  }
  EXPECT_EQ(error_of("[[function]]\nfiles='b.py'\n").find(path_ + ":2: unknown field 'files'"), 0u);
  EXPECT_EQ(error_of("[[origin]]\nfiles='b.py'\n").find(path_ + ":2: unknown field 'files'"), 0u);
}

TEST_F(OperatorToml, OnlyOperatorsOfTheSameFileHideOneAnother) {
  const std::string one = "[[operator]]\npattern='a::g'\nrole='gather'\nkey='id'\n";
  const std::string second = path_ + ".second";
  std::ofstream(path_) << one;
  std::ofstream(second) << one;  // a user's table comes before the shipped one
  EXPECT_TRUE(compile_operator_tables({path_, second}).ok());
  std::filesystem::remove(second);
  EXPECT_TRUE(
      compile("[[function]]\nfile='b.py'\nfunction='a::g'\nmechanism='M'\nrole='gather'\nevent='resize'\n" + one).ok());
}

TEST_F(OperatorToml, AFunctionNeedsItsFileItsNameAndWhoseItIs) {
  const std::vector<std::string> needed{"file", "function", "mechanism"};
  for (const std::string& missing : needed) {
    std::string row = "[[function]]\nrole='gather'\nevent='resize'\n";
    for (const std::string& name : needed) row += name == missing ? "" : name + "='x'\n";
    EXPECT_EQ(error_of(row), path_ + ":1: '" + missing + "' is missing");
  }
  const std::string row = "[[function]]\nfile='b.py'\nfunction='f'\nmechanism='M'\n";
  EXPECT_EQ(error_of(row + "role='gather'\nevent='moves'\n"), path_ + ":1: 'event' must be move, resize or birth");
  EXPECT_TRUE(compile(row + "role='gather'\nevent='birth'\n").ok());
  EXPECT_TRUE(compile(row + "role='release'\nevent='move'\nkey='n'\n").ok());
  const auto tables = compile(row + "role='gather'\nevent='resize'\npersistent='p'\nowner='self'\nname='n'\n");
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(tables->agent, "function\tb.py\tf\tgather\tresize\tM\t\tp\tself\tn\n");
  EXPECT_EQ(tables->functions, 1u);
}

TEST_F(OperatorToml, AnOriginIsCalledSomethingAndKnownByOneThing) {
  EXPECT_EQ(error_of("[[origin]]\nfile='a.py'\n"), path_ + ":1: 'origin' (what it is called) is missing");
  EXPECT_EQ(error_of("[[origin]]\norigin='o'\nfile='a.py'\noperator='a::b'\n"),
            path_ + ":1: an origin is known by its 'operator' or by a 'file'");
  EXPECT_EQ(error_of("[[origin]]\norigin='o'\noperator='a::b'\nfunction='f'\n"),
            path_ + ":1: 'function' needs its 'file'");
  const auto tables = compile("[[origin]]\norigin='o'\nfile='a.py'\nfunction='f'\n");
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(tables->origins, "o\t\ta.py\tf\t\n");
}

TEST_F(OperatorToml, MoreTextThanTheAgentAcceptsIsAnError) {
  std::string rows;
  for (int i = 0; i < 200; ++i) {
    rows +=
        "[[operator]]\npattern='a::g" + std::to_string(i) + "'\nrole='gather'\nkey='" + std::string(1000, 'k') + "'\n";
  }
  EXPECT_EQ(error_of(rows).find(path_ + ": too many rows"), 0u);
}

}  // namespace
}  // namespace dcmt::recorder
