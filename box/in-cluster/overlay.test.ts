import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { configSchema } from '../../src/config/schema.ts'
import { makeUsers } from '../stack-config.ts'
import { type OverlayPlan, placeLabs, writeOverlay } from './overlay.ts'

const digest = `sha256:${'a'.repeat(64)}`
const reference = (name: string) => `127.0.0.1:5000/skylab/${name}@${digest}`

let plan: OverlayPlan
let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'overlay-'))
  const authority = join(parent, 'authority')
  writeFileSync(authority, 'PEM')
  plan = {
    folder: join(parent, 'overlay'),
    images: { controller: reference('controller'), redis: reference('redis-server'), coredns: reference('coredns') },
    registry: { address: '10.244.0.1:5001', authority },
    labs: { docker: { repository: 'some/lab' }, recommendedTag: 'recommended' },
    users: makeUsers(3),
  }
})
afterEach(() => rmSync(parent, { recursive: true }))

const text = (name: string) => readFileSync(join(plan.folder, name), 'utf8')

test('it lies over the overlay demo, with the images of this run by digest', async () => {
  await writeOverlay(plan)
  const { resources, images } = parse(text('kustomization.yaml'))
  expect(existsSync(resolve(plan.folder, resources[0], 'kustomization.yaml'))).toBe(true)
  expect(images).toEqual([
    { name: 'skylab', newName: '127.0.0.1:5000/skylab/controller', digest },
    { name: 'docker.io/library/redis', newName: '127.0.0.1:5000/skylab/redis-server', digest },
  ])
})

test('its secrets are new ones, which nobody else can read', async () => {
  const { redisPassword } = await writeOverlay(plan)
  expect(text('password')).toBe(redisPassword)
  expect(text('users.acl')).toMatch(
    new RegExp(`^user default off\nuser skylab reset on >${redisPassword} ~\\{skylab\\}:\\* `),
  )
  expect(Buffer.from(text('sealing.key'), 'base64')).toHaveLength(32)
  expect(text('tokens.yaml')).toContain(plan.users.ada!.token)
  for (const name of ['password', 'users.acl', 'sealing.key', 'tokens.yaml']) {
    expect(statSync(join(plan.folder, name)).mode & 0o777).toBe(0o600)
  }
})

test('its configuration is that of the overlay, but for where labs come from and go to', async () => {
  await writeOverlay(plan)
  const config = () => configSchema.parse(parse(text('skylab.yaml'), { version: '1.1' }))
  expect(config()).toMatchObject({
    identity: { provider: 'static' },
    images: { registry: '10.244.0.1:5001', docker: { repository: 'some/lab' } },
    lab: { nodeSelector: {}, tolerations: [] },
  })
  await placeLabs(plan, 'kwok')
  expect(config().lab).toMatchObject({ nodeSelector: { type: 'kwok' } })
  expect(config().redis.passwordFile).toBe('/etc/skylab/secrets/redis.password')
})
