import { describe, expect, it } from 'vitest'
import { ApiError } from '../base/errors.ts'
import { configSchema } from '../config/schema.ts'
import type { EnvSources } from './env.ts'
import { labEnv, maskedEnv } from './env.ts'

const { lab } = configSchema.parse({})
const digest = `sha256:${'a'.repeat(64)}`

function sources(changes: Partial<EnvSources> = {}): EnvSources {
  return {
    lab,
    env: {},
    options: {},
    quotas: { limits: { cpu: 1, memory: 4294967296 }, requests: { cpu: 0.25, memory: 1073741824 } },
    image: { reference: 'r', tag: 'w_2022_37', digest, description: 'Weekly 2022_37' },
    home: '/home/ada',
    ...changes,
  }
}

const withEnv = (env: Record<string, string>, configured: Record<string, string> = {}) =>
  labEnv(sources({ env, lab: { ...lab, env: configured } }))

describe('labEnv', () => {
  it('contains the controller’s settings, with bytes and CPUs as plain numbers', () => {
    expect(labEnv(sources())).toEqual({
      plain: {
        CPU_GUARANTEE: '0.25',
        CPU_LIMIT: '1',
        HOME: '/home/ada',
        IMAGE_DESCRIPTION: 'Weekly 2022_37',
        IMAGE_DIGEST: digest,
        JUPYTERHUB_SERVICE_PREFIX: '/',
        JUPYTERHUB_SERVICE_URL: 'http://0.0.0.0:8888/',
        MEM_GUARANTEE: '1073741824',
        MEM_LIMIT: '4294967296',
      },
      secret: {},
      servicePrefix: '/',
    })
  })

  it('leaves out the digest of the image when it is unknown', () => {
    const image = { ...sources().image, digest: null }
    expect(labEnv(sources({ image })).plain).not.toHaveProperty('IMAGE_DIGEST')
  })

  it('passes the requested options to the start-up scripts', () => {
    const asked = labEnv(sources({ options: { enable_debug: true, reset_user_env: true } })).plain
    expect(asked).toMatchObject({ DEBUG: 'TRUE', RESET_USER_ENV: 'TRUE' })
    const not = labEnv(sources({ options: { enable_debug: false, reset_user_env: false } })).plain
    expect(not).not.toHaveProperty('DEBUG')
    expect(not).not.toHaveProperty('RESET_USER_ENV')
  })

  it('lets configuration override the controller, and the controller the request', () => {
    const { plain } = withEnv({ MEM_LIMIT: '1', CPU_LIMIT: '1000', OWN: 'kept' }, { MEM_LIMIT: '2' })
    expect(plain).toMatchObject({ MEM_LIMIT: '2', CPU_LIMIT: '1', OWN: 'kept' })
  })

  it('sets HOME to the home, whatever request and configuration say', () => {
    expect(withEnv({ HOME: '/root' }, { HOME: '/srv' }).plain).toMatchObject({ HOME: '/home/ada' })
  })

  it('accepts names of inherited object properties', () => {
    const env = JSON.parse('{"__proto__": "kept", "constructor": "kept"}')
    expect(Object.entries(withEnv(env).plain)).toEqual(
      expect.arrayContaining([
        ['__proto__', 'kept'],
        ['constructor', 'kept'],
      ]),
    )
  })
})

describe('secret variables', () => {
  it('are chosen by name after the layers are merged', () => {
    const { plain, secret } = withEnv(
      {
        JUPYTERHUB_API_TOKEN: 'request',
        my_secret_x: 'b',
        DbPassword: 'c',
        API_KEY: 'd',
        TZ: 'UTC',
        A_KE: 'e',
      },
      { JUPYTERHUB_API_TOKEN: 'configured' },
    )
    expect(secret).toEqual({ API_KEY: 'd', DbPassword: 'c', JUPYTERHUB_API_TOKEN: 'configured', my_secret_x: 'b' })
    expect(plain).toMatchObject({ TZ: 'UTC', A_KE: 'e' })
    expect(plain).not.toHaveProperty('JUPYTERHUB_API_TOKEN')
  })

  it.each([
    'DB_PASS',
    'PGPASSFILE',
    'MYSQL_PWD',
    'OPENAI_APIKEY',
    'AWS_ACCESS_KEY_ID',
    'AWS_CREDENTIALS',
    'GITHUB_PAT',
    'SENTRY_DSN',
    'SESSION_COOKIE',
    'BASIC_AUTH',
    'A_JWT',
    'AZURE_STORAGE_CONNECTION_STRING',
    'SLACK_WEBHOOK_URL',
  ])('include a name such as %s', name => {
    const { plain, secret } = withEnv({ [name]: 'hunter2' })
    expect(secret).toHaveProperty(name, 'hunter2')
    expect(plain).not.toHaveProperty(name)
    expect(maskedEnv({ [name]: 'hunter2' }, lab.secretPatterns)).toEqual({ [name]: '***' })
  })

  it.each(['PATH', 'PWD', 'TZ', 'LANG', 'CPU_LIMIT', 'JUPYTERHUB_API_URL', 'JUPYTERHUB_USER', 'IMAGE_DESCRIPTION'])(
    'exclude a name such as %s',
    name => expect(maskedEnv({ [name]: 'x' }, lab.secretPatterns)).toEqual({ [name]: 'x' }),
  )

  it.each([
    ['postgresql://ada:pw@db.example.org/x', true],
    ['https://token@example.org', true],
    ['use http://a:b@c and more', true],
    ['https://example.org/a@b', false],
    ['https://example.org?mail=a@b', false],
    ['ada@example.org', false],
    ['http://hub.nublado2:8081/nb/hub/api', false],
  ])('include addresses with user information: %s %s', (value, isSecret) => {
    const { plain, secret } = withEnv({ ADDRESS: value })
    expect(isSecret ? secret : plain).toHaveProperty('ADDRESS', value)
    expect(isSecret ? plain : secret).not.toHaveProperty('ADDRESS')
  })

  it('are masked in a view', () => {
    const env = { JUPYTERHUB_API_TOKEN: 'abc', DB: 'postgres://a:b@c', JUPYTERHUB_API_URL: 'http://hub:8081/hub/api' }
    expect(maskedEnv(env, lab.secretPatterns)).toEqual({
      JUPYTERHUB_API_TOKEN: '***',
      DB: '***',
      JUPYTERHUB_API_URL: 'http://hub:8081/hub/api',
    })
  })

  it('match patterns as a whole, with only the star special', () => {
    expect(maskedEnv({ 'A.B': '1', AxB: '2', 'A.BC': '3' }, ['a.b'])).toEqual({ 'A.B': '***', AxB: '2', 'A.BC': '3' })
    expect(maskedEnv({ A: '1' }, ['*'])).toEqual({ A: '***' })
    expect(maskedEnv({ A: '1' }, [])).toEqual({ A: '1' })
  })
})

describe('the service prefix', () => {
  const name = 'JUPYTERHUB_SERVICE_PREFIX'

  it('comes from the configured env, else from the request, else from the configured prefix', () => {
    const configured = { ...lab, servicePrefix: '/somewhere/' }
    expect(labEnv(sources({ lab: configured }))).toMatchObject({
      servicePrefix: '/somewhere/',
      plain: { [name]: '/somewhere/' },
    })
    expect(labEnv(sources({ lab: configured, env: { [name]: '/nb/user/ada/' } })).servicePrefix).toBe('/nb/user/ada/')
    expect(withEnv({ [name]: '/nb/user/ada/' }, { [name]: '/x/' }).servicePrefix).toBe('/x/')
  })

  it('ends with a slash, and is in the service URL of the Hub’s server', () => {
    const env = withEnv({ [name]: '/nb/user/a%40b', JUPYTERHUB_SERVICE_URL: 'http://127.0.0.1:0/' })
    expect(env.servicePrefix).toBe('/nb/user/a%40b/')
    expect(env.plain.JUPYTERHUB_SERVICE_URL).toBe('http://0.0.0.0:8888/nb/user/a%40b/')
  })

  it.each(['', 'nb', 'http://x/', '/a b/', '/a?b', '/a#b', '/ä/', '/a\n'])(
    'is refused when it is not a path: %j',
    prefix => {
      const refused = (() => {
        try {
          return withEnv({ [name]: prefix })
        } catch (error) {
          return error
        }
      })()
      expect(refused).toBeInstanceOf(ApiError)
      expect(refused).toMatchObject({ status: 422, detail: [{ loc: ['body', 'env', name] }] })
    },
  )
})
