// Names and lines of places in the files that a process has loaded as code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/recorder/unwind/debug_info.h"
#include "collector/recorder/unwind/source_lines.h"
#include "collector/recorder/unwind/type_shapes.h"
#include "collector/scan/process/elf_file.h"

namespace dcmt::recorder {

/// A place in a function. Texts are empty, and the line 0, where they are not known.
struct CodePlace {
  std::string object;        ///< path
  std::string function;      ///< demangled
  std::uint64_t offset = 0;  ///< of the place in the function, or else in the object
  std::string file;          ///< of the source
  std::int64_t line = 0;
};

/// A variable of a function, in its frame, or a static one.
struct CodeVariable {
  std::string path;            ///< "train: losses"
  std::string place;           ///< where it is declared: "train.cpp:12"
  std::int64_t offset = 0;     ///< from the end of the frame; of a static one, in the file
  std::uint64_t bytes = 0;     ///< 0: a pointer or a reference
  bool is_in_block = false;    ///< it may end before its function
  scan::ShapeIndex shape = 0;  ///< in CodeFiles::shapes()
};

/// A file that is in use. It stays open: names are asked for after the process is gone.
class CodeFile {
 public:
  explicit CodeFile(const std::string& path) : elf(path) {}

  /// nullptr: none has a name there.
  [[nodiscard]] const scan::FileFunction* function_at(std::uint64_t value);
  [[nodiscard]] const SourceLines& lines();
  [[nodiscard]] DebugInfo& info();

  const scan::ElfFile elf;

 private:
  std::optional<std::vector<scan::FileFunction>> functions_;  ///< nullopt: not read
  std::optional<SourceLines> lines_;                          ///< likewise
  std::optional<DebugInfo> info_;                             ///< likewise
};

/// Thread-safety: none.
class CodeFiles {
 public:
  [[nodiscard]] CodeFile& file(const std::string& path);
  /// A place in the code, and after it the calls that lead to it from the function that it was compiled into: at least
  /// one.
  /// @param offset  from where the file is loaded
  [[nodiscard]] std::vector<CodePlace> places(const std::string& path, std::uint64_t offset);
  /// The variables that exist there: those of a function whose line is past their declaration.
  [[nodiscard]] std::vector<CodeVariable> variables(const std::string& path, std::uint64_t offset);
  /// The static variables of a file that lead to tensors.
  [[nodiscard]] const std::vector<CodeVariable>& statics(const std::string& path);
  /// What the std::function objects of a file have, which is loaded there.
  void add_functors(const std::string& path, std::uint64_t loaded_at);
  [[nodiscard]] std::shared_ptr<const scan::CppShapes> shapes() { return shapes_.all(); }

 private:
  [[nodiscard]] CodeVariable variable(CodeFile& code, const FrameVariable& found, std::string path);

  std::map<std::string, std::unique_ptr<CodeFile>> files_;
  std::map<std::string, std::vector<CodeVariable>> statics_;
  TypeShapes shapes_;
  std::set<std::string> with_functors_;
};

}  // namespace dcmt::recorder
