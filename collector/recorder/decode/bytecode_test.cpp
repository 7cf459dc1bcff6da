#include "collector/recorder/decode/bytecode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

namespace dcmt::recorder {
namespace {

using nlohmann::json;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

CodeBody body_of(const json& fixture) {
  CodeBody body;
  body.python = fixture["python"].get<int>();
  body.first_line = fixture["first_line"].get<int>();
  body.instructions = from_hex(fixture["instructions"].get<std::string>());
  body.line_table = from_hex(fixture["line_table"].get<std::string>());
  body.exception_table = from_hex(fixture["exception_table"].get<std::string>());
  body.local_names = fixture["local_names"].get<std::vector<std::string>>();
  return body;
}

std::optional<int> optional_line(const json& value) {
  return value.is_null() ? std::nullopt : std::optional<int>(value.get<int>());
}

json fixtures(const std::string& version) {
  std::ifstream file(std::string(DCMT_SOURCE_DIR) + "/collector/recorder/testdata/bytecode_" + version + ".json");
  return json::parse(file);
}

class Fixtures : public ::testing::TestWithParam<const char*> {};

TEST_P(Fixtures, AnswersAreThoseOfTheSource) {
  int questions = 0;
  for (const json& fixture : fixtures(GetParam())) {
    const CodeBody body = body_of(fixture);
    EXPECT_TRUE(body.complete());
    for (const json& question : fixture["questions"]) {
      SCOPED_TRACE(fixture["name"].get<std::string>() + " " + question.dump());
      std::set<int> assigned;
      bool first = true;
      for (const json& offset : question["offsets"]) {
        const Expected<VariableFlow> flow = variable_flow(body, question["local"].get<int>(), offset.get<int>());
        ASSERT_TRUE(flow.ok()) << flow.error().message;
        assigned.insert(flow->assignment_lines.begin(), flow->assignment_lines.end());
        EXPECT_TRUE(std::is_sorted(flow->assignment_lines.begin(), flow->assignment_lines.end()));
        // A finally block is compiled twice: the annotation belongs to the copy without an exception.
        if (first) {
          EXPECT_EQ(flow->delete_line, optional_line(question["delete_line"]));
          if (!question["return_line"].is_null()) {
            EXPECT_EQ(flow->return_line, optional_line(question["return_line"]));
          }
        }
        first = false;
      }
      EXPECT_EQ(std::vector<int>(assigned.begin(), assigned.end()),
                question["assignment_lines"].get<std::vector<int>>());
      ++questions;
    }
  }
  EXPECT_GT(questions, 40);
}

TEST_P(Fixtures, AnOffsetInAnInlineCacheMeansItsInstruction) {
  const json all = fixtures(GetParam());
  const CodeBody body = body_of(all[0]);
  const json& question = all[0]["questions"][0];
  const int offset = question["offsets"][0].get<int>();
  const int local = question["local"].get<int>();
  EXPECT_EQ(variable_flow(body, local, offset)->assignment_lines,
            variable_flow(body, local, offset + 2)->assignment_lines);
}

TEST_P(Fixtures, AFrameThatHasNotStartedHasItsArgumentsOnly) {
  const json all = fixtures(GetParam());
  const auto flow = variable_flow(body_of(all[0]), 0, -2);
  ASSERT_TRUE(flow.ok());
  EXPECT_TRUE(flow->assignment_lines.empty());
  EXPECT_FALSE(flow->delete_line);  // the store at its first line comes before the delete
  EXPECT_TRUE(flow->return_line);
}

TEST_P(Fixtures, EveryCutGivesAnAnswerOrAnError) {
  for (const json& fixture : fixtures(GetParam())) {
    const CodeBody whole = body_of(fixture);
    if (whole.instructions.size() > 400) continue;
    for (std::size_t cut = 0; cut < whole.instructions.size(); ++cut) {
      CodeBody body = whole;
      body.instructions.resize(cut);
      (void)variable_flow(body, 0, 0);
    }
    for (std::size_t cut = 0; cut < whole.line_table.size(); ++cut) {
      CodeBody body = whole;
      body.line_table.resize(cut);
      (void)variable_flow(body, 0, 8);
    }
    for (std::size_t cut = 0; cut < whole.exception_table.size(); ++cut) {
      CodeBody body = whole;
      body.exception_table.resize(cut);
      (void)variable_flow(body, 0, 8);
    }
  }
}

TEST_P(Fixtures, ChangedBytesGiveAnAnswerOrAnError) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same bytes every time
  for (const json& fixture : fixtures(GetParam())) {
    const CodeBody whole = body_of(fixture);
    if (whole.instructions.size() > 400) continue;
    for (int round = 0; round < 300; ++round) {
      CodeBody body = whole;
      for (std::string* part : {&body.instructions, &body.line_table, &body.exception_table}) {
        for (int i = 0; i < 3 && !part->empty(); ++i) (*part)[random() % part->size()] = static_cast<char>(random());
      }
      const int local = static_cast<int>(random() % body.local_names.size());
      const int offset = static_cast<int>(random() % body.instructions.size());
      (void)variable_flow(body, local, offset);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Fixtures, ::testing::Values("3.11", "3.12", "3.13", "3.14", "3.15"),
                         [](const auto& version) { return "Python" + std::string(version.param).replace(1, 1, ""); });

TEST(VariableFlow, RefusesWhatIsNoCode) {
  const CodeBody good = body_of(fixtures("3.11")[0]);
  CodeBody other_version = good;
  other_version.python = (3 << 8) | 9;
  EXPECT_FALSE(variable_flow(other_version, 0, 0).ok());
  EXPECT_FALSE(variable_flow(good, -1, 0).ok());
  EXPECT_FALSE(variable_flow(good, 99, 0).ok());
  EXPECT_FALSE(variable_flow(good, 0, 100000).ok());
  CodeBody odd = good;
  odd.instructions.pop_back();
  EXPECT_FALSE(variable_flow(odd, 0, 0).ok());
  CodeBody cut = good;
  cut.instructions.resize(4);
  EXPECT_FALSE(variable_flow(cut, 0, 0).ok());
  EXPECT_FALSE(variable_flow(CodeBody{}, 0, 0).ok());
  EXPECT_FALSE(CodeBody{}.complete());
}

}  // namespace
}  // namespace dcmt::recorder
