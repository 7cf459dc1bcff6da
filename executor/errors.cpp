#include "executor/errors.h"

#include <c10/util/Exception.h>

namespace dcmt::zero3 {

std::string text_of(const Place& place) {
  std::string text = place.op;
  if (!place.graph && !place.id) return text;
  text += " (";
  if (place.graph) text += "graph " + std::to_string(*place.graph);
  if (place.graph && place.id) text += ", ";
  if (place.id) text += "parameter " + std::to_string(*place.id);
  return text + ")";
}

void fail(const Place& place, const std::string& what) {
  C10_THROW_ERROR(Error, "dcmt_z3::" + text_of(place) + ": " + what);
}

}  // namespace dcmt::zero3
