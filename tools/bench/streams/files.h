// Files of the bench as arrays: mapped, since they are in the page cache when anybody is timed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The bytes of a file, and how many there are.
static const void *mapped(const char *path, size_t *bytes) {
  struct stat about;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &about) != 0) {
    perror(path);
    exit(2);
  }
  *bytes = about.st_size;
  void *at = mmap(0, about.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (at == MAP_FAILED) {
    perror(path);
    exit(2);
  }
  close(file);
  return at;
}
