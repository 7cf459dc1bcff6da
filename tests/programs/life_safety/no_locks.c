/* Preloaded into a recorder by a test: a file system that refuses locks, as network file systems may. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse_locks(int fd, int command, va_list arguments) {
  void* const argument = va_arg(arguments, void*);
  if (command == F_SETLK || command == F_SETLKW || command == F_GETLK) {
    errno = ENOLCK;
    return -1;
  }
  return (int)syscall(SYS_fcntl, fd, command, argument);
}

int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const int result = refuse_locks(fd, command, arguments);
  va_end(arguments);
  return result;
}

int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const int result = refuse_locks(fd, command, arguments);
  va_end(arguments);
  return result;
}
