import { describe, expect, it } from 'vitest'
import { createLogger } from '../telemetry/log.ts'
import { createStaticIdentity } from './static.ts'
import { formatTokens, parseTokens, type StaticTokens } from './tokens.ts'

const file: StaticTokens = {
  tokens: [
    {
      token: 'ada-secret',
      username: 'ada',
      scopes: ['exec:notebook'],
      uid: 4000001,
      gid: 4000002,
      groups: [{ name: 'ada', id: 4000002 }, { name: 'unnumbered' }],
      quota: { cpu: 2.5, memory: 8 },
    },
    { token: '12345', username: 'hub', scopes: ['admin:jupyterlab'], quota: { memory: '512Mi', spawn: false } },
  ],
}

function provider() {
  const lines: string[] = []
  const log = createLogger({ level: 'info', replica: 'r1', destination: { write: line => void lines.push(line) } })
  const parsed = parseTokens(formatTokens(file))
  if ('problems' in parsed) throw new Error(parsed.problems.join())
  return { identity: createStaticIdentity(parsed.tokens, log), lines }
}

const scope = 'exec:notebook'
const bearer = (value: string) => new Headers({ authorization: value })

describe('createStaticIdentity', () => {
  it('returns the user of a token, with their data', async () => {
    const { identity } = provider()
    expect(await identity.identify(bearer('Bearer ada-secret'), scope)).toEqual({
      token: 'ada-secret',
      username: 'ada',
      scopes: ['exec:notebook'],
      uid: 4000001,
      gid: 4000002,
      groups: [{ name: 'ada', id: 4000002 }, { name: 'unnumbered' }],
      quota: { cpu: 2.5, memoryBytes: 8 * 2 ** 30, spawn: true },
    })
    expect((await identity.identify(bearer('bearer 12345'), scope)).quota).toEqual({
      memoryBytes: 2 ** 29,
      spawn: false,
    })
  })

  it.each([
    ['none', new Headers()],
    ['an unknown one', bearer('Bearer ada-secre')],
    ['an empty one', bearer('Bearer ')],
    ['two', bearer('Bearer ada-secret, Bearer ada-secret')],
    ['another scheme', bearer('Basic ada-secret')],
    ['a word of every object', bearer('Bearer constructor')],
  ])('refuses %s', async (_, headers) => {
    const { identity } = provider()
    await expect(identity.identify(headers, scope)).rejects.toMatchObject({
      status: 401,
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  })

  it('logs that it is not for real users, and no token', () => {
    const { lines } = provider()
    expect(lines.join()).toMatch(/"warn".*never for real users/)
    expect(lines.join()).not.toMatch(/ada-secret|12345/)
  })
})

describe('parseTokens', () => {
  it.each([
    ['tokens.0.colour: unknown key', 'tokens: [{token: t, username: u, scopes: [], colour: blue}]'],
    ['tokens.0.token: expected string, received number', 'tokens: [{token: 12345, username: u, scopes: []}]'],
    ['tokens.0.token: must be printable, without spaces', 'tokens: [{token: "a b", username: u, scopes: []}]'],
    [
      'tokens.0.quota.memory: not a Kubernetes quantity',
      'tokens: [{token: t, username: u, scopes: [], quota: {memory: 8GB}}]',
    ],
    ['tokens.0.username: The user name contains ":" or "/"', 'tokens: [{token: t, username: "a:b", scopes: []}]'],
    [
      'tokens.1.token: is the same as tokens.0',
      'tokens: [{token: t, username: u, scopes: []}, {token: t, username: v, scopes: []}]',
    ],
  ])('reports the problem: %s', (problem, text) => {
    expect(parseTokens(text)).toEqual({ problems: [problem] })
  })
})
