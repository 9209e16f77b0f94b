import { describe, expect, test, vi } from 'vitest'
import { admitted as admittedCases, refused as refusedCases } from '../../test/integration/tenants/people.cases.ts'
import { type Case, people } from '../../test/integration/tenants/world.ts'
import { completed, golden } from '../../test/kit/tenants/admission-golden.ts'
import { siteTenants } from '../../test/kit/tenants/objects.ts'
import { BadReview, creationIn, patchesFor, refusalOf } from './admission.ts'
import { settingsOf } from './testing/world.ts'
import { tenantAnnotations } from './words.ts'

const settings = { ...settingsOf(), ownNamespace: 'skylab', tenants: siteTenants }
const resource = { group: 'gial.lblw.dev', version: 'v1beta1', resource: 'lnamespaces' }
const review = (username: string, object: object, more: object = {}) => ({
  ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
  request: { uid: 'u', operation: 'CREATE', resource, object, userInfo: { username }, ...more },
})
const overriding = new Set<string>(['olga', 'carl', people.argo.name])

describe('patchesFor', () => {
  test.each(golden.map(row => [row.title, row] as const))('completes a creation of %s', (_, row) => {
    const { creation } = creationIn(review(people[row.by].name, row.object))
    expect(patchesFor(creation!)).toEqual(row.patches)
    // What is complete stays as it is.
    const object = completed(row) as never
    expect(patchesFor({ ...creation!, object })).toEqual([])
  })
})

test('patchesFor notes the groups of the creator that defaults of billing name, and no others', () => {
  const object = { metadata: { name: 'blue', annotations: { [tenantAnnotations.requesterGroups]: 'forged' } } }
  const userInfo = { username: 'ada', groups: ['chess', 'physics', 'art'] }
  const { creation } = creationIn(review('ada', object, { userInfo }))
  const noted = (named: readonly string[]) =>
    patchesFor(creation!, named).filter(({ path }) => path.endsWith('-groups'))
  expect(noted(['art', 'biology', 'physics'])).toEqual([
    { op: 'add', path: '/metadata/annotations/lns.skylab~1requester-groups', value: 'art\nphysics' },
  ])
  expect(noted(['biology'])).toEqual([])
})

describe('refusalOf', () => {
  const world = new Proxy(
    {},
    { get: () => new Proxy({}, { get: () => () => ({ kind: 'Namespace', metadata: { name: 'x' } }) }) },
  ) as never
  const creations = (cases: readonly Case[]) =>
    cases.flatMap(each => {
      const { method, path, body } = each.ask(world)
      return method === 'POST' && path.endsWith('/lnamespaces') ? [[each.title, each, body as object] as const] : []
    })
  const answerTo = async (by: keyof typeof people, object: object) => {
    const username = people[by].name
    const { creation } = creationIn(review(username, object))
    const whole = completed({ object: object as never, patches: patchesFor(creation!) as never })
    return refusalOf({ username, object: whole as never }, settings, async () => overriding.has(username))
  }

  test.each(creations(admittedCases))('lets pass what the policies admit: %s', async (_title, { by }, object) => {
    expect(await answerTo(by, object)).toBeUndefined()
  })

  test.each(creations(refusedCases))(
    'refuses in the words of the policies: %s',
    async (_title, { by, words }, object) => {
      expect(await answerTo(by, object)).toContain(words)
    },
  )

  test('has a case of each policy', () => {
    expect([creations(admittedCases).length, creations(refusedCases).length]).toEqual([9, 17])
  })

  test('asks nobody about a creation that takes no privilege', async () => {
    const ask = vi.fn()
    const object = { metadata: { name: 'new', annotations: { 'lns.skylab/requester': 'eve' } }, spec: {} }
    expect(await refusalOf({ username: 'eve', object }, settings, ask)).toBeUndefined()
    expect(ask).not.toHaveBeenCalled()
  })
})

describe('creationIn', () => {
  const object = { metadata: { name: 'new' } }

  test.each([
    [undefined],
    [null],
    [[]],
    ['x'],
    [{ ...review('eve', object), kind: 'Other' }],
    [{ ...review('eve', object), apiVersion: 'admission.k8s.io/v1beta1' }],
    [review('', object)],
    [review('eve', object, { userInfo: { username: 7 } })],
    [review('eve', object, { uid: '' })],
    [review('eve', {})],
    [review('eve', { metadata: { name: 7 } })],
  ])('refuses %j', value => {
    expect(() => creationIn(value)).toThrow(BadReview)
  })

  test.each([
    [{ operation: 'UPDATE' }],
    [{ operation: 'DELETE', object: null }],
    [{ resource: { ...resource, resource: 'pods' } }],
    [{ resource: { ...resource, group: 'other' } }],
    [{ subResource: 'status' }],
  ])('finds no creation where the request has %j', more => {
    expect(creationIn(review('eve', object, more))).toEqual({ uid: 'u', creation: undefined })
  })
})
