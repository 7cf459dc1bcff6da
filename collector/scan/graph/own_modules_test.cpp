#include "collector/scan/graph/own_modules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "collector/scan/layout/python_layout.h"
#include "collector/scan/objects/process_types.h"
#include "collector/scan/testing/changing_process.h"

namespace dcmt::scan {
namespace {

constexpr std::int64_t kVersion311 = 0x30B;
constexpr Address kModulesBase = 0x100000, kTypeOfTexts = kModulesBase, kTypeName = kModulesBase + 0x400,
                  kText = kModulesBase + 0x800, kModule = kModulesBase + 0x1000;

/// A process with a module whose dictionary cannot be read.
class OneModule : public testing::ChangingProcess {
 public:
  OneModule(const PythonLayout& layout, std::string_view name) : ChangingProcess(kModulesBase, 0x2000) {
    object(kTypeOfTexts, kTypeOfTexts);
    set(kTypeOfTexts + layout.tp_name, kTypeName);
    set(kTypeOfTexts + layout.tp_basicsize, 64);
    set(kTypeOfTexts + layout.tp_flags, std::uint64_t{1} << kUnicodeBit | std::uint64_t{1} << kTypeBit);
    set(kTypeName, 0x727473);  // "str"
    object(kText, kTypeOfTexts);
    set(kText + 16, name.size());
    set(kText + 32, 1U << layout.text_kind_bit | 1U << layout.text_compact_bit | 1U << layout.text_ascii_bit);
    std::uint64_t words[8] = {};
    std::memcpy(words, name.data(), std::min(name.size(), sizeof(words)));
    for (std::size_t i = 0; i < std::size(words); ++i) set(kText + layout.ascii_text + 8 * i, words[i]);
  }

 private:
  void object(Address at, Address type) {
    set(at, 1);
    set(at + 8, type);
  }
};

bool is_own(std::string_view name) {
  ProcessTypes types{*python_layout(kVersion311), {}};
  OneModule process(types.python, name);
  Mirror memory(process);
  PythonText text(memory, types);
  EXPECT_EQ(text.text(kText), name);
  OwnModules own(types.python);
  own.add({{kModule, kText}}, memory, text);
  return own.contains(kModule);
}

TEST(OwnModules, TheProgramIsOwnWhileItsDictionaryCannotBeRead) { EXPECT_TRUE(is_own("__main__")); }

TEST(OwnModules, AnotherModuleWithoutAFileIsNot) { EXPECT_FALSE(is_own("builtins")); }

}  // namespace
}  // namespace dcmt::scan
