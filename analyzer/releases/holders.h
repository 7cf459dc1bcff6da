// Who holds a storage: the result of a census as paths and equations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A variable of a frame that refers to the held object.
struct HolderName {
  EdgeId edge;
  StringId name;
  HolderKind kind = HolderKind::kLocal;
  std::optional<std::int64_t> line;  ///< line of the assignment that reaches the census
  StringId assignment;
  std::optional<std::int64_t> delete_line;  ///< the first delete that can follow
};

/// A frame that holds a Python object of a tensor on the storage. The path is
/// frame → variable → Python object → tensor → storage.
struct HolderPath {
  StringId function, file;
  bool generated = false;   ///< a compiler wrote the file
  std::int64_t object = 0;  ///< address of the Python object
  TensorId tensor;
  ThreadId thread = kNoThread;
  std::vector<HolderName> names;
  std::optional<std::int64_t> current_line, return_line;
  StringId model_file, model_text;
  std::optional<std::int64_t> model_line;
  bool certain = false;
  Sequence seen_seq;  ///< the name existed by then; when it was assigned is unknown
  TimeNs seen_ns;

  /// True if a variable of this frame is not deleted before the frame returns.
  [[nodiscard]] bool kept_to_return() const;
};

/// One equation of a census: counted references = explained + unexplained references.
struct Count {
  SampleId sample;
  Subject subject = Subject::kStorage;
  TensorId tensor;
  std::int64_t count = 0, explained = 0, unexplained = 0;
};

/// The result of one census for one storage.
struct Holders {
  const Mark* census = nullptr;
  std::vector<HolderPath> paths;  ///< the most informative first: generated code without a delete
  std::vector<Count> counts;
  std::vector<TensorId> tensors;  ///< tensors that share the storage
  std::vector<EdgeId> edges;      ///< all edges, as evidence

  [[nodiscard]] std::int64_t unexplained() const;
  /// True if the census was made because memory ran out, and not because of a release.
  [[nodiscard]] bool at_error(const TraceData& data) const;
  /// True if all counts are explained, all holders own a reference, and nothing changed during the census.
  [[nodiscard]] bool certain() const;
};

/// The census of a release; nullopt if there is none.
[[nodiscard]] std::optional<Holders> holders_of_release(const TraceData& data, const Mark& release);

/// The first census of the storage after an out-of-memory error at `error`; nullopt if there is none.
[[nodiscard]] std::optional<Holders> holders_at_error(const TraceData& data, StorageId storage, Sequence error);

/// The result of a census for one storage.
[[nodiscard]] Holders holders_of(const TraceData& data, const Mark& census, StorageId storage);

[[nodiscard]] std::string_view name_of(HolderKind kind);
[[nodiscard]] std::string_view name_of(Subject subject);

}  // namespace dcmt::analyzer
