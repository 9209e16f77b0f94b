/** Sets of header names, and lists of headers without them. Pure. */
import { lowerOf, remembered } from '../../base/remembered.ts'
import type { HeaderList } from '../../base/request-head.ts'

/** Whether a set has a name, which is in lower case. */
export type Names = (name: string) => boolean

/** @param list names in lower case; one that ends with `*` stands for all that begin so */
export function namesOf(list: readonly string[]): Names {
  const exact = new Set(list.filter(name => !name.endsWith('*')))
  const beginnings = list.filter(name => name.endsWith('*')).map(name => name.slice(0, -1))
  return remembered(name => exact.has(name) || beginnings.some(beginning => name.startsWith(beginning)))
}

/** Headers that hold for one connection only (RFC 9110, 7.6.1), whatever `Connection` says. */
export const hopByHop = [
  ...['connection', 'keep-alive', 'proxy-*', 'proxy', 'te', 'transfer-encoding', 'upgrade', 'http2-settings'],
]

/** The names that `Connection` lists, in lower case. */
export function namedByConnection(list: HeaderList): ReadonlySet<string> {
  let named: Set<string> | undefined
  for (let i = 0; i < list.length; i += 2) {
    if (lowerOf(list[i]!) !== 'connection') continue
    named ??= new Set()
    for (const option of list[i + 1]!.split(',')) named.add(lowerOf(option.trim()))
  }
  return named ?? none
}

const none: ReadonlySet<string> = new Set()

/**
 * A list with each header as `change` has it, in its place. Names keep their case.
 * @param change gets the name in lower case. @returns the value; undefined to drop the header
 * @param kept the list to which they are added. Default: a new one
 */
export function changed(
  list: HeaderList,
  change: (name: string, value: string) => string | undefined,
  kept: string[] = [],
): string[] {
  for (let i = 0; i < list.length; i += 2) {
    const value = change(lowerOf(list[i]!), list[i + 1]!)
    if (value !== undefined) kept.push(list[i]!, value)
  }
  return kept
}
