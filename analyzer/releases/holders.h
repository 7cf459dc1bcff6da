// Who holds a storage: what a census found, put together into paths and equations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// One variable of a frame that names the held object.
struct HolderName {
  EdgeId edge;
  StringId name;
  HolderKind kind = HolderKind::kLocal;
  std::optional<std::int64_t> line;  ///< of the assignment that reaches the census
  StringId assignment;
  std::optional<std::int64_t> delete_line;  ///< first delete that can follow
};

/// A frame that holds a Python object of a tensor on the storage: the end of the path
/// frame → variable → Python object → tensor → storage.
struct HolderPath {
  StringId function, file;
  bool generated = false;   ///< the file was written by a compiler
  std::int64_t object = 0;  ///< address of the Python object
  TensorId tensor;
  ThreadId thread = kNoThread;
  std::vector<HolderName> names;
  std::optional<std::int64_t> current_line, return_line;
  StringId model_file, model_text;
  std::optional<std::int64_t> model_line;
  bool certain = false;
  Sequence seen_seq;  ///< the name was there by then; when it was given is not known
  TimeNs seen_ns;

  /// True if a variable of this frame is not deleted before the frame returns.
  [[nodiscard]] bool kept_to_return() const;
};

/// One equation of a census: what was counted and what is named.
struct Count {
  SampleId sample;
  Subject subject = Subject::kStorage;
  TensorId tensor;
  std::int64_t count = 0, explained = 0, unexplained = 0;
};

/// What one census says about one storage.
struct Holders {
  const Mark* census = nullptr;
  std::vector<HolderPath> paths;  ///< the most telling first: generated code without a delete, then as found
  std::vector<Count> counts;
  std::vector<TensorId> tensors;  ///< that share the storage
  std::vector<EdgeId> edges;      ///< all, as evidence

  [[nodiscard]] std::int64_t unexplained() const;
  /// Looked at because memory ran out, not because something was released.
  [[nodiscard]] bool at_error(const TraceData& data) const;
  /// All counts explained, all holders seen as owners, nothing moved while looking.
  [[nodiscard]] bool certain() const;
};

/// The census of a release, or nullopt.
[[nodiscard]] std::optional<Holders> holders_of_release(const TraceData& data, const Mark& release);

/// Of the first census of the storage after an out-of-memory error at `error`, or nullopt.
[[nodiscard]] std::optional<Holders> holders_at_error(const TraceData& data, StorageId storage, Sequence error);

/// What a census found for a storage.
[[nodiscard]] Holders holders_of(const TraceData& data, const Mark& census, StorageId storage);

[[nodiscard]] std::string_view name_of(HolderKind kind);
[[nodiscard]] std::string_view name_of(Subject subject);

}  // namespace dcmt::analyzer
