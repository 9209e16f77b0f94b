import { describe, expect, it } from 'vitest'
import { render } from '../../../test/kit/labs/plan.ts'
import type { KubeObject } from '../../base/domain.ts'
import { projectNamespace } from '../../kube/pods/project.ts'
import { withOwnership } from '../../labs/render.ts'
import { Sealer } from '../../store/sealing.ts'
import { installation, redisMs, sealer } from '../testing/cluster.ts'
import { boundAt, Trust } from '../trust.ts'
import { doubtOf, listedPod, readListing } from './listing.ts'

const namespacePrefix = 'nublado'
const bound = boundAt(redisMs)
const op = redisMs * 1000

const trustBy = (by: Sealer) => new Trust({ installation, namespacePrefix, sealer: by })
const trust = trustBy(sealer)

/** The namespace and the pod of a user's lab as a creation sends them, with UIDs. */
function lab(username: string, itsOp = op, by: Trust | null = trust) {
  const plan = render({ identity: { username } })
  const sent = withOwnership(plan.namespace, itsOp, null)
  const namespace = by ? by.signed(sent) : sent
  const uid = `uid-of-${username}`
  const pod = withOwnership(plan.objects.at(-1)!, itsOp, uid)
  return {
    namespace: { ...namespace, metadata: { ...namespace.metadata, uid } },
    pod: { ...pod, metadata: { ...pod.metadata, uid: `pod-of-${username}` } },
  }
}

const read = (labs: readonly { namespace: KubeObject; pod?: KubeObject }[], more: readonly KubeObject[] = []) => {
  const namespaces = labs.map(({ namespace }) => namespace)
  const pods = [...labs.flatMap(({ pod }) => (pod ? [pod] : [])), ...more]
  return readListing(
    { trust, namespacePrefix },
    { namespaces: namespaces.map(projectNamespace), pods: pods.map(listedPod) },
    redisMs,
  )
}

const poisoned = (namespace: string): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: {
    ...{ name: 'x', namespace, uid: 'x' },
    labels: { 'skylab/installation': installation, 'skylab/op': String(Number.MAX_SAFE_INTEGER) },
  },
})

describe('readListing', () => {
  it('finds labs with their pods and the pods’ fields', () => {
    const { found, highestOp, distrusted } = read([lab('ada'), lab('grace', op + 5)])
    expect([...found.keys()]).toEqual(['ada', 'grace'])
    expect(found.get('ada')).toMatchObject({ vouched: true, pod: { uid: 'pod-of-ada' } })
    expect([highestOp, distrusted]).toEqual([op + 5, []])
  })

  it('takes no op from a pod in a foreign namespace, and reports the pod', () => {
    const { highestOp, distrusted } = read([lab('ada')], [poisoned('mine')])
    expect(highestOp).toBe(op)
    expect(distrusted).toEqual([
      { why: 'ahead', kind: 'Pod', name: 'x', namespace: 'mine', uid: 'x', op: Number.MAX_SAFE_INTEGER, named: false },
    ])
  })

  it('takes no op from a foreign pod that is not ahead, nor from a namespace under a foreign name', () => {
    const { namespace } = lab('grace', op + 7)
    const foreign = { ...namespace, metadata: { ...namespace.metadata, name: 'mine' } }
    const pod = { ...lab('ada', op + 9).pod }
    const { found, highestOp } = read(
      [lab('ada'), { namespace: foreign }],
      [{ ...pod, metadata: { ...pod.metadata, namespace: 'mine' } }],
    )
    expect([[...found.keys()], highestOp]).toEqual([['ada'], op])
  })

  it('leaves out only labs whose namespace or pod is ahead', () => {
    const ahead = lab('ada', bound + 1)
    const podAhead = {
      namespace: lab('grace').namespace,
      pod: withOwnership(lab('grace').pod, bound + 1, 'uid-of-grace'),
    }
    const { found, highestOp, distrusted } = read([ahead, podAhead, lab('cyd', bound)])
    expect([[...found.keys()], highestOp]).toEqual([['cyd'], bound])
    expect(distrusted.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'Namespace nublado-ada',
      'Pod nb-ada',
      'Pod nb-grace',
    ])
  })

  it('leaves out a lab with a wrong MAC, and finds one without MAC or with a rotated key as not vouched for', () => {
    const forged = lab('ada', op, trustBy(sealer))
    const annotations = { ...forged.namespace.metadata.annotations, 'skylab/record': '{"internalUrl":"http://evil/"}' }
    const namespace = { ...forged.namespace, metadata: { ...forged.namespace.metadata, annotations } }
    const rotated = lab('cyd', op, trustBy(new Sealer([Buffer.alloc(32, 9)])))
    const { found, distrusted } = read([{ ...forged, namespace }, lab('grace', op, null), rotated])
    expect([...found].map(([user, { vouched }]) => [user, vouched])).toEqual([
      ['grace', false],
      ['cyd', false],
    ])
    expect(distrusted.map(({ why, name }) => [why, name])).toEqual([['mac', 'nublado-ada']])
  })
})

describe('doubtOf', () => {
  const ahead = (user: string, by: Trust | null = trust) => lab(user, bound + 1, by)
  const doubt = (labs: Parameters<typeof read>[0], { foundOp = 0, needed = false } = {}) =>
    doubtOf({ foundOp, needed }, read(labs))

  it('doubts the clock when more than half of the labs are ahead, not when half are', () => {
    expect(doubt([ahead('a'), ahead('b'), lab('c')])).toMatch(/^the clock of Redis, which is behind: 2 of 3 labs/)
    expect(doubt([ahead('a'), lab('c')])).toBeUndefined()
  })

  it.each([true, false])('doubts nothing when there is no lab, needed: %s', needed => {
    expect(doubt([], { needed })).toBeUndefined()
  })

  it('doubts the clock for one lab with a right MAC that is ahead when the compare is needed', () => {
    const labs = [ahead('a'), lab('b'), lab('c'), lab('d', op, null)]
    expect(doubt(labs, { foundOp: op, needed: true })).toMatch(/1 of 3 labs/)
    expect(doubt(labs, { foundOp: op })).toBeUndefined()
  })

  it('counts labs without MAC when the compare is needed, or Redis knows no op', () => {
    const labs = [ahead('a', null), ahead('b', null), lab('c')]
    expect(doubt(labs, { foundOp: op, needed: true })).toMatch(/2 of 2 labs/)
    expect(doubt(labs)).toMatch(/2 of 2 labs/)
  })

  it('ignores labs without MAC when the data of Redis are good', () => {
    expect(doubt([ahead('a', null)], { foundOp: op })).toBeUndefined()
    expect(doubt([ahead('a', null), ahead('b', null), lab('c')], { foundOp: op })).toBeUndefined()
  })

  it('ignores labs with a wrong MAC', () => {
    const { namespace } = lab('a')
    const labels = { ...namespace.metadata.labels, 'skylab/op': String(bound + 1) }
    const relabelled = { namespace: { ...namespace, metadata: { ...namespace.metadata, labels } } }
    expect(doubt([relabelled], { needed: true })).toBeUndefined()
  })
})
