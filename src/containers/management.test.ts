import { describe, expect, it } from 'vitest'
import { shownContainer } from '../../test/kit/dispatch/shown-container.ts'
import type { OfferedType } from '../dispatch/configured.ts'
import type { ContainerState, MachineBrief } from '../dispatch/container.ts'
import { needOf } from '../dispatch/testing/world.ts'
import type { ContainerQuery } from '../store/dispatch/containers.ts'
import { ManagementService, mostQueued } from './management.ts'

const small: OfferedType = {
  ...{ name: 'small', providerType: 't3.small', group: 't', vcpus: 2, ramBytes: 100, scratchBytes: 30, gpus: 0 },
  ...{ preemptible: false, price: 0.1, addedScratchBytes: 10 },
}
const brief: MachineBrief = {
  ...{ name: 'a1', op: 361, type: 'small', providerType: 't3.small', price: 0.1, tenant: 'default' },
  ...{ state: 'creating', sinceMs: 0, createdMs: 1_000, probedMs: 0, busyMs: 0, idleBehavior: 'run', broken: '' },
  ...{ instance: '', address: '', ending: '', containers: [], lastContainer: '', version: 1 },
}
const its = (uuid: string, run: number) => ({ uuid, run, supervisor: false, need: needOf(1) })
const queued = shownContainer()
const named = (uuid: string, state: ContainerState) => shownContainer({ state, view: { ...queued.view, uuid } })

function service(change: object = {}, machines: readonly MachineBrief[] = [brief]) {
  return new ManagementService({
    containers: {
      list: async () => ({ containers: [], next: undefined }),
      find: async () => ({ ...queued, status: 'it waits' }),
      change: async () => 'changed',
      ...change,
    },
    machines: {
      list: async () => [...machines],
      setBehavior: async () => ({ answer: 'set', machine: brief }),
      kill: async () => ({ answer: 'set', machine: brief }),
    },
    types: () => [small],
    rules: { maximumPriceFactor: 1, reserveExtraRamBytes: 0 },
  })
}

describe('instances', () => {
  it.each([
    [{}, { instance: '', worker_state: 'booting', last_busy: '1970-01-01T00:00:01.000Z', running_container_uuids: [] }],
    [
      { busyMs: 2_000, state: 'idle' as const },
      { worker_state: 'idle', last_busy: '1970-01-01T00:00:02.000Z' },
    ],
    [{ containers: [its('u', 0)] }, { running_container_uuids: [] }],
    [{ containers: [its('a', 7), its('b', 0), its('c', 9)] }, { running_container_uuids: ['a', 'c'] }],
  ])('are shown by the fields of Arvados when they are %j', async (change, shown) => {
    expect(await service({}, [{ ...brief, ...change }]).instances()).toMatchObject([shown])
  })
})

describe('containers', () => {
  it('have the types that they fit, and why they wait', async () => {
    expect(await service().container('u')).toMatchObject({
      ...{ first_seen_at: '1970-01-01T00:00:01.000Z', scheduling_status: 'it waits' },
      instance_types: [
        {
          ...{ Name: 'small', ProviderType: 't3.small', VCPUs: 2, RAM: 100 },
          ...{ IncludedScratch: 20, AddedScratch: 10, Price: 0.1, Preemptible: false },
        },
      ],
    })
  })

  it('are shown without their commands and variables', async () => {
    const { container } = await service().container('u')
    expect(container).not.toHaveProperty('command')
    expect(container).not.toHaveProperty('environment')
  })

  it('are no more than an answer bears, those that run first', async () => {
    const asked: ContainerQuery[] = []
    const list = async (query: ContainerQuery) => {
      asked.push(query)
      const all = Array.from({ length: 100 }, (_, i) => named(`${query.state}-${asked.length}-${i}`, query.state!))
      return query.state === 'Running'
        ? { containers: all.slice(0, 3), next: undefined }
        : { containers: all, next: 'u' }
    }
    const { items, more } = await service({ list }).containers()
    expect([items.length, more]).toEqual([mostQueued, true])
    expect(items.slice(0, 4).map(({ container }) => container.state)).toEqual([
      'Running',
      'Running',
      'Running',
      'Locked',
    ])
    expect(asked.length).toBeLessThan(24)
  })

  it.each([
    [1, 'Locked'],
    [2, 'Queued'],
  ])('are each shown once, as they were read last, when they move on after reading %i', async (reading, last) => {
    const all = new Map<string, ContainerState>([
      ['a', 'Queued'],
      ['b', 'Locked'],
    ])
    let readings = 0
    const list = async ({ state }: ContainerQuery) => {
      const containers = [...all].flatMap(([uuid, its]) => (its === state ? [named(uuid, its)] : []))
      readings += 1
      if (readings === reading) all.set('a', 'Locked').set('b', 'Running')
      return { containers, next: undefined }
    }
    const { items } = await service({ list }).containers()
    expect(items.map(({ container }) => [container.uuid, container.state])).toEqual([
      ['b', 'Running'],
      ['a', last],
    ])
  })

  it('are read one sentence for each group', async () => {
    let finds = 0
    const find = async () => {
      finds += 1
      return { ...queued, status: 'it waits' }
    }
    const list = async ({ state }: ContainerQuery) => ({
      containers: state === 'Queued' ? [queued, shownContainer(), shownContainer({ tenant: 'other' })] : [],
      next: undefined,
    })
    const { items } = await service({ list, find }).containers()
    expect(items.map(({ scheduling_status }) => scheduling_status)).toEqual(['it waits', 'it waits', 'it waits'])
    expect(finds).toBe(2)
  })

  it('are 404 when they have ended', async () => {
    const find = async () => ({ ...shownContainer({ state: 'Complete' }), status: '' })
    await expect(service({ find }).container('u')).rejects.toMatchObject({ status: 404 })
  })
})

describe('changes', () => {
  it('say that the tag does not stand when nobody knows', async () => {
    expect(await service().setBehavior('a1', 'hold')).toBe(false)
  })
})
