/** Output of the demo. */
import type { DemoOptions } from './options.ts'

/** Seconds with two decimals, as figures are reported. */
export const roundSeconds = (ms: number): number => Math.round(ms / 10) / 100

/** With --json, stdout is reserved for the one line of JSON. */
export function say({ json }: Pick<DemoOptions, 'json'>, text: string): void {
  ;(json ? process.stderr : process.stdout).write(text)
}
