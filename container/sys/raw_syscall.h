#pragma once

#include <sys/syscall.h>

/// System calls without a C library, for a child that shares its parent's memory before execve(2): libc's
/// wrappers write errno, which is the parent's there, and its setuid family changes every thread of the
/// parent.
namespace roombox::sys {

/// Answers the result, or -errno.
template <typename... Args>
[[gnu::always_inline]] inline long raw_syscall(long number, Args... args) {
  static_assert(sizeof...(args) <= 5);
  long a[5] = {(long)args...};
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = a[3];
  register long r8 asm("r8") = a[4];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a[0];
  register long x1 asm("x1") = a[1];
  register long x2 asm("x2") = a[2];
  register long x3 asm("x3") = a[3];
  register long x4 asm("x4") = a[4];
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
#else
#error "raw_syscall.h: add this processor's system call instruction"
#endif
}

}  // namespace roombox::sys
