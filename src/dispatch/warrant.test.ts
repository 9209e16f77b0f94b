import { describe, expect, it } from 'vitest'
import type { Warrant } from './protocol.ts'
import { type About, aboutOf, warrantOf } from './warrant.ts'

const token = 'a'.repeat(32)
const old = 'b'.repeat(32)
const open: Omit<Warrant, 'seal'> = {
  ...{ uuid: 'zzzzz-dz642-000000000000001', run: 7, owner: 'ada' },
  spec: {
    ...{ command: ['true'], image: 'busybox', environment: { A: '1', B: '2' }, cwd: '/' },
    ...{ mounts: {}, vcpus: 1, ramBytes: 1, maxRunSeconds: 0 },
  },
}
const about = { view: { owner: 'ada' }, shape: { tenant: 't', supervisor: false }, priority: 5 } as unknown as About
const warrant = warrantOf(token, open, about)

describe('aboutOf', () => {
  it('reads what the installation sealed, whatever the order of keys', () => {
    expect(aboutOf([token], warrant)).toEqual(about)
    const turned = { ...warrant, spec: { ...warrant.spec, environment: { B: '2', A: '1' } } }
    expect(aboutOf([token], turned)).toEqual(about)
  })

  it('reads a seal by a token before, and none without that', () => {
    const former = warrantOf(old, open, about)
    expect(aboutOf([token, old], former)).toEqual(about)
    expect(aboutOf([token], former)).toBeUndefined()
  })

  const forged = Buffer.from(JSON.stringify({ ...about, priority: 1000 })).toString('base64url')
  it.each<[string, Partial<Warrant>]>([
    ['uuid', { uuid: 'zzzzz-dz642-000000000000002' }],
    ['run', { run: 8 }],
    ['owner', { owner: 'eve' }],
    ['command', { spec: { ...open.spec, command: ['true', ''] } }],
    ['environment', { spec: { ...open.spec, environment: { A: '1' } } }],
    ['seal', { seal: '' }],
    ['seal', { seal: `${warrant.seal}0` }],
    ['priority', { seal: `${forged}.${warrant.seal.split('.')[1]}` }],
  ])('reads nothing when the %s is another', (_, change) => {
    expect(aboutOf([token], { ...warrant, ...change })).toBeUndefined()
  })
})
