import { describe, expect, it } from 'vitest'
import { podFacts } from '../../../test/kit/labs/pod-facts.ts'
import type { PodFacts } from '../../kube/pods/facts.ts'
import { sealCredential } from '../../store/credential.ts'
import type { CullRequest, LabRead, StopRefusal, StopRequest } from '../../store/idle.ts'
import { Sealer } from '../../store/sealing.ts'
import { LabOwner, type LabOwnerOptions } from './labs.ts'

const { signal } = new AbortController()
const limit = { signal, check: () => {} }
const sealer = new Sealer([Buffer.alloc(32, 1)])
const serving = {
  ip: '10.0.0.7',
  ready: true,
  hostNetwork: false,
  image: 'lab-gpu:1',
  startedAtMs: 5000,
  size: 'large',
}
const running = podFacts({ uid: 'pod', phase: 'Running', idle: serving })
const view = {
  ...{ username: 'ada', options: {}, env: {}, uid: 1, gid: 1, groups: [{ name: 'staff', id: 2 }] },
  quotas: { limits: { cpu: 1, memory: 1 }, requests: { cpu: 1, memory: 1 } },
  internalUrl: 'http://elsewhere.example.org:1/user/ada/',
}
const lab = { op: 7, podUid: 'pod', namespaceUid: 'ns', view, credential: sealCredential(sealer, 'ada', 7, 'secret') }
const request = { kind: 'lab', id: 'ada' } as StopRequest

interface Parts {
  readonly pods?: readonly PodFacts[]
  readonly lab?: LabRead['lab']
  readonly answer?: { readonly op: number } | StopRefusal
}

function ownerOf({ pods = [running], answer = { op: 8 }, ...more }: Parts = {}) {
  const calls: unknown[] = []
  const read = { activity: undefined, floorMs: 0, nowMs: 1, touches: 0, trafficIsUntold: false }
  const options: LabOwnerOptions = {
    stampPolicy: 'onchange',
    namespacePrefix: 'nublado',
    pods: { byNamespace: name => (name === 'nublado-ada' ? pods : []), lastWordAgeMs: () => 42 },
    store: {
      readLab: async () => ({ ...read, lab: 'lab' in more ? more.lab : lab }),
      cullLab: async (cull: CullRequest) => {
        calls.push(cull)
        return answer
      },
    },
    sealer,
    kube: {
      patch: async (...args) => {
        calls.push(args.slice(0, 2))
        return null
      },
    },
    readCredential: async standing => {
      calls.push(standing)
      return 'from the Secret'
    },
    deleteTimeoutMs: 180_000,
    by: user => `by ${user}`,
    onStop: () => void calls.push('accepted'),
  }
  return { owner: new LabOwner(options), calls }
}

describe('LabOwner.facts', () => {
  it('shows a pod that runs, with its annotations as they stand', () => {
    const idle = { ...serving, lastActivity: 'x', keepUntil: 'y' }
    const { owner } = ownerOf({ pods: [podFacts({ name: 'other' }), { ...running, idle, stopped: 's' }] })
    expect(owner.facts('ada')).toEqual({
      ...{ kind: 'lab', id: 'ada', podUid: 'pod', mayBeAsked: true, startedMs: 5000 },
      stamps: { lastActivity: 'x', checked: undefined, keepUntil: 'y', stopped: 's' },
    })
  })

  it.each<[string, Partial<PodFacts>]>([
    ['is not Ready', { idle: { ...serving, ready: false } }],
    ['has the address of its node', { idle: { ...serving, hostNetwork: true } }],
    ['has no address', { idle: undefined as never }],
  ])('lets nobody ask a pod that %s', (_, facts) => {
    expect(ownerOf({ pods: [{ ...running, ...facts }] }).owner.facts('ada')?.mayBeAsked).toBe(false)
  })

  it.each<[string, Partial<PodFacts>]>([
    ['is being deleted', { deleting: true }],
    ['has not begun', { phase: 'Pending' }],
    ['has another name', { name: 'nb-grace' }],
  ])('shows no pod that %s', (_, facts) => {
    expect(ownerOf({ pods: [{ ...running, ...facts }] }).owner.facts('ada')).toBeUndefined()
  })
})

describe('LabOwner.ofPod', () => {
  it('finds the lab whose pod it is', () => {
    const { owner } = ownerOf({ pods: [podFacts({ name: 'other' }), running] })
    expect(owner.ofPod('nublado-ada', 'nb-ada')).toMatchObject({ id: 'ada', podUid: 'pod' })
    expect(owner.ofPod('nublado-grace', 'nb-ada')).toBeUndefined()
    expect(owner.ofPod('nublado-ada', 'other')).toBeUndefined()
  })

  it.each<[string, Partial<PodFacts>]>([
    ['names no user', { user: undefined }],
    ['names another user', { user: 'grace' }],
    ['is being deleted', { deleting: true }],
  ])('finds none when the pod %s', (_, facts) => {
    const { owner } = ownerOf({ pods: [{ ...running, ...facts } as PodFacts] })
    expect(owner.ofPod('nublado-ada', 'nb-ada')).toBeUndefined()
  })
})

describe('LabOwner.read', () => {
  const knownOf = async (parts: Parts = {}) => {
    const { owner, calls } = ownerOf(parts)
    return { known: await owner.read(owner.facts('ada')!), calls }
  }

  it('reads what rules match by, and where the lab is asked, with the token of its record', async () => {
    const { known, calls } = await knownOf()
    expect(known?.traits).toEqual({
      ...{ size: 'large', image: 'lab-gpu:1', user: 'ada', groups: ['staff'], namespace: 'nublado-ada' },
    })
    // The host in the record is not believed.
    expect(await known?.target(signal)).toEqual({
      ...{ address: '10.0.0.7', port: 8888, prefix: '/user/ada/', credential: 'secret' },
    })
    expect(calls).toEqual([])
  })

  it.each<[string, LabRead['lab']]>([
    ['an operation runs', undefined],
    ['its record has another pod', { ...lab, podUid: 'another' }],
  ])('knows nothing of a lab when %s', async (_, found) => {
    expect((await knownOf({ lab: found })).known).toBeUndefined()
  })

  it.each([undefined, sealCredential(sealer, 'ada', 6, 'former'), sealCredential(sealer, 'grace', 7, 'hers')])(
    'reads the token once from the cluster when the record has none that opens',
    async credential => {
      const { known, calls } = await knownOf({ lab: { ...lab, credential } })
      for (let count = 0; count < 2; count++) {
        expect((await known!.target(signal)).credential).toBe('from the Secret')
      }
      expect(calls).toEqual([{ user: 'ada', op: 7, namespaceUid: 'ns' }])
    },
  )

  it('requests the deletion of this operation’s lab, and tells the engine of labs', async () => {
    const { known, calls } = await knownOf()
    expect(await known!.stop(request, limit)).toBe('requested')
    expect(calls).toEqual([{ ...request, op: 7, timeLimitMs: 180_000, by: 'by ada' }, 'accepted'])
  })

  it('passes a refusal on', async () => {
    const { known, calls } = await knownOf({ answer: 'held' })
    expect(await known!.stop(request, limit)).toBe('held')
    expect(calls).not.toContain('accepted')
  })
})

it('LabOwner.stamp writes to the pod with the UID that was looked at', async () => {
  const { owner, calls } = ownerOf()
  await owner.stamp(owner.facts('ada')!, { a: '1' }, signal)
  const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'nublado-ada', name: 'nb-ada', uid: 'pod' }
  expect(calls).toEqual([[ref, { metadata: { annotations: { a: '1' } } }]])
})
