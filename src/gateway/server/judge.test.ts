import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { route } from '../../../test/kit/apps/routes.ts'
import { unauthorized } from '../../identity/provider.ts'
import { Judge } from './judge.ts'
import { Refused } from './refused.ts'
import type { Visit } from './visit.ts'

const tokens: Readonly<Record<string, readonly string[]>> = { ada: ['exec:notebook'], bob: ['admin:jupyterlab'] }

function judgeOf(passAuthorization: boolean) {
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
  const judge = new Judge({ access, identity: { identify } } as unknown as ConstructorParameters<typeof Judge>[0])
  const ask = (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization }
    const incoming = { headers, rawHeaders: Object.entries(headers).flat() } as unknown as IncomingMessage
    return judge.judge({ incoming } as Visit, { kind: 'app', id: 'mlflow', path: '/console/apps/mlflow/', bare: false })
  }
  return { ask, admitted }
}

it('Judge admits the person of a token that has the scope for apps', async () => {
  const { ask, admitted } = judgeOf(true)
  expect(await ask('Bearer ada')).toMatchObject({ isForeignAuthorization: false })
  expect(admitted).toEqual([{ user: 'ada', groups: ['physics'] }])
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
