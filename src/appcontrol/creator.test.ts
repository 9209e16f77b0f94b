import { beforeEach, describe, expect, test } from 'vitest'
import { seedApp, seedTemplate } from '../../test/kit/apps/seed.ts'
import { appAnnotations } from '../apps/words.ts'
import { type ApiError, RetryLater } from '../base/errors.ts'
import { asObject } from '../base/json.ts'
import { KubeError } from '../kube/errors.ts'
import type { AppWish } from './creation.ts'
import type { EnvWish } from './env.ts'
import { containersOf } from './env.ts'
import { ann, eve, root, Site, user } from './testing/site.ts'

let site: Site
beforeEach(() => {
  site = new Site()
  site.template('mlflow', asObject(seedTemplate().spec))
})

const marked = 'marked-secret'
const filled = [
  { name: 'BACKEND_STORE_URI', value: 'sqlite:///$(PRIMEHUB_APP_ROOT)/mlflow.db' },
  { name: 'DEFAULT_ARTIFACT_ROOT', value: '$(PRIMEHUB_APP_ROOT)/mlruns' },
]
const wish = (more: Partial<AppWish> = {}): AppWish => ({
  ...{ id: 'mlflow-xyzab', templateId: 'mlflow', displayName: 'My MLflow', groupName: 'physics' },
  ...{ instanceType: '', scope: 'group', env: filled, ...more },
})
const create = (more?: Partial<AppWish>, asker = ann) => site.service.create(wish(more), asker)
const made = (id = 'mlflow-xyzab') => site.object(id)!
const envOf = (id?: string) => containersOf(asObject(made(id).spec))[0]!.env
const refused = (status: number, ...loc: (string | number)[]) =>
  expect.objectContaining({ status, ...(loc.length > 0 && { detail: [expect.objectContaining({ loc })] }) })

describe('AppService.create', () => {
  test('makes the application of the seed of the template of the seed', async () => {
    const { isNew, detail, etag } = await create()
    expect([isNew, detail.id, detail.phase, etag]).toEqual([true, 'mlflow-xyzab', 'Starting', '"uid-2.0"'])
    const seed = asObject(seedApp().spec)
    expect(made().spec).toEqual({ ...seed, groupName: 'physics' })
    expect(site.written).toEqual(['mlflow-xyzab'])
  })

  test('answers with the app when it is made, and the API server does not answer again', async () => {
    site.onRead = () => {
      throw new RetryLater('silent')
    }
    expect((await create()).isNew).toBe(true)
    expect(site.written).toEqual(['mlflow-xyzab'])
  })

  test('makes no app again when it was deleted at once', async () => {
    site.onRead = ref => site.api.remove(ref)
    await expect(create()).rejects.toEqual(refused(503))
    expect(site.object('mlflow-xyzab')).toBeUndefined()
    expect(site.api.writes).toEqual(['create PhApplication mlflow-xyzab'])
  })

  test('keeps the template and what was filled in as annotations', async () => {
    await create()
    const { annotations } = made().metadata
    const template = JSON.parse(annotations![appAnnotations.template]!)
    expect(template).toMatchObject({ kind: 'PhAppTemplate', metadata: { name: 'mlflow' } })
    expect(template.spec.template).toEqual(asObject(seedTemplate().spec).template)
    expect(JSON.parse(annotations![appAnnotations.templateData]!)).toEqual(wish())
  })

  test('gives the defaults of the template when no variables are sent, and for those without a value', async () => {
    await create({ env: undefined })
    const defaults = filled.map(({ name, value }) => ({ name, value: value.replace('sqlite:///', 'sqlite://') }))
    expect(envOf()).toEqual([{ name: 'FOO', value: 'bar' }, ...defaults])
    await create({ id: 'b', env: [...filled.map(({ name }) => ({ name })), { name: 'MORE', value: '' }] })
    expect(envOf('b')).toEqual([{ name: 'FOO', value: 'bar' }, ...defaults, { name: 'MORE', value: '' }])
  })

  test('refuses an empty value of a variable that is not optional, and takes one of a variable that is', async () => {
    const spec = asObject(seedTemplate().spec)
    site.template('loose', {
      ...spec,
      defaultEnvs: [
        { name: 'A', defaultValue: 'a' },
        { name: 'B', optional: true },
      ],
    })
    const env = (...entries: EnvWish[]) => create({ templateId: 'loose', env: entries })
    await expect(env({ name: 'A', value: '' })).rejects.toEqual(refused(422, 'body', 'env', 0, 'value'))
    await expect(env({ name: 'A', value: 'x' }, { name: 'A', value: '' })).rejects.toEqual(
      refused(422, 'body', 'env', 1, 'value'),
    )
    await expect(env()).rejects.toEqual(refused(422, 'body', 'env'))
    await expect(env({ name: 'A', value: '1' }, { name: 'Z' })).rejects.toEqual(refused(422, 'body', 'env', 1, 'value'))
    expect(site.api.writes).toEqual([])
    await env({ name: 'A', value: '1' }, { name: 'B', value: '' })
    await expect(site.service.change('mlflow-xyzab', ann, { env: [{ name: 'A', value: '' }] })).rejects.toEqual(
      refused(422, 'body', 'env', 0, 'value'),
    )
  })

  test('is answered with the app that is there when the same wish comes again', async () => {
    await create()
    const before = made()
    const again = await create()
    expect([again.isNew, again.detail.id]).toEqual([false, 'mlflow-xyzab'])
    expect(made()).toEqual(before)
    await expect(create({ scope: 'public' })).rejects.toEqual(refused(409, 'body', 'id'))
    // The same words of another template are another wish.
    site.template('mlflow', { ...asObject(seedTemplate().spec), name: 'other', version: '2' })
    await expect(create()).rejects.toEqual(refused(409, 'body', 'id'))
    expect(made()).toEqual(before)
  })

  test('is answered with the app when the reply to its own creation was lost', async () => {
    site.api.live = false
    await create()
    // This replica knows nothing of it.
    const other = new Site()
    other.template('mlflow', asObject(seedTemplate().spec))
    other.api.live = false
    const { metadata, ...rest } = made()
    other.api.put({ ...rest, metadata })
    expect((await other.service.create(wish(), ann)).isNew).toBe(false)
  })

  test('is refused under the id of another app, of any group, and tells nothing of it', async () => {
    site.declare('mlflow-xyzab', { namespace: 'others', spec: { groupName: 'others' } })
    const error = await create().catch((thrown: ApiError) => thrown)
    expect(error).toEqual(refused(409, 'body', 'id'))
    expect((error as ApiError).message).not.toContain('others')
    const other = site.declare('b')
    await expect(create({ id: 'b' })).rejects.toEqual(refused(409))
    expect([made('b'), site.object('mlflow-xyzab')]).toEqual([other, undefined])
  })

  test('takes an id from nobody whose namespace is not that of his group', async () => {
    site.declare('mlflow-xyzab', { namespace: 'any', spec: { groupName: 'physics' } })
    expect((await create()).isNew).toBe(true)
  })

  test('is refused for a group of which the caller is no member, before anything is told of it', async () => {
    for (const groupName of ['others', 'nobody', '..', '👾', 'x'.repeat(253)]) {
      await expect(create({ groupName, templateId: 'none' })).rejects.toEqual(refused(403, 'body', 'groupName'))
    }
    await expect(create({}, eve)).rejects.toEqual(refused(403))
    expect(site.api.writes).toEqual([])
    expect((await create({}, root)).isNew).toBe(true)
  })

  test('is refused for a group that has no namespace for apps', async () => {
    for (const groupName of ['..', '👾', 'é'.repeat(126)]) {
      await expect(create({ groupName }, user('ann', groupName))).rejects.toEqual(refused(422, 'body', 'groupName'))
      await expect(create({ groupName }, root)).rejects.toEqual(refused(422, 'body', 'groupName'))
    }
  })

  test('is refused without the template, also where another namespace has it, and for no instance type', async () => {
    site.template('secret', asObject(seedTemplate().spec), 'physics')
    for (const templateId of ['none', 'secret', 'toString'])
      await expect(create({ templateId })).rejects.toEqual(refused(422, 'body', 'templateId'))
    await expect(create({ instanceType: 'toString' })).rejects.toEqual(refused(422, 'body', 'instanceType'))
  })

  test('says in the API server’s words what it refuses, such as annotations of 1 MB', async () => {
    site.api.onWrite = () => {
      throw new KubeError(422, 'Invalid', 'metadata.annotations: Too long: may not be more than 262144 bytes')
    }
    await expect(create()).rejects.toThrow('the API server refuses it: metadata.annotations: Too long')
  })

  test('says that the namespace of the group is not there, or ends', async () => {
    const words = 'unable to create new content in namespace physics because it is being terminated'
    for (const error of [new KubeError(404, 'NotFound', 'namespaces'), new KubeError(403, 'Forbidden', words)]) {
      site.api.onWrite = () => {
        throw error
      }
      await expect(create()).rejects.toEqual(refused(503))
    }
  })
})

describe('the secrets of a new app', () => {
  const env = [...filled, { name: 'API_TOKEN', value: marked }]
  const templateOf = (more: object) => site.template('secret', { ...asObject(seedTemplate().spec), ...more })
  const secretly = { podTemplate: { spec: { containers: [{ name: 'a', env: [{ name: 'DB_KEY', value: marked }] }] } } }

  test('are in a Secret of the app, and in nothing else', async () => {
    const { detail } = await create({ env })
    const [secret, ...others] = site.secrets('mlflow-xyzab')
    expect(others).toEqual([])
    expect(secret!.metadata.ownerReferences).toMatchObject([{ name: 'mlflow-xyzab', uid: made().metadata.uid }])
    expect(Object.values(asObject(secret!.data))).toEqual([Buffer.from(marked).toString('base64')])
    expect(JSON.stringify([made(), detail, site.service.find('mlflow-xyzab', ann)])).not.toContain(marked)
    expect(JSON.parse(made().metadata.annotations![appAnnotations.templateData]!).env.at(-1)).toEqual({
      ...{ name: 'API_TOKEN', value: '***' },
    })
  })

  test('of its template are there too, and stay when people change theirs', async () => {
    templateOf({ template: { spec: secretly }, defaultEnvs: [{ name: 'API_TOKEN', defaultValue: marked }] })
    const wished = { templateId: 'secret', env: [{ name: 'API_TOKEN', value: '***' }] }
    const { detail } = await create(wished)
    expect((await create(wished)).isNew).toBe(false)
    expect(Object.keys(asObject(site.secrets('mlflow-xyzab')[0]!.data))).toEqual(['template.0', 'own.0'])
    expect(JSON.stringify([made(), detail])).not.toContain(marked)
    const before = envOf()
    await site.service.change('mlflow-xyzab', ann, { env: [{ name: 'API_TOKEN' }, { name: 'B', value: 'b' }] })
    expect(envOf()).toEqual([...(before as object[]), { name: 'B', value: 'b' }])
    expect(JSON.stringify([site.templates.find('secret'), site.templates.list({ limit: 9 })])).not.toContain(marked)
  })

  test('have keys of a Secret whatever their variables are called, and a refusal of it is said', async () => {
    await create({ env: [...filled, { name: 'MY TOKEN/é', value: marked }] })
    expect(Object.keys(asObject(site.secrets('mlflow-xyzab')[0]!.data))).toEqual(['own.2'])
    site.api.onWrite = (_, ref) => {
      if (ref.kind === 'Secret') throw new KubeError(422, 'Invalid', 'Secret is invalid: data: Too long')
    }
    await expect(create({ id: 'b', env })).rejects.toThrow('the API server refuses it')
  })

  test('of containers that no app runs are nowhere', async () => {
    const env = [{ name: 'DB_PASSWORD', value: marked }]
    const [first] = secretly.podTemplate.spec.containers
    const pod = {
      containers: [first, { name: 'b', env }],
      initContainers: [{ name: 'c', env }],
      ephemeralContainers: [{ env }],
    }
    templateOf({ template: { spec: { podTemplate: { spec: pod } } }, defaultEnvs: [] })
    const { detail } = await create({ templateId: 'secret', env: [] })
    expect(JSON.stringify([made(), detail, site.templates.find('secret')])).not.toContain(marked)
    expect(containersOf(asObject(made().spec))).toMatchObject([{ name: 'a' }])
  })

  test('are written by a repeat when the replica died before it wrote them', async () => {
    let isFirst = true
    site.api.onWrite = (_, ref) => {
      if (ref.kind === 'Secret' && isFirst) {
        isFirst = false
        throw new KubeError(500, 'InternalError', 'gone')
      }
    }
    await expect(create({ env })).rejects.toThrow('gone')
    expect(site.secrets('mlflow-xyzab')).toEqual([])
    expect((await create({ env })).isNew).toBe(false)
    const [secret] = site.secrets('mlflow-xyzab')
    expect(JSON.stringify(envOf())).toContain(secret!.metadata.name)
    // Once it is there nothing writes it again.
    await create({ env: [...filled, { name: 'API_TOKEN', value: 'other' }] })
    expect(site.secrets('mlflow-xyzab')).toEqual([secret])
  })
})
