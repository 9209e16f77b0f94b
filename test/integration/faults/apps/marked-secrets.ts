/** G10: secret values come by every way that there is. They stay in the Secrets of their apps, and in nothing that others read. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { primehubQueries } from '../../../kit/api/primehub-queries.ts'
import { callRest, type RestRequest } from '../../../kit/api/rest-calls.ts'
import type { AppFleet } from '../../../kit/apps/fleet.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import {
  Marked,
  type Place,
  placesInCluster,
  placesInLogs,
  placesInMetrics,
  placesInRedis,
} from '../../../kit/attack/marked.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { appFleet, appTraces } from './shared.ts'

const templateId = 'keeps'
const container = (value: string) => ({
  ...{ name: 'main', image: 'demo', ports: [{ containerPort: 8080 }] },
  env: [{ name: 'OWN_TOKEN', value }],
})

attack('apps G10 no secret value is where others read', async trial => {
  const fleet = await appFleet()
  const marked = new Marked()
  const site = { fleet, marked, trial }
  const answers = [...(await takenIn(site)), ...(await refused(site))]
  await Promise.all(['by-rest', 'by-graphql'].map(id => fleet.phase(id, 'Ready')))
  const traces = await appTraces()
  await traces.until(({ spans }) => ['POST /api/graphql', 'GET /apps/v1/apps'].every(has(spans)))
  const places = async () => [
    ...answers,
    ...(await placesInCluster(fleet.kube, [fleet.of('a'), fleet.name])).filter(([where]) => !mayHold(where)),
    ...(await placesInRedis(fleet.redisClient)),
    ...placesInLogs(fleet.stateDir),
    ['the traces', JSON.stringify(traces.spans)] as const,
    ...(await placesInMetrics(fleet.replicas)),
  ]
  const all = await places()
  for (const found of marked.foundAt(all)) trial.violation(found)
  trial.figure('places', all.length)
  await control(site, places)
})

const has = (spans: readonly { readonly name: string }[]) => (words: string) => spans.some(({ name }) => name === words)

interface Site {
  readonly fleet: AppFleet
  readonly marked: Marked
  readonly trial: Trial
}

/** Secrets of apps, tokens of accounts and the object of the template: they are meant to. */
const mayHold = (where: string): boolean =>
  /\/secrets\/app-(by-rest|by-graphql)-env-[0-9a-f]{16}$/.test(where) || where.endsWith(`/phapptemplates/${templateId}`)

/** Values that are accepted. Each has landed when the Secret of its app has it. */
async function takenIn({ fleet, marked, trial }: Site): Promise<Place[]> {
  const keep = (what: string) => {
    trial.injected()
    return marked.plant(what)
  }
  marked.add('the token of ann', 'ann-token')
  const address = `postgres://ann:${keep('a password in an address')}@db/x`
  const given = [
    { name: 'API_TOKEN', value: keep('a value by REST') },
    { name: 'DB', value: address },
  ]
  const answers: Place[] = []
  const ask = async (what: string, answer: ReturnType<typeof callRest>, status: number) => {
    const { status: got, body, headers } = await answer
    if (got !== status || body?.errors) throw new Error(`${what}: ${got} ${JSON.stringify(body)}`)
    answers.push([`the answer to ${what}`, JSON.stringify([body, [...headers]])])
  }
  const template = {
    ...{ name: 'Keeps', defaultEnvs: [{ name: 'ITS_PASSWORD', defaultValue: keep('a default of a template') }] },
    template: {
      spec: {
        podTemplate: { spec: { containers: [container(keep('a value of a template'))] } },
        ...{ svcTemplate: { spec: { ports: [{ name: 'http', port: 8080 }] } }, httpPort: 8080 },
      },
    },
  }
  await ask('PUT', rest(fleet, 0, 'PUT', `/apps/admin/v1/templates/${templateId}`, 'root', { body: template }), 201)
  await eventually('both replicas have the template', async () => {
    return (await rest(fleet, 1, 'GET', `/apps/v1/templates/${templateId}`, 'ann')).status === 200
  })
  const wish = { templateId, groupName: fleet.of('a'), displayName: 'x', instanceType: '', scope: 'group' }
  const standard = { name: 'ITS_PASSWORD' }
  const byRest = { id: 'by-rest', ...wish, env: [standard, ...given] }
  await ask('POST', rest(fleet, 1, 'POST', '/apps/v1/apps', 'ann', { body: byRest }), 201)
  await eventually(
    'it is shown',
    async () => (await rest(fleet, 0, 'GET', '/apps/v1/apps/by-rest', 'ann')).status === 200,
  )
  const changed = { env: [standard, ...given, { name: 'LATER_TOKEN', value: keep('a value of a change') }] }
  await ask('PATCH', rest(fleet, 0, 'PATCH', '/apps/v1/apps/by-rest', 'ann', { body: changed }), 202)
  const data = {
    id: 'by-graphql',
    ...wish,
    env: [
      { name: 'ITS_PASSWORD', value: '***' },
      { name: 'A_SECRET', value: keep('a value by GraphQL') },
    ],
  }
  const query = { query: primehubQueries.create, variables: { data } }
  await ask('a mutation', rest(fleet, 0, 'POST', '/api/graphql', 'ann', { body: query }), 200)
  for (const path of ['templates', `templates/${templateId}`, 'apps', 'apps/by-rest', 'apps/by-graphql']) {
    await eventually(path, async () => (await rest(fleet, 0, 'GET', `/apps/v1/${path}`, 'ann')).status === 200)
    await ask(`GET ${path}`, rest(fleet, 0, 'GET', `/apps/v1/${path}`, 'ann'), 200)
  }
  await landed({ fleet, marked, trial })
  return answers
}

/** Each value that was accepted is in a Secret of an app. */
async function landed({ fleet, marked, trial }: Site): Promise<void> {
  const secrets = await placesInCluster(fleet.kube, [fleet.of('a')])
  const kept = marked.foundAt(secrets.filter(([where]) => where.includes('/secrets/')))
  const values = new Set(kept.map(found => found.replace(/ is in .*/, '')))
  trial.landed(values.size)
}

/** Values that are refused, in places that are not for them. Each has landed when it was refused as declared. */
async function refused({ fleet, marked, trial }: Site): Promise<Place[]> {
  const answers: Place[] = []
  const json = { 'content-type': 'application/json' }
  const wrong: readonly (readonly [string, string, number, (secret: string) => RestRequest])[] = [
    ['a body cut off', 'POST /apps/v1/apps', 400, s => ({ body: `{"env": [{"value": "${s}"`, headers: json })],
    [
      'a value with NUL',
      'PATCH /apps/v1/apps/by-rest',
      422,
      s => ({ body: { env: [{ name: 'A_TOKEN', value: `${s}\0` }] } }),
    ],
    [
      'a value that is an object',
      'PATCH /apps/v1/apps/by-rest',
      422,
      s => ({ body: { env: [{ name: 'A', value: { s } }] } }),
    ],
    [
      'a name twice',
      'PATCH /apps/v1/apps/by-rest',
      422,
      s => ({ body: { env: [1, 2].map(() => ({ name: 'A_TOKEN', value: s })) } }),
    ],
    [
      'a literal of GraphQL',
      'POST /api/graphql',
      200,
      s => ({ body: { query: `{ phApplication(where: {id: 1, x: "${s}"}) { id } }` } }),
    ],
    [
      'a variable of GraphQL',
      'POST /api/graphql',
      200,
      s => ({ body: { query: primehubQueries.create, variables: { data: { env: s } } } }),
    ],
    ['a bearer nobody knows', 'GET /apps/v1/apps', 401, s => ({ headers: { authorization: `Bearer ${s}` } })],
    ['a cookie', 'GET /apps/v1/apps', 403, s => ({ headers: { cookie: `__Host-Http-skylab-login=${s}` } })],
    ['a query', 'GET /apps/v1/apps', 422, s => ({ headers: { 'x-query': s } })],
  ]
  for (const [what, target, status, make] of wrong) {
    const secret = marked.plant(what)
    trial.injected()
    const [method, path] = target.split(' ') as [string, string]
    const asked = what === 'a query' ? `${path}?token=${secret}` : path
    const { status: got, body } = await rest(fleet, 0, method, asked, 'ann', make(secret))
    if (got === status && (got !== 200 || body.errors)) trial.landed()
    // GraphQL shows whoever sends a query where it is wrong.
    if (!target.includes('graphql')) answers.push([`the answer to ${what}`, JSON.stringify(body)])
  }
  return answers
}

const rest = (fleet: AppFleet, replica: number, method: string, path: string, who: string, request?: RestRequest) =>
  callRest(`${fleet.replicas[replica]!.url}${path}`, method, who, request)

/** The search must find a value in each place where one could be. */
async function control({ fleet, trial }: Site, places: () => Promise<Iterable<Place>>): Promise<void> {
  const planted = new Marked()
  const value = planted.plant('a planted value')
  const base64 = Buffer.from(value).toString('base64')
  const path = `/api/v1/namespaces/${fleet.of('a')}/configmaps`
  await fleet.must('POST', path, { metadata: { name: 'planted' }, binaryData: { a: base64 } })
  await fleet.must('PATCH', fleet.path('by-rest'), { metadata: { annotations: { planted: value } } })
  const redis = fleet.redisClient
  await redis.set('planted:text', value)
  await redis.hset('planted:hash', 'field', JSON.stringify({ deep: JSON.stringify({ value }) }))
  await redis.hset('planted:field', value, '1')
  await redis.xadd('planted:stream', '*', 'data', base64)
  await redis.zadd('planted:sorted', 1, value)
  appendFileSync(join(fleet.stateDir, 'log', 'planted.log'), `{"msg": "${value}"}\n`)
  const found = planted.foundAt(await places()).map(each => each.replace('a planted value is in ', ''))
  const expected = [
    `${path}/planted`,
    `/phapplications/by-rest`,
    'planted:text',
    'planted:hash',
    'planted:field',
    'planted:stream',
    'planted:sorted',
    'planted.log',
  ]
  for (const where of expected) {
    trial.injected()
    if (found.some(each => each.endsWith(where))) trial.landed()
    else trial.violation(`the search does not find a value in ${where}`)
  }
  await Promise.all(['text', 'hash', 'field', 'stream', 'sorted'].map(each => redis.del(`planted:${each}`)))
}
