/** Halts this process, as one that is stopped: nothing is read, and timers become due. */
export function halt(ms: number): void {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}
