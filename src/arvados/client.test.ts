import { expect, it, onTestFinished } from 'vitest'
import { ArvadosServer, type Mishap } from '../../test/kit/arvados/server.ts'
import { systemClock } from '../base/clock.ts'
import { ArvadosClient, ArvadosError } from './client.ts'

async function clientOf(token?: string) {
  const arvados = await ArvadosServer.start()
  const calls: string[] = []
  const client = new ArvadosClient({
    ...{ url: new URL(arvados.url), token: token ?? arvados.token, clock: systemClock, timeoutMs: 300 },
    onCall: (call, outcome) => void calls.push(`${call} ${outcome}`),
  })
  onTestFinished(async () => {
    await client.close()
    await arvados.stop()
  })
  return { arvados, client, calls }
}

const listing = { filters: [], order: 'uuid', limit: 10 } as const
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable(),
    error => error as ArvadosError,
  )

it('ArvadosClient lists, locks, updates and unlocks with the wire of a dispatcher', async () => {
  const { arvados, client, calls } = await clientOf()
  const { uuid } = arvados.containers.add({ priority: 7 * 2 ** 50 - 1 })
  const queued = { uuid, state: 'Queued', priority: 7, rank: 7 * 2 ** 50 - 1, mine: false }
  expect(await client.list(listing)).toEqual({ items: [queued], bad: 0 })
  expect(await client.act('lock', uuid)).toEqual({ ...queued, state: 'Locked', mine: true })
  const filters = [['locked_by_uuid', '=', arvados.tokenUuid]] as const
  expect((await client.list({ ...listing, filters })).items).toHaveLength(1)
  expect(await client.act('unlock', uuid)).toEqual(queued)
  await client.act('lock', uuid)
  expect(await client.update(uuid, { state: 'Running' })).toMatchObject({ state: 'Running', mine: true })
  expect(await client.get(uuid)).toMatchObject({ uuid, command: ['true'] })
  expect(calls.filter(call => call.startsWith('current'))).toEqual(['current done'])
  const [first] = arvados.asked.filter(({ path }) => path === 'containers')
  expect(Object.fromEntries(first!.form)).toEqual({
    ...{ filters: '[]', order: 'uuid', limit: '10', count: 'none' },
    select: '["uuid","state","priority","locked_by_uuid"]',
  })
})

it.each<[string, Mishap, string, RegExp]>([
  ['it is busy', { kind: 'busy', retryAfter: 7 }, 'busy', /^list: Arvados answers 503 \(busy\)$/],
  ['the reply is lost', { kind: 'lost' }, 'unclear', /^list: /],
  ['the answer is late', { kind: 'slow', ms: 400 }, 'unclear', /^list: /],
  ['it fails', { kind: 'instead', status: 500, body: 'x' }, 'unclear', /500$/],
  ['it refuses', { kind: 'instead', status: 403, body: '{"errors":["no\\n way"]}' }, 'refused', /403 \(no way\)$/],
  ['it knows no such thing', { kind: 'instead', status: 404, body: '' }, 'gone', /404$/],
  ['it sends elsewhere', { kind: 'instead', status: 302, body: '' }, 'unclear', /302$/],
  ['the answer is another thing', { kind: 'instead', status: 200, body: '[' }, 'unclear', /not one of Arvados' API$/],
  [
    'the answer is too large',
    { kind: 'instead', status: 200, body: ' '.repeat(2 ** 20 + 1) },
    'unclear',
    /larger than 1048576 bytes/,
  ],
])('ArvadosClient says what is known when %s', async (_, mishap, outcome, message) => {
  const { arvados, client, calls } = await clientOf()
  await client.current()
  arvados.mishap = () => mishap
  const error = await errorOf(client.list(listing))
  expect(error).toBeInstanceOf(ArvadosError)
  expect(error.message).toMatch(message)
  expect([error.outcome, error.afterMs]).toEqual([outcome, mishap.kind === 'busy' ? 7_000 : undefined])
  expect(calls.at(-1)).toBe(outcome === 'unclear' && message.source.includes('API') ? 'list done' : `list ${outcome}`)
})

it('ArvadosClient shows its token nowhere when the server repeats it, or its secret part', async () => {
  const { arvados, client } = await clientOf()
  await client.current()
  const words = `bad ${arvados.token}, ${arvados.token.split('/')[2]}`
  arvados.mishap = () => ({ kind: 'instead', status: 403, body: JSON.stringify({ errors: [words] }) })
  expect((await errorOf(client.list(listing))).message).toBe('list: Arvados answers 403 (bad ***, ***)')
})

it('ArvadosClient believes no answer when it is of another container', async () => {
  const { arvados, client } = await clientOf()
  const [one, other] = [arvados.containers.add(), arvados.containers.add()]
  await client.current()
  arvados.mishap = () => ({ kind: 'instead', status: 200, body: JSON.stringify({ ...other, state: 'Locked' }) })
  expect((await errorOf(client.act('lock', one.uuid))).outcome).toBe('unclear')
})

it('ArvadosClient is refused when its token is another', async () => {
  const { client, calls } = await clientOf('v2/other/secret-of-another')
  expect((await errorOf(client.list(listing))).outcome).toBe('refused')
  expect(calls).toEqual(['current refused'])
})
