#include "trace/base/demangled.h"

#include <gtest/gtest.h>

namespace dcmt {
namespace {

TEST(Demangled, AShortFunctionHasNoUnnamedScopes) {
  EXPECT_EQ(short_function("(anonymous namespace)::Net::forward(at::Tensor const&)"), "Net::forward");
  EXPECT_EQ(short_function("a::(anonymous namespace)::(anonymous namespace)::f<int>(int)"), "a::f");
}

TEST(Demangled, WhatIsInBracketsIsLeftOut) {
  EXPECT_EQ(without_brackets("list_append"), "list_append");
  EXPECT_EQ(without_brackets("c10::intrusive_ptr<c10::StorageImpl, c10::detail::Null<c10::StorageImpl> >::reset_()"),
            "c10::intrusive_ptr::reset_");
  EXPECT_EQ(without_brackets("at::(anonymous namespace)::wrapper(at::Tensor const&)"),
            "at::(anonymous namespace)::wrapper");
  EXPECT_EQ(without_brackets("auto dcmt::zero3::now<int>(int)::{lambda(auto:1&)#1}::operator()<int>(int) const"),
            "dcmt::zero3::now");
  EXPECT_EQ(without_brackets("pybind11::object& pybind11::object::operator=(pybind11::object&&)"),
            "pybind11::object::operator=");
  EXPECT_EQ(without_brackets("std::vector<int> f<int>(std::vector<int> const&)"), "f");
  EXPECT_EQ(without_brackets("bool operator< <int>(int, int)"), "operator<");
  EXPECT_EQ(without_brackets(""), "");
}

}  // namespace
}  // namespace dcmt
