// Spools as bytes, well-formed or not.
#pragma once

#include <string>
#include <vector>

#include "collector/recorder/testing/test_stream.h"
#include "tests/fuzz/random.h"

namespace dcmt::fuzz {

/// A short recording in which every type of record occurs, on two threads.
recorder::testing::TestStream story(Random& random);

/// As many records with types, lengths and fields at random; sequences rise, mostly by one.
recorder::testing::TestStream noise(Random& random);

/// The spool file in which an agent would leave `stream`, its records spread over more chunks than they need.
std::string image_of(const recorder::testing::TestStream& stream, Random& random);

/// A few changes anywhere in a spool file: bytes, numbers, whole chunks, the header, the descriptors.
void mutate(std::string& image, Random& random);

/// As mutate(), for a file that is mapped by a reader: its length stays.
void mutate_in_place(char* image, std::size_t bytes, Random& random);

}  // namespace dcmt::fuzz
