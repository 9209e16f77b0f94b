import { expect, it } from 'vitest'
import { hostsOf } from '../policy/hosts.ts'
import { readTarget } from '../policy/target.ts'
import type { Visit } from '../server/visit.ts'
import { Entering, type EnteringParts } from './entering.ts'

const hosts = hostsOf({ publicUrl: 'https://platform.example.org', appDomain: 'apps.example.net' })
const entering = new Entering({ hosts } as unknown as EnteringParts)
const target = readTarget('/console/apps/good/') as Extract<ReturnType<typeof readTarget>, { kind: 'app' }>
const navigation = (to: string, more: Readonly<Record<string, string>> = {}) => ({
  ...{ 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': to, 'sec-fetch-site': 'same-site', ...more },
})

it.each<[string, number, Record<string, string>]>([
  ['a tab', 303, navigation('document')],
  ['an old browser', 303, {}],
  ['a frame', 401, navigation('iframe')],
  ['a look ahead of a sibling', 401, navigation('document', { 'sec-purpose': 'prefetch' })],
])('Entering begins a way for tabs: %s gets %i', (_, status, headers) => {
  const answer = entering.begin({ incoming: { method: 'GET', headers, rawHeaders: [] } } as unknown as Visit, target)
  expect([answer.status, 'Set-Cookie' in answer.headers]).toEqual([status, status === 303])
})
