/*
 * next() of systemd's own C code, in process: `systemd-calendar 'Mon..Fri 09:00' start-in-µs steps ms`, with TZ in the
 * environment. An event that names its zone makes systemd 252 fork for each call, which would compare processes.
 * Prints how many elapses were found in a second, and those of the first round in µs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct CalendarSpec CalendarSpec;
extern int calendar_spec_from_string(const char *text, CalendarSpec **spec);
extern int calendar_spec_next_usec(const CalendarSpec *spec, uint64_t after, uint64_t *next);

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int count, char **words) {
  CalendarSpec *spec;
  if (count != 5 || calendar_spec_from_string(words[1], &spec) < 0) return 2;
  uint64_t start = strtoull(words[2], NULL, 10);
  long steps = atol(words[3]);
  double limit = atof(words[4]) / 1000, took, began = seconds();
  for (long found = 0, rounds = 0;; rounds++) {
    uint64_t at = start;
    for (long step = 0; step < steps; step++, found++) {
      if (calendar_spec_next_usec(spec, at, &at) < 0) return 3;
      if (rounds == 0) printf("%" PRIu64 "\n", at);
    }
    took = seconds() - began;
    if (took >= limit) {
      printf("%.0f\n", found / took);
      return 0;
    }
  }
}
