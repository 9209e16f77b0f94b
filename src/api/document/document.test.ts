import { Validator } from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { api, apiParts, conformanceOf, jsonBody, prefix, requestTo } from '../../../test/kit/api/scripted-api.ts'
import { checkUsername } from '../../base/usernames.ts'
import { createApi } from '../app.ts'

interface Media {
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}
interface SecurityOf {
  readonly paths: Record<string, { get: { security: object[] } }>
  readonly components: { readonly securitySchemes: object }
}
interface Documented {
  readonly description: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, Media>>
}
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security?: readonly object[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly description?: string
    readonly schema?: { pattern?: string }
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Documented | { readonly $ref: string }>>
}

const response = await api()('GET', 'openapi.json')
const document = (await response.json()) as {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: {
    readonly responses: Readonly<Record<string, Documented>>
  }
}
const { components } = document
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, path, method, operation })),
)
const conformance = conformanceOf()
const steps = (...names: string[]) => names.map(name => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
/** A response and its place. */
const responseAt = ({ path, method, operation }: (typeof operations)[number], status: string) => {
  const response = operation.responses[status]!
  if (!('$ref' in response)) return { response, pointer: steps('paths', path, method, 'responses', status) }
  const name = response.$ref.replace('#/components/responses/', '')
  return { response: components.responses[name]!, pointer: steps('components', 'responses', name) }
}
const examplesOf = ({ example, examples = {} }: Media) => [
  ...(example === undefined ? [] : [example]),
  ...Object.values(examples).map(({ value }) => value),
]

describe('the document', () => {
  it('needs no token and is OpenAPI 3.1', async () => {
    expect(response.status).toBe(200)
    const validator = new Validator()
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  it('contains exactly the existing routes', () => {
    const running = createApi(apiParts())
      .routes.filter(({ method, path }) => method !== 'ALL' && path !== '/*')
      .map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`)
    expect(operations.map(({ name }) => name).sort()).toEqual([...new Set(running)].sort())
    expect(operations.length).toBeGreaterThan(8)
  })

  it('is under the configured prefix', async () => {
    const other = await api({}, {}, { prefix: '/labs-api' })('GET', '/labs-api/openapi.json')
    expect(Object.keys(((await other.json()) as { paths: object }).paths)).toContain('/labs-api/labs')
  })

  it('describes an ingress’s headers when identities come from one', async () => {
    const gafaelfawr = { baseUrl: 'https://example.org' }
    const securityWith = async (more: object) => {
      const parts = apiParts({}, {}, { identity: { provider: 'gafaelfawr', gafaelfawr: { ...gafaelfawr, ...more } } })
      const response = await requestTo(createApi(parts), `${prefix}/openapi.json`)
      const { paths, components } = (await response.json()) as SecurityOf
      const ways = ['user-status', 'labs'].map(route => Object.keys(paths[`${prefix}/${route}`]!.get.security[1]!))
      expect(Object.keys(components.securitySchemes)).toEqual(expect.arrayContaining(ways[0]!))
      return ways
    }
    expect(await securityWith({})).toEqual([
      ['ingressUser', 'ingressToken', 'ingressSecret'],
      ['ingressUser', 'ingressSecret'],
    ])
    expect(await securityWith({ trustWithoutSecret: true })).toEqual([['ingressUser', 'ingressToken'], ['ingressUser']])
  })

  it('names the configured sizes', async () => {
    const lab = { defaultSize: 'tiny', sizes: { tiny: { limits: { cpu: 1, memory: '1Gi' } } } }
    const app = createApi(apiParts({}, {}, { lab }))
    expect(await (await requestTo(app, `${prefix}/openapi.json`)).text()).toContain('"enum":["tiny"]')
  })
})

describe.each(operations)('$name', each => {
  const { path, operation } = each
  it('is described completely', () => {
    expect(operation).toMatchObject({
      operationId: expect.stringMatching(/^[a-z][A-Za-z]+$/),
      tags: [expect.any(String)],
      description: expect.stringMatching(/./),
    })
    expect(operation.summary).not.toBe('')
    for (const parameter of operation.parameters ?? []) expect(parameter.description, parameter.name).toBeTruthy()
    expect(Object.keys(operation.responses)).not.toContain('default')
    expect(Object.keys(operation.responses)).toEqual(
      expect.arrayContaining(['400', '408', '414', '417', '429', '431', '500', '503']),
    )
  })

  it('states the required scope, and the answers to others', () => {
    const open = /\/(openapi\.json|docs(\/.*)?)$/.test(path)
    expect(operation.security).toEqual(open ? [] : [expect.any(Object)])
    for (const status of ['401', '403']) expect(Object.keys(operation.responses).includes(status)).toBe(!open)
  })

  it('has the request id and a valid example in each answer', () => {
    for (const status of Object.keys(operation.responses)) {
      const { response, pointer } = responseAt(each, status)
      expect(Object.keys(response.headers ?? {})).toContain('X-Request-ID')
      for (const [type, media] of Object.entries(response.content ?? {})) {
        expect(examplesOf(media).length).toBeGreaterThan(0)
        const schema = pointer + steps('content', type, 'schema')
        expect(examplesOf(media).flatMap(example => conformance.problemsOf(schema, example))).toEqual([])
      }
    }
  })
})

describe('a body that the document permits', () => {
  const createBody = '/components/schemas/CreateLab'
  const create = document.paths[`${prefix}/labs/{username}/create`]!.post!

  it('includes its examples, which the API accepts', async () => {
    const examples = examplesOf(create.requestBody!.content['application/json']!)
    expect(examples.length).toBeGreaterThan(1)
    for (const body of examples) {
      expect(conformance.problemsOf(createBody, body)).toEqual([])
      expect((await api()('POST', 'labs/rra/create', 'rra', jsonBody(body))).status).toBe(303)
    }
  })

  it('has the configured tag and size in its examples', async () => {
    const config = {
      lab: { defaultSize: 'tiny', sizes: { tiny: { limits: { cpu: 1, memory: '1Gi' } } } },
      images: { recommendedTag: 'the-recommended' },
    }
    const response = await requestTo(createApi(apiParts({}, {}, config)), `${prefix}/openapi.json`)
    const { post } = ((await response.json()) as typeof document).paths[`${prefix}/labs/{username}/create`]!
    const [plain, form] = examplesOf(post!.requestBody!.content['application/json']!) as { options: object }[]
    expect(plain!.options).toMatchObject({ size: 'tiny' })
    expect(form!.options).toMatchObject({ size: ['tiny'], image_tag: ['the-recommended'] })
  })

  const odd = fc.constantFrom<unknown>(null, 7, '', 'x', 'a\0b', 'TRUE', true, [], ['x'], [true], ['a', 'b'], {})
  const option = fc.constantFrom('size', 'image_tag', 'image_type', 'image_list', 'enable_debug', '_xsrf', 'colour')
  const name = fc.constantFrom('A', '_a1', '1A', 'A-B', '', 'A\n', '__proto__', 'constructor')
  const fields = <T>(key: fc.Arbitrary<string>, value: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 9, arbitrary: fc.dictionary(key, value, { maxKeys: 2 }) }, odd)
  /** Usually a valid body, with some odd values. */
  const bodies = fc.record(
    {
      options: fields(option, odd).map(it => (isObject(it) ? { image_list: 'x', ...it } : it)),
      env: fields(name, fc.oneof({ weight: 4, arbitrary: fc.constant('x') }, odd)),
    },
    { requiredKeys: ['options'] },
  )
  /** Values that are checked further before the engine is called are made valid. */
  const meanings: Readonly<Record<string, string>> = { size: 'small', image_type: 'recommended', image_tag: 'w_1' }
  const isText = (it: unknown) => [it].flat().length === 1 && typeof [it].flat()[0] === 'string'
  const meant = (body: { options: unknown }) => {
    if (!isObject(body.options)) return body
    const better = Object.entries(body.options).map(([key, it]) => [key, isText(it) ? (meanings[key] ?? it) : it])
    return { ...body, options: Object.fromEntries(better) }
  }

  it('is accepted by the API, and no other body is', async () => {
    const call = api({}, {}, { rates: { createsPerMinute: 1000, readsPerSecond: 1000 } })
    const counts = { taken: 0, refused: 0 }
    const agree = async (body: { options: unknown }) => {
      const taken = (await call('POST', 'labs/rra/create', 'rra', jsonBody(body))).status === 303
      counts[taken ? 'taken' : 'refused']++
      expect(conformance.problemsOf(createBody, meant(body)).length === 0).toBe(taken)
      if (conformance.problemsOf(createBody, body).length === 0) expect(taken).toBe(true)
    }
    await fc.assert(fc.asyncProperty(bodies, agree), { numRuns: 300 })
    expect(Math.min(counts.taken, counts.refused)).toBeGreaterThan(30)
  })

  it('has a user name for which labs can be made', () => {
    const index = create.parameters!.findIndex(parameter => parameter.name === 'username')
    const schema = steps('paths', `${prefix}/labs/{username}/create`, 'post', 'parameters', String(index), 'schema')
    const part = fc.constantFrom('a', '.', ':', '/', '\n', '\x7f', '\x85', '\u200b', 'é', ' ', '-', '😀')
    const names = fc.oneof(
      fc.array(part).map(parts => parts.join('')),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('.', '..', '...', '..a', '.a', 'a.', 'a..', '\n..'),
    )
    fc.assert(
      fc.property(names, username => {
        // A document cannot name these in a way that all languages read.
        fc.pre(!/[\u2028\u2029]|[^\0-\uffff]/u.test(username) || !/[\p{Cf}\u2028\u2029]/u.test(username))
        expect(conformance.problemsOf(schema, username).length === 0).toBe(isName(username))
      }),
    )
    expect(conformance.problemsOf(schema, 'x'.repeat(256))).not.toEqual([])
  })

  const pattern = create.parameters!.find(({ name }) => name === 'username')!.schema!.pattern!

  it.each(['', 'u', 'v'])('excludes every invisible character up to U+FFFF from names, with the flags "%s"', flags => {
    const form = new RegExp(pattern, flags)
    const bad = /[\p{Cc}\p{Cf}:/.]/u
    for (let code = 0; code < 0x10000; code += code === 0xd7ff ? 0x801 : 1) {
      const character = String.fromCodePoint(code)
      if (form.test(character) === bad.test(character)) expect.fail(`U+${code.toString(16)}`)
    }
    expect(form.test('a\u{1f600}')).toBe(true)
  })

  it('has patterns for engines without look-around', () => {
    const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, text]) =>
      JSON.parse(text!),
    )
    expect(patterns.length).toBeGreaterThan(8)
    for (const each of patterns) {
      expect(() => new RegExp(each)).not.toThrow()
      expect(each).not.toMatch(/\(\?|[^\0-\x7f]|\\u202[89]/)
    }
  })
})

const isObject = (it: unknown): it is object => typeof it === 'object' && it !== null && !Array.isArray(it)

function isName(username: string): boolean {
  try {
    checkUsername(username)
    return true
  } catch {
    return false
  }
}
