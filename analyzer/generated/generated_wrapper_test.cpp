#include "analyzer/generated/generated_wrapper.h"

#include <gtest/gtest.h>

namespace dcmt::analyzer {
namespace {

const FirstArgumentOperators kWaits{{"my::wait_*", "my::release_*"}};

/// A wrapper as Inductor writes it, around these lines of its body.
std::string wrapper(const std::string& body) {
  std::string text =
      "from torch._inductor.async_compile import AsyncCompile\n"
      "async_compile = AsyncCompile()\n"
      "class Runner:\n"
      "    def call(self, args):\n"
      "        arg0_1, arg1_1 = args\n"  // line 5
      "        args.clear()\n";
  for (std::size_t from = 0; from < body.size();) {
    const std::size_t end = body.find('\n', from);
    text += "        " + body.substr(from, end - from) + "\n";
    from = end + 1;
  }
  return text + "\nrunner = Runner(partitions=[])\n";
}

std::vector<UndeletedStorage> lint(const std::string& body) { return undeleted_storages(wrapper(body), kWaits); }

TEST(GeneratedWrapper, AGatheredWeightThatASecondNameKeeps) {
  const auto found = lint(
      "buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)\n"                                  // 7
      "del arg0_1\n"                                                                        // 8
      "buf1 = buf0\n"                                                                       // 9
      "del buf0\n"                                                                          // 10
      "buf4 = torch.ops.my.wait_gather.default(buf1, 0, 7)\n"                               // 11
      "buf5 = buf4  # alias\n"                                                              // 12
      "buf6 = empty_strided_cpu((4, 5), (5, 1), torch.float32)\n"                           // 13
      "extern_kernels.mm(arg1_1, reinterpret_tensor(buf5, (5, 4), (1, 5), 0), out=buf6)\n"  // 14
      "del buf4\n"                                                                          // 15
      "buf7 = torch.ops.my.release_gather.default(buf6, 0, 7, 1)\n"                         // 16
      "buf8 = empty_strided_cpu((4, 5), (5, 1), torch.float32)\n"                           // 17
      "extern_kernels.mm(buf7, arg1_1, out=buf8)\n"                                         // 18
      "del buf6\n"
      "del buf7\n"
      "return (buf8, )\n");  // 21
  ASSERT_EQ(found.size(), 1u);
  const UndeletedStorage& storage = found.front();
  EXPECT_EQ(storage.function, "Runner.call");
  EXPECT_EQ(storage.line, 7);
  EXPECT_EQ(storage.call, "my::gather");
  EXPECT_EQ(storage.deleted, (std::vector<std::string>{"buf0", "buf4"}));
  ASSERT_EQ(storage.names.size(), 2u);
  EXPECT_EQ(storage.names[0].name, "buf1");
  EXPECT_EQ(storage.names[0].line, 9);
  EXPECT_EQ(storage.names[0].aliases, "buf0");
  EXPECT_EQ(storage.names[0].delete_line, 11);
  EXPECT_EQ(storage.names[1].name, "buf5");
  EXPECT_EQ(storage.names[1].aliases, "buf4");
  EXPECT_EQ(storage.names[1].delete_line, 14);
  EXPECT_EQ(storage.last_use, 14);
  EXPECT_EQ(storage.return_line, 21);
  EXPECT_EQ(storage.calls_after, 3);
  EXPECT_EQ(storage.release_line, 16);
}

TEST(GeneratedWrapper, NamesThatAreAllDeletedAreFine) {
  EXPECT_TRUE(lint("buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)\n"
                   "buf1 = buf0; del buf0  # reuse\n"
                   "buf2 = reinterpret_tensor(buf1, (4, ), (1, ), 0)\n"
                   "cpp_fused_add_0(buf2)\n"
                   "del buf1, buf2\n"
                   "cpp_fused_add_1(arg1_1)\n"
                   "return (arg1_1, )\n")
                  .empty());
}

TEST(GeneratedWrapper, WhatIsReturnedLivesOnPurpose) {
  EXPECT_TRUE(lint("buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)\n"
                   "buf1 = buf0\n"
                   "cpp_fused_add_1(arg1_1)\n"
                   "return (reinterpret_tensor(buf1, (4, ), (1, ), 0), arg1_1, )\n")
                  .empty());
}

TEST(GeneratedWrapper, NothingAfterTheLastUseIsNoHarm) {
  EXPECT_TRUE(lint("buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)\n"
                   "buf1 = buf0\n"
                   "cpp_fused_add_1(buf1, arg1_1)\n"
                   "return (arg1_1, )\n")
                  .empty());
}

TEST(GeneratedWrapper, AViewAfterTheLastUseIsNoCall) {
  EXPECT_TRUE(lint("buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)\n"
                   "buf1 = buf0\n"
                   "buf2 = empty_strided_cpu((4, ), (1, ), torch.float32)\n"
                   "cpp_fused_add_1(buf1, buf2)\n"
                   "buf3 = reinterpret_tensor(buf2, (2, 2), (2, 1), 0); del buf2  # reuse\n"
                   "return (buf3, )\n")
                  .empty());
}

TEST(GeneratedWrapper, ASecondNameOfAnArgument) {
  const auto found = lint(
      "buf0 = reinterpret_tensor(arg0_1, (4, ), (1, ), 0); del arg0_1  # alias\n"
      "cpp_fused_add_0(buf0)\n"
      "cpp_fused_add_1(arg1_1)\n"
      "return (arg1_1, )\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().line, 5);
  EXPECT_EQ(found.front().names.front().name, "buf0");
}

TEST(GeneratedWrapper, TextInStringsAndCommentsIsNoCode) {
  EXPECT_TRUE(lint("buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)  # buf9 = buf0\n"
                   "run('''\n"
                   "buf1 = buf0\n"
                   "''')\n"
                   "del buf0\n"
                   "cpp_fused_add_1(arg1_1)\n"
                   "return (arg1_1, )\n")
                  .empty());
}

TEST(GeneratedWrapper, ACallOverSeveralLinesIsOneStatement) {
  const auto found = lint(
      "buf0 = torch.ops.my.gather.default(\n"
      "    arg0_1, 0, 7)\n"
      "buf1 = buf0[0]\n"
      "del buf0\n"
      "cpp_fused_add_1(arg1_1)\n"
      "return (arg1_1, )\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().line, 7);
  EXPECT_EQ(found.front().names.front().line, 9);
}

TEST(GeneratedWrapper, OtherFilesAreNot) {
  EXPECT_TRUE(is_generated_wrapper(wrapper("return (arg0_1, )\n")));
  EXPECT_FALSE(is_generated_wrapper("def call(args):\n    args.clear()\n"));
  EXPECT_TRUE(undeleted_storages("buf0 = f()\nbuf1 = buf0\ng()\n", kWaits).empty());
  EXPECT_TRUE(undeleted_storages("class", kWaits).empty());
  EXPECT_TRUE(undeleted_storages("class :\n  def call(args):\n   x = '", kWaits).empty());
}

}  // namespace
}  // namespace dcmt::analyzer
