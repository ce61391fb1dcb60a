/** 950 ms, 3.2 s, 2 min 5 s, 3 h 4 min. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** 17 B, 3.2 MiB. */
export function bytes(count: number): string {
  const unit = Math.min(count < 1 ? 0 : Math.floor(Math.log2(count) / 10), UNITS.length - 1);
  return `${unit === 0 ? count : (count / 1024 ** unit).toFixed(1)} ${UNITS[unit]}`;
}

/** The time of a day, with the date where it is not today. */
export function moment(iso: string): string {
  const date = new Date(iso);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

/** What went wrong, for a reader. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : `${error}`;
}
