import { describe, expect, it, vi } from 'vitest'
import { api, detailOf, jsonBody, prefix } from '../../../test/kit/api/scripted-api.ts'
import type { CreateRequest, Identity } from '../../base/domain.ts'
import type { LabService } from '../../ops/labs/service.ts'

describe('POST labs/<username>/create', () => {
  function recorder() {
    const seen: { caller: Identity; request: CreateRequest; key: string | undefined }[] = []
    const create: LabService['create'] = async (caller, request, _, key) => void seen.push({ caller, request, key })
    return { call: api({ create }), seen }
  }

  it('accepts the body of the specification, answers 303, and names the lab’s location', async () => {
    const { call, seen } = recorder()
    const body = {
      options: {
        enable_debug: ['true'],
        image_list: ['sciplat/sciplat-lab:w_2022_37'],
        reset_user_env: ['true'],
        size: ['large'],
      },
      env: { JUPYTERHUB_API_URL: 'http://hub.nublado2:8081/nb/hub/api' },
    }
    const response = await call('POST', 'labs/rra/create', 'rra', jsonBody(body))
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe(`${prefix}/labs/rra`)
    expect(seen).toEqual([
      {
        caller: expect.objectContaining({ username: 'rra', token: 'rra-token' }),
        request: {
          options: {
            enable_debug: true,
            image_list: 'sciplat/sciplat-lab:w_2022_37',
            reset_user_env: true,
            size: 'large',
          },
          env: { JUPYTERHUB_API_URL: 'http://hub.nublado2:8081/nb/hub/api' },
        },
        key: undefined,
      },
    ])
  })

  it.each([
    [{}, {}],
    [
      { image_tag: 'w_1', size: 'small' },
      { image_tag: 'w_1', size: 'small' },
    ],
    [
      { enable_debug: true, reset_user_env: false },
      { enable_debug: true, reset_user_env: false },
    ],
    [
      { enable_debug: 'TRUE', reset_user_env: ['False'] },
      { enable_debug: true, reset_user_env: false },
    ],
    [{ enable_debug: [true] }, { enable_debug: true }],
    [{ _xsrf: ['2|abc'], image_type: ['recommended'] }, { image_type: 'recommended' }],
  ])('converts the options %j', async (options, converted) => {
    const { call, seen } = recorder()
    expect((await call('POST', 'labs/rra/create', 'rra', jsonBody({ options }))).status).toBe(303)
    expect(seen[0]!.request).toEqual({ options: converted, env: {} })
    expect(Object.keys(seen[0]!.request.options)).toEqual(Object.keys(converted))
  })

  it.each([
    ['no options', {}, ['body', 'options']],
    ['no object', [], ['body']],
    ['null', null, ['body']],
    ['options of a wrong type', { options: [] }, ['body', 'options']],
    ['an unknown key', { options: {}, labels: {} }, ['body', 'labels']],
    ['an unknown option', { options: { colour: 'blue' } }, ['body', 'options', 'colour']],
    ['an option named like a prototype', '{"options": {"__proto__": "x"}}', ['body', 'options', '__proto__']],
    ['an option named like a method', { options: { constructor: 'x' } }, ['body', 'options', 'constructor']],
    ['an empty list', { options: { size: [] } }, ['body', 'options', 'size']],
    ['a longer list', { options: { size: ['small', 'large'] } }, ['body', 'options', 'size']],
    ['a list of a list', { options: { size: [['small']] } }, ['body', 'options', 'size']],
    ['a number', { options: { image_tag: 7 } }, ['body', 'options', 'image_tag']],
    ['null for an option', { options: { size: null } }, ['body', 'options', 'size']],
    ['a boolean for a text', { options: { size: true } }, ['body', 'options', 'size']],
    ['a word for a boolean', { options: { enable_debug: 'yes' } }, ['body', 'options', 'enable_debug']],
    ['a number for a boolean', { options: { enable_debug: 1 } }, ['body', 'options', 'enable_debug']],
    ['an env value that is no string', { options: {}, env: { A: 1 } }, ['body', 'env', 'A']],
    ['an env value of null', { options: {}, env: { A: null } }, ['body', 'env', 'A']],
    ['an env value with NUL', { options: {}, env: { A: 'a\0b' } }, ['body', 'env', 'A']],
    ['an env name with a dash', { options: {}, env: { 'A-B': 'x' } }, ['body', 'env', 'A-B']],
    ['an empty env name', { options: {}, env: { '': 'x' } }, ['body', 'env', '']],
    ['an env name of a newline', { options: {}, env: { 'A\n': 'x' } }, ['body', 'env', 'A\n']],
    ['an env name like a prototype', '{"options": {}, "env": {"__proto__": "x"}}', ['body', 'env', '__proto__']],
    ['an env that is a list', { options: {}, env: ['A=x'] }, ['body', 'env']],
  ])('refuses %s', async (_, body, loc) => {
    const { call, seen } = recorder()
    const response = await call('POST', 'labs/rra/create', 'rra', jsonBody(body))
    expect(response.status).toBe(422)
    expect((await detailOf(response)).loc).toEqual(loc)
    expect(seen).toEqual([])
  })

  it('does not change prototypes', async () => {
    const { call } = recorder()
    await call('POST', 'labs/rra/create', 'rra', jsonBody('{"options": {}, "__proto__": {"size": "x"}, "env": {}}'))
    expect(({} as Record<string, unknown>).size).toBeUndefined()
  })

  it('announces a request before its body is read, unless it may not be sent', async () => {
    const announce = vi.fn()
    const call = api({ announce })
    const body = new ReadableStream({ pull: () => new Promise(() => {}) })
    const headers = { 'Content-Type': 'application/json' }
    void call('POST', 'labs/rra/create', 'rra', { body, headers, duplex: 'half' } as RequestInit)
    await call('DELETE', 'labs/rra', 'hub')
    expect(announce).toHaveBeenCalledTimes(2)
    await call('POST', 'labs/rra/create', 'guest', jsonBody({ options: {} }))
    await call('DELETE', 'labs/rra', 'rra')
    expect(announce).toHaveBeenCalledTimes(2)
  })

  it('reports all problems at once', async () => {
    const { call } = recorder()
    const body = { options: { size: [], a: 1, b: 2 }, env: { A: 1 } }
    const response = await call('POST', 'labs/rra/create', 'rra', jsonBody(body))
    const { detail } = (await response.json()) as { detail: { loc: string[] }[] }
    expect(detail.map(({ loc }) => loc.at(-1)).sort()).toEqual(['A', 'a', 'b', 'size'])
  })

  it.each([
    ['malformed JSON', 400, { body: '{"options"', headers: { 'Content-Type': 'application/json' } }],
    ['an empty body', 400, { body: '', headers: { 'Content-Type': 'application/json' } }],
    ['no body', 400, { headers: { 'Content-Type': 'application/json' } }],
    ['another type', 415, { body: 'options=x', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }],
    ['plain text', 415, { body: '{"options": {}}', headers: { 'Content-Type': 'text/plain' } }],
    ['nothing at all', 415, {}],
    ['too much', 413, jsonBody({ options: {}, env: { A: 'x'.repeat(327_680) } })],
  ])('answers %s with %i', async (_, status, init) => {
    const { call, seen } = recorder()
    const response = await call('POST', 'labs/rra/create', 'rra', init)
    expect(response.status).toBe(status)
    await detailOf(response)
    expect(seen).toEqual([])
  })

  it.each([
    ['another character set', 'application/json; charset=utf-16', undefined],
    ['a type that JSON is only the form of', 'application/merge-patch+json', undefined],
    ['two types in one', 'application/json, text/plain', undefined],
    ['a compressed body', 'application/json', 'gzip'],
  ])('answers %s with 415', async (_, type, encoding) => {
    const { call, seen } = recorder()
    const headers = { 'Content-Type': type, ...(encoding && { 'Content-Encoding': encoding }) }
    const response = await call('POST', 'labs/rra/create', 'rra', { body: '{"options": {}}', headers })
    expect(response.status).toBe(415)
    await detailOf(response)
    expect(seen).toEqual([])
  })

  it('refuses a repeated key, and a value that is too deep, at any place', async () => {
    const { call, seen } = recorder()
    const bodies = [
      '{"options": {"size": "a", "size": "b"}}',
      `{"options": {"_xsrf": ${'['.repeat(7)}${']'.repeat(7)}}}`,
    ]
    for (const body of bodies) {
      expect((await call('POST', 'labs/rra/create', 'rra', jsonBody(body))).status).toBe(422)
    }
    expect(seen).toEqual([])
  })

  it('refuses values beyond the limits', async () => {
    const create: LabService['create'] = () => Promise.reject(new Error('it was taken'))
    const call = api({ create }, {}, { limits: { maxEnvEntries: 1, maxUsernameBytes: 3 } })
    const response = await call('POST', 'labs/rra/create', 'rra', jsonBody({ options: {}, env: { A: '', B: '' } }))
    expect([response.status, (await detailOf(response)).loc]).toEqual([422, ['body', 'env']])
    const longName = await call('POST', 'labs/both/create', 'both', jsonBody({ options: {} }))
    expect([longName.status, (await detailOf(longName)).loc]).toEqual([422, ['path', 'username']])
  })

  it('answers with fewer bytes than it was sent', async () => {
    const { call } = recorder()
    const env = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`-${i}${'x'.repeat(500)}`, '']))
    const text = await (await call('POST', 'labs/rra/create', 'rra', jsonBody({ options: {}, env }))).text()
    expect(JSON.parse(text).detail.length).toBe(50)
    expect(text.length).toBeLessThan(20_000)
  })

  it('accepts JSON with a character set, in any case', async () => {
    const { call } = recorder()
    const headers = { 'Content-Type': 'Application/JSON; charset=utf-8' }
    expect((await call('POST', 'labs/rra/create', 'rra', { body: '{"options":{}}', headers })).status).toBe(303)
  })

  it.each([
    ['lab', `${prefix}/labs/rra`],
    ['user-status', `${prefix}/user-status`],
  ])(
    'redirects to %s by 303, or answers 201 to clients that ask for a minimal answer',
    async (createLocation, location) => {
      const call = api({ create: async () => undefined }, {}, { createLocation })
      const ask = (prefer?: string) => {
        const init = jsonBody({ options: {} })
        const headers = { ...init.headers, ...(prefer !== undefined && { Prefer: prefer }) }
        return call('POST', 'labs/rra/create', 'rra', { ...init, headers })
      }
      const partsOf = async (response: Response) => [
        response.status,
        response.headers.get('location'),
        response.headers.get('preference-applied'),
        await response.text(),
      ]
      expect(await partsOf(await ask())).toEqual([303, location, null, ''])
      expect(await partsOf(await ask('return=minimal'))).toEqual([201, location, 'return=minimal', ''])
      for (const other of ['return=representation', 'respond-async', 'return=minimal, "', 'x'.repeat(5000)]) {
        expect(await partsOf(await ask(other))).toEqual([303, location, null, ''])
      }
    },
  )

  it('answers a repeat in the form that the repeat asks for', async () => {
    const call = api({ create: async () => 'repeated' }, {}, { rates: { readsPerSecond: 1000 } })
    const init = jsonBody({ options: {} })
    const ask = async (more: object) => {
      const headers = { ...init.headers, 'Idempotency-Key': 'one', ...more }
      return (await call('POST', 'labs/rra/create', 'rra', { ...init, headers })).status
    }
    expect([await ask({}), await ask({ Prefer: 'return=minimal' }), await ask({})]).toEqual([303, 201, 303])
  })

  it('passes on the idempotency key, and refuses one that is too long', async () => {
    const { call, seen } = recorder()
    const init = jsonBody({ options: {} })
    const withKey = (key: string) => ({ ...init, headers: { ...init.headers, 'Idempotency-Key': key } })
    await call('POST', 'labs/rra/create', 'rra', withKey('one'))
    expect(seen[0]!.key).toBe('one')
    const refused = await call('POST', 'labs/rra/create', 'rra', withKey('x'.repeat(256)))
    expect(refused.status).toBe(422)
    expect((await detailOf(refused)).loc).toEqual(['header', 'idempotency-key'])
  })
})
