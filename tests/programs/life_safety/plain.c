/* A program that the agent has nothing to do with, linked statically. */
#include <stdio.h>

int main(void) {
  puts("static");
  return 5;
}
