import { describe, expect, test } from 'vitest'
import { type NodeShape, node } from '../../../test/kit/images/cluster.ts'
import { configSchema } from '../../config/schema.ts'
import { type Placement, whyIneligible } from './eligible.ts'

type Input = Partial<Placement>

const why = (shape: NodeShape, placement: Input = {}) =>
  whyIneligible(node('one', shape), configSchema.parse({ lab: placement }).lab)

describe('whyIneligible, by the state of a node:', () => {
  test.each<[string, NodeShape, string | undefined]>([
    ['ready', {}, undefined],
    ['not ready', { ready: false }, 'It is not ready'],
    ['cordoned', { cordoned: true }, 'It is cordoned'],
    [
      'not ready, which its taints tell too',
      { ready: false, taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
      'It is not ready',
    ],
  ])('%s', (_, shape, comment) => {
    expect(why(shape)).toBe(comment)
  })

  test('a node that is being removed', () => {
    const deleting = { ...node('one'), deleting: true }
    expect(whyIneligible(deleting, configSchema.parse({}).lab)).toBe('It is being removed')
  })
})

describe('whyIneligible, by the node selector,', () => {
  const nodeSelector = { type: 'lab', zone: 'a' }

  test.each<[Record<string, string>, string | undefined]>([
    [{ type: 'lab', zone: 'a', more: 'x' }, undefined],
    [{ type: 'lab', zone: 'b' }, 'Labs do not run on it: it lacks the label zone=a of lab.nodeSelector'],
    [{}, 'Labs do not run on it: it lacks the labels type=lab, zone=a of lab.nodeSelector'],
  ])('with labels %j', (labels, comment) => {
    expect(why({ labels }, { nodeSelector })).toBe(comment)
  })

  test('does not take properties of every JavaScript object for labels', () => {
    expect(why({}, { nodeSelector: { constructor: 'x' } })).toContain('constructor=x')
  })
})

describe('whyIneligible, by taints:', () => {
  const taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' }
  const refused = 'Labs do not tolerate its taint gpu=yes:NoSchedule'

  test.each<[string, Placement['tolerations'], string | undefined]>([
    ['nothing', [], refused],
    ['key and value', [{ key: 'gpu', value: 'yes' }], undefined],
    ['another value', [{ key: 'gpu', value: 'no' }], refused],
    ['no value', [{ key: 'gpu' }], refused],
    ['any value', [{ key: 'gpu', operator: 'Exists' }], undefined],
    ['another key', [{ key: 'cpu', operator: 'Exists' }], refused],
    ['everything', [{ operator: 'Exists' }], undefined],
    ['this effect', [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }], undefined],
    ['another effect', [{ key: 'gpu', operator: 'Exists', effect: 'NoExecute' }], refused],
    ['one of several', [{ key: 'cpu' }, { key: 'gpu', operator: 'Equal', value: 'yes' }], undefined],
  ])('labs tolerate %s', (_, tolerations, comment) => {
    expect(why({ taints: [taint] }, { tolerations })).toBe(comment)
  })

  test('each must be tolerated, except PreferNoSchedule', () => {
    const taints = [
      { key: 'a', effect: 'PreferNoSchedule' },
      { key: 'b', effect: 'NoExecute' },
      { key: 'c', effect: 'NoSchedule' },
    ]
    expect(why({ taints })).toBe('Labs do not tolerate its taints b:NoExecute, c:NoSchedule')
    expect(why({ taints }, { tolerations: [{ key: 'b', operator: 'Exists' }] })).toContain('taint c:NoSchedule')
  })
})

describe('whyIneligible, by node affinity:', () => {
  const ruledOut = 'Labs do not run on it: lab.affinity rules it out'
  const affinity = (...nodeSelectorTerms: object[]) => ({
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  })
  const labels = { zone: 'a', size: '12', name: 'x' }
  const meets = (rules: Record<string, unknown>) => {
    const comment = why({ labels }, { affinity: rules })
    expect([undefined, ruledOut]).toContain(comment)
    return comment === undefined
  }
  const demand = (key: string, operator: string, ...values: string[]) => ({ key, operator, values })

  test.each([
    [demand('zone', 'In', 'b', 'a'), true],
    [demand('zone', 'In', 'b'), false],
    [demand('rack', 'In', 'a'), false],
    [demand('zone', 'NotIn', 'b'), true],
    [demand('zone', 'NotIn', 'a', 'b'), false],
    [demand('rack', 'NotIn', 'a'), true],
    [demand('zone', 'Exists'), true],
    [demand('rack', 'Exists'), false],
    [demand('zone', 'DoesNotExist'), false],
    [demand('rack', 'DoesNotExist'), true],
    [demand('size', 'Gt', '11'), true],
    [demand('size', 'Gt', '12'), false],
    [demand('size', 'Lt', '13'), true],
    [demand('size', 'Lt', '12'), false],
    [demand('size', 'Lt', '9'), false],
    [demand('zone', 'Gt', '1'), false],
    [demand('size', 'Gt', 'x'), false],
    [demand('rack', 'Lt', '1'), false],
    [demand('zone', 'Like', 'a'), false],
  ])('labels %j: %s', (expression, expected) => {
    expect(meets(affinity({ matchExpressions: [expression] }))).toBe(expected)
  })

  test.each([
    [demand('metadata.name', 'In', 'one'), true],
    [demand('metadata.name', 'In', 'two'), false],
    [demand('metadata.name', 'NotIn', 'one'), false],
    [demand('metadata.uid', 'In', 'uid-one'), false],
  ])('fields %j: %s', (field, expected) => {
    expect(meets(affinity({ matchFields: [field] }))).toBe(expected)
  })

  test('terms are alternatives, and each must be met completely', () => {
    const [met, unmet] = [demand('zone', 'In', 'a'), demand('zone', 'In', 'b')]
    expect(meets(affinity({ matchExpressions: [unmet] }, { matchExpressions: [met] }))).toBe(true)
    expect(meets(affinity({ matchExpressions: [met, unmet] }))).toBe(false)
    expect(meets(affinity({ matchExpressions: [met], matchFields: [demand('metadata.name', 'In', 'two')] }))).toBe(
      false,
    )
  })

  test('a term without requirements matches no node; without rules every node matches', () => {
    expect(meets(affinity({}))).toBe(false)
    expect(meets(affinity())).toBe(false)
    expect(meets({})).toBe(true)
    expect(meets({ nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } })).toBe(true)
    expect(meets({ podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{}] } })).toBe(true)
  })
})
