// How a table of the trace is declared: once, beside the struct of its rows. SQL, writing, reading and the tables of
// docs/schema.md are made from the declaration.
//
// A row type has a kTable, and describe(column), which calls column(&Row::member, form) for each member that is stored,
// in the order of the table. The form says under which names the member is stored, what they mean, and since which
// schema there are such columns. A trace of an older schema reads as if they were NULL.
#pragma once

#include <span>
#include <string_view>

namespace dcmt {

struct Table {
  std::string_view name;
  std::string_view meaning;
  int since = 1;                ///< schema
  std::string_view key = "id";  ///< columns of the primary key; empty: it has none
  bool at_finish = false;       ///< made when the trace is finished
};

/// A column that has the member's value. A std::optional without a value is NULL; 0 and empty text are values.
struct Cell {
  std::string_view name;
  std::string_view type;  ///< "text", "any", or the kind of number; the name of a table: an id of it
  std::string_view meaning;
  int since = 1;
  std::span<const std::string_view> words = {};  ///< the texts that the column may have, where they are few
};

/// As Cell, but 0 and empty text are NULL.
struct OrNull : Cell {};

/// `gpu`, and the generated column `device`. A std::optional without a value is the CPU.
struct Gpu {
  std::string_view meaning;
};

// The tables that grow with the run store numbers near the id as the distance from it, because a small number needs
// less room. Generated columns have the numbers themselves.

/// An id of a row, as `NAME_back`.
struct Back {
  std::string_view name;
  std::string_view type;
  std::string_view meaning;
};

/// A Place, as PREFIXthread, PREFIXoperator_back and PREFIXstack.
struct NearPlace {
  std::string_view prefix;
  std::string_view of;
};

/// A Span, as late, seq_length, from_ns and ns_length.
struct Lifetime {};

/// The scope of an operator, as scope_code.
struct Scope {};

/// Id of a tensor object's first row, as first; the generated column is `object`.
struct FirstStay {};

/// The end of a wait for streams after a block's free, as wait_seq_length and wait_ns_length.
struct Wait {
  int since;
};

/// A Place, as thread, operator and stack.
struct WholePlace {};

/// A Span, as from_seq, to_seq, from_ns and to_ns.
struct FromTo {
  bool ends = false;  ///< each row has an end
};

/// A Point, as PREFIXseq and PREFIXns.
struct At {
  std::string_view prefix;
  std::string_view meaning;
  bool or_null = false;  ///< NULL where the point is not set
};

}  // namespace dcmt
