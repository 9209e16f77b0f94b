/** Keepers report here on their machines, for metrics. Times are in seconds. */
export interface Sight {
  /** The first proved connection of a machine that boots, since it was asked for. */
  reached(seconds: number): void
  /** It may run containers, since this replica has reached it first. */
  ready(seconds: number): void
  /** How the boot of a machine ended. */
  booted(outcome: 'success' | 'failure' | 'aborted' | 'disappeared'): void
  /** The cloud has it no more. @param state `shutdown` where it was to end, else the one that it had */
  vanished(state: 'shutdown' | 'booting' | 'idle' | 'running'): void
  /** Gone by proof, since it was to end. */
  gone(seconds: number): void
  /** It was asked what it runs. */
  asked(isAnswered: boolean, seconds: number): void
  /** The runner of a container began for the first time, since the container was queued. */
  began(seconds: number): void
  /** A machine refused an old keeper or an old run. */
  stale(reason: 'epoch' | 'run'): void
  /**
   * A keeper begins to store what its machine says.
   * @param waited since when the oldest entry waits that is not stored; 0 without one
   * @returns a function to be called when it ends
   */
  listens(waited: () => number): () => void
}
