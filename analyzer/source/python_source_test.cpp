#include "analyzer/source/python_source.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kCode = R"(import torch
def outer():
    """
def fake(): del a
    """
    a = torch.ones(2)  # del a
    def inner(
        b=1,
):
        c, (d, box.e) = b, b
        text = 'del c'
        if c: f = 2; del d, box.e; del (f)
    for a in [1,
              2]: pass
    g = torch.add(
        a,
        a == 1)
    del a; h = a; del g
after = 1
del after
)";

TEST(PythonSource, LinesHaveTheFunctionsThatTheyAreIn) {
  const PythonSource source(kCode);
  std::vector<std::string> functions;
  for (const PythonSource::Line& line : source.lines()) functions.emplace_back(source.function_of(line));
  using Names = std::vector<std::string>;
  Names expected{"", "outer", "outer", "outer", "outer", "outer"};
  expected.insert(expected.end(), 6, "inner");
  expected.insert(expected.end(), 6, "outer");
  expected.insert(expected.end(), 2, "");
  EXPECT_EQ(functions, expected);
  EXPECT_TRUE(source.is_within(source.lines()[9], "outer")) << "a function within it";
  EXPECT_TRUE(source.is_within(source.lines()[9], "inner"));
  EXPECT_FALSE(source.is_within(source.lines()[5], "inner"));
  EXPECT_FALSE(source.is_within(source.lines()[18], "outer"));
}

TEST(PythonSource, ALineHasItsCodeWithoutWhatIsInTexts) {
  const PythonSource source("x = 'a#(' + \"b\"  # c\n\n'''\ny\n'''; z\n");
  ASSERT_EQ(source.lines().size(), 5u);
  EXPECT_EQ(source.lines()[0].bare, "x = '   ' + \" \"     ");
  EXPECT_EQ(source.lines()[0].text, "x = 'a#(' + \"b\"");
  EXPECT_EQ(source.lines()[3].bare, " ");
  EXPECT_EQ(source.lines()[4].text, "'''; z");
}

TEST(PythonSource, DeletedIsAVariableThatADelOfItsOwnFunctionNames) {
  const PythonSource source(kCode);
  std::vector<std::size_t> deleted;
  for (std::size_t number = 0; number < 25; ++number) {
    if (source.deletes_what_is_made_at(number)) deleted.push_back(number);
  }
  // `a` and `g` of outer, `d` and `f` of inner, `after` of the file; each line of their statements.
  EXPECT_EQ(deleted, (std::vector<std::size_t>{6, 10, 12, 13, 14, 15, 16, 17, 19}));
}

TEST(PythonSource, AValueIsAVariablesUnlessTheStatementMakesMany) {
  for (const char* code : {"x = f()", "a, b = f(\n  c)", "x: T = f()", "if a: x = f()"}) {
    EXPECT_TRUE(PythonSource(code).given_values_at(1).contains(code[0] == 'i' ? "x" : std::string_view(code, 1)))
        << code;
  }
  EXPECT_EQ(PythonSource("x = f(\n  c)").given_values_at(2), std::set<std::string_view>{"x"});
  for (const char* code : {"f(x)", "x[0] = f()", "x.y = f()", "x += f()", "x = [f() for _ in y]",
                           "x = [\n f() for _ in y]", "for x in f(): pass", "return f()", "x == f()", "# x = f()"}) {
    EXPECT_TRUE(PythonSource(code).given_values_at(1).empty()) << code;
  }
}

TEST(PythonSource, AValueIsAVariablesTheCallersOrOnlyWhatItIsGivenTo) {
  using Kind = PythonSource::Fate::Kind;
  const auto fate = [](std::string_view code) { return PythonSource(code).fate_of_what_is_made_at(1).kind; };
  for (const char* code : {"x = f()", "if a: x = f(b)", "x = f(\n  c)", "else: x = a + b", "y = z; x = f()"}) {
    const PythonSource source(code);
    EXPECT_EQ(fate(code), Kind::kNamed) << code;
    EXPECT_EQ(source.fate_of_what_is_made_at(1).name, "x") << code;
  }
  for (const char* code : {"return f(x)", "if a: return -a", "def f(x): return self.body(x)"}) {
    EXPECT_EQ(fate(code), Kind::kReturned) << code;
  }
  for (const char* code : {"f(x)", "rows.append(x.clone())", "try: f(x)", "f(x); g(x)", "a[f(x)].add(b == c)"}) {
    EXPECT_EQ(fate(code), Kind::kDropped) << code;
  }
  for (const char* code : {"a, b = f()", "x = y = f()", "x[0] = f()", "x.y = f()", "x += f()", "x = [f() for _ in y]",
                           "f(x := g())", "x = f(); y = g()", "x = f(); g(x)", "yield f(x)", "x = await f()",
                           "with f() as x: pass", "x = lambda: f()", "x = f(\n  y for y in z)", "x = y", "pass", ""}) {
    EXPECT_EQ(fate(code), Kind::kUnknown) << code;
  }
}

TEST(PythonSource, AnotherVariableOrTheCallerMayHaveAValue) {
  for (const char* code : {"x = f()\ny = x", "x = f()\nif a: y = x", "x = f()\nreturn x", "x = f()\nyield g(x)"}) {
    EXPECT_TRUE(PythonSource(code).gives_to_another(1, "x")) << code;
  }
  for (const char* code : {"x = f()\ny = x + 1", "x = f()\nself.y = x", "x = f()\ndef g():\n  return x", "x = f()"}) {
    EXPECT_FALSE(PythonSource(code).gives_to_another(1, "x")) << code;
  }
}

TEST(PythonSource, AFunctionReturnsAVariableAsItIsAndGivesItToNothingElse) {
  for (const char* code : {"x = f()\nreturn x", "x = f()\nif a: return x\nreturn 0", "x = f()\ny.z = x\nreturn x"})
    EXPECT_TRUE(PythonSource(code).returns(1, "x")) << code;
  for (const char* code : {"x = f()\nreturn x, 1", "x = f()\nreturn g(x)", "x = f()\ny = x\nreturn x", "x = f()",
                           "x = f()\nyield x\nreturn x", "x = f()\nif a: return x\nreturn -x"})
    EXPECT_FALSE(PythonSource(code).returns(1, "x")) << code;
}

TEST(PythonSource, AFunctionReturnsTheEntryThatItHasFilled) {
  for (const char* code : {"d[k] = f()\nreturn d[k]", "if k not in self.d: self.d[k] = f()\nreturn self.d[k]"})
    EXPECT_TRUE(PythonSource(code).returns_entry(1)) << code;
  for (const char* code : {"d[k] = f()\nreturn d[j]", "d[k] = f()\nreturn len(d[k])", "d[k] = f()", "x = f()\nreturn x",
                           "d[k] = f()\ndef g():\n  return d[k]"})
    EXPECT_FALSE(PythonSource(code).returns_entry(1)) << code;
}

TEST(PythonSource, TextsAndCommentsDeleteNothing) {
  for (const char* code :
       {"x = 1\n'''\ndel x\n'''\n", "x = 1  #\n# del x\n", "x = 1\nmodel x\n", "x = 1\ndel x[0], x.y\n",
        "def f():\n    x = 1\ndel x\n", "if x == 1: pass\ndel x\n", "x += 1\ndel x\n"}) {
    EXPECT_FALSE(PythonSource(code).deletes_what_is_made_at(1)) << code;
    EXPECT_FALSE(PythonSource(code).deletes_what_is_made_at(2)) << code;
  }
}

TEST(PythonSource, WhatIsNoCodeIsReadToItsEnd) {
  for (const char* code :
       {"",        "'",   "\"\"\"", "((((", "))))", "\\",   "'\\",  "=",    "for ",    "for x",
        "a = = b", "del", "del ",   "*",    "def",  "def ", "\n\n", "x: =", "(a, = 1", "a, b) = 1"}) {
    const PythonSource source(code);
    for (std::size_t number = 0; number < 4; ++number) EXPECT_FALSE(source.deletes_what_is_made_at(number)) << code;
  }
}

TEST(PythonSource, TheAttributesThatALineGivesValues) {
  using Names = std::set<std::string_view>;
  EXPECT_EQ(attributes_given_by("self.a.b = x.c"), Names{"b"});
  EXPECT_EQ(attributes_given_by("self.a, (x, y.b) = f(z.c)"), (Names{"a", "b"}));
  EXPECT_EQ(attributes_given_by("if a.x: y.b = 1"), Names{"b"});
  EXPECT_EQ(attributes_given_by("self.a[0] = x; f(b=c.d); a.b == c"), Names{});
}

TEST(PythonSource, TheInnermostLoopAroundTwoLines) {
  const PythonSource source("a\nfor x in y:\n  b\n  while z:\n    c\n\n    d\n  e\nf\ndef g():\n  h\nfor x in y: i\n");
  EXPECT_EQ(source.loop_around(5, 7), 4u);
  EXPECT_EQ(source.loop_around(3, 7), 2u);
  EXPECT_EQ(source.loop_around(5, 8), 2u);
  EXPECT_EQ(source.loop_around(8, 9), 0u);
  EXPECT_EQ(source.loop_around(11, 11), 0u);
  EXPECT_EQ(source.end_of_block(2), 8u);
  EXPECT_EQ(source.end_of_block(4), 7u);
  EXPECT_TRUE(source.is_loop(12));
  EXPECT_FALSE(source.is_loop(11));
}

}  // namespace
}  // namespace dcmt::analyzer
