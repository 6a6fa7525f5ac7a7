// The one sentence on standard error on which a program ends that did what it must not: exit code 70.
//
// It names the kernel, the block and the thread where there are any. Nothing is unwound and no buffer is flushed:
// the fibers' stacks are in no state for it.
#pragma once

namespace remc_emulate {

constexpr int EXIT_BROKEN = 70;

// " kernel `k`, block 3, thread 5:" of the calling OS thread, or nothing on the host's.
static std::string place();

[[noreturn]] static void end_with(const std::string &sentence) {
  static std::atomic_flag reported = ATOMIC_FLAG_INIT;
  // The first to fail speaks; others wait for the end.
  if (reported.test_and_set()) {
    for (;;) pause();
  }
  std::string text = "remora-emulate:" + sentence + "\n";
  size_t written = 0;
  while (written < text.size()) {
    ssize_t n = write(STDERR_FILENO, text.data() + written, text.size() - written);
    if (n <= 0) break;
    written += size_t(n);
  }
  _exit(EXIT_BROKEN);
}

__attribute__((format(printf, 1, 2))) static std::string print(const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return text;
}

template <class... A>
[[noreturn]] static void fail(const char *format, A... arguments) {
  if constexpr (sizeof...(A) == 0) {
    end_with(place() + " " + format);
  } else {
    char text[1024];
    snprintf(text, sizeof(text), format, arguments...);
    end_with(place() + " " + text);
  }
}

}  // namespace remc_emulate
