import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { appFact, appSettings, appWith, checkedFact, withPod } from '../../test/kit/apps/facts.ts'
import { seedApp } from '../../test/kit/apps/seed.ts'
import { asObject, type JsonObject } from '../base/json.ts'
import { groupsOf } from './groups.ts'
import { isOlder, readApp } from './spec.ts'

const refusalOf = (spec: JsonObject, namespace?: string) => checkedFact(appWith(spec, namespace)).refusal

describe('readApp', () => {
  it('reads the application of the seed', () => {
    const { spec, refusal } = checkedFact(appFact())
    expect(refusal).toBeUndefined()
    expect(spec).toMatchObject({
      ...{ id: 'mlflow-xyzab', namespace: 'hub', stop: false, scope: 'group', rewrite: false, isRecreated: false },
      ports: [{ name: 'http', port: 5000, protocol: 'TCP', targetPort: 5000 }],
      ...{ http: { port: 5000 }, group: { name: 'phusers', isAlone: true } },
    })
    expect(spec!.instance).toBe(checkedFact(appWith({ instanceType: 'small' }), appSettings()).spec && spec!.instance)
  })

  it.each<[string, JsonObject, string]>([
    ['a scope that is none', { scope: 'all' }, 'scope is not one of group, primehub, public'],
    ['stop as a text', { stop: 'true' }, 'stop is not true or false'],
    ['no container', { podTemplate: { spec: { containers: [] } } }, 'has no container with an image'],
    ['a container without an image', { podTemplate: { spec: { containers: [{}] } } }, 'has no container with an image'],
    ['no ports', { svcTemplate: {} }, 'is not a list of 1 to 16 ports'],
    ['a port of 0', { svcTemplate: { spec: { ports: [{ port: 0 }] } } }, 'is not a list of 1 to 16 ports'],
    ['a port twice', { svcTemplate: { spec: { ports: [{ port: 1 }, { port: 1 }] } } }, 'each once'],
    ['17 ports', { svcTemplate: { spec: { ports: Array.from({ length: 17 }, (_, i) => ({ port: i + 1 })) } } }, '16'],
    ['an httpPort of no port', { httpPort: 1 }, 'httpPort is not a TCP port'],
    ['an httpPort of UDP', { svcTemplate: { spec: { ports: [{ port: 5000, protocol: 'UDP' }] } } }, 'httpPort is not'],
  ])('refuses %s', (_, spec, words) => {
    expect(refusalOf(spec)).toEqual({ reason: 'Invalid', message: expect.stringContaining(words) })
  })

  it('refuses a pod of more than 128 KiB in any script', () => {
    const large = withPod({ tomorrow: '語'.repeat(50_000) })
    expect(checkedFact(large).refusal?.message).toBe('podTemplate and svcTemplate are larger than 128 KiB')
  })

  it.each(['1a', 'a.b', 'a'.repeat(51), ''])('refuses the name %j', name => {
    expect(checkedFact(appFact(seedApp(), { name })).refusal?.reason).toBe('Invalid')
  })

  it('gives nothing to the app of another group, or where there is none', () => {
    expect(refusalOf({ groupName: 'physics' })).toEqual({
      ...{ reason: 'WrongGroup', message: 'the apps of this namespace are not those of the group "physics"' },
    })
    expect(refusalOf({}, 'nowhere')).toEqual({
      ...{ reason: 'WrongGroup', message: 'no group has apps in this namespace' },
    })
    expect(refusalOf({ groupName: '..' })?.reason).toBe('WrongGroup')
  })

  it('gives nothing to the younger of two apps of one name', () => {
    expect(checkedFact(appFact(), appSettings(), true).refusal?.reason).toBe('Conflict')
    const [old, young] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'].map(creationTimestamp =>
      appFact(seedApp(), { creationTimestamp }),
    )
    expect([isOlder(old!, young!), isOlder(young!, old!), isOlder(old!, old!)]).toEqual([true, false, false])
  })

  it('keeps the spec of an app with an unknown instance type, and accepts it when the app is stopped', () => {
    const { spec, refusal } = checkedFact(appWith({ instanceType: 'huge' }))
    expect([spec?.instance, refusal?.reason]).toEqual([undefined, 'InstanceType'])
    expect(checkedFact(appWith({ instanceType: 'huge', stop: true })).refusal).toBeUndefined()
    expect(checkedFact(appWith({ instanceType: 'constructor' })).refusal?.reason).toBe('InstanceType')
  })

  it('throws at nothing that a stranger may have stored', () => {
    const groups = groupsOf('hub', appSettings(), () => false)
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (spec, name) => {
        const fact = appFact({ ...seedApp(), spec }, { name })
        const { spec: read, refusal } = readApp(fact, appSettings(), { groups, isTaken: false })
        expect(read ?? refusal).toBeDefined()
      }),
      { numRuns: 50 },
    )
  })
})

it('groupsOf reads the configuration first, then LNamespaces', () => {
  const settings = appSettings()
  const names = (namespace: string, isTenant: boolean) =>
    groupsOf(namespace, settings, () => isTenant).map(({ name }) => name)
  expect(names('hub', true)).toEqual(['phusers'])
  expect(names('blue', true)).toEqual(['blue'])
  expect(names('blue', false)).toEqual([])
  expect(asObject(groupsOf('physics', settings, () => false)[0])).toMatchObject({ volume: { claim: 'project' } })
})
