/** Invalid requests to a real replica: each gets a 4xx in the standard format, and nothing is created. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useFleet } from '../kit/fleet/fleet.ts'
import * as bodies from './bad-input/bodies.cases.ts'
import * as heads from './bad-input/heads.cases.ts'
import * as paths from './bad-input/paths.cases.ts'
import * as people from './bad-input/people.cases.ts'
import { type BadInput, exchange, type Reply, type Sender } from './bad-input/wire.ts'

const table = fileURLToPath(new URL('../../.artefacts/bad-input.md', import.meta.url))

const fleet = useFleet({
  replicas: 1,
  people: { 'no-scope': { scopes: ['read:all'] }, 'admin-only': { scopes: ['admin:jupyterlab'] } },
})

/** The test of the provider that reads JSON tokens has the expired, unsigned and foreign ones. */
const groups: Readonly<Record<string, readonly BadInput[]>> = { ...bodies, ...heads, ...people, ...paths }

let sender: Sender
let port: number
const lines: string[] = []

beforeAll(() => {
  const [user, other] = [fleet().user(), fleet().user()]
  const as = (name: string) => ({ user: name, token: fleet().as(name).token })
  port = Number(new URL(fleet().url(0)).port)
  sender = {
    user: user.username,
    token: user.token,
    adminToken: fleet().admin.token,
    adminOnly: as('admin-only'),
    noScope: as('no-scope'),
    other: { user: other.username, token: other.token },
  }
})

afterAll(() => {
  mkdirSync(fileURLToPath(new URL('.', `file://${table}`)), { recursive: true })
  writeFileSync(table, `| | sent | answered | type |\n|---|---|---|---|\n${lines.join('\n')}\n`)
})

/** An error in the standard format, which reveals nothing internal. */
function expectForm({ status, headers, body }: Reply): string | undefined {
  if (status === 204) return undefined
  expect(headers['content-type']).toMatch(/^application\/json/)
  const error = JSON.parse(body) as { detail: { msg: string; type: string }[] }
  expect(Object.keys(error)).toEqual(['detail'])
  expect(error.detail.length).toBeGreaterThan(0)
  for (const entry of error.detail) expect(entry).toMatchObject({ msg: /./, type: /./ } satisfies object)
  expect(body).not.toMatch(/node_modules|node:internal|\.ts\b|\bat .+:\d+:\d+/)
  return error.detail[0]!.type
}

describe.each(Object.entries(groups))('%s', (group, cases) => {
  test.each(cases)('$what', async ({ what, send, status, type, ends }) => {
    const replies = await exchange(port, send(sender), { ends: ends ?? false })
    const statuses = replies.map(reply => reply.status)
    const types = replies.map(expectForm)
    lines.push(`| ${group} | ${what.replaceAll('|', '\\|')} | ${statuses.join(', ')} | ${types.at(-1) ?? ''} |`)
    expect(statuses).toEqual([status].flat())
    if (type !== undefined) expect(types.at(-1)).toBe(type)
    // It still answers.
    expect((await fetch(`${fleet().monitoringUrl(0)}/readyz`)).status).toBe(200)
  })
})

test('the bad requests left no lab, namespace or operation', async () => {
  expect(Object.values(groups).flat().length).toBeGreaterThan(80)
  expect(await fleet().world.namespaces()).toEqual([])
  const keys = [...(await fleet().world.redisKeys()).keys()]
  for (const { user } of [
    sender,
    sender.other,
    sender.adminOnly,
    sender.noScope,
    { user: 'admin' },
    { user: 'nobody' },
  ]) {
    expect(keys.filter(key => key.split(':').includes(user))).toEqual([])
  }
  expect((await fleet().admin.labs()).body).toEqual([])
  // Nor has the replica logged an internal error.
  const log = await fleet().log(0)
  expect(log.split('\n').filter(line => /"level":"?(error|fatal|50|60)/.test(line))).toEqual([])
})
