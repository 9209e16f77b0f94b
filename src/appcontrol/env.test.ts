import { beforeEach, describe, expect, test } from 'vitest'
import { appAnnotations } from '../apps/words.ts'
import { asObjects } from '../base/json.ts'
import { containersOf, type EnvWish } from './env.ts'
import { ann, Site } from './testing/site.ts'

let site: Site
beforeEach(() => {
  site = new Site()
})

type Entry = Readonly<Record<string, unknown>>
const podTemplate = (env: readonly Entry[] | undefined, ...more: object[]) => ({
  podTemplate: { spec: { containers: [{ name: 'main', image: 'i:1', ...(env && { env }) }, ...more] } },
})
const templateOf = (env: readonly Entry[]) => ({
  [appAnnotations.template]: JSON.stringify({ spec: { template: { spec: podTemplate(env) } } }),
})
const envOf = (id = 'a') => asObjects(containersOf(site.object(id)!.spec as never)[0]!.env)
const set = (env: readonly EnvWish[]) => site.service.change('a', ann, { env })
const shown = () => site.service.find('a', ann).detail
type Ref = Readonly<Record<'name' | 'key', string>>
/** The values that a pod gets from the secrets that these entries name. */
const valuesOf = (entries: readonly object[] = envOf()) =>
  Object.fromEntries(
    (entries as { name: string; valueFrom?: { secretKeyRef?: Ref } }[]).flatMap(({ name, valueFrom }) => {
      const { name: secret, key } = valueFrom?.secretKeyRef ?? {}
      const data = site.secrets('a').find(({ metadata }) => metadata.name === secret)?.data as Record<string, string>
      return key === undefined ? [] : [[name, Buffer.from(data[key]!, 'base64').toString()]]
    }),
  )
const marked = 'marked-secret'

describe('a change of env', () => {
  test('replaces all variables of the first container, and touches no other one', async () => {
    const other = { name: 'other', image: 'o:1', env: [{ name: 'X', value: '1' }] }
    site.declare('a', {
      spec: podTemplate(
        [
          { name: 'A', value: '1' },
          { name: 'B', value: '2' },
        ],
        other,
      ),
    })
    await set([{ name: 'C', value: '3' }])
    expect(envOf()).toEqual([{ name: 'C', value: '3' }])
    expect(containersOf(site.object('a')!.spec as never)[1]).toEqual(other)
    await set([])
    expect(envOf()).toEqual([])
  })

  test('leaves the variables of the template before them', async () => {
    const template = [
      { name: 'T', value: 't' },
      { name: 'A', value: 'template' },
    ]
    const spec = podTemplate([...template, { name: 'A', value: 'mine' }])
    site.declare('a', { spec, annotations: templateOf(template) })
    expect(shown()).toMatchObject({
      env: [{ name: 'A', value: 'mine' }],
      templateEnv: [
        { name: 'T', value: 't' },
        { name: 'A', value: 'template' },
      ],
    })
    await set([{ name: 'B', value: 'b' }])
    expect(envOf()).toEqual([...template, { name: 'B', value: 'b' }])
    // Once more: they do not pile up.
    await set([{ name: 'B', value: 'c' }])
    expect(envOf()).toEqual([...template, { name: 'B', value: 'c' }])
  })

  test.each([
    '{',
    '[]',
    'null',
    '{"spec":7}',
    '{"spec":{"template":{"spec":{"podTemplate":{"spec":{"containers":7}}}}}}',
  ])('takes all variables for those of people when the template is %s', async text => {
    const annotations = { [appAnnotations.template]: text }
    site.declare('a', { spec: podTemplate([{ name: 'A', value: '1' }]), annotations })
    await set([{ name: 'B', value: '2' }])
    expect(envOf()).toEqual([{ name: 'B', value: '2' }])
  })

  test('keeps a variable without a value as it stands, whatever it is', async () => {
    const field = { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }
    site.declare('a', { spec: podTemplate([field, { name: 'A', value: '1' }]) })
    expect(shown().env).toEqual([{ name: 'NODE' }, { name: 'A', value: '1' }])
    await set([{ name: 'A' }, { name: 'NODE' }])
    expect(envOf()).toEqual([{ name: 'A', value: '1' }, field])
    await expect(set([{ name: 'A' }, { name: 'Z' }])).rejects.toMatchObject({
      ...{ status: 422, detail: [{ type: 'invalid', loc: ['body', 'env', 1, 'value'] }] },
    })
  })

  test('can be what was shown', async () => {
    site.declare('a', { spec: podTemplate([{ name: 'A', value: '1' }]) })
    await set([
      { name: 'A', value: '2' },
      { name: 'API_TOKEN', value: marked },
    ])
    const before = site.object('a')!.spec
    await set(shown().env)
    expect(site.object('a')!.spec).toEqual(before)
    expect(site.patches).toHaveLength(1)
  })

  test('follows in the annotation with the wish by which the app was made, without secrets', async () => {
    const annotations = { [appAnnotations.templateData]: JSON.stringify({ id: 'a', env: [], scope: 'group' }) }
    site.declare('a', { spec: podTemplate([{ name: 'A', value: '1' }]), annotations })
    const env = [{ name: 'A' }, { name: 'API_TOKEN', value: marked }]
    await site.service.change('a', ann, { scope: 'public', env })
    const text = site.object('a')!.metadata.annotations![appAnnotations.templateData]!
    const shown = [
      { name: 'A', value: '1' },
      { name: 'API_TOKEN', value: '***' },
    ]
    expect(JSON.parse(text)).toEqual({ id: 'a', scope: 'public', env: shown })
  })
})

describe('a secret variable', () => {
  test('goes to a Secret that belongs to the app, and is shown nowhere', async () => {
    site.declare('a', { uid: 'u' })
    const { detail } = await set([
      { name: 'API_TOKEN', value: marked },
      { name: 'DB', value: `postgres://x:${marked}@db` },
    ])
    expect(detail.env).toEqual([
      { name: 'API_TOKEN', value: '***' },
      { name: 'DB', value: '***' },
    ])
    expect(valuesOf()).toEqual({ API_TOKEN: marked, DB: `postgres://x:${marked}@db` })
    const [secret, ...others] = site.secrets('a')
    expect(others).toEqual([])
    expect(secret!.metadata).toMatchObject({
      name: expect.stringMatching(/^app-a-env-[0-9a-f]{16}$/),
      labels: { 'primehub.io/phapplication': 'a' },
      ownerReferences: [{ kind: 'PhApplication', name: 'a', uid: 'u' }],
    })
    expect(JSON.stringify([site.object('a'), site.patches, detail])).not.toContain(marked)
    const [first] = envOf()
    expect(first).toMatchObject({ name: 'API_TOKEN', valueFrom: { secretKeyRef: { name: secret!.metadata.name } } })
  })

  test('is masked where somebody wrote it into the PhApplication or its template', () => {
    const secret = { name: 'MY_KEY', value: marked }
    site.declare('a', { spec: podTemplate([secret, { ...secret, name: 'B_KEY' }]), annotations: templateOf([secret]) })
    expect(JSON.stringify(shown())).not.toContain(marked)
    expect(shown()).toMatchObject({ templateEnv: [{ value: '***' }], env: [{ name: 'B_KEY', value: '***' }] })
  })

  test('stays by its mask, and comes from another Secret with a new value', async () => {
    site.declare('a')
    await set([
      { name: 'A_KEY', value: 'one' },
      { name: 'B_KEY', value: 'two' },
    ])
    const before = envOf()
    const [a, b] = before
    await set([
      { name: 'B_KEY', value: 'three' },
      { name: 'A_KEY', value: '***' },
    ])
    const [newB, sameA] = envOf()
    expect(sameA).toEqual(a)
    expect(newB).not.toEqual(b)
    // A pod of before still starts with what it had.
    expect(valuesOf(before)).toEqual({ A_KEY: 'one', B_KEY: 'two' })
    expect(valuesOf()).toEqual({ A_KEY: 'one', B_KEY: 'three' })
    // A Secret has the new values alone, and nobody writes it again.
    expect(site.secrets('a').map(({ data }) => Object.keys(data as object).length)).toEqual([2, 1])
    const writes = site.api.writes.filter(each => each.includes(' Secret '))
    expect(writes.map(each => each.split(' ')[0])).toEqual(['create', 'create'])
  })

  test('has no mask to stay by where there is none', async () => {
    site.declare('a', { spec: podTemplate([{ name: 'A', value: 'plain' }]) })
    for (const name of ['A', 'B_KEY']) {
      await expect(set([{ name, value: '***' }])).rejects.toMatchObject({ status: 422 })
    }
    expect(site.api.writes).toEqual([])
  })

  test('is not written into a Secret that is there', async () => {
    site.declare('a')
    site.api.onWrite = (verb, ref) => {
      if (verb === 'create') site.api.put({ ...ref, metadata: { ...ref }, data: { k: 'dg==' } } as never)
    }
    const change = set([{ name: 'A_KEY', value: marked }])
    await expect(change).rejects.toMatchObject({ status: 409, detail: [{ type: 'conflict' }] })
    expect(envOf()).toEqual([])
    expect(site.secrets('a').map(({ data }) => data)).toEqual([{ k: 'dg==' }])
  })

  test('has one Secret when somebody writes the app meanwhile', async () => {
    site.declare('a')
    site.api.onWrite = (verb, ref) => {
      if (verb !== 'patch' || ref.kind !== 'PhApplication') return
      site.api.onWrite = () => {}
      site.declare('a', { spec: { displayName: 'other' } })
    }
    await set([{ name: 'A_KEY', value: 'two' }])
    expect(valuesOf()).toEqual({ A_KEY: 'two' })
    expect(site.secrets('a')).toHaveLength(1)
  })

  test('is refused when the app is made anew meanwhile, and goes to a Secret of the new one then', async () => {
    site.declare('a', { uid: 'old' })
    site.api.onWrite = (verb, ref) => {
      if (verb !== 'patch' || ref.kind !== 'PhApplication') return
      site.api.onWrite = () => {}
      site.declare('a', { uid: 'new' })
    }
    await expect(set([{ name: 'A_KEY', value: 'two' }])).rejects.toMatchObject({ status: 409 })
    await set([{ name: 'A_KEY', value: 'three' }])
    expect(site.secrets('a').map(({ metadata }) => metadata.ownerReferences![0]!.uid)).toEqual(['old', 'new'])
  })
})
