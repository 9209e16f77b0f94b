import { beforeEach, describe, expect, test } from 'vitest'
import { seedTemplate } from '../../test/kit/apps/seed.ts'
import { asObject, type JsonObject } from '../base/json.ts'
import { valueAt } from '../reconcile/merge.ts'
import { TemplateService, type TemplateWish } from './templates.ts'
import { Site } from './testing/site.ts'

let site: Site
beforeEach(() => {
  site = new Site()
})

const marked = 'marked-secret'
const root = { username: 'root' }
const standing = (id: string) =>
  [...site.api.objects.values()].find(({ kind, metadata }) => kind === 'PhAppTemplate' && metadata.name === id)
const wish = (more: Partial<TemplateWish> = {}): TemplateWish => ({
  ...{ name: 'A', template: { spec: { podTemplate: { spec: { containers: [{ name: 'a', image: 'i:1' }] } } } } },
  ...more,
})
const withEnv = (...env: JsonObject[]) => ({
  template: { spec: { podTemplate: { spec: { containers: [{ name: 'a', image: 'i:1', env }] } } } },
})
const refused = (status: number) => expect.objectContaining({ status })

describe('TemplateService', () => {
  test('lists those of its namespace by id, in pages', () => {
    for (const id of ['b', 'a', 'c']) site.template(id, { name: id })
    site.template('d', { name: 'd' }, 'physics')
    const first = site.templates.list({ limit: 2 })
    expect([first.templates.map(({ id }) => id), first.cursor]).toEqual([['a', 'b'], 'b'])
    const last = site.templates.list({ limit: 2, cursor: 'b' })
    expect([last.templates.map(({ id }) => id), last.cursor]).toEqual([['c'], undefined])
    expect(() => site.templates.find('d')).toThrow(refused(404))
  })

  test('shows none that is being deleted, and makes no app of it', () => {
    site.template('a', { name: 'a' })
    const object = standing('a')!
    site.api.put({ ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })
    expect(site.templates.list({ limit: 9 }).templates).toEqual([])
    expect(() => site.templates.find('a')).toThrow(refused(404))
    expect(site.templates.whole('a')).toBeUndefined()
  })

  test('shows whatever somebody wrote', () => {
    site.template('odd', { name: 7, defaultEnvs: 'x', template: [] })
    expect(site.templates.find('odd').detail).toMatchObject({ id: 'odd', name: 'odd', defaultEnvs: [] })
  })

  test('has none where no namespace is set, and is 503 until the watch shows the cluster', async () => {
    const watch = { get: () => undefined, values: () => [] }
    const common = { watch, writer: undefined as never, secretPatterns: [] }
    const off = new TemplateService({ ...common, namespace: undefined, isSynced: () => false })
    expect(off.list({ limit: 1 })).toEqual({ templates: [] })
    expect(off.whole('a')).toBeUndefined()
    await expect(off.put('a', wish(), root)).rejects.toEqual(refused(404))
    await expect(off.delete('a', root)).rejects.toEqual(refused(404))
    await expect(off.read('a', root)).rejects.toEqual(refused(404))
    const blind = new TemplateService({ ...common, namespace: 'hub', isSynced: () => false })
    for (const ask of [() => blind.list({ limit: 1 }), () => blind.find('a'), () => blind.whole('a')])
      expect(ask).toThrow(refused(503))
  })

  test('makes a template, and replaces it as a whole', async () => {
    const seed = asObject(seedTemplate().spec)
    const spec = asObject(asObject(seed.template).spec)
    const first = await site.templates.put('a', wish({ description: 'd', template: { spec } }), root)
    expect([first.isNew, first.detail.description, first.detail.template.spec]).toEqual([true, 'd', spec])
    const next = await site.templates.put('a', wish(), root)
    expect([next.isNew, next.detail.description]).toEqual([false, ''])
    expect(asObject(standing('a')!.spec).template).toEqual(wish().template)
    const writes = site.api.writes.length
    await site.templates.put('a', wish(), root)
    expect(site.api.writes).toHaveLength(writes)
  })

  test('writes what another one has just undone when the watch shows that it is so', async () => {
    await site.templates.put('a', wish(), root)
    site.api.live = false
    site.template('a', { ...asObject(standing('a')!.spec), name: 'B' })
    await site.templates.put('a', wish(), root)
    expect(standing('a')!.spec).toMatchObject({ name: 'A' })
  })

  test('leaves the secret values, reads and deletes a template, when the watch does not show it yet', async () => {
    site.api.live = false
    site.template('a', { name: 'a', ...withEnv({ name: 'A_KEY', value: marked }) })
    await site.templates.put('a', wish(withEnv({ name: 'A_KEY', value: '***' })), root)
    expect(JSON.stringify(standing('a')!.spec)).toContain(marked)
    site.template('b', { name: 'b' })
    expect((await site.templates.read('b', root)).detail.name).toBe('b')
    await site.templates.delete('b', root)
    expect(standing('b')).toBeUndefined()
  })

  test('makes a template anew when the watch still shows the one that was deleted', async () => {
    await site.templates.put('a', wish(), root)
    site.api.live = false
    site.api.remove({ apiVersion: standing('a')!.apiVersion, kind: 'PhAppTemplate', name: 'a', namespace: 'hub' })
    await expect(site.templates.put('a', wish(), root, '*')).rejects.toEqual(refused(412))
    expect((await site.templates.put('a', wish(), root)).isNew).toBe(true)
    expect(standing('a')).toBeDefined()
  })

  test('binds a change to a version', async () => {
    await expect(site.templates.put('a', wish(), root, '*')).rejects.toEqual(refused(412))
    const { etag } = await site.templates.put('a', wish(), root)
    await expect(site.templates.put('a', wish({ name: 'B' }), root, '"x.1"')).rejects.toEqual(refused(412))
    await expect(site.templates.delete('a', root, '"x.1"')).rejects.toEqual(refused(412))
    await site.templates.delete('a', root, etag)
    expect(standing('a')).toBeUndefined()
    await expect(site.templates.delete('a', root)).rejects.toEqual(refused(404))
  })

  test('shows no secret value, and leaves one that comes back as it was shown', async () => {
    const defaultEnvs = [{ name: 'API_TOKEN', defaultValue: marked }]
    const secret = { name: 'DB_KEY', value: marked }
    const { detail } = await site.templates.put('a', wish({ ...withEnv(secret), defaultEnvs }), root)
    expect(JSON.stringify(detail)).not.toContain(marked)
    const { name, template, defaultEnvs: shown } = detail
    await site.templates.put('a', { name, template, defaultEnvs: shown, version: '2' }, root)
    const spec = asObject(standing('a')!.spec)
    const env = ['template', 'spec', 'podTemplate', 'spec', 'containers', '0', 'env']
    expect([valueAt(spec, env), valueAt(spec, ['defaultEnvs', '0', 'defaultValue'])]).toEqual([[secret], marked])
  })

  test('refuses a mask where no secret value stands', async () => {
    site.template('a', { name: 'a', ...withEnv({ name: 'PLAIN', value: 'x' }) })
    for (const name of ['PLAIN', 'A_KEY']) {
      await expect(site.templates.put('a', wish(withEnv({ name, value: '***' })), root)).rejects.toMatchObject({
        status: 422,
        detail: [{ loc: ['body', 'template', 'spec', 'podTemplate', 'spec', 'containers', 0, 'env', 0, 'value'] }],
      })
      const defaultEnvs = [{ name, defaultValue: '***' }]
      await expect(site.templates.put('a', wish({ defaultEnvs }), root)).rejects.toEqual(refused(422))
    }
  })
})
