// Stacks of C and C++ functions, from registers and a copy of the stack: by the files of the objects that the process
// has loaded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/recorder/unwind/frame_rules.h"
#include "collector/recorder/unwind/source_lines.h"
#include "collector/scan/process/elf_file.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// A place in a function. Texts are empty, and the line 0, where they are not known.
struct UnwoundFrame {
  std::string object;        ///< path
  std::string function;      ///< demangled
  std::uint64_t offset = 0;  ///< of the call in the function, or else in the object
  std::string file;          ///< of the source
  std::int64_t line = 0;
};

/// Thread-safety: none.
class NativeStacks {
 public:
  /// The process has loaded an object. One that was at these addresses before is gone.
  void add_object(std::uint64_t base, std::string path);

  /// The addresses of the calls that lead to the sample, innermost first: without the hook's own, up to the function
  /// that interprets Python, up to the end of the copy, or up to an object that is not known.
  [[nodiscard]] std::vector<std::uint64_t> walk(const wire::StackRegisters& registers, std::string_view stack);

  /// The place of a call that walk() has found.
  [[nodiscard]] UnwoundFrame name(std::uint64_t call);

 private:
  /// A file that is in use. Files stay open: names are asked for after the objects are gone.
  struct File {
    explicit File(const std::string& path) : elf(path) {}
    scan::ElfFile elf;
    std::optional<std::vector<scan::FileFunction>> functions;  ///< nullopt: not read
    std::optional<SourceLines> lines;                          ///< likewise
  };
  struct Object {
    std::uint64_t end = 0;
    std::string path;
    File* file = nullptr;
    bool is_ours = false;
  };
  struct Rules {
    bool is_known = false, is_ours = false, is_interpreter = false;
    FrameRules rules;
  };

  [[nodiscard]] const std::pair<const std::uint64_t, Object>* object_at(std::uint64_t address) const;
  const scan::FileFunction* function_at(File& file, std::uint64_t value);
  const Rules& rules_at(std::uint64_t call);

  std::map<std::string, std::unique_ptr<File>> files_;
  std::map<std::uint64_t, Object> objects_;         ///< by base
  std::unordered_map<std::uint64_t, Rules> rules_;  ///< by address of the call
};

}  // namespace dcmt::recorder
