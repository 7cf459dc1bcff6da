/* For a program with a static C++ runtime: what that runtime asks of a newer C library than the program does. */
#include <sys/random.h>

/* glibc 2.36; std::random_device reads it. */
unsigned arc4random(void);
unsigned arc4random(void) {
  unsigned number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}
