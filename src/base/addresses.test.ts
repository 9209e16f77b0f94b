import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { credentialRanges, isRangeWithin } from './addresses.ts'

it.each<[string, string, boolean]>([
  ['10.1.0.0/16', '10.0.0.0/8', true],
  ['10.0.0.0/8', '10.0.0.0/8', true],
  ['10.0.0.0/8', '10.1.0.0/16', false],
  ['11.0.0.0/16', '10.0.0.0/8', false],
  ['169.254.169.254/32', '169.254.0.0/16', true],
  ['fd00:ec2::254/128', 'fc00::/7', true],
  ['fe80::/10', 'fc00::/7', false],
  ['::/0', 'fc00::/7', false],
  ['10.0.0.0/8', '::/0', false],
  ['fc00::/7', '0.0.0.0/0', false],
])('isRangeWithin says whether %s is in %s: %j', (inner, outer, within) => {
  expect(isRangeWithin(inner, outer)).toBe(within)
})

describe('k8s/base/network.yaml', () => {
  const text = readFileSync(new URL('../../k8s/base/network.yaml', import.meta.url), 'utf8')
  // biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes
  const policies: any[] = parseAllDocuments(text).map(each => each.toJS())
  const egressOf = (name: string) => policies.find(({ metadata }) => metadata.name === name).spec

  it('lets prepull pods connect to nothing', () => {
    const { podSelector, policyTypes, egress } = egressOf('skylab-nobody')
    expect([podSelector, policyTypes, egress]).toEqual([{}, ['Ingress', 'Egress'], undefined])
    const others = policies.filter(({ metadata }) => metadata.name !== 'skylab-nobody')
    for (const { spec } of others) {
      expect(spec.podSelector.matchLabels).toHaveProperty(['app.kubernetes.io/component'], 'controller')
    }
  })

  it('keeps the controller from addresses that serve credentials of a cloud', () => {
    const blocks = egressOf('skylab').egress[0].to.flatMap(({ ipBlock }: { ipBlock?: object }) => ipBlock ?? [])
    expect(blocks.map(({ cidr }: { cidr: string }) => cidr)).toEqual(['0.0.0.0/0', '::/0'])
    expect(blocks.flatMap(({ except }: { except: string[] }) => except)).toEqual(credentialRanges)
  })
})
