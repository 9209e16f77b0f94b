import { EventEmitter } from 'node:events'
import { beforeEach, describe, expect, it } from 'vitest'
import { appsApi, appsParts } from '../../../test/kit/api/apps-api.ts'
import { primehubQueries } from '../../../test/kit/api/primehub-queries.ts'
import { detailOf, jsonBody } from '../../../test/kit/api/scripted-api.ts'
import { seedTemplate } from '../../../test/kit/apps/seed.ts'
import type { Apps } from '../../appcontrol/service.ts'
import { Site } from '../../appcontrol/testing/site.ts'
import { appAnnotations } from '../../apps/words.ts'
import { asObject } from '../../base/json.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import { headOf } from '../request/head.ts'
import { createAppsApi } from './app.ts'

let site: Site
let lines: AuditEvent[]
beforeEach(() => {
  lines = []
  site = new Site({ isMember: () => true })
  site.template('mlflow', asObject(seedTemplate().spec))
})

const marked = 'marked-secret'
const env = [
  { name: 'BACKEND_STORE_URI', value: 'sqlite:///$(PRIMEHUB_APP_ROOT)/mlflow.db' },
  { name: 'DEFAULT_ARTIFACT_ROOT', value: '$(PRIMEHUB_APP_ROOT)/mlruns' },
]
const data = {
  ...{ id: 'mlflow-xyzab', templateId: 'mlflow', displayName: 'My MLflow', groupName: 'physics' },
  ...{ env, instanceType: '', scope: 'group' },
}
const config = { apps: { publicUrl: 'https://platform.example.org' } }

const send = (query: string, variables: object = {}, who = 'ann', more: object = {}) => {
  const call = appsApi({ apps: site.service, templates: site.templates, config: { ...config, ...more }, lines })
  const path = who === 'root' ? '/admin/graphql' : '=/api/graphql'
  return call('POST', path, who, jsonBody({ query, variables }))
}
// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
const ask = async (...given: Parameters<typeof send>): Promise<any> => {
  const response = await send(...given)
  expect(response.status).toBe(200)
  return response.json()
}
const where = { id: 'mlflow-xyzab' }

describe('the flows of the seed by GraphQL', () => {
  it('create: the templates are listed, one is chosen, and its app is the application of the seed', async () => {
    const { data: found } = await ask(primehubQueries.templates)
    expect(found.phAppTemplates).toMatchObject([
      { id: 'mlflow', name: 'MLFlow', defaultEnvs: [{ name: 'BACKEND_STORE_URI', optional: false }, {}] },
    ])
    expect(found.phAppTemplates[0].template).toEqual(asObject(seedTemplate().spec).template)
    expect(await ask(primehubQueries.create, { data })).toEqual({ data: { createPhApplication: { id: data.id } } })
    expect(asObject(asObject(site.object(data.id)!.spec).podTemplate)).toMatchObject({
      spec: { containers: [{ name: 'mlflow', env: [{ name: 'FOO', value: 'bar' }, ...env] }] },
    })
  })

  it('update: variables, scope and instance type change, and variables do not pile up', async () => {
    await ask(primehubQueries.create, { data })
    const { data: found } = await ask(primehubQueries.app, { where })
    expect(found.phApplication).toMatchObject({
      ...{ appName: 'mlflow', env, appDefaultEnv: [{ name: 'BACKEND_STORE_URI' }, {}], scope: 'group' },
      ...{ status: 'Starting', stop: false, groupName: 'physics', pods: [] },
      appTemplate: { name: 'MLFlow', docLink: '' },
      instanceTypeSpec: { name: 'small', cpuLimit: 1, memoryLimit: 2, gpuLimit: 0 },
    })
    const changed = { env: [...env, { name: 'MORE', value: '1' }], scope: 'public', instanceType: 'large' }
    for (const _ of [1, 2]) {
      const { data: answer } = await ask(primehubQueries.update, { where, data: changed })
      expect(answer.updatePhApplication).toMatchObject({ ...changed, id: data.id })
    }
    const spec = asObject(site.object(data.id)!.spec)
    expect(spec.podTemplate).toMatchObject({
      spec: { containers: [{ env: [{ name: 'FOO', value: 'bar' }, ...changed.env] }] },
    })
    const { errors } = await ask(primehubQueries.update, { where, data: { id: 'x' } })
    expect(errors[0].message).toContain('Field "id" is not defined')
  })

  it('log: each pod has the address of its log', async () => {
    await ask(primehubQueries.create, { data })
    const nothing = { initContainers: [], containers: [], reason: '', message: '', deleting: false }
    site.pods.push({ name: 'app-mlflow-xyzab-1-2', phase: 'Running', node: 'n', ...nothing } as never)
    const query =
      'query ($where: PhApplicationWhereUniqueInput!) { phApplication(where: $where) { pods { name logEndpoint } } }'
    const pods = async (who: string) => (await ask(query, { where }, who)).data.phApplication.pods
    expect(await pods('ann')).toEqual([
      {
        name: 'app-mlflow-xyzab-1-2',
        logEndpoint: 'https://platform.example.org/api/logs/pods/app-mlflow-xyzab-1-2',
      },
    ])
    expect((await pods('root'))[0].logEndpoint).toBe(
      'https://platform.example.org/apps/admin/v1/logs/pods/app-mlflow-xyzab-1-2',
    )
  })

  it('management: an app stops, starts and goes', async () => {
    await ask(primehubQueries.create, { data })
    expect((await ask(primehubQueries.stop, { where })).data.stopPhApplication.stop).toBe(true)
    expect((await ask(primehubQueries.start, { where })).data.startPhApplication.stop).toBe(false)
    expect((await ask(primehubQueries.delete, { where })).data.deletePhApplication.status).toBe('Stopping')
    expect(site.object(data.id)).toBeUndefined()
  })

  it('lists the apps of groups in pages, forwards and backwards', async () => {
    for (const id of ['a', 'b', 'c', 'd']) site.declare(id)
    const { phApplicationsConnection: first } = (await ask(primehubQueries.apps, { first: 2 })).data
    expect(first.edges.map(({ cursor }: { cursor: string }) => cursor)).toEqual(['a', 'b'])
    expect(first.pageInfo).toEqual({ hasNextPage: true, hasPreviousPage: false, startCursor: 'a', endCursor: 'b' })
    const idsOf = async (variables: object) => {
      const { edges, pageInfo } = (await ask(primehubQueries.apps, variables)).data.phApplicationsConnection
      return [edges.map(({ node }: { node: { id: string } }) => node.id).join(''), pageInfo.hasNextPage]
    }
    expect(await idsOf({ first: 9, after: 'b' })).toEqual(['cd', false])
    expect(await idsOf({ last: 1 })).toEqual(['d', false])
    expect(await idsOf({ last: 1, before: 'c' })).toEqual(['b', true])
    expect(await idsOf({ where: { groupName_in: ['others'] } })).toEqual(['', false])
    expect(await idsOf({ where: { appName_contains: 'flow' } })).toEqual(['', false])
    expect(await idsOf({ where: { id: 'c' } })).toEqual(['c', false])
    expect((await ask(primehubQueries.apps, { first: 101 })).errors[0].extensions).toMatchObject({ status: 422 })
  })
})

describe('templates by GraphQL', () => {
  const made = `mutation ($data: PhAppTemplateCreateInput!) { createPhAppTemplate(data: $data) { id name } }`
  const changed = `mutation ($where: PhAppTemplateWhereUniqueInput!, $data: PhAppTemplateUpdateInput!) {
    updatePhAppTemplate(where: $where, data: $data) { version name defaultEnvs { name } } }`
  const gone = `mutation ($where: PhAppTemplateWhereUniqueInput!) { deletePhAppTemplate(where: $where) { id } }`
  const { template } = asObject(seedTemplate().spec)

  it('are written by administrators at their path', async () => {
    const sent = { id: 'new', name: 'New', template, defaultEnvs: [{ name: 'A' }] }
    expect((await ask(made, { data: sent }, 'root')).data.createPhAppTemplate).toEqual({ id: 'new', name: 'New' })
    expect((await ask(made, { data: sent }, 'root')).errors[0].extensions).toMatchObject({ status: 409 })
    const answer = await ask(changed, { where: { id: 'new' }, data: { version: '2' } }, 'root')
    expect(answer.data.updatePhAppTemplate).toEqual({ version: '2', name: 'New', defaultEnvs: [{ name: 'A' }] })
    expect((await ask(gone, { where: { id: 'new' } }, 'root')).data.deletePhAppTemplate).toEqual({ id: 'new' })
  })

  it('are changed and deleted when the watch does not show them yet', async () => {
    site.api.live = false
    site.template('late', { name: 'Late', template })
    const answer = await ask(changed, { where: { id: 'late' }, data: { version: '2' } }, 'root')
    expect(answer.data.updatePhAppTemplate).toMatchObject({ version: '2', name: 'Late' })
    expect((await ask(gone, { where: { id: 'late' } }, 'root')).data.deletePhAppTemplate).toEqual({ id: 'late' })
  })

  it('are written at no other path', async () => {
    const writes = [
      await ask(made, { data: { id: 'new', name: 'New', template: { spec: {} } } }),
      await ask(changed, { where: { id: 'mlflow' }, data: { version: '2' } }),
      await ask(gone, { where: { id: 'mlflow' } }),
    ]
    expect(writes.map(({ errors }) => errors[0].extensions.status)).toEqual([403, 403, 403])
    expect(site.api.writes).toEqual([])
    expect(lines.map(({ action, result }) => [action, result])).toEqual([
      ['template.put', 'refused'],
      ['template.put', 'refused'],
      ['template.delete', 'refused'],
    ])
  })
})

describe('GraphQL bounds', () => {
  const icons = (roots: number) =>
    Array.from({ length: roots }, (_, i) => `q${i}: phApplicationsConnection { edges { node { appIcon x: appIcon } } }`)
  const withIcons = (size: number) => {
    const template = JSON.stringify({ metadata: { name: 'a' }, spec: { icon: 'i'.repeat(size) } })
    for (let i = 0; i < 40; i += 1) site.declare(`a${i}`, { annotations: { [appAnnotations.template]: template } })
  }

  it('the bytes of an answer, and what is too large is thrown away', async () => {
    withIcons(65_536)
    const answer = await ask(`{ ${icons(1).join(' ')} }`)
    expect(answer.data).toBeUndefined()
    expect(answer.errors).toMatchObject([{ extensions: { status: 422, detail: [{ loc: ['body', 'query'] }] } }])
    expect((await ask('{ phApplicationsConnection(first: 20) { edges { node { appIcon } } } }')).errors).toBeUndefined()
  })

  it('the icon that somebody wrote into an app', async () => {
    withIcons(65_537)
    const { phApplicationsConnection: apps } = (await ask(`{ ${icons(1).join(' ').slice(4)} }`)).data
    expect(apps.edges[0].node.appIcon).toBe('')
  })

  it('large answers that wait for their readers', async () => {
    withIcons(65_536)
    const app = createAppsApi(appsParts({ apps: site.service }))
    const apps = '{ phApplicationsConnection(first: 2) { edges { node { appIcon } } } }'
    const readers: EventEmitter[] = []
    const one = async (closed = false, query = apps) => {
      const outgoing = Object.assign(new EventEmitter(), { closed, req: { socket: {} } })
      readers.push(outgoing)
      const { headers, ...body } = jsonBody({ query })
      const init = { method: 'POST', ...body, headers: { ...(headers as object), authorization: 'Bearer ann-token' } }
      return (await app.request('/api/graphql', init, { head: headOf('/api/graphql'), outgoing } as never)).status
    }
    // Those whose readers are gone hold nothing.
    for (let i = 0; i < 8; i += 1) expect(await one(i < 4)).toBe(200)
    expect(await one()).toBe(429)
    // It has taken effect.
    expect(await one(false, 'mutation { stopPhApplication(where: {id: "a0"}) { appIcon } }')).toBe(200)
    expect(asObject(site.object('a0')!.spec).stop).toBe(true)
    readers[4]!.emit('close')
    expect(await one()).toBe(200)
  })

  it('questions: each is a read', async () => {
    site.declare('a')
    const query = Array.from({ length: 4 }, (_, i) => `q${i}: phApplication(where: {id: "a"}) { id }`).join(' ')
    const { errors } = await ask(`{ ${query} }`, {}, 'ann', { api: { rates: { readsPerSecond: 2, burst: 1 } } })
    expect(errors.map(({ extensions }: { extensions: { status: number } }) => extensions.status)).toEqual([429, 429])
  })
})

describe('GraphQL refuses', () => {
  it('with the error of REST in extensions', async () => {
    const { data: answer, errors } = await ask(primehubQueries.app, { where: { id: 'none' } })
    expect(answer).toEqual({ phApplication: null })
    expect(errors).toMatchObject([
      { path: ['phApplication'], extensions: { code: 'UNKNOWN_APP', status: 404, detail: [{ type: 'unknown_app' }] } },
    ])
    const bad = { ...data, env: [{ name: 'PRIMEHUB_URL', value: 'x' }], groupName: 'a\nb' }
    const { errors: faults } = await ask(primehubQueries.create, { data: bad })
    expect(faults[0].extensions.detail.map(({ loc }: { loc: unknown[] }) => loc)).toEqual([
      ['body', 'groupName'],
      ['body', 'env', 0, 'name'],
    ])
    expect(site.api.writes).toEqual([])
  })

  it('a group of which the caller is no member, and an app of others', async () => {
    site = new Site()
    site.template('mlflow', asObject(seedTemplate().spec))
    site.declare('theirs')
    const statusOf = async (query: string, variables: object) =>
      (await ask(query, variables)).errors[0].extensions.status
    expect(await statusOf(primehubQueries.create, { data })).toBe(403)
    for (const query of [primehubQueries.app, primehubQueries.stop, primehubQueries.delete])
      expect(await statusOf(query, { where: { id: 'theirs' } })).toBe(403)
    expect((await ask(primehubQueries.apps)).data.phApplicationsConnection.edges).toEqual([])
    expect(site.api.writes).toEqual([])
  })

  it('what is no query, a list of queries, and other methods', async () => {
    const call = appsApi({ config })
    const sent = [[], [{ query: '{ phAppTemplates { id } }' }], {}, { query: '' }, { query: 7 }, { query: 'x', a: 1 }]
    for (const body of sent) expect((await call('POST', '=/api/graphql', 'ann', jsonBody(body))).status).toBe(422)
    expect((await call('POST', '=/api/graphql', 'ann', { body: 'query=x' })).status).toBe(415)
    for (const method of ['GET', 'PUT', 'DELETE']) expect((await call(method, '=/api/graphql', 'ann')).status).toBe(405)
    const { errors } = (await (await send('{')).json()) as { errors: { message: string }[] }
    expect(errors[0]!.message).toContain('Syntax Error')
  })

  it('a query beyond its bounds, and answers the schema to who is logged in', async () => {
    const deep = '{ a { b { c { d { e { f { g { h { i } } } } } } } } }'
    expect((await ask(deep)).errors[0].message).toContain('deeper than 8')
    expect((await ask('{ __schema { types { name } } }')).data.__schema.types.length).toBeGreaterThan(10)
    expect((await send('{ __schema { types { name } } }', {}, 'nobody')).status).toBe(401)
  })

  it('without the scope of its path, with a cookie, and from a page', async () => {
    const call = appsApi({ config })
    const body = jsonBody({ query: '{ phAppTemplates { id } }' })
    const headers = (more: object) => ({ ...body, headers: { ...(body.headers as object), ...more } })
    expect((await call('POST', '=/api/graphql', undefined, body)).status).toBe(401)
    for (const who of ['guest', 'root']) expect((await call('POST', '=/api/graphql', who, body)).status).toBe(403)
    expect((await call('POST', '/admin/graphql', 'ann', body)).status).toBe(403)
    for (const more of [{ cookie: 'a=b' }, { origin: 'https://hub.example.org' }])
      expect((await detailOf(await call('POST', '=/api/graphql', 'ann', headers(more)))).type).toBe('forbidden')
  })

  it('more mutations than the rates permit, though they are in one request', async () => {
    site.declare('a')
    const stops = Array.from({ length: 4 }, (_, i) => `s${i}: stopPhApplication(where: {id: "a"}) { id }`).join(' ')
    const rates = { changesPerMinute: 2, burst: 1 }
    const { errors } = await ask(`mutation { ${stops} }`, {}, 'ann', { api: { rates } })
    expect(errors.map(({ extensions }: { extensions: { status: number } }) => extensions.status)).toEqual([429, 429])
  })
})

it('a defect of ours shows no details in the answer', async () => {
  const call = appsApi({
    apps: {
      find: () => {
        throw new Error(`at /secret/path ${marked}`)
      },
    },
    config,
  })
  const answer = await call(
    'POST',
    '=/api/graphql',
    'ann',
    jsonBody({ query: primehubQueries.app, variables: { where } }),
  )
  const text = await answer.text()
  expect(JSON.parse(text).errors).toMatchObject([{ message: 'internal error', extensions: { code: 'INTERNAL' } }])
  expect(text).not.toContain(marked)
})

it('a secret value is in no answer, no annotation and no line', async () => {
  const secret = { ...data, env: [...env, { name: 'API_TOKEN', value: marked }] }
  const answers = [
    await ask(primehubQueries.create, { data: secret }),
    await ask(primehubQueries.app, { where }),
    await ask(primehubQueries.update, { where, data: { env: secret.env } }),
    await ask(primehubQueries.apps),
  ]
  const annotations = site.object(data.id)!.metadata.annotations!
  expect(Object.keys(annotations)).toEqual([appAnnotations.template, appAnnotations.templateData])
  expect(JSON.stringify([answers, site.object(data.id), lines])).not.toContain(marked)
  expect(answers[1].data.phApplication.env.at(-1)).toEqual({ name: 'API_TOKEN', value: '***' })
})

it('a mutation is a line of the audit log too when it is bad input, or too often', async () => {
  site.declare('a')
  const stop = (id: string) => `mutation { stopPhApplication(where: {id: "${id}"}) { id } }`
  await ask(stop('A/b'))
  await ask(primehubQueries.create, { data: { ...data, env: [{ name: 'PRIMEHUB_URL', value: marked }] } })
  const both = stop('a').replace(/stop.*[}] [}]/, each => `x: ${each.slice(0, -1)} y: ${each}`)
  await ask(both, {}, 'ann', { api: { rates: { changesPerMinute: 1, burst: 1 } } })
  expect(lines).toMatchObject([
    { action: 'app.stop', result: 'refused', object: { kind: 'app', name: 'A/b' } },
    { action: 'app.create', result: 'refused', object: { kind: 'app', name: data.id } },
    { action: 'app.stop', result: 'accepted', object: { kind: 'app', name: 'a' } },
    { action: 'app.stop', result: 'refused', reason: 'too_often', object: { kind: 'app', name: 'a' } },
  ])
  expect(JSON.stringify(lines)).not.toContain(marked)
})

it('each mutation is a line of the audit log', async () => {
  await ask(primehubQueries.create, { data })
  await ask(
    `mutation { a: stopPhApplication(where: {id: "${data.id}"}) { id } b: startPhApplication(where: {id: "none"}) { id } }`,
  )
  const actor = { kind: 'user', name: 'ann', scope: 'exec:notebook' }
  expect(lines).toMatchObject([
    { action: 'app.create', result: 'accepted', actor, object: { kind: 'app', name: data.id } },
    { action: 'app.stop', result: 'accepted', actor, object: { kind: 'app', name: data.id } },
    { action: 'app.start', result: 'refused', reason: 'unknown_app', actor, object: { kind: 'app', name: 'none' } },
  ])
})

it('counts requests of GraphQL by what became of them, and a defect as a fault', async () => {
  site.declare('a')
  const find: Apps['find'] = (id, asker) => {
    if (id === 'broken') throw new Error('nobody foresaw it')
    return site.service.find(id, asker)
  }
  const parts = appsParts({ apps: { find }, config })
  const ask = (query: string) => appsApi(parts)('POST', '=/api/graphql', 'ann', jsonBody({ query }))
  const one = (id: string) => `{ phApplication(where: {id: "${id}"}) { id } }`
  for (const query of [one('a'), one('none'), one('broken'), '{ no', '{ nothing }']) await ask(query)
  await ask('mutation { stopPhApplication(where: {id: "none"}) { id } }')
  const { values } = await parts.appMetrics.graphql.get()
  const some = values
    .filter(({ value }) => value > 0)
    .map(({ labels, value }) => [...Object.values(labels), value].join(' '))
  expect(some.sort()).toEqual([
    'mutation partly 1',
    'none refused 1',
    'query done 1',
    'query failed 1',
    'query partly 1',
    'query refused 1',
  ])
  expect((await parts.metrics.httpFaults.get()).values.map(({ value }) => value)).toEqual([1])
})
