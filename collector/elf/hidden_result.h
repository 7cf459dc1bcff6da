// Hooks of functions that return an object with a destructor. The caller says where the object is to be made, by a
// hidden argument: the first one on x86-64, a register of its own on aarch64. A hook is declared to return a
// HiddenResult, which is returned in the same way.
#pragma once

#include <new>
#include <type_traits>

namespace dcmt::elf {

class HiddenResult {
 public:
  /// @param make  is called with the object's place, and makes it there by call_into()
  template <class Make>
  explicit HiddenResult(Make make) {
    void* at = this;
    asm("" : "+r"(at));  // the object is another one, and larger
    make(at);
  }
  HiddenResult(const HiddenResult&) = delete;
  HiddenResult& operator=(const HiddenResult&) = delete;

 private:
  char first_;
};

/// Calls a function of such a kind; its object is made at `at`.
template <class... Arguments>
void call_into(void* at, HiddenResult (*real)(Arguments...), std::type_identity_t<Arguments>... arguments) {
  ::new (at) HiddenResult(real(arguments...));
}

}  // namespace dcmt::elf
