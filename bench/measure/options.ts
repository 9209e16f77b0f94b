/** Options of a bench whose values are numbers. */
import { parseArgs } from 'node:util'

/** Reads `--name NUMBER` for each default. @throws {TypeError} an option that is not among them */
export function numbersOf<T extends Readonly<Record<string, number>>>(args: readonly string[], defaults: T): T {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: `${value}` } as const]),
  )
  const { values } = parseArgs({ args: [...args], options })
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)])) as T
}
