#include "collector/scan/graph/own_modules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

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
  OneModule(const PythonLayout& layout, const std::vector<std::string_view>& names)
      : ChangingProcess(kModulesBase, 0x2000) {
    object(kTypeOfTexts, kTypeOfTexts);
    set(kTypeOfTexts + layout.tp_name, kTypeName);
    set(kTypeOfTexts + layout.tp_basicsize, 64);
    set(kTypeOfTexts + layout.tp_flags, std::uint64_t{1} << kUnicodeBit | std::uint64_t{1} << kTypeBit);
    set(kTypeName, 0x727473);  // "str"
    for (std::size_t i = 0; i < names.size(); ++i) text(layout, text_of(i), names[i]);
  }

  static Address text_of(std::size_t i) { return kText + 0x100 * i; }

 private:
  void text(const PythonLayout& layout, Address at, std::string_view letters) {
    object(at, kTypeOfTexts);
    set(at + 16, letters.size());
    set(at + 32, 1U << layout.text_kind_bit | 1U << layout.text_compact_bit | 1U << layout.text_ascii_bit);
    std::uint64_t words[8] = {};
    std::memcpy(words, letters.data(), std::min(letters.size(), sizeof(words)));
    for (std::size_t i = 0; i < std::size(words); ++i) set(at + layout.ascii_text + 8 * i, words[i]);
  }

  void object(Address at, Address type) {
    set(at, 1);
    set(at + 8, type);
  }
};

/// @param names  of the module in sys.modules, in their order
bool is_own(const std::vector<std::string_view>& names) {
  ProcessTypes types{*python_layout(kVersion311), {}};
  OneModule process(types.python, names);
  Mirror memory(process);
  PythonText text(memory, types);
  std::vector<OwnModules::Module> modules;
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(text.text(OneModule::text_of(i)), names[i]);
    modules.push_back({kModule, OneModule::text_of(i)});
  }
  OwnModules own(types.python);
  own.add(modules, memory, text);
  return own.contains(kModule);
}

TEST(OwnModules, TheProgramIsOwnWhileItsDictionaryCannotBeRead) {
  EXPECT_TRUE(is_own({"__main__"}));
  EXPECT_TRUE(is_own({"__main__", "__mp_main__"})) << "a second name, by multiprocessing";
}

TEST(OwnModules, AnotherModuleWithoutAFileIsNot) { EXPECT_FALSE(is_own({"builtins"})); }

}  // namespace
}  // namespace dcmt::scan
