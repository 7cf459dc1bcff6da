// When a reading of the process's memory is worth its cost, what it should look for, and what it found.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/assemble/growth_watch.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/small_growth.h"
#include "collector/recorder/assemble/step_ends.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

class CensusBook;
class CodeStacks;
class Lifetimes;
class ModuleBook;

/// Thread-safety: none.
class ReadingNeeds {
 public:
  ReadingNeeds(Journal& journal, Lifetimes& lifetimes, OwnerBook& owners, GrowthWatch& growth, CensusBook& censuses,
               ModuleBook& modules, CodeStacks& code_stacks)
      : journal_(journal),
        lifetimes_(lifetimes),
        owners_(owners),
        growth_(growth),
        censuses_(censuses),
        modules_(modules),
        code_stacks_(code_stacks) {}

  /// The program has ended so many steps, the last one by the current record.
  void steps_ended(std::int64_t steps);

  /// Bytes of storages from places that keep more and more; if there are any, reading the process's memory is worth its
  /// cost.
  [[nodiscard]] GrowingBytes growing() const { return growth_.growing(); }
  /// Bytes in small blocks that are not tracked: at the end of the latest step, or now if there are no steps any more.
  [[nodiscard]] SmallBlocksThen small_blocks() const;
  /// With a detail that tracks all storages: bytes of the small ones that live now, by their size.
  [[nodiscard]] BytesBySize small_storages() const;
  /// This class of sizes is tracked, too, or is worth holders.
  void size_is_followed(std::size_t size_class);
  /// Bytes of the smallest storage that is tracked by its size.
  [[nodiscard]] std::int64_t smallest_followed() const;
  /// True if something is alive that was made after the first step and before the latest one.
  [[nodiscard]] bool keeps_anything() const;
  /// The storages of which no reading has a holder, and how many bytes of them are worth a search of C++ memory; none
  /// if all together are not.
  /// @param has_ended  the program has ended; otherwise those that its latest step may still use are left out
  [[nodiscard]] scan::InQuestion without_holder(bool has_ended) const;
  /// Memory of followed blocks: no object is in it.
  [[nodiscard]] std::vector<scan::Range> data_of_storages() const;
  /// True if so many bytes without a holder have outlived their step that the ended program is worth a reading.
  [[nodiscard]] bool lacks_holders() const;
  /// True if something outlived its step and no reading has found it, or one found it without a holder.
  [[nodiscard]] bool wants_reading() const;
  /// The addresses of the modules whose names a reading should find.
  [[nodiscard]] std::vector<std::uint64_t> modules() const;
  /// Of the functions of a program without Python.
  [[nodiscard]] std::vector<scan::CppVariable> cpp_variables(pid_t pid);
  [[nodiscard]] std::shared_ptr<const scan::CppShapes> cpp_shapes();

  /// A reading of the process's memory begins.
  void begins(scan::Scope scope);
  /// The reading is over, and the records up to its end are applied.
  Status ended(const MemoryReading& reading);
  /// The reading failed, and there will be no other one. The trace gets `why`.
  Status failed(std::string_view why);
  /// Readings of everything do not begin: one needs so many bytes. The trace gets a note.
  Status too_large(std::size_t needs);
  /// The files of the program's functions and modules that readings of its variables found.
  [[nodiscard]] const std::set<std::string>& files() const { return files_; }

 private:
  /// Storages of which no hook told, in a trace of blocks only.
  Status add_found_storages(const MemoryReading& reading);
  /// What began by this record and is alive has outlived its step, or the latest reading of everything missed it. A
  /// storage's id is the number of the record with which it began.
  [[nodiscard]] std::int64_t settled_until() const;
  /// Bytes without a holder that are worth a search.
  [[nodiscard]] std::uint64_t worth_search() const;

  Journal& journal_;
  Lifetimes& lifetimes_;
  OwnerBook& owners_;
  GrowthWatch& growth_;
  CensusBook& censuses_;
  ModuleBook& modules_;
  CodeStacks& code_stacks_;
  StepEnds step_ends_;
  std::set<std::string> files_;
  std::int64_t steps_ = 0;
  SmallBlocksThen small_blocks_;
};

}  // namespace dcmt::recorder
