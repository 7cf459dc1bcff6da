/* What a word of a CPython frame refers to. It is a pointer to an object, or 0. Since 3.14, the two low bits are a tag:
 * 1 says that the frame only borrows the object, whose count does not include it, and 3 that the word is a small int.
 * A slot without a value is 0 or 1.
 *
 * It needs no header of CPython, so the rule for 3.14 is tested where no 3.14 is installed. */
#ifndef DCMT_PYTHON_FRAME_WORD_H
#define DCMT_PYTHON_FRAME_WORD_H

#include <stdint.h>

#define DCMT_WORD_TAG ((uintptr_t)3)

/* The address of the object that the frame owns by this word; 0 if there is none. */
static inline uintptr_t dcmt_owned_object(uintptr_t word, int tagged) {
  return tagged && (word & DCMT_WORD_TAG) != 0 ? 0 : word;
}

/* The address of the object, whether the frame owns or borrows it; 0 if there is none. */
static inline uintptr_t dcmt_object_of(uintptr_t word, int tagged) {
  if (!tagged) return word;
  return (word & DCMT_WORD_TAG) == DCMT_WORD_TAG ? 0 : word & ~DCMT_WORD_TAG;
}

#endif
