/** The audit log of real replicas: each action is logged once, even when the replica that did it was killed. */
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import { useFleet } from '../kit/fleet/fleet.ts'

const fleet = useFleet({ replicas: 2, config: { audit: { trustedProxies: ['127.0.0.0/8'] } } })
/** Another replica logs a note after 15 s, at its next look; a busy machine takes longer. */
const lateMs = 45_000

interface Line {
  readonly [field: string]: unknown
  readonly id: string
  readonly result: string
  readonly replica: string
  readonly object: { readonly user?: string; readonly op?: number }
}

/** Lines of all replicas, over all restarts, about a user's lab. */
async function linesOf(username: string): Promise<Line[]> {
  const texts = await Promise.all([fleet().log(0), fleet().log(1)])
  const lines = texts.flatMap(text => text.split('\n')).filter(line => line.startsWith('{"log":"audit",'))
  const read = lines.map(line => JSON.parse(line) as Line).filter(({ object }) => object.user === username)
  return read.sort((a, b) => (String(a.time) < String(b.time) ? -1 : 1))
}

const notesLeft = async () => fleet().world.redis.zcard(fleet().world.keys.audit)
const outcomes = (lines: readonly Line[]) => lines.map(({ action, result, reason }) => [action, result, reason])

test('the audit log has four lines for a lab: caller, source, and both outcomes', async () => {
  const user = fleet().user()
  const headers = { 'x-request-id': 'portal-1', 'x-forwarded-for': '6.6.6.6, 203.0.113.7' }
  const body = {
    options: { image_type: 'recommended', size: 'small' },
    env: { JUPYTERHUB_API_TOKEN: 'secret-of-a-hub' },
  }
  await user.request(`labs/${user.username}/create`, { method: 'POST', headers, body })
  const { op } = await user.follow()
  await fleet().admin.delete(user.username)
  const { op: deletion } = await user.follow()
  const lines = await eventually('four lines', async () => {
    const found = await linesOf(user.username)
    return found.length >= 4 ? found : null
  })
  const lab = (op: number) => ({ kind: 'lab', user: user.username, name: fleet().namespace(user.username), op })
  const actor = { kind: 'user', name: user.username, scope: 'exec:notebook', provider: 'static' }
  const from = { address: '203.0.113.7', proxy: '127.0.0.1', claimed: ['6.6.6.6'] }
  const request = { id: 'portal-1' }
  const admin = { kind: 'administrator', name: 'admin', scope: 'admin:jupyterlab', provider: 'static' }
  expect(lines).toMatchObject([
    { id: `${op}-accepted`, action: 'lab.create', result: 'accepted', object: lab(op), actor, from, request },
    { id: `${op}-ended`, action: 'lab.create', result: 'succeeded', object: lab(op), actor, from, request },
    { id: `${deletion}-accepted`, action: 'lab.delete', result: 'accepted', object: lab(deletion), actor: admin },
    { id: `${deletion}-ended`, action: 'lab.delete', result: 'succeeded', object: lab(deletion), actor: admin },
  ])
  const text = JSON.stringify(lines)
  for (const secret of ['secret-of-a-hub', user.token, fleet().admin.token]) expect(text).not.toContain(secret)
  await eventually('no notes', async () => (await notesLeft()) === 0)
})

test('the audit log has a line for a refusal, and an end for a superseded creation', async () => {
  const user = fleet().user()
  expect((await user.request(`labs/${user.username}`, { method: 'DELETE' })).status).toBe(403)
  const arm = fleet().arm('lab.create.make.pod.before-act', 'hold', { user: user.username })
  await user.create()
  await arm.landed()
  expect((await user.create()).status).toBe(409)
  await fleet().admin.delete(user.username)
  arm.release()
  await user.follow()
  const lines = await eventually('its end', async () => {
    const found = await linesOf(user.username)
    return found.at(-1)?.result === 'succeeded' ? found : null
  })
  expect(new Set(outcomes(lines).map(String))).toEqual(
    new Set([
      ...['lab.delete,refused,scope_missing', 'lab.create,accepted,', 'lab.create,refused,lab_exists'],
      ...['lab.create,failed,superseded', 'lab.delete,accepted,', 'lab.delete,succeeded,'],
    ]),
  )
  expect(lines).toHaveLength(6)
})

/** Each event once: a replica that dies between a line and the removal of its note causes a second line with the same id. */
function eventsOf(lines: readonly Line[]): readonly Line[] {
  const first = new Map(lines.map(line => [line.id, line] as const).reverse())
  for (const line of lines) if (line !== first.get(line.id)) expect(line.late).toBe(true)
  return lines.filter(line => line === first.get(line.id))
}

test.each([
  ['before the line of its acceptance', 'lab.create.accepted', 'accepted'],
  ['in the midst of it', 'lab.create.make.pod.before-act', undefined],
  ['before the line of its end', 'lab.create.finish.after-act', 'succeeded'],
] as const)(
  'the audit log loses no event, and repeats one only late, when a replica is killed %s',
  async (_, point, late) => {
    const user = fleet().user()
    const arm = fleet().arm(point, 'kill', { user: user.username, times: 1 })
    await user.create().catch(() => {})
    const { replica } = await arm.landed()
    const index = fleet().indexOf(replica)
    onTestFinished(async () => void (await fleet().start(index)))
    expect((await user.at(fleet().url(1 - index)).follow()).outcome).toBe('complete')
    const lines = await eventually(
      'both lines',
      async () => {
        const found = (await linesOf(user.username)).filter(({ object }) => object.op !== undefined)
        return found.length >= 2 && (await notesLeft()) === 0 ? found : null
      },
      lateMs,
    )
    const events = eventsOf(lines)
    expect(outcomes(events).sort()).toEqual([
      ['lab.create', 'accepted', undefined],
      ['lab.create', 'succeeded', undefined],
    ])
    expect(events.filter(line => line.late).map(({ result }) => result)).toEqual(late ? [late] : [])
    for (const line of lines) expect(line.actor).toMatchObject({ kind: 'user', name: user.username })
  },
  120_000,
)
