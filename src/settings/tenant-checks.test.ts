import { describe, expect, it } from 'vitest'
import { fitPlatform, unfitPlatforms } from '../../test/kit/tenants/platforms.ts'
import { configSchema } from '../config/schema.ts'
import { configWarnings, crossProblems } from './checks.ts'

/** A process for tenants without a warning. */
const calm = { run: ['tenants'], lab: { namespacePrefix: 'labs' }, tenants: { platform: { quota: { pods: 50 } } } }
const parsed = (more: object) => configSchema.parse({ ...calm, ...more })
const withPlatform = (platform: object) => parsed({ tenants: { platform: { quota: { pods: 50 }, ...platform } } })

describe('crossProblems of a process for tenants', () => {
  it.each(unfitPlatforms)('has a problem when every namespace would be refused: %j', (platform, problem) => {
    expect(crossProblems(withPlatform(platform))).toEqual([problem])
  })

  it('has none when quota and limits fit', () => {
    expect(crossProblems(withPlatform(fitPlatform))).toEqual([])
  })

  it('has none when the process serves labs: the block is that of another', () => {
    const config = configSchema.parse({
      identity: { provider: 'static', static: { file: 'x' } },
      tenants: { platform: { quota: { memorry: '1Gi' } } },
    })
    expect(crossProblems(config).filter(line => line.startsWith('tenants'))).toEqual([])
  })
})

describe('configWarnings of a process for tenants', () => {
  it('has none when everything is bounded', () => {
    expect(configWarnings(parsed({}))).toEqual([])
  })

  it.each([
    [{ kubernetes: { requirePolicy: false } }, /^kubernetes\.requirePolicy: .*whole cluster$/],
    [
      { tenants: { platform: { quota: { pods: 1 } }, laxestPodSecurity: 'privileged' } },
      /^tenants\.laxestPodSecurity: .*root of a node$/,
    ],
    [{ tenants: {} }, /^tenants\.platform\.quota: is empty/],
    [{ lab: {} }, /^lab\.namespacePrefix: is nublado, .*must be the prefix of the labs on this cluster$/],
  ])('has one when something is open: %j', (more, words) => {
    expect(configWarnings(parsed(more))).toEqual([expect.stringMatching(words)])
  })
})
