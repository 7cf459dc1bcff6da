// Censuses: from the records of one look at a storage to its samples (the three equations) and its edges (who holds
// it).
//
//   storage count = tensors of the sharing set + (1 if it has a Python object) + raw holders
//   tensor count  = (1 if it has a Python object) + views that keep it as their base + other C++ owners
//   object count  = names found + (1 if the tensor count exceeds 1)
//
// What is left over in each equation is stored as unexplained.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/recorder/decode/bytecode.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/decode/sources.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// What a census needs to know of live things: a row, 0 or nothing if there is none.
struct CensusContext {
  std::function<RowId(std::uint64_t address)> storage;
  std::function<RowId(std::uint64_t address)> tensor;
  std::function<Moment(std::uint64_t address)> tensor_birth;
  std::function<std::optional<std::int64_t>(std::uint64_t tid)> thread;
  std::function<RowId(std::int64_t graph, std::int64_t key)> latest_release;
  std::function<RowId()> running_operator;
};

/// Thread-safety: none.
class CensusBook {
 public:
  CensusBook(Journal& journal, Dictionary& dictionary, CensusContext context)
      : journal_(journal), dictionary_(dictionary), context_(std::move(context)), sources_(journal) {}

  Status resume();

  /// Each takes one whole record.
  Status begin(std::string_view bytes);
  Status tensor(std::string_view bytes);
  Status local(std::string_view bytes);
  Status end(std::string_view bytes);
  Status code_body(std::string_view bytes);
  Status source_line(std::string_view bytes);
  /// A code object became known to the dictionary.
  void code_defined(std::uint64_t code) { new_codes_.insert(code); }

  /// The edges that end when a tensor's or a storage's lifetime does.
  Status tensor_ended(RowId tensor);
  Status storage_ended(RowId storage);

  Status commit();
  Status finish();
  /// Copies the user's files through which storages were made that readings found in containers. To be called once all
  /// other rows are written.
  Status see_sources_of_held();

  /// The edges of the variables that the latest census of this storage found to name a tensor of it, and that last.
  [[nodiscard]] std::vector<EdgeRow> names_of(RowId storage) const;

  [[nodiscard]] std::int64_t count() const { return count_; }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("census.count", count_);
  }

 private:
  /// One record of a census that has not ended, with the row that its address meant at that moment.
  struct Piece {
    Moment at;
    std::uint32_t thread = 0;
    RowId resolved = 0;
    std::string bytes;
    bool kept = false;  ///< in the private state
  };
  using Pending = std::vector<Piece>;

  /// A code object's bytes as far as they came.
  struct Body {
    struct Part {
      bool seen = false;
      std::uint32_t total = 0;
      std::string bytes;
    };
    int python = 0;
    Part parts[4];
    [[nodiscard]] const Part& part(wire::CodeBodyPart which) const;
    [[nodiscard]] bool complete() const;
    [[nodiscard]] CodeBody code(int first_line) const;
  };

  struct OpenEdge {
    EdgeRow row;
    Piece local;  ///< of a local's edge: what is needed to look at its code again
    bool resolved = true;
    bool stored = false;
    [[nodiscard]] bool ended() const { return row.span.to.set(); }
  };

  Status add_piece(std::uint64_t census, std::string_view bytes, RowId resolved);
  Status replay(Piece piece);
  void learn_body(const wire::CodeBodyRecord& record, std::string_view data);
  Status assemble(const Pending& pending, const wire::CensusRecord& end);
  Status sample(SampleRow row, std::uint64_t count, std::uint64_t explained);
  Status add_edge(OpenEdge edge);
  Status resolve(OpenEdge& edge);
  Status resolve_flow(OpenEdge& edge, const wire::CensusLocalRecord& local, const Code& code);
  void link(const OpenEdge& edge);
  Status end_edges(std::unordered_map<RowId, std::vector<RowId>>& by, RowId held);
  /// Re-resolves what new code or source lines can tell more of.
  Status look_again();
  Status load_edges();

  Journal& journal_;
  Dictionary& dictionary_;
  CensusContext context_;
  Sources sources_;
  std::map<std::uint64_t, Pending> pending_;  ///< by census id
  std::unordered_map<std::uint64_t, Body> bodies_;
  std::size_t body_bytes_ = 0;
  std::map<RowId, OpenEdge> edges_;  ///< those that last or wait for their code
  std::vector<RowId> new_edges_;
  std::unordered_map<RowId, std::vector<RowId>> edges_of_tensor_;
  std::unordered_map<RowId, std::vector<RowId>> edges_of_storage_;
  std::set<std::uint64_t> new_codes_;  ///< wire ids of code objects of which more is known than at the last look
  std::set<RowId> new_lines_;          ///< generated files of which more is known
  std::int64_t count_ = 0;
};

}  // namespace dcmt::recorder
