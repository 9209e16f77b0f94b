/** What keepers tell of their machines, for metrics. Times are in seconds. */

export interface Sight {
  /** The first proved connection of a machine, since it was asked for. */
  reached(seconds: number): void
  /** It may run containers, since it was asked for. */
  ready(seconds: number): void
  /** How the boot of a machine ended. */
  booted(outcome: 'success' | 'failure' | 'aborted' | 'disappeared'): void
  /** Gone by proof, since the cloud was first asked to end it. */
  gone(seconds: number): void
  /** A machine refused an old keeper or an old run. */
  stale(reason: 'epoch' | 'run'): void
}

export const noSight: Sight = { reached() {}, ready() {}, booted() {}, gone() {}, stale() {} }
