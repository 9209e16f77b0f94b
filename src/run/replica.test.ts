import { describe, expect, it } from 'vitest'
import { closeParts, startParts, stopParts } from './part.ts'
import { type Replica, stagesOf } from './replica.ts'

/** Parts that record the calls of their methods, such as `store.bell.close`; with one kind beside labs, toys. */
function recordingParts(calls: string[]): Omit<Replica, 'stages'> {
  const part = (name: string): unknown =>
    new Proxy(() => {}, {
      get: (_, key) => (key === 'then' ? undefined : part(name === '' ? String(key) : `${name}.${String(key)}`)),
      apply: () => {
        calls.push(name)
      },
    })
  const stages = [{ when: 'permitted', parts: [part('toys.route')] }]
  const kinds = [{ engine: part('toys.engine'), leases: part('toys.leases'), stages }]
  const lists = { kinds, idle: { parts: [part('idle.engine')], feed: part('idle.feed') } }
  return new Proxy(part('') as Omit<Replica, 'stages'>, {
    get: (all, key) => (key in lists ? lists[key as keyof typeof lists] : all[key as keyof typeof all]),
  })
}

describe('stagesOf', () => {
  const calls: string[] = []
  const stages = stagesOf(recordingParts(calls))
  const during = async (work: () => unknown) => {
    calls.length = 0
    await work()
    return [...calls]
  }

  it('opens the connection and the watches before work begins, and the engines last but for the audit trail', async () => {
    const started = await during(async () => {
      for (const when of ['first', 'connected', 'reached', 'permitted'] as const) startParts(stages, when)
    })
    expect(started).toEqual([
      'store.connection.open',
      ...['cluster.watches.start', 'images.watches.start'],
      ...[
        'store.bell.listen',
        'idle.feed.start',
        'upkeep.monitor.start',
        'upkeep.comparer.start',
        'upkeep.policy.start',
      ],
      ...['images.refresher.start', 'toys.route.start', 'images.prepuller.start', 'idle.engine.start'],
      ...['labs.kind.engine.start', 'toys.engine.start', 'audit.trail.start'],
    ])
  })

  it('stops all work at once, while connections stay open', async () => {
    const stopped = await during(() => stopParts(stages))
    expect(stopped).toEqual([
      ...[
        'idle.feed.stop',
        'upkeep.monitor.stop',
        'upkeep.draining.abort',
        'upkeep.comparer.stop',
        'upkeep.policy.stop',
      ],
      ...['images.refresher.stop', 'toys.route.stop', 'images.prepuller.stop', 'idle.engine.stop'],
      ...['labs.kind.engine.drain', 'toys.engine.drain'],
    ])
  })

  it('closes the audit trail while Redis can be reached, and the connection last', async () => {
    const closed = await during(() => closeParts(stages))
    const inOrder = ['labs.kind.leases.close', 'audit.trail.stop', 'store.bell.close', 'store.connection.close']
    expect(closed.filter(call => inOrder.includes(call))).toEqual(inOrder)
    expect(closed.indexOf('toys.leases.close')).toBeLessThan(closed.indexOf('audit.trail.stop'))
    expect(closed.indexOf('audit.trail.stop')).toBeLessThan(closed.indexOf('toys.route.close'))
    expect(closed.at(-1)).toBe('store.connection.close')
  })
})
