// The user's files, as copied into a trace, with the lines through which storages were made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/source/made_values.h"
#include "analyzer/source/python_source.h"

namespace dcmt::analyzer {

struct UserFile {
  UserFile(std::string_view short_name, std::string_view code, const std::set<std::size_t>& made_at, StringId in = {})
      : name(short_name), path(in), source(code), values(source, made_at) {}
  std::string_view name;  ///< "train.py"
  StringId path;          ///< zero: of a text that no trace has
  PythonSource source;
  MadeValues values;
  std::set<std::size_t> innermost =
      {};  ///< numbers of the lines that made a storage without further lines of the user's
};

struct FoundLine {
  const UserFile* file = nullptr;
  const PythonSource::Line* line = nullptr;
};
using FoundLines = std::vector<FoundLine>;

/// The lines of a file for which it holds.
template <class Counts>
[[nodiscard]] FoundLines lines_of(const UserFile& file, Counts counts) {
  FoundLines found;
  for (const PythonSource::Line& line : file.source.lines()) {
    if (counts(line)) found.push_back({&file, &line});
  }
  return found;
}

/// Those for which it holds, if there are any; else all.
template <class Holds>
[[nodiscard]] FoundLines rather(FoundLines found, Holds holds) {
  if (std::ranges::any_of(found, holds)) std::erase_if(found, [&](const FoundLine& each) { return !holds(each); });
  return found;
}

/// True if the line names what was made, or makes it.
[[nodiscard]] inline bool uses_value(const FoundLine& found) {
  return found.file->values.names_one(*found.line) || found.file->values.makes(*found.line);
}

class UserFiles {
 public:
  /// Those through which storages were made, and others. Both arguments must outlive it.
  UserFiles(const TraceData& data, const std::vector<StackId>& made_at);
  /// All that the trace has.
  explicit UserFiles(const TraceData& data);

  /// False: nothing says which values were stored.
  [[nodiscard]] bool knows_values() const { return !made_at_.empty(); }

  template <class In>
  [[nodiscard]] FoundLines all(In in) const {
    return found_in(files_, in);
  }
  /// The same of the files through which no storage was made.
  template <class In>
  [[nodiscard]] FoundLines others(In in) const {
    return found_in(others_, in);
  }

  /// The same of both.
  template <class In>
  [[nodiscard]] FoundLines everywhere(In in) const {
    FoundLines found = all(in);
    std::ranges::move(others(in), std::back_inserter(found));
    return found;
  }

  /// Every file.
  void each(const std::function<void(const UserFile&)>& visit) const {
    std::ranges::for_each(files_, visit);
    std::ranges::for_each(others_, visit);
  }

  /// The lines that called one of the functions when it made a storage.
  [[nodiscard]] FoundLines callers_of(const std::set<std::string_view>& functions) const;

 private:
  template <class In>
  static FoundLines found_in(const std::deque<UserFile>& files, In in) {
    FoundLines found;
    for (const UserFile& file : files) std::ranges::move(in(file), std::back_inserter(found));
    return found;
  }

  void note_innermost();
  void add(const SourceFile& source, const std::set<std::size_t>& made_at, std::deque<UserFile>& to);
  template <class Visit>
  void each_frame(Visit visit) const;
  [[nodiscard]] FoundLine line_of(const Frame& frame) const;

  const TraceData& data_;
  const std::span<const StackId> made_at_;
  std::deque<UserFile> files_, others_;
  std::map<StringId, UserFile*> by_path_;
};

}  // namespace dcmt::analyzer
