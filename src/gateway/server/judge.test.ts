import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { route } from '../../../test/kit/apps/routes.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import { unauthorized } from '../../identity/provider.ts'
import { Tries } from '../access/tries.ts'
import { Judge } from './judge.ts'
import { Refused } from './refused.ts'
import type { Visit } from './visit.ts'

const tokens: Readonly<Record<string, readonly string[]>> = { ada: ['exec:notebook'], bob: ['admin:jupyterlab'] }

function judgeOf(passAuthorization: boolean) {
  const guesses: string[] = []
  const admitted: unknown[] = []
  const answer = { is: 'in' as const, route: route({ passAuthorization }) }
  const access = {
    verdict: async () => answer,
    verdictOf: async (person: unknown) => {
      admitted.push(person)
      return answer
    },
  }
  const identify = async (headers: Headers) => {
    const token = headers.get('authorization')!.replace('Bearer ', '')
    const scopes = tokens[token]
    if (!scopes) throw unauthorized()
    return { username: token, token, scopes, groups: [{ name: 'physics' }] }
  }
  const clock = new ManualClock()
  const tries = new Tries(clock)
  const onGuess = (_: Visit, is: string) => void guesses.push(is)
  const judge = new Judge({ access, identity: { identify }, tries, clock, onGuess } as unknown as ConstructorParameters<
    typeof Judge
  >[0])
  const ask = (authorization?: string, address = '192.0.2.1', kind: Visit['kind'] = 'request') => {
    const headers = authorization === undefined ? {} : { authorization }
    const incoming = { headers, rawHeaders: Object.entries(headers).flat() } as unknown as IncomingMessage
    return judge.judge({ kind, incoming, from: { address } } as Visit, {
      kind: 'app',
      id: 'mlflow',
      path: '/console/apps/mlflow/',
      bare: false,
    })
  }
  return { ask, admitted, guesses }
}

it('Judge admits the person of a token that has the scope for apps', async () => {
  const { ask, admitted } = judgeOf(true)
  expect(await ask('Bearer ada')).toMatchObject({ isForeignAuthorization: false })
  expect(admitted).toEqual([{ user: 'ada', groups: ['physics'] }])
})

it('Judge opens no WebSocket by a token, and one by a login beside a token of the app', async () => {
  const { ask, admitted } = judgeOf(true)
  const refused = { reason: 'login', answer: { status: 401 } }
  await expect(ask('Bearer ada', '192.0.2.1', 'websocket')).rejects.toMatchObject(refused)
  expect(await ask('Bearer of-the-app', '192.0.2.1', 'websocket')).toMatchObject({ isForeignAuthorization: true })
  expect(admitted).toEqual([])
})

it('Judge refuses a token without the scope for apps', async () => {
  const { ask, admitted } = judgeOf(true)
  await expect(ask('Bearer bob')).rejects.toThrow(Refused)
  expect(admitted).toEqual([])
})

it.each([
  ['Bearer of-the-app', true],
  [`Basic ${btoa('reader:secret')}`, true],
  ['Digest username="reader"', true],
  [`Basic ${btoa('ada:x-oauth-basic')}`, false],
  [`Basic ${btoa('x:bob')}`, false],
  ['Bearer\tada', false],
  ['Token ada', false],
  [undefined, false],
])('Judge says of the Authorization %j whether it can be the app’s: %s', async (authorization, isForeign) => {
  expect(await judgeOf(true).ask(authorization)).toMatchObject({ isForeignAuthorization: isForeign })
  expect(await judgeOf(false).ask(authorization)).toMatchObject({ isForeignAuthorization: false })
})

const slow = { reason: 'slow', answer: { status: 429, headers: { 'Retry-After': '6' } } }

it.each([
  ['Bearer', (i: number) => `Bearer guess-${i}`],
  ['Basic', (i: number) => `Basic ${btoa(`x:guess-${i}`)}`],
])('Judge makes an address wait that has guessed ten tokens by %s, and no other one', async (_, guess) => {
  const { ask, guesses } = judgeOf(true)
  for (let i = 0; i < 10; i++) await ask(guess(i))
  await expect(ask(guess(10))).rejects.toMatchObject(slow)
  await expect(ask('Bearer ada')).rejects.toMatchObject(slow)
  expect(guesses).toEqual([...Array(10).fill('refused'), 'slow', 'slow'])
  expect(await ask(guess(10), '192.0.2.2')).toMatchObject({ isForeignAuthorization: true })
})

it('Judge counts no token that is known, and a token of an app once', async () => {
  const { ask, guesses } = judgeOf(true)
  await Promise.all(Array.from({ length: 30 }, () => ask('Bearer ada')))
  await Promise.all(Array.from({ length: 30 }, () => ask('Bearer of-the-app')))
  for (let i = 0; i < 9; i++) await ask(`Bearer guess-${i}`)
  await expect(ask('Bearer guess-9')).rejects.toMatchObject(slow)
  await ask('Bearer ada')
  await ask('Bearer of-the-app')
  expect(guesses).toEqual([...Array(10).fill('refused'), 'slow'])
})

it('Judge refuses a session behind which another page may be, and says so before it is a use', async () => {
  const asked: unknown[] = []
  const verdict = { is: 'in' as const, route: route(), admitted: {} }
  const access = {
    verdict: (presented: unknown) => {
      asked.push(presented)
      return verdict
    },
  }
  const wayIn = { isOfOtherPage: () => true, presentedBy: () => undefined }
  const judge = new Judge({ access, wayIn } as unknown as ConstructorParameters<typeof Judge>[0])
  const incoming = { headers: {}, rawHeaders: [] }
  const visit = { kind: 'request', incoming, from: { address: '192.0.2.1' } } as unknown as Visit
  const target = { kind: 'app', id: 'mlflow', path: '/console/apps/mlflow/', bare: false } as const
  expect(() => judge.judge(visit, target)).toThrow(Refused)
  expect(asked).toMatchObject([{ isOfOtherPage: true }])
})
