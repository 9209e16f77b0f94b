import { describe, expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import { checkActivityToken } from '../store/activity-token.ts'
import { openCredential } from '../store/credential.ts'
import { sealer, user } from './testing/cluster.ts'
import { makeRun } from './testing/run.ts'

const idle = { sealer, credentialVariables: ['JUPYTERHUB_API_TOKEN'] }
const canary = 'hub-token-canary'
const plan = render({ identity: { username: user }, request: { env: { JUPYTERHUB_API_TOKEN: canary } } })
const creation = { kind: 'create', status: 'pending', namespaceUid: 'n', podUid: 'p' } as const
const complete = { podPresent: true, namespaceUid: 'n', podUid: 'p' }
const signal = new AbortController().signal

describe('the work on a lab', () => {
  it('puts the token that the lab is asked with into the record of a complete creation, sealed', () => {
    const { work } = makeRun(creation, {}, [], idle).owned
    work.steps('create', plan)
    const { credential, ...others } = work.completed()
    expect(others).toEqual(complete)
    expect(credential).not.toContain(canary)
    expect(openCredential(sealer, user, { op: 7, credential })).toBe(canary)
    expect(openCredential(sealer, user, { op: 8, credential })).toBeUndefined()
  })

  it.each([
    ['idle labs are not stopped', undefined, plan],
    ['the plan is lost', idle, undefined],
    ['the env has none', idle, render({ identity: { username: user }, request: { env: {} } })],
  ])('puts none there when %s', (_, given, itsPlan) => {
    const { work } = makeRun(creation, {}, [], given).owned
    if (itsPlan) work.steps('create', itsPlan)
    expect(work.completed()).toEqual(complete)
  })

  it('gives the lab a token of this very operation only when idle labs are stopped', () => {
    const contextOf = (given?: typeof idle) => {
      const { owned, host } = makeRun(creation, {}, [], given)
      return host.context({ name: 'make.content' }, signal, owned.span)
    }
    expect(contextOf()).not.toHaveProperty('activityToken')
    expect(checkActivityToken(sealer, user, contextOf(idle).activityToken!)).toBe(7)
  })

  it('stamps the pod first when nobody used the lab', () => {
    const namesOf = (culledMs?: number) =>
      makeRun({ culledMs })
        .owned.work.steps('delete', undefined)
        .map(({ name }) => name)
    const removal = ['pod', 'pod-gone', 'namespace', 'namespace-gone']
    expect(namesOf()).toEqual(removal)
    expect(namesOf(1_700_000_000_000)).toEqual(['stamp', ...removal])
  })
})
