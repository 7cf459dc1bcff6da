#include "analyzer/storages/holder_names.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// What is said of a storage that no scan found, where of 20 that one found at its place so many are in a list and the
/// others are what a variable has.
std::string name_where(int in_list) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 21}};
  for (int i = 0; i < 20; ++i) {
    const auto storage = trace.allocate(100);
    if (i < in_list) {
      trace.held(storage, {.containers = {"main: seen"}, .path = "main: seen[0]"});
    } else {
      trace.held(storage, {.path = "main: batch", .otherwise = true});
    }
  }
  trace.allocate(100);
  const TraceData data = trace.load();
  return HolderNames(data).of(StorageId(21));
}

TEST(HolderNamesOfStorages, OneThatWasNotFoundIsHeldLikeNearlyAllOfItsPlace) {
  EXPECT_EQ(name_where(20), "main: seen, as others made there");
  EXPECT_EQ(name_where(19), "main: seen, as others made there")
      << "the latest is a variable's, and not in the list yet";
  EXPECT_EQ(name_where(17), "holder not known");
  EXPECT_EQ(name_where(10), "holder not known");
}

TEST(HolderNamesOfStorages, AVariableDoesNotHoldWhatOthersOfItsPlaceAre) {
  TestTrace trace;
  trace.stack = {{"library.py", "wrap", 21}};
  for (int i = 0; i < 20; ++i) trace.held(trace.allocate(100), {.path = "wrap: result", .otherwise = true});
  trace.allocate(100);
  const TraceData data = trace.load();
  const HolderNames names(data);
  EXPECT_EQ(names.of(StorageId(20)), "wrap: result");
  EXPECT_EQ(names.of(StorageId(21)), "holder not known");
  EXPECT_EQ(names.variable_of(StorageId(21)), std::nullopt);
  EXPECT_EQ(names.category_of(StorageId(21)), "variable");
}

/// The category of a storage of 100 bytes that no scan found, where its place made `large` ones of 200 bytes for a
/// graph and 100 ones of 100 bytes that a variable has.
std::string category_where(int large) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 21}};
  for (int i = 0; i < large; ++i) {
    trace.held(trace.allocate(200), {.path = "main: out.grad_fn", .otherwise = true, .role = "saved for backward"});
  }
  for (int i = 0; i < 100; ++i) trace.held(trace.allocate(100), {.path = "main: out", .otherwise = true});
  trace.allocate(100);
  const TraceData data = trace.load();
  return HolderNames(data).category_of(StorageId(large + 101));
}

TEST(HolderNamesOfStorages, OneThatWasNotFoundIsForWhatThoseOfItsPlaceAndSizeAreFor) {
  EXPECT_EQ(category_where(0), "variable");
  EXPECT_EQ(category_where(1000), "variable");
}

/// Gradients that stay, and what a backward makes beside them, each of `sizes` sizes, of which no scan finds one.
std::string category_beside_gradients(int sizes) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 21}};
  for (int i = 0; i < 10; ++i) {
    trace.held(trace.allocate(100), {.path = "main: w.grad", .otherwise = true, .role = "gradient"});
  }
  for (int i = 0; i < 10; ++i) trace.allocate(200 + i % sizes);
  const TraceData data = trace.load();
  return HolderNames(data).category_of(StorageId(11));
}

TEST(HolderNamesOfStorages, AnAttributeHasOneValue) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 21}};
  trace.held(trace.allocate(100), {.path = "main: root.t", .otherwise = true});
  trace.allocate(100);
  trace.stack = {{"train.py", "main", 22}};
  trace.held(trace.allocate(100), {.path = "main: layers[3].t", .otherwise = true});
  trace.allocate(100);
  const TraceData data = trace.load();
  const HolderNames names(data);
  EXPECT_EQ(names.of(StorageId(1)), "main: root.t");
  EXPECT_EQ(names.of(StorageId(2)), "holder not known");
  EXPECT_EQ(names.of(StorageId(4)), "main: layers[*].t, as others made there") << "there may be several layers";
}

TEST(HolderNamesOfStorages, ASizeOfWhichNoneWasFoundIsNotForWhatOthersAreFor) {
  EXPECT_EQ(category_beside_gradients(1), "not attributed") << "of ten as many as were found, none was";
  EXPECT_EQ(category_beside_gradients(10), "gradient") << "of each size there is one only";
}

TEST(HolderNamesOfStorages, WhatLivesOtherwiseThanOthersOfItsPlaceIsNotHeldLikeThem) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 21}};
  trace.held(trace.allocate(100), {.path = "main: w.grad", .otherwise = true, .role = "gradient"});
  for (int i = 0; i < 4; ++i) {
    trace.phase("backward", [&] { trace.drop(trace.allocate(200)); });
    trace.step(i);
  }
  trace.allocate(300);
  const TraceData data = trace.load();
  const HolderNames names(data);
  EXPECT_EQ(names.category_of(StorageId(2)), "temporary") << "each backward drops those of its size";
  EXPECT_EQ(names.of(StorageId(2)), "holder not known");
  EXPECT_EQ(names.category_of(StorageId(6)), "gradient");
  EXPECT_EQ(names.of(StorageId(6)), "main: w.grad, as others made there");
}

TEST(HolderNamesOfStorages, AtALineOfCppABackwardAndAnOptimizerMakeDifferentThings) {
  TestTrace trace;
  trace.meta_texts["stacks"] = "c++";
  trace.stack = {{"train.cpp", "main", 21}};
  trace.phase("backward", [&] { trace.allocate(100); });
  trace.phase("optimizer", [&] {
    trace.held(trace.allocate(100), {.path = "main: opt.state[*]", .otherwise = true, .role = "optimizer state"});
    trace.allocate(100);
    trace.drop(trace.allocate(100));
  });
  trace.step(0);
  const TraceData data = trace.load();
  const HolderNames names(data);
  EXPECT_NE(names.category_of(StorageId(1)), "optimizer state");
  EXPECT_EQ(names.category_of(StorageId(3)), "optimizer state");
  EXPECT_EQ(names.category_of(StorageId(4)), "temporary");
}

TEST(HolderNamesOfStorages, WhatAVariableHasEarlyIsForTheGraphThatSavesTheOthers) {
  const auto category = [](int early) {
    TestTrace trace;
    trace.stack = {{"train.py", "main", 21}};
    for (int i = 0; i < 10; ++i) {
      const auto storage = trace.allocate(100);
      trace.held(storage, {.path = "main: x", .otherwise = true, .role = i < early ? "" : "saved for backward"});
    }
    trace.allocate(100);
    const TraceData data = trace.load();
    return HolderNames(data).category_of(StorageId(11));
  };
  EXPECT_EQ(category(4), "saved for backward");
  EXPECT_EQ(category(5), "not attributed");
  EXPECT_EQ(category(9), "variable");
}

TEST(HolderNamesOfStorages, AVariableThatWasReadInThePhaseThatMadeItIsForTheGraphThatSavesTheOthers) {
  const auto category = [](bool in_phase) {
    TestTrace trace;
    trace.stack = {{"train.py", "main", 21}};
    trace.begin_reading();
    for (int i = 0; i < 3; ++i) {
      trace.held(trace.allocate(100), {.path = "main: x", .otherwise = true, .role = "saved for backward"});
    }
    TestTrace::Handle kept{};
    trace.phase("forward", [&] {
      kept = trace.allocate(100);
      if (in_phase) trace.begin_reading();
    });
    if (!in_phase) trace.begin_reading();
    trace.held(kept, {.path = "main: x", .otherwise = true});
    const TraceData data = trace.load();
    return HolderNames(data).category_of(StorageId(4));
  };
  EXPECT_EQ(category(true), "saved for backward");
  EXPECT_EQ(category(false), "variable") << "no graph has it any more";
}

TEST(HolderNamesOfStorages, RolesAreCategories) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 21}};
  const auto weight = trace.allocate(100);
  trace.allocate(100);
  trace.held(weight, {.path = "main: model.weight", .otherwise = true, .role = "parameter"});
  trace.stack = {{"train.py", "main", 22}};
  trace.allocate(100);
  const TraceData data = trace.load();
  const HolderNames names(data);
  EXPECT_EQ(names.category_of(StorageId(1)), "parameter");
  EXPECT_EQ(names.category_of(StorageId(2)), "parameter") << "as the other one of its place";
  EXPECT_EQ(names.category_of(StorageId(3)), "not attributed");
  EXPECT_EQ(names.variable_of(StorageId(1)), std::nullopt) << "a parameter is no variable's";
}

TEST(HolderNames, APathBeginsWithAVariable) {
  EXPECT_EQ(variable_at_root("main: v.grad_fn MulBackward0"), "main: v");
  EXPECT_EQ(variable_at_root("Net.forward: kept[3].out"), "Net.forward: kept");
  EXPECT_EQ(variable_at_root("program.opt.state"), "program.opt");
  EXPECT_EQ(variable_at_root("program.losses[3]"), "program.losses");
  for (const char* plain : {"main: v", "program.v", "main"}) EXPECT_TRUE(is_plain_variable(plain)) << plain;
  for (const char* inner : {"main: v[0]", "program.v.x", "program.v[0]"})
    EXPECT_FALSE(is_plain_variable(inner)) << inner;
}

TEST(HolderNamesOfStorages, OneVariableOfAFunctionWithinAnotherHasOneValue) {
  for (const char* one : {"main: v.grad", "inner.<locals>.<dictcomp>: p.grad", "program.v"})
    EXPECT_TRUE(has_one_value(one)) << one;
  for (const char* many : {"main: layers[*].last", "fit.<locals>.<lambda>: seen{…}", "main: v (lru_cache)"})
    EXPECT_FALSE(has_one_value(many)) << many;
}

}  // namespace
}  // namespace dcmt::analyzer
