import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { appsApi, appsParts } from '../../../test/kit/api/apps-api.ts'
import { detailOf, jsonBody } from '../../../test/kit/api/scripted-api.ts'
import { changed, noTemplate } from '../../appcontrol/problems.ts'
import type { Templates } from '../../appcontrol/templates.ts'
import { headOf } from '../request/head.ts'
import { createAppsApi } from './app.ts'
import { prefixes } from './parts.ts'
import { bodyExample, detailExample, listExample } from './template-words.ts'

const version = { detail: detailExample as never, etag: '"uid.1"' }
const found: Partial<Templates> = { list: () => listExample as never, find: () => version }

describe('GET templates', () => {
  it('shows pages to users and administrators', async () => {
    const asked: unknown[] = []
    const list: Templates['list'] = filter => {
      asked.push(filter)
      return listExample as never
    }
    const call = appsApi({ templates: { list } })
    expect((await call('GET', '/templates', 'ann')).status).toBe(200)
    expect((await call('GET', '/admin/templates?limit=7&cursor=a-1', 'root')).status).toBe(200)
    expect(asked).toEqual([{ limit: 100 }, { limit: 7, cursor: 'a-1' }])
  })

  it('shows one with its version, and answers 404 without one', async () => {
    const call = appsApi({ templates: found })
    expect((await call('GET', '/templates/mlflow', 'ann')).headers.get('etag')).toBe('"uid.1"')
    expect((await detailOf(await appsApi()('GET', '/templates/mlflow', 'ann'))).type).toBe('unknown_template')
    for (const id of ['A', 'a.b', 'a'.repeat(64), '-'])
      expect((await call('GET', `/templates/${id}`, 'ann')).status).toBe(422)
  })
})

describe('GET templates with large pictures', () => {
  const icon = `data:image/png;base64,${'A'.repeat(65_500)}`
  const large = {
    list: () => ({ templates: listExample.templates.map(each => ({ ...each, icon })) }) as never,
    find: () => ({ ...version, detail: { ...detailExample, icon } as never }),
  }

  it.each(['/templates', '/templates/mlflow'])('bounds the answers of %s that wait for their readers', async path => {
    const app = createAppsApi(appsParts({ templates: large }))
    const readers: EventEmitter[] = []
    const one = async (who = 'ann') => {
      const outgoing = Object.assign(new EventEmitter(), { closed: false, req: { socket: {} } })
      readers.push(outgoing)
      const [target, init] = [`${prefixes.user}${path}`, { headers: { authorization: `Bearer ${who}-token` } }]
      return (await app.request(target, init, { head: headOf(target), outgoing } as never)).status
    }
    for (let i = 0; i < 4; i += 1) expect(await one()).toBe(200)
    expect(await one()).toBe(429)
    readers[0]!.emit('close')
    expect(await one()).toBe(200)
  })
})

describe('PUT templates/{id}', () => {
  const put = (body: unknown, templates: Partial<Templates> = {}, headers: Record<string, string> = {}) =>
    appsApi({ templates: { put: async () => ({ ...version, isNew: true }), ...templates } })(
      ...(['PUT', '/admin/templates/mlflow', 'root'] as const),
      { ...jsonBody(body), headers: { 'Content-Type': 'application/json', ...headers } },
    )

  it('passes the template on, and tells a new one from one that is replaced', async () => {
    const asked: unknown[] = []
    const change: Templates['put'] = async (id, wish, { username }, ifMatch) => {
      asked.push([id, wish, username, ifMatch])
      return { ...version, isNew: asked.length === 1 }
    }
    const headers = { 'If-Match': '"uid.1"' }
    const answers = [await put(bodyExample, { put: change }), await put(bodyExample, { put: change }, headers)]
    expect(answers.map(({ status }) => status)).toEqual([201, 200])
    expect(asked).toEqual([
      ['mlflow', bodyExample, 'root', undefined],
      ['mlflow', bodyExample, 'root', '"uid.1"'],
    ])
  })

  it('takes a reference in a variable of a container, which is deeper than other bodies', async () => {
    const valueFrom = { secretKeyRef: { name: 'a', key: 'b' } }
    const podTemplate = { spec: { containers: [{ name: 'a', image: 'i', env: [{ name: 'A', valueFrom }] }] } }
    expect((await put({ name: 'a', template: { spec: { podTemplate } } })).status).toBe(201)
  })

  it.each([
    ['no name', { name: undefined }, 'missing'],
    ['a script as docLink', { docLink: 'javascript:alert(1)' }, 'invalid'],
    ['a page as icon', { icon: 'data:text/html,x' }, 'invalid'],
    ['a name of the platform', { defaultEnvs: [{ name: 'PRIMEHUB_URL' }] }, 'invalid'],
    ['65 variables', { defaultEnvs: Array.from({ length: 65 }, (_, i) => ({ name: `A${i}` })) }, 'invalid'],
    ['no spec', { template: {} }, 'missing'],
    ['an id', { id: 'x' }, 'unknown_key'],
  ])('answers 422 to %s', async (_, more, type) => {
    const response = await put({ ...bodyExample, ...more })
    expect([response.status, (await detailOf(response)).type]).toEqual([422, type])
  })

  it('is refused for another version, and where the site has no templates', async () => {
    for (const [error, status] of [[changed('template'), 412] as const, [noTemplate(), 404] as const]) {
      const change = async () => {
        throw error
      }
      expect((await put(bodyExample, { put: change })).status).toBe(status)
    }
  })
})

it('DELETE templates/{id} answers 204', async () => {
  const asked: unknown[] = []
  const remove: Templates['delete'] = async (id, { username }) => {
    asked.push([id, username])
    return version
  }
  const call = appsApi({ templates: { delete: remove } })
  expect((await call('DELETE', '/admin/templates/mlflow', 'root')).status).toBe(204)
  expect(asked).toEqual([['mlflow', 'root']])
  expect((await call('DELETE', '/templates/mlflow', 'root')).status).toBe(405)
})
