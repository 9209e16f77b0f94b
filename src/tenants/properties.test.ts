/** Properties of any LNamespaces at all, however they came to be stored. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonical } from '../base/canonical.ts'
import type { KubeObject } from '../base/domain.ts'
import { asObjects, asText } from '../base/json.ts'
import { isRevocation, nextWrites, plan, refKey, refOf } from '../reconcile/plan.ts'
import type { Fact, Hold, Kind, Verdict } from '../reconcile/types.ts'
import { tenantKind } from './kind.ts'
import { isRight } from './objects.ts'
import { sudoerKind } from './sudoer-kind.ts'
import { Cluster, settingsOf } from './testing/world.ts'
import type { TenantWorld } from './world.ts'
import { sudoUsers } from './world.ts'

const anyName = fc.constantFrom(
  'ada',
  'bob',
  'a.b@x',
  'a-b@x',
  'corp/ada',
  '50%',
  'x=2Fy',
  'system:admin',
  'a\u0000b',
  '',
)
const anySubject = fc.record({
  kind: fc.constantFrom('User', 'Group', 'ServiceAccount', 'Robot'),
  name: anyName,
  namespace: fc.option(fc.constantFrom('a', 'kube-system'), { nil: undefined }),
})
const fitSubject = fc.record({
  kind: fc.constantFrom('User', 'Group'),
  name: fc.constantFrom('ada', 'bob', 'corp/ada', 'x=2Fy'),
})
const fitUser = fc.record({ kind: fc.constant('User'), name: fc.constantFrom('ada', 'bob', 'corp/ada', 'x=2Fy') })

const fitSpec = fc.record({
  users: fc.array(fitSubject, { maxLength: 3 }),
  managers: fc.array(fitSubject, { maxLength: 3 }),
  sudoers: fc.array(fitUser, { maxLength: 3 }),
  sudo: fc.record({ eligible: fc.array(fitSubject, { maxLength: 1 }) }),
  platform: fc.record({
    podSecurity: fc.constantFrom('baseline', 'privileged'),
    network: fc.constantFrom('deny', 'open'),
    quota: fc.constantFrom({}, { pods: '5' }, { pods: '7' }),
  }),
})
const anySpec = fc.oneof(
  fitSpec,
  fc.record({
    users: fc.array(anySubject, { maxLength: 3 }),
    managers: fc.array(anySubject),
    sudoers: fc.array(anySubject),
  }),
  fc.jsonValue().map(value => value as object),
)
const anyGrant = fc.record({
  id: fc.constant('1'),
  user: anyName,
  until: fc.constantFrom('2026-01-02T00:10:00Z', '2030-01-01T00:00:00Z', 'soon'),
})

interface Declaration {
  readonly name: string
  readonly spec: object
  readonly grants: readonly object[]
}
const declarations = (spec: fc.Arbitrary<object>): fc.Arbitrary<Declaration[]> =>
  fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('a', 'b', 'a-sudoers', 'kube-system', 'a.b'),
      spec,
      grants: fc.array(anyGrant, { maxLength: 2 }),
    }),
    { maxLength: 3, selector: ({ name }) => name },
  )

function worldOf(cluster: Cluster, declared: readonly Declaration[], unguarded?: string): TenantWorld {
  const world = cluster.world(settingsOf(), () => unguarded)
  for (const { name, spec, grants } of declared) cluster.declare(name, { spec, status: { grants } })
  return world
}

interface Verdicts {
  readonly kind: Kind<TenantWorld>
  readonly key: string
  readonly verdict: Verdict
}

function verdicts(world: TenantWorld, nowMs: number): Verdicts[] {
  const facts = [...world.sights.lnamespaces.values()]
  const users = new Set(['ada', ...facts.flatMap(fact => sudoUsers(fact, world.settings))])
  const of = (kind: Kind<TenantWorld>, keys: Iterable<string>) =>
    [...keys].map(key => ({ kind, key, verdict: kind.desired(key, world, nowMs) }))
  return [
    ...of(
      tenantKind(world),
      facts.map(({ ref }) => ref.name),
    ),
    ...of(sudoerKind(world), users),
  ]
}

const holds = (all: readonly Verdicts[]) =>
  all.filter((each): each is Verdicts & { verdict: Hold } => each.verdict.do === 'hold')

const subjectsOf = ({ subjects }: KubeObject) => asObjects(subjects)

test('a verdict is given for anything stored, the same by equal sights, and never for a subject of the cluster', () => {
  fc.assert(
    fc.property(declarations(anySpec), declared => {
      const cluster = new Cluster()
      const world = worldOf(cluster, declared)
      const [first, second] = [verdicts(world, cluster.clock.wallMs()), verdicts(world, cluster.clock.wallMs())]
      const text = (all: readonly Verdicts[]) => canonical(all.map(({ key, verdict }) => [key, verdict]))
      expect(text(first)).toBe(text(second))
      for (const { verdict } of holds(first)) {
        for (const { object } of verdict.objects) {
          for (const { name } of subjectsOf(object)) expect(asText(name)).not.toMatch(/^system:|^$/)
        }
      }
    }),
  )
})

test('each wanted object is wanted by one key, and its events name that key', () => {
  fc.assert(
    fc.property(declarations(fitSpec), declared => {
      const cluster = new Cluster()
      const world = worldOf(cluster, declared)
      const wantedBy = new Map<string, string>()
      for (const { kind, key, verdict } of holds(verdicts(world, cluster.clock.wallMs()))) {
        for (const { object } of verdict.objects) {
          const name = refKey(refOf(object))
          expect(wantedBy.get(name)).toBeUndefined()
          wantedBy.set(name, key)
          const source = kind.sources.find(({ watch }) => watch.kind === object.kind)!
          expect(keysAfter(cluster, world, kind, object)).toContain(key)
          expect(source.watch.apiVersion).toBe(object.apiVersion)
        }
      }
    }),
  )
})

/** The keys that the coming of an object names. */
function keysAfter(cluster: Cluster, world: TenantWorld, kind: Kind<TenantWorld>, object: KubeObject): string[] {
  const source = kind.sources.find(({ watch }) => watch.kind === object.kind)!
  const keys: string[] = []
  const unlisten = source.watch.on(change => keys.push(...[...source.keysOf(change)].map(({ key }) => key)))
  cluster.api.put(object)
  unlisten()
  const { name, namespace } = object.metadata
  cluster.api.remove({
    apiVersion: object.apiVersion,
    kind: object.kind,
    name,
    ...(namespace !== undefined && { namespace }),
  })
  expect(world.sights.lnamespaces).toBeDefined()
  return keys
}

test('no right is given in a round in which another one is to be taken away', () => {
  fc.assert(
    fc.property(declarations(fitSpec), declarations(anySpec), fc.boolean(), (before, after, isGuarded) => {
      const cluster = new Cluster()
      const world = worldOf(cluster, before)
      for (const { verdict } of holds(verdicts(world, cluster.clock.wallMs()))) {
        for (const { object } of verdict.objects) cluster.api.put(object)
      }
      const edited = worldOf(cluster, after, isGuarded ? undefined : 'no policies')
      for (const { kind, verdict } of holds(verdicts(edited, cluster.clock.wallMs()))) {
        const acts = plan(verdict, kind)
        const writes = nextWrites(acts)
        const isMixed = writes.some(isRevocation) && !writes.every(isRevocation)
        expect(isMixed).toBe(false)
        if (acts.some(isRevocation)) expect(writes.every(isRevocation)).toBe(true)
        for (const act of writes) {
          if (isRevocation(act) || act.act !== 'change' || !isRight(act.fact.ref)) continue
          expect(excess(act.fact, verdict)).toEqual([])
        }
      }
    }),
  )
})

/** Subjects that stand and are not wanted. */
function excess(fact: Fact, { objects }: Hold): unknown[] {
  const wish = objects.find(({ object }) => refKey(refOf(object)) === refKey(fact.ref))
  const wanted = new Set(wish ? subjectsOf(wish.object).map(canonical) : [])
  return asObjects(fact.owned.subjects).filter(subject => !wanted.has(canonical(subject)))
}

test('without its policies a verdict keeps what bounds a tenant', () => {
  fc.assert(
    fc.property(declarations(fitSpec), declarations(fitSpec), (before, after) => {
      const cluster = new Cluster()
      const world = worldOf(cluster, before)
      for (const { verdict } of holds(verdicts(world, cluster.clock.wallMs()))) {
        for (const { object } of verdict.objects) cluster.api.put(object)
      }
      const edited = worldOf(cluster, after, 'no policies')
      for (const { kind, verdict } of holds(verdicts(edited, cluster.clock.wallMs()))) {
        expect(verdict.onlyRevocations).toBe('no policies')
        for (const act of plan(verdict, kind).filter(isRevocation)) {
          expect(act.act === 'create' || isRight('fact' in act ? act.fact.ref : { kind: '' })).toBe(true)
        }
      }
    }),
  )
})
