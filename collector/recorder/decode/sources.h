// Copies source files into the trace when a holder in them is first seen, because generated files are temporary. Also
// maps lines of generated files to the model's source, as far as the compiler kept that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// A line in the model's source.
struct ModelLine {
  std::string_view file;
  std::int64_t line = 0;
  std::string_view code;  ///< text of the line, without the spaces around it
};

/// The last entry of a traceback excerpt (`File "X", line N, in F` and the code below it) that is not inside torch.
/// Nothing if there is none.
std::optional<ModelLine> innermost_model_line(std::string_view stack_text);

/// Row ids of a ModelLine.
struct ModelRow {
  RowId file = 0;
  std::int64_t line = 0;
  RowId text = 0;
};

/// Thread-safety: none.
class Sources {
 public:
  explicit Sources(Journal& journal) : journal_(journal) {}

  Status resume();

  /// Copies a file at first sight: regular, readable, at most 4 MiB. Other files are skipped.
  Status see(RowId path, std::string_view path_text);
  /// Line `number` (from 1) of a copied file without the spaces around it; nothing if unknown.
  [[nodiscard]] std::optional<std::string_view> line(RowId path, std::int64_t number) const;

  /// From `line` of the file on, the model's source is `stack_text`.
  Status map_line(RowId path, std::int64_t line, RowId stack_text_row, std::string_view stack_text);
  /// The model's source behind a line; nothing if the file is not generated or the compiler did not keep it.
  [[nodiscard]] std::optional<ModelRow> model_of(RowId path, std::int64_t line) const;

 private:
  struct File {
    std::string text;
    std::vector<std::size_t> line_starts;
  };
  static File split(std::string text);

  Journal& journal_;
  std::unordered_map<RowId, File> files_;  ///< an empty one is unreadable
  std::unordered_map<RowId, std::map<std::int64_t, std::optional<ModelRow>>> model_lines_;
};

}  // namespace dcmt::recorder
