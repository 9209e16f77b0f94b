/** Names keys without an event. Pure. */
import type { Poke, Source } from './types.ts'

/** The keys that the objects of a source name, each as if it had just been seen again. An object that cannot be read names none. */
export function* keysIn({ watch, keysOf }: Source): Iterable<string> {
  for (const value of watch.values()) {
    const { namespace = '', name } = value.ref
    const change = { type: 'put', namespace, name, uid: value.uid, value, previous: value } as const
    yield* keysNamed(() => keysOf(change))
  }
}

function keysNamed(keysOf: () => Iterable<Poke>): string[] {
  try {
    return Array.from(keysOf(), ({ key }) => key)
  } catch {
    // The event has reported it.
    return []
  }
}
