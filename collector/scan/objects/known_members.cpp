#include "collector/scan/objects/known_members.h"

namespace dcmt::scan {
namespace {

struct Member {
  std::string_view type;
  std::int64_t offset;
  std::string_view name;
};

// The offsets are equal in CPython 3.11 to 3.15. tests/snapshot_test.py checks each with a planted holder. "(result)"
// is the tuple that an iterator returned last: it fills it again if nobody else has it, and holds its items until then.
// An array of numbers can look like an object: its memory still has the type of an object that was there before.
constexpr std::string_view kNumbers;
constexpr Member kMembers[] = {
    {"builtin_function_or_method", 24, ".__self__"},
    {"method-wrapper", 24, ".__self__"},
    {"super", 24, ".__self__"},
    {"staticmethod", 16, ".__func__"},
    {"classmethod", 16, ".__func__"},
    {"property", 16, ".fget"},
    {"property", 24, ".fset"},
    {"property", 32, ".fdel"},
    {"slice", 16, ".start"},
    {"slice", 24, ".stop"},
    {"slice", 32, ".step"},
    {"memoryview", 64, ".obj"},
    {"mappingproxy", 16, " (mapping)"},
    {"dict_keys", 16, " (dict)"},
    {"dict_values", 16, " (dict)"},
    {"dict_items", 16, " (dict)"},
    {"dict_keyiterator", 16, " (dict)"},
    {"dict_valueiterator", 16, " (dict)"},
    {"dict_itemiterator", 16, " (dict)"},
    {"dict_itemiterator", 40, " (result)"},
    {"list_iterator", 24, " (iterates)"},
    {"list_reverseiterator", 24, " (iterates)"},
    {"tuple_iterator", 24, " (iterates)"},
    {"set_iterator", 16, " (iterates)"},
    {"_collections._deque_iterator", 32, " (iterates)"},
    {"collections._deque_iterator", 32, " (iterates)"},  // since 3.14
    {"reversed", 24, " (iterates)"},
    {"iterator", 24, " (iterates)"},
    {"callable_iterator", 16, " (function)"},
    {"enumerate", 24, " (iterates)"},
    {"enumerate", 32, " (result)"},
    {"zip", 24, " (iterators)"},
    {"zip", 32, " (result)"},
    {"map", 16, " (iterators)"},
    {"map", 24, " (function)"},
    {"filter", 16, " (function)"},
    {"filter", 24, " (iterates)"},
    {"itertools._tee", 16, " (ahead)"},
    {"itertools._tee_dataobject", 16, " (iterates)"},
    {"itertools.accumulate", 16, " (total)"},
    {"itertools.accumulate", 24, " (iterates)"},
    {"itertools.accumulate", 32, " (function)"},
    {"itertools.batched", 16, " (iterates)"},
    {"itertools.chain", 16, " (iterates)"},
    {"itertools.chain", 24, " (latest)"},
    {"itertools.combinations", 16, " (pool)"},
    {"itertools.combinations", 24, kNumbers},
    {"itertools.combinations", 32, " (result)"},
    {"itertools.combinations_with_replacement", 16, " (pool)"},
    {"itertools.combinations_with_replacement", 24, kNumbers},
    {"itertools.combinations_with_replacement", 32, " (result)"},
    {"itertools.compress", 16, " (iterates)"},
    {"itertools.cycle", 16, " (iterates)"},
    {"itertools.cycle", 24, " (saved)"},
    {"itertools.dropwhile", 24, " (iterates)"},
    {"itertools.filterfalse", 24, " (iterates)"},
    {"itertools.groupby", 16, " (iterates)"},
    {"itertools.groupby", 48, " (value)"},
    {"itertools.islice", 16, " (iterates)"},
    {"itertools.pairwise", 16, " (iterates)"},
    {"itertools.pairwise", 24, " (previous)"},
    {"itertools.pairwise", 32, " (result)"},  // since 3.13
    {"itertools.permutations", 16, " (pool)"},
    {"itertools.permutations", 24, kNumbers},
    {"itertools.permutations", 32, kNumbers},
    {"itertools.permutations", 40, " (result)"},
    {"itertools.product", 16, " (pools)"},
    {"itertools.product", 24, kNumbers},
    {"itertools.product", 32, " (result)"},
    {"itertools.repeat", 16, " (repeats)"},
    {"itertools.starmap", 16, " (function)"},
    {"itertools.starmap", 24, " (iterates)"},
    {"itertools.takewhile", 24, " (iterates)"},
    {"itertools.zip_longest", 32, " (iterators)"},
    {"itertools.zip_longest", 40, " (result)"},
    {"itertools.zip_longest", 48, " (fill)"},
    {"operator.methodcaller", 24, " (arguments)"},
    {"functools.KeyWrapper", 24, " (key)"},
    {"StopIteration", 72, ".value"},
    {"_asyncio.Future", 24, " (callback)"},
    {"_asyncio.Future", 40, " (callbacks)"},
    {"_asyncio.Future", 48, " (exception)"},
    {"_asyncio.Future", 64, " (result)"},
    {"_asyncio.Task", 24, " (callback)"},
    {"_asyncio.Task", 40, " (callbacks)"},
    {"_asyncio.Task", 64, " (result)"},
    {"_queue.SimpleQueue", 32, " (queue)"},  // before 3.13; since then, its items are in no object of their own
    {"_thread._local", 40, " (by thread)"},  // since 3.14; before, weak references, which are not followed
    {"_thread._local", 48, " (by thread)"},  // before 3.14
    {"_contextvars.ContextVar", 32, " (value)"},
    {"ContextVar", 32, " (value)"},
    {"_contextvars.Token", 32, " (old value)"},
    {"numpy.ndarray", 48, ".base"},
};

}  // namespace

std::vector<KnownMember> known_members(std::string_view type_name) {
  std::vector<KnownMember> members;
  for (const Member& member : kMembers) {
    if (member.type == type_name) members.push_back({member.offset, std::string(member.name)});
  }
  return members;
}

}  // namespace dcmt::scan
