import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { AppRoute } from '../../base/app-route.ts'
import { gateway } from '../../config/gateway.ts'
import type { Guard } from '../access/guard.ts'
import { settle } from '../access/testing/fakes.ts'
import { siteOf } from '../policy/site.ts'
import type { AppTarget } from '../policy/target.ts'
import type { Ending } from '../terms.ts'
import { Sockets } from '../websocket/sockets.ts'
import type { Send } from './carriage.ts'
import { Carrier } from './carrier.ts'
import type { Entry } from './judge.ts'
import type { Report } from './report.ts'
import type { Visit } from './visit.ts'

const route = (id: string): AppRoute => ({
  ...{ id, uid: 'u', createdMs: 1, generation: 1, namespace: 'hub', displayName: id, group: 'physics' },
  ...{ audience: { kind: 'loggedIn' }, phase: 'Ready', message: '', address: { ip: '192.0.2.9', port: 80 } },
  ...{ host: `${id}.hub:80`, rewrite: false, passHost: false, passAuthorization: false },
})

interface From {
  readonly app?: string
  readonly user?: string | undefined
  readonly address?: string
  readonly kind?: Visit['kind']
}

const site = siteOf('https://platform.example.org')

function start(limits: object = {}) {
  const clock = new ManualClock()
  const guard = { isFresh: true, looks: 0, look: async () => {} }
  const asked: Guard = {
    isOpen: () => true,
    mayPass: () => guard.isFresh,
    look: () => {
      guard.looks += 1
      return guard.look()
    },
    remove: () => {},
  }
  const activity = { use: async () => true, saw: () => {}, begin: () => () => {} }
  const carrier = new Carrier({
    ...{ config: gateway.parse({ limits }), clock, stallMs: 1_000 },
    ...{ cuts: { add: () => asked }, judge: { startOf: async () => undefined }, activity },
    sockets: new Sockets({ clock }),
  })
  const open: (() => void)[] = []
  const send: Send = () => new Promise<Ending>(resolve => open.push(() => resolve('done')))
  const carry = ({ app = 'a', user, address = '192.0.2.1', kind = 'request' }: From) => {
    const visit = {
      ...{ kind, id: 'r', from: { address } },
      incoming: { rawHeaders: [], headers: {} },
      answer() {},
      cut() {},
    }
    const admission = { is: 'in' as const, route: route(app), user }
    const entry: Entry = { ...{ admission, route: route(app), user }, isForeignAuthorization: false }
    const target = {
      kind: 'app',
      id: app,
      path: `/console/apps/${app}/`,
      query: '',
      bare: false,
    } as unknown as AppTarget
    const report = { answered() {} } as unknown as Report
    return carrier.carry({ visit: visit as unknown as Visit, target, site, entry, report, send })
  }
  return { carrier, activity, guard, open, carry }
}

test('Carrier looks again when the verdict is old by the time a use was reported', async () => {
  const { activity, guard, open, carry } = start()
  activity.use = async () => {
    guard.isFresh = false
    return true
  }
  guard.look = async () => {
    guard.isFresh = true
  }
  const carried = carry({ user: 'ada' })
  await settle()
  expect([open.length, guard.looks]).toEqual([1, 1])
  open[0]!()
  expect(await carried).toBe('done')
})

test('Carrier sends nothing when a look leaves the verdict old', async () => {
  const { guard, open, carry } = start()
  guard.isFresh = false
  await expect(carry({ user: 'ada' })).rejects.toMatchObject({ reason: 'unavailable', answer: { status: 503 } })
  expect([open.length, guard.looks]).toEqual([0, 1])
})

const visitors: readonly [string, From, From][] = [
  ['user', { user: 'ada', address: '192.0.2.1' }, { user: 'bob', address: '192.0.2.1' }],
  ['address without a login', { address: '2001:db8::1' }, { address: '2001:db8:0:1::1' }],
]
const kinds = ['request', 'websocket'] as const

test.each(visitors.flatMap(each => kinds.map(kind => [...each, kind] as const)))(
  'Carrier refuses an %s that has its share in all apps, and nobody else (%j, %j, %s)',
  async (_, one, other, kind) => {
    const { carrier, open, carry } = start({ requestsPerUser: 2, socketsPerUser: 2 })
    const carried = [carry({ ...one, kind }), carry({ ...one, kind, app: 'b' })]
    await expect(carry({ ...one, kind })).rejects.toMatchObject({ reason: 'busy', answer: { status: 503 } })
    carried.push(carry({ ...other, kind }))
    await settle()
    expect(carrier.open[kind]).toBe(3)
    for (const end of open.splice(0)) end()
    await Promise.all(carried)
    const again = carry({ ...one, kind })
    await settle()
    open[0]!()
    expect([await again, carrier.open[kind]]).toEqual(['done', 0])
  },
)

test('Carrier gives the share of a visitor back when the app has none left', async () => {
  const { open, carry } = start({ requestsPerUser: 1, requestsPerApp: 1 })
  const first = carry({ user: 'ada' })
  await expect(carry({ user: 'bob' })).rejects.toMatchObject({ reason: 'busy' })
  const second = carry({ user: 'bob', app: 'b' })
  await settle()
  for (const end of open) end()
  expect(await Promise.all([first, second])).toEqual(['done', 'done'])
})
