import { describe, expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import { annotations } from '../kube/labels.ts'
import { podFieldsOf, rebuildView } from './pod-fields.ts'
import { parseView } from './view.ts'

const plan = render()
const pod = plan.objects.at(-1)!
const view = parseView(plan.namespace.metadata.annotations?.[annotations.record])!
const podFields = podFieldsOf(pod)
const { namespace = '', name: lab } = pod.metadata
const { username } = plan
const rebuilt = { view, username, names: { namespace, lab }, vouched: false, podFields }

describe('rebuildView', () => {
  it('returns the recorded view, whether or not a MAC vouches for it', () => {
    expect(rebuildView({ ...rebuilt, vouched: true })).toEqual(view)
    expect(rebuildView(rebuilt)).toEqual(view)
  })

  const forged = { ...view, username: 'eve', uid: 0, gid: 0, internalUrl: 'http://evil:1/x/' }

  it('takes address, user and ids from the pod when nothing vouches for the record', () => {
    expect(rebuildView({ ...rebuilt, view: forged })).toEqual(view)
  })

  it.each([
    ['http://evil/', '/'],
    ['http://evil/user/ada/', '/user/ada/'],
    ['http://evil/a b/', '/'],
    ['http://evil/#x/', '/'],
    ['http://evil', '/'],
    ['', '/'],
    ['javascript:x/', '/'],
    ['http://evil/\n/', '/'],
  ])('computes the host, and takes from the address %j only a path', (internalUrl, prefix) => {
    const found = rebuildView({ ...rebuilt, view: { ...view, internalUrl }, podFields: {} })
    expect(found.internalUrl).toBe(`http://${lab}.${namespace}:8888${prefix}`)
  })
})

describe('podFieldsOf', () => {
  it('returns nothing for a pod without these fields', () => {
    expect(podFieldsOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } })).toEqual({})
    const spec = { containers: [{ name: 'lab', startupProbe: { httpGet: { path: '//x#/api' } } }] }
    expect(podFieldsOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec })).toEqual({})
  })
})
