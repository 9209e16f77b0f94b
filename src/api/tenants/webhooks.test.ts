import { describe, expect, test, vi } from 'vitest'
import { settingsOf } from '../../tenants/testing/world.ts'
import { createWebhooks } from './webhooks.ts'

const resource = { group: 'gial.lblw.dev', version: 'v1beta1', resource: 'lnamespaces' }
const creation = (username: string, object: object) => ({
  ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
  request: { uid: 'u', operation: 'CREATE', resource, object, userInfo: { username } },
})
const mine = { metadata: { name: 'new', annotations: { 'lns.skylab/requester': 'eve' } }, spec: { sudoers: [] } }
const platform = { ...mine, spec: { platform: { network: 'open' } } }

function site(mayOverride: () => Promise<boolean> = async () => false) {
  const answers: string[] = []
  const onAnswer = (webhook: string, result: string) => void answers.push(`${webhook} ${result}`)
  const ask = vi.fn(mayOverride)
  const app = createWebhooks({ settings: settingsOf(), mayOverride: ask, onAnswer })
  const post = async (path: string, body: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { 'content-length': `${Buffer.byteLength(text)}` }
    const response = await app.request(`/webhooks/lnamespace/${path}`, { method: 'POST', headers, body: text })
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, body: (isJson ? await response.json() : await response.text()) as never }
  }
  return { app, post, ask, answers }
}

describe('createWebhooks', () => {
  test('answers with JSON patches, and with none where nothing is missing', async () => {
    const { post, answers } = site()
    const { body } = await post('mutate', creation('eve', { metadata: { name: 'new' } }))
    const { response, ...kind } = body as { response: { uid: string; patch: string } }
    expect(kind).toEqual({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' })
    expect(response).toMatchObject({ uid: 'u', allowed: true, patchType: 'JSONPatch' })
    expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toHaveLength(4)
    expect(await post('mutate', creation('eve', mine))).toMatchObject({
      body: { response: { uid: 'u', allowed: true } },
    })
    expect(answers).toEqual(['mutate allowed', 'mutate allowed'])
  })

  test('refuses in words, and asks about who asks as the API server named him', async () => {
    const { post, ask, answers } = site()
    expect(await post('validate', creation('eve', platform))).toMatchObject({
      status: 200,
      body: { response: { uid: 'u', allowed: false, status: { code: 403, reason: 'Forbidden' } } },
    })
    expect(ask).toHaveBeenCalledWith('new', { username: 'eve' })
    expect(answers).toEqual(['validate refused'])
    const allowed = await site(async () => true).post('validate', creation('eve', platform))
    expect(allowed.body).toMatchObject({ response: { allowed: true } })
  })

  test('refuses for now where the API server does not answer', async () => {
    const { post, answers } = site(async () => {
      throw new Error('away')
    })
    expect(await post('validate', creation('eve', platform))).toMatchObject({
      body: { response: { allowed: false, status: { code: 503 } } },
    })
    expect(answers).toEqual(['validate failed'])
  })

  test('judges nothing but creations of LNamespaces', async () => {
    const { post, ask } = site()
    const other = creation('eve', platform)
    for (const path of ['mutate', 'validate']) {
      const { body } = await post(path, { ...other, request: { ...other.request, operation: 'UPDATE' } })
      expect(body).toEqual({
        ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
        response: { uid: 'u', allowed: true },
      })
    }
    expect(ask).not.toHaveBeenCalled()
  })

  test.each(['', '{', '[]', 'null', '{"kind":"AdmissionReview"}', JSON.stringify(creation('', mine))])(
    'answers 400 to %j',
    async text => {
      const { post, answers } = site()
      for (const path of ['mutate', 'validate']) expect((await post(path, text)).status).toBe(400)
      expect(answers).toEqual(['mutate malformed', 'validate malformed'])
    },
  )

  test('reads no more at once than it has room for, and counts a body as what it declares', async () => {
    const { app, post } = site()
    const body = () => new ReadableStream({ pull: () => new Promise(() => {}) })
    const headers = { 'content-length': `${3 * 1024 * 1024}` }
    const hang = () =>
      app.request('/webhooks/lnamespace/mutate', { method: 'POST', headers, body: body(), duplex: 'half' } as never)
    const hanging = Array.from({ length: 16 }, hang)
    expect((await post('mutate', creation('eve', mine))).status).toBe(503)
    expect(hanging).toHaveLength(16)
    const small = site()
    const slow = { method: 'POST', headers: { 'content-length': '100' }, duplex: 'half' }
    for (let i = 0; i < 1_000; i++)
      void small.app.request('/webhooks/lnamespace/mutate', { ...slow, body: body() } as never)
    expect((await small.post('mutate', creation('eve', mine))).status).toBe(200)
  })

  test('has bounds, and no other route', async () => {
    const { app, post } = site()
    expect((await post('mutate', 'x'.repeat(3 * 1024 * 1024 + 1))).status).toBe(413)
    const endless = { method: 'POST', headers: { 'transfer-encoding': 'chunked' }, body: '{}' }
    expect((await app.request('/webhooks/lnamespace/mutate', endless)).status).toBe(411)
    const both = { ...endless, headers: { ...endless.headers, 'content-length': '2' } }
    expect((await app.request('/webhooks/lnamespace/mutate', both)).status).toBe(411)
    expect((await post('other', {})).status).toBe(404)
    const plain = { headers: { 'content-length': '0' } }
    expect((await app.request('/webhooks/lnamespace/mutate', plain)).status).toBe(404)
    expect((await app.request('/metrics')).status).toBe(404)
  })
})
