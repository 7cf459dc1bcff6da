// Converts the records of a census to samples (the three equations) and edges (who holds the storage).
//
//   storage count = tensors of the sharing set + (1 if it has a Python object) + raw holders
//   tensor count  = (1 if it has a Python object) + views that keep it as their base + other C++ owners
//   object count  = names found + (1 if the tensor count exceeds 1)
//
// The difference of each equation is stored as unexplained.
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

#include "collector/recorder/assemble/census_facts.h"
#include "collector/recorder/assemble/code_bodies.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/decode/sources.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Access of a census to live objects: each function returns a row, or 0 or nothing if there is none.
struct CensusContext {
  std::function<RowId(std::uint64_t address)> storage;
  std::function<RowId(std::uint64_t address)> tensor;
  std::function<Point(std::uint64_t address)> tensor_birth;
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

  /// Each function processes one whole record.
  Status begin(std::string_view bytes);
  Status tensor(std::string_view bytes);
  Status local(std::string_view bytes);
  Status end(std::string_view bytes);
  Status code_body(std::string_view bytes);
  Status source_line(std::string_view bytes);
  /// The dictionary got a code object.
  void code_defined(std::uint64_t code) { new_codes_.insert(code); }

  /// Ends the edges of a tensor or storage whose lifetime ended.
  Status tensor_ended(RowId tensor);
  Status storage_ended(RowId storage);

  Status commit();
  Status finish();
  /// Copies the user's source files that made storages which readings found in containers, and, if there are any, those
  /// of `others`, which may have put them there. Call it after all other rows are written.
  Status see_sources_of_held(const std::set<std::string>& others);
  /// Copies those of these files that are the user's.
  Status see_sources(const std::set<std::string>& files);

  /// The open edges of variables that, by the latest census of this storage, refer to a tensor of it.
  [[nodiscard]] std::vector<EdgeRow> names_of(RowId storage) const;

  [[nodiscard]] std::int64_t count() const { return count_; }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("census.count", count_);
  }

 private:
  using Pending = std::vector<CensusPiece>;

  struct OpenEdge {
    EdgeRow row;
    CensusPiece local;  ///< for a local's edge: the record, to analyse its code again
    bool resolved = true;
    bool stored = false;
    [[nodiscard]] bool ended() const { return row.span.to.set(); }
  };

  Status add_piece(std::uint64_t census, std::string_view bytes, RowId resolved);
  Status replay(CensusPiece piece);
  Status assemble(const Pending& pending, const wire::CensusRecord& end);
  Status add_edge(OpenEdge edge);
  Status resolve(OpenEdge& edge);
  Status resolve_flow(OpenEdge& edge, const wire::CensusLocalRecord& local, const Code& code);
  void link(const OpenEdge& edge);
  Status end_edges(std::unordered_map<RowId, std::vector<RowId>>& by, RowId held);
  /// Analyses edges again for which new code or source lines have arrived.
  Status analyse_again();
  Status load_edges();

  Journal& journal_;
  Dictionary& dictionary_;
  CensusContext context_;
  Sources sources_;
  std::map<std::uint64_t, Pending> pending_;  ///< by census id
  CodeBodies bodies_{journal_};
  std::map<RowId, OpenEdge> edges_;  ///< edges that are open, or that wait for their code
  std::vector<RowId> new_edges_;
  std::unordered_map<RowId, std::vector<RowId>> edges_of_tensor_;
  std::unordered_map<RowId, std::vector<RowId>> edges_of_storage_;
  std::set<std::uint64_t> new_codes_;  ///< wire ids of code objects with new data since the last analysis
  std::set<RowId> new_lines_;          ///< generated files with new data
  std::int64_t count_ = 0;
};

}  // namespace dcmt::recorder
