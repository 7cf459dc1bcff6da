// The columns of a table, from its declaration.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "trace/tables/column.h"

namespace dcmt {

struct Column {
  std::string name;
  std::string type;  ///< as a Cell has it
  std::string meaning;
  int since = 1;  ///< schema
  bool nullable = false;
  std::string generated;     ///< the expression of a generated column; empty: it is stored
  bool is_distance = false;  ///< a generated column has its number in readable form
};

/// Collects the columns of forms, stored and generated, in the order of the declaration.
class Columns {
 public:
  explicit Columns(const Table& table) : table_since_(table.since) {}

  // `optional`: the member is a std::optional.
  void add(const Cell& form, bool optional);
  void add(const OrNull& form, bool optional);
  void add(const Gpu& form, bool optional);
  void add(const Back& form, bool optional);
  void add(const NearPlace& form, bool optional);
  void add(const Lifetime& form, bool optional);
  void add(const Scope& form, bool optional);
  void add(const FirstStay& form, bool optional);
  void add(const Wait& form, bool optional);
  void add(const WholePlace& form, bool optional);
  void add(const FromTo& form, bool optional);
  void add(const At& form, bool optional);

  [[nodiscard]] const std::vector<Column>& all() const { return columns_; }

 private:
  void stored(std::string name, std::string_view type, std::string_view meaning, bool nullable, int since = 1);
  void distance(std::string name, bool nullable, int since = 1);
  void generated(std::string name, std::string_view type, std::string_view meaning, std::string expression,
                 int since = 1);

  int table_since_;
  std::vector<Column> columns_;
};

template <class>
inline constexpr bool kIsOptional = false;
template <class Value>
inline constexpr bool kIsOptional<std::optional<Value>> = true;

/// The type of the member that a pointer to a member names.
template <class Row, class Value>
Value value_of_member(Value Row::*);
template <class Member>
using MemberValue = decltype(value_of_member(std::declval<Member>()));

/// All columns of a table, in the order of its declaration.
template <class Row>
std::vector<Column> columns_of() {
  Columns columns(Row::kTable);
  Row::describe([&](auto member, const auto& form) { columns.add(form, kIsOptional<MemberValue<decltype(member)>>); });
  return columns.all();
}

/// Any of the forms.
using Form = std::variant<Cell, OrNull, Gpu, Back, NearPlace, Lifetime, Scope, FirstStay, Wait, WholePlace, FromTo, At>;

/// The row type of a pointer to a member.
template <class Row, class Value>
Row row_of_member(Value Row::*);
template <auto kMember>
using TableOf = decltype(row_of_member(kMember));

template <auto kMember>
constexpr Form find_form() {
  Form found;
  TableOf<kMember>::describe([&](auto member, const auto& form) {
    if constexpr (std::is_same_v<decltype(member), std::remove_const_t<decltype(kMember)>>) {
      if (member == kMember) found = form;
    }
  });
  return found;
}
template <auto kMember>
inline constexpr Form kAnyFormOf = find_form<kMember>();
/// The form in which a table stores a member.
template <auto kMember>
inline constexpr auto kFormOf = std::get<kAnyFormOf<kMember>.index()>(kAnyFormOf<kMember>);

/// The columns of one member.
template <auto kMember>
Columns columns_of_member() {
  Columns columns(TableOf<kMember>::kTable);
  columns.add(kFormOf<kMember>, kIsOptional<MemberValue<std::remove_const_t<decltype(kMember)>>>);
  return columns;
}

/// "INSERT OR REPLACE INTO …", with a parameter for each stored column in the order of the declaration.
/// @param prefix  of the table's name: "temp."
std::string insert_sql(const Table& table, const std::vector<Column>& columns, const std::string& prefix = {});
/// "SELECT … FROM …", with the stored columns in the order of the declaration.
std::string select_sql(const Table& table, const std::vector<Column>& columns);

}  // namespace dcmt
