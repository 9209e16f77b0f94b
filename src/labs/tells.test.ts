import { describe, expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import { annotations } from '../kube/labels.ts'
import { rebuildView, tellsOf } from './tells.ts'
import { parseView } from './view.ts'

const plan = render()
const pod = plan.objects.at(-1)!
const view = parseView(plan.namespace.metadata.annotations?.[annotations.record])!
const tells = tellsOf(pod)
const { namespace = '', name: lab } = pod.metadata
const { username } = plan
const rebuilt = { view, username, names: { namespace, lab }, vouched: false, tells }

describe('a rebuilt view', () => {
  it('is what it was, whether or not a MAC vouches for it', () => {
    expect(rebuildView({ ...rebuilt, vouched: true })).toEqual(view)
    expect(rebuildView(rebuilt)).toEqual(view)
  })

  const forged = { ...view, username: 'eve', uid: 0, gid: 0, internalUrl: 'http://evil:1/x/' }

  it('has the address, the user and the ids of the pod where nothing vouches for the record', () => {
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
  ])('has a computed host, and of the address %j no more than a path', (internalUrl, prefix) => {
    const found = rebuildView({ ...rebuilt, view: { ...view, internalUrl }, tells: {} })
    expect(found.internalUrl).toBe(`http://${lab}.${namespace}:8888${prefix}`)
  })
})

describe('tellsOf', () => {
  it('tells nothing of a pod that says nothing', () => {
    expect(tellsOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } })).toEqual({})
    const spec = { containers: [{ name: 'lab', startupProbe: { httpGet: { path: '//x#/api' } } }] }
    expect(tellsOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec })).toEqual({})
  })
})
