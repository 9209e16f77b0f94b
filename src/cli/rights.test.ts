import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { configSchema } from '../config/schema.ts'
import { renderRights } from '../labs/rights.ts'
import { renderTenantRights } from '../tenants/settings.ts'
import { CommandTest } from './testing/command.ts'

let test: CommandTest
beforeAll(async () => {
  test = await CommandTest.start()
})
afterAll(() => test.stop())

const rights = async (config: unknown, ...more: string[]) =>
  test.run('rights', '--config', await test.file('skylab.yaml', config), ...more)

describe('skylab rights', () => {
  const config = {
    installation: 'observatory',
    lab: { secrets: [{ name: 'db', key: 'password' }], tolerations: [{ operator: 'Exists' }] },
  }

  it('prints the rights as YAML documents', async () => {
    const { code, out, err } = await rights(config, '--namespace', 'skylab')
    expect([code, err]).toEqual([0, ''])
    const objects = parseAllDocuments(out, { version: '1.1' }).map(each => each.toJS())
    expect(objects).toEqual(renderRights(configSchema.parse(config), 'skylab'))
  })

  it('grants them to the account of the given or configured namespace', async () => {
    expect((await rights(config, '--namespace', 'labs')).out).toContain('namespace: labs')
    expect((await rights({ kubernetes: { namespace: 'ours' } })).out).toContain('namespace: ours')
  })

  it('exits 2 when the namespace is neither given nor configured', async () => {
    const { code, out, err } = await rights(config)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain('kubernetes.namespace: not set: name the namespace of the controller by --namespace NAME')
  })

  it('prints the settings of tenants, and the binding of their account, for a process that serves them', async () => {
    const tenants = { run: ['tenants'], tenants: { labelPrefixes: ['example.com/'] } }
    const { code, out } = await rights(tenants, '--namespace', 'ours')
    expect(code).toBe(0)
    const objects = parseAllDocuments(out, { version: '1.1' }).map(each => each.toJS())
    expect(objects).toEqual(renderTenantRights({ ...configSchema.parse(tenants), ownNamespace: 'ours' }))
    expect(out).toContain('example.com/')
  })

  it.each(['notebooks', 'apps'])('prints nothing for a process for %s, and says where its rights are', async what => {
    const { code, out, err } = await rights({ run: [what] }, '--namespace', 'ours')
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(`k8s/components/${what} has all of them`)
  })

  it('refuses an invalid configuration, by its key', async () => {
    const { code, out, err } = await rights({ lab: { mounts: [{ volume: 'x', path: '/x' }] } })
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain('lab.mounts.0.volume')
  })
})
