/** Resources as texts for people. Pure. */
import type { Resources } from '../base/domain.ts'

const mebibyte = 2 ** 20
const gibibyte = 2 ** 30

/** CPUs and memory, such as `2 CPUs and 8 GiB`. */
export function resourcesInWords({ cpu, memory }: Resources): string {
  return `${cpu} ${cpu === 1 ? 'CPU' : 'CPUs'} and ${bytesInWords(memory)}`
}

/** With two decimals, and no unit smaller than MiB, so that users can compare sizes. */
export function bytesInWords(bytes: number): string {
  const [unit, name] = bytes >= gibibyte ? [gibibyte, 'GiB'] : [mebibyte, 'MiB']
  return `${Number((bytes / unit).toFixed(2))} ${name}`
}

/** A name with a capital at its start. */
export function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
