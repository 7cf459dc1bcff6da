#include "trace/tables/columns.h"

#include <utility>

namespace dcmt {

void Columns::stored(std::string name, std::string_view type, std::string_view meaning, bool nullable, int since) {
  since = std::max(since, table_since_);
  // SQLite adds a column to a table only if it can be NULL in the rows that are there.
  columns_.push_back(
      {std::move(name), std::string(type), std::string(meaning), since, nullable || since > table_since_, {}});
}

void Columns::distance(std::string name, bool nullable, int since) {
  stored(std::move(name), "number", "", nullable, since);
  columns_.back().is_distance = true;
}

void Columns::generated(std::string name, std::string_view type, std::string_view meaning, std::string expression,
                        int since) {
  columns_.push_back({std::move(name), std::string(type), std::string(meaning), std::max(since, table_since_), true,
                      std::move(expression)});
}

void Columns::add(const Cell& form, bool optional) {
  stored(std::string(form.name), form.type, form.meaning, optional, form.since);
}

void Columns::add(const OrNull& form, bool /*optional*/) { add(static_cast<const Cell&>(form), true); }

void Columns::add(const Gpu& form, bool optional) {
  stored("gpu", "number", form.meaning, optional);
  generated("device", "text", "`cpu` or `cuda:0`",
            optional ? "CASE WHEN gpu IS NULL THEN 'cpu' ELSE 'cuda:' || gpu END" : "'cuda:' || gpu");
}

void Columns::add(const Back& form, bool /*optional*/) {
  const std::string name(form.name);
  distance(name + "_back", true);
  generated(name, form.type, form.meaning, "id - " + name + "_back");
}

void Columns::add(const NearPlace& form, bool /*optional*/) {
  const std::string prefix(form.prefix);
  stored(prefix + "thread", "thread", form.of, true);
  distance(prefix + "operator_back", true);
  stored(prefix + "stack", "stack", form.of, true);
  generated(prefix + "operator", "operator", form.of, "id - " + prefix + "operator_back");
}

void Columns::add(const Lifetime& /*form*/, bool /*optional*/) {
  distance("late", false);
  distance("seq_length", true);
  stored("from_ns", "ns", "its begin", false);
  distance("ns_length", true);
  generated("from_seq", "seq", "its begin", "id - late");
  generated("to_seq", "seq", "its end; NULL while it lasts", "id - late + seq_length");
  generated("to_ns", "ns", "its end; NULL while it lasts", "from_ns + ns_length");
}

void Columns::add(const Scope& /*form*/, bool /*optional*/) {
  distance("scope_code", false);
  generated("scope", "text", "`function`, `backward` or `user`",
            "CASE scope_code WHEN 0 THEN 'function' WHEN 1 THEN 'backward' ELSE 'user' END");
}

void Columns::add(const FirstStay& /*form*/, bool /*optional*/) {
  distance("first", true);
  generated("object", "tensor", "the first row of the tensor object", "coalesce(first, id)");
}

void Columns::add(const Wait& form, bool /*optional*/) {
  distance("wait_seq_length", true, form.since);
  distance("wait_ns_length", true, form.since);
  constexpr std::string_view kUntil = "when other streams no longer used the freed block; NULL: see below";
  generated("done_seq", "seq", kUntil, "CASE WHEN wait_seq_length > 0 THEN to_seq + wait_seq_length END", form.since);
  generated("done_ns", "ns", kUntil, "CASE WHEN wait_seq_length > 0 THEN to_ns + wait_ns_length END", form.since);
}

void Columns::add(const WholePlace& /*form*/, bool /*optional*/) {
  for (const char* name : {"thread", "operator", "stack"}) stored(name, name, "", true);
}

void Columns::add(const FromTo& form, bool /*optional*/) {
  const std::string_view end = form.ends ? "its end" : "its end; NULL while it lasts";
  stored("from_seq", "seq", "its begin", false);
  stored("to_seq", "seq", end, !form.ends);
  stored("from_ns", "ns", "its begin", false);
  stored("to_ns", "ns", end, !form.ends);
}

void Columns::add(const At& form, bool /*optional*/) {
  for (const char* unit : {"seq", "ns"}) stored(std::string(form.prefix) + unit, unit, form.meaning, form.or_null);
}

std::string insert_sql(const Table& table, const std::vector<Column>& columns, const std::string& prefix) {
  std::string names, values;
  for (const Column& column : columns) {
    if (!column.generated.empty()) continue;
    names += (names.empty() ? "" : ", ") + column.name;
    values += values.empty() ? "?" : ",?";
  }
  return "INSERT OR REPLACE INTO " + prefix + std::string(table.name) + "(" + names + ") VALUES(" + values + ")";
}

std::string select_sql(const Table& table, const std::vector<Column>& columns) {
  std::string names;
  for (const Column& column : columns) {
    if (column.generated.empty()) names += (names.empty() ? "" : ", ") + column.name;
  }
  return "SELECT " + names + " FROM " + std::string(table.name);
}

}  // namespace dcmt
