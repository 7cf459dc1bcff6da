// Readable names and positions of Python objects.
#pragma once

#include <string>

#include "collector/scan/objects/process_types.h"

namespace dcmt::scan {

/// Not thread-safe.
class PythonText {
 public:
  PythonText(Mirror& memory, ProcessTypes& types) : memory_(memory), types_(types), layout_(types.python) {}

  /// The content of a str of Latin letters, truncated to 200; empty for any other object.
  [[nodiscard]] std::string text(Address object);

  /// A key in the form between brackets: 'loss', 17, ('x', 3), <Parameter>.
  [[nodiscard]] std::string key(Address object, int depth = 0);

  /// The key of entry `index` of a keys object; 0 if there is none.
  [[nodiscard]] Address key_at(Address keys, std::uint64_t index);

  /// Texts of an interpreter's frame: its function, "train"; its position, "train.py:41"; and both, "train
  /// (train.py:41)".
  [[nodiscard]] std::string frame_function(Address frame);
  [[nodiscard]] std::string frame_line(Address frame);
  [[nodiscard]] std::string frame_place(Address frame);

  /// The name of a frame's local variable.
  [[nodiscard]] std::string local_name(Address frame, std::uint64_t index);

  /// The name of variable `index` of a function's closure.
  [[nodiscard]] std::string closure_name(Address function, std::uint64_t index);

  /// "Adam" of "torch.optim.adam.Adam", "frame", "AddmmBackward0".
  [[nodiscard]] std::string type_name(Address object, Kind kind);

 private:
  int line_of(Address code, std::int64_t instruction);

  Mirror& memory_;
  ProcessTypes& types_;
  const PythonLayout& layout_;
};

}  // namespace dcmt::scan
