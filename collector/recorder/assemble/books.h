// The parts that together make a trace: each keeps what it needs of the records, and writes the rows of its tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collector/recorder/assemble/census_book.h"
#include "collector/recorder/assemble/clock_book.h"
#include "collector/recorder/assemble/code_stacks.h"
#include "collector/recorder/assemble/gpu_book.h"
#include "collector/recorder/assemble/gpu_work_book.h"
#include "collector/recorder/assemble/growth_watch.h"
#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/loss_book.h"
#include "collector/recorder/assemble/marks.h"
#include "collector/recorder/assemble/module_book.h"
#include "collector/recorder/assemble/native_book.h"
#include "collector/recorder/assemble/operators.h"
#include "collector/recorder/assemble/out_of_memory.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/phases.h"
#include "collector/recorder/assemble/reading_needs.h"
#include "collector/recorder/assemble/reference_book.h"
#include "collector/recorder/assemble/segment_book.h"
#include "collector/recorder/assemble/stack_places.h"
#include "collector/recorder/assemble/stream_book.h"
#include "collector/recorder/assemble/stream_numbers.h"
#include "collector/recorder/assemble/threads.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/journal.h"
#include "collector/recorder/unwind/code_files.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Thread-safety: none.
struct Books {
  Books(TraceWriter& writer, PrivateState state, const ClockOrigin& origin, RetentionOptions retention);
  Books(const Books&) = delete;
  Books& operator=(const Books&) = delete;

  /// Begins a new trace.
  Status start();
  /// Continues an unfinished one after its last commit.
  Status resume();
  /// As Assembler::commit() and Assembler::finish().
  Status commit(std::string_view new_drained);
  Status finish();

  Journal journal;
  ClockBook clock;
  LossBook losses{journal};
  Dictionary dictionary;
  Phases phases;
  Operators operators;
  CensusBook censuses;
  ModuleBook modules{journal};
  OwnerBook owners;
  GrowthWatch growth;
  StreamNumbers streams{journal};
  SegmentBook segments{journal, dictionary, streams};
  GpuBook gpus{journal};
  CodeFiles code_files;
  CodeStacks code_stacks{journal, dictionary, code_files};
  NativeBook natives{journal, dictionary, code_stacks};
  Lifetimes lifetimes;
  Marks marks;
  ReferenceBook references;
  StreamBook stream_calls;
  GpuWorkBook gpu_work;
  StackPlaces places{journal};
  OutOfMemory out_of_memory;
  Threads threads{journal};
  ReadingNeeds readings{journal, lifetimes, owners, growth, censuses, modules, code_stacks};

  std::int64_t records = 0;  ///< applied
  bool has_past = false;     ///< the trace has what an attached process had before the first record
  std::string drained;       ///< the argument of the last commit(), by this or an earlier recorder

 private:
  CensusContext census_context();
  Status write_open_rows();
  /// Calls `visit(name, value)` for all state that does not follow from rows.
  template <class Visit>
  void visit(Visit&& visit);
};

}  // namespace dcmt::recorder
