import { afterEach, expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { tenantWatch } from '../../apps/members.ts'
import { configSchema } from '../../config/schema.ts'
import type { Change, ChangeListener } from '../../kube/picture.ts'
import { factOf } from '../../reconcile/facts.ts'
import { FakeLeases } from '../../reconcile/testing/samples.ts'
import type { Fact } from '../../reconcile/types.ts'
import { Keys } from '../../store/keys.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { joinMembers } from './members.ts'

const fact = (generation: number, users: readonly string[], status = 'True'): Fact =>
  factOf(
    {
      ...{ apiVersion: tenantWatch.apiVersion, kind: tenantWatch.kind },
      metadata: { name: 'physics', uid: 'u', generation, creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { users: users.map(name => ({ kind: 'User', name })), billing: { fund: '4711' } },
      status: { namespaceUID: 'n', conditions: [{ type: 'Accepted', status }] },
    },
    [...tenantWatch.paths, ['spec', 'billing']],
  )

/** A Redis that takes all entries, a watch that the test tells, and the part between them. */
function site() {
  const clock = new ManualClock()
  const table = new Map<string, string>()
  let [reads, shown] = [0, undefined as Fact | undefined]
  let tell: ChangeListener<Fact> = () => {}
  const redis = {
    hmget: async () => [table.get(':complete') ?? null, null],
    hgetall: async () => {
      reads += 1
      return Object.fromEntries(table)
    },
  }
  const connection = {
    read: async (_: string, ask: (client: typeof redis) => unknown) => ask(redis),
    run: async (script: string, _: unknown, args: readonly string[]) => {
      if (script === 'put-entry') table.set(args[0]!, args[4]!)
      else table.set(':complete', '1')
      return script === 'put-entry' ? 'written' : 1
    },
    onMove: () => () => {},
  }
  const part = joinMembers({
    basics: { clock, log: silentLogger(), config: configSchema.parse({ run: ['tenants'] }) },
    kube: { get: async () => null },
    access: { connection: connection as never, keys: new Keys('t'), leases: new FakeLeases() as never },
    lnamespaces: {
      *values() {
        if (shown) yield shown
      },
      on: listener => {
        tell = listener
        return () => {}
      },
    },
    isKnown: () => true,
  })
  const show = (value: Fact) => {
    const change = { type: 'put', name: 'physics', value, previous: shown } as unknown as Change<Fact>
    shown = value
    tell(change)
  }
  const turns = async () => {
    for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve))
  }
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(100)
      await turns()
    }
  }
  const entry = () => JSON.parse(table.get('physics') ?? '{}')
  return { part, show, pass, turns, entry, reads: () => reads }
}

let made: ReturnType<typeof site>
afterEach(async () => {
  const stopped = made.part.stop!()
  await made.pass(100)
  await stopped
})

test('the table has the members and the billing of an LNamespace, and nobody when it is not accepted', async () => {
  made = site()
  made.show(fact(1, ['ada']))
  made.part.start!()
  await made.pass(3_000)
  expect(made.entry()).toMatchObject({ uid: 'u', generation: 1, users: ['ada'], billing: { fund: '4711' } })
  made.show(fact(1, ['ada'], 'False'))
  await made.pass(1_000)
  expect(made.entry()).toMatchObject({ users: [], groups: [] })
})

test('edits are compared together when a hundred come at once, and not at all when they change no member', async () => {
  made = site()
  made.show(fact(1, ['ada']))
  made.part.start!()
  await made.pass(3_000)
  const before = made.reads()
  for (let i = 2; i <= 101; i += 1) {
    made.show(fact(i, [`user-${i}`]))
    await made.turns()
  }
  await made.pass(3_000)
  expect(made.entry()).toMatchObject({ generation: 101, users: ['user-101'] })
  // One reading finds the difference, and one that there is none any more.
  expect(made.reads() - before).toBe(2)
  made.show(fact(101, ['user-101']))
  await made.pass(3_000)
  expect(made.reads() - before).toBe(2)
})
