// What is the same for all programs: the emulator's header, and the headers that their text includes. The compiler
// keeps what it has made of this file (remora_ahead.h.gch) and takes it from there for each of them, which is most of
// the time that a small program takes to compile.
//
//     g++ -std=c++20 -O1 -x c++-header remora_ahead.h
//     g++ -std=c++20 -O1 -x c++ -include remora_ahead.h …
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A program that is no library reads its arguments and prints its value.
#ifndef REMC_LIBRARY
#include <charconv>
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "remora_emulate.h"
