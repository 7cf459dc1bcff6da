// Stacks of C++ functions: their frames and rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/journal.h"
#include "collector/recorder/unwind/code_files.h"
#include "collector/scan/objects/cpp_variable.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class CodeStacks {
 public:
  CodeStacks(Journal& journal, Dictionary& dictionary, CodeFiles& files)
      : journal_(journal), dictionary_(dictionary), files_(files) {}

  using Frames = std::vector<CodePlace>;  // innermost first

  /// @param bytes  of a whole NativeStackRecord
  Status define(std::string_view bytes);
  /// The frames of a stack with those of all objects, without Python's interpreter; empty if it is not known.
  [[nodiscard]] Frames frames(std::uint64_t stack);
  /// The row of such a stack; 0: it is not known, or empty.
  Expected<RowId> row(std::uint64_t stack);
  /// True if it has seen frames of a program without Python.
  [[nodiscard]] bool has_program() const { return !frames_.empty(); }
  /// The program's own variables: static ones, and those of the functions that run, of which its stacks had frames.
  [[nodiscard]] std::vector<scan::CppVariable> variables(scan::MemorySource& source);
  /// Those of the variables so far.
  [[nodiscard]] std::shared_ptr<const scan::CppShapes> shapes() { return files_.shapes(); }

 private:
  [[nodiscard]] Frames places(const wire::ReturnAddress& frame);
  void add_of_frame(const wire::ReturnAddress& frame, std::uint64_t loaded_at, scan::Mirror& memory,
                    std::vector<scan::CppVariable>& found);
  Status define_program(std::uint64_t id, const std::vector<wire::ReturnAddress>& calls);
  Expected<RowId> row_of(const std::string& file, const std::string& function, std::int64_t line);
  Expected<RowId> row_in_program(const CodePlace& frame);
  Expected<RowId> row_in_object(const CodePlace& frame);
  [[nodiscard]] static Frames of_program(Frames frames);

  Journal& journal_;
  Dictionary& dictionary_;
  CodeFiles& files_;
  std::unordered_map<std::uint64_t, std::vector<wire::ReturnAddress>> calls_;    ///< of stacks with all objects
  using PlaceInFrame = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // end, object, offset
  std::map<PlaceInFrame, wire::ReturnAddress> frames_;                           ///< of the program
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<CodeVariable>> variables_;  ///< by object and offset
  bool is_noted_ = false;                          ///< the trace says that it has such stacks
  std::unordered_map<std::uint64_t, RowId> rows_;  ///< of those that were asked for
};

}  // namespace dcmt::recorder
