/** Names keys without an event. Pure. */
import type { Source } from './types.ts'

/** The keys that the objects of a source name, each as if it had just been seen again. */
export function* keysIn({ watch, keysOf }: Source): Iterable<string> {
  for (const value of watch.values()) {
    const { namespace = '', name } = value.ref
    const change = { type: 'put', namespace, name, uid: value.uid, value, previous: value } as const
    for (const { key } of keysOf(change)) yield key
  }
}
