import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Issued, TestAuthority } from '../../test/kit/tls/authority.ts'
import { ConfigError } from '../config/problems.ts'
import { loadSettings } from './load.ts'

const sealingKey = randomBytes(32).toString('base64')
const tokens = 'tokens: [{token: ada-token, username: ada, scopes: [exec:notebook]}]\n'
const minimal = 'identity: {static: {file: tokens.yaml}}\n'
let folder: string
let certificates: string
let authority: TestAuthority
let issued: Issued
beforeAll(async () => {
  certificates = await mkdtemp(join(tmpdir(), 'skylab-config-'))
  authority = new TestAuthority(certificates)
  issued = authority.issue('api')
}, 60_000)
afterAll(() => rm(certificates, { recursive: true }))

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skylab-config-'))
  await writeFile(join(folder, 'tokens.yaml'), tokens)
})
afterEach(() => rm(folder, { recursive: true }))

async function load(yaml: string, env: Record<string, string> = {}) {
  await writeFile(join(folder, 'skylab.yaml'), yaml)
  return loadSettings(join(folder, 'skylab.yaml'), { SKYLAB_SEALING_KEY: sealingKey, ...env })
}

async function problemsOf(yaml: string, env: Record<string, string> = {}): Promise<readonly string[]> {
  const error = await load(yaml, env).catch(error => error)
  expect(error).toBeInstanceOf(ConfigError)
  return error.problems
}

describe('loadSettings of a minimal file', () => {
  it('fills in the defaults', async () => {
    const { config, replica, sealingKeys, tokens } = await load(minimal)
    expect(config.api).toMatchObject({ port: 8080, prefix: '/nublado/spawner/v1' })
    expect(config.lab.sizes.small?.limits).toEqual({ cpu: 1, memory: 4 * 2 ** 30 })
    expect(config.run).toEqual(['labs'])
    expect(replica).toBe(hostname())
    expect(sealingKeys).toEqual([Buffer.from(sealingKey, 'base64')])
    expect(tokens).toMatchObject([{ username: 'ada', groups: [] }])
  })

  it('takes ports and replica name from the environment', async () => {
    const { config, replica } = await load(minimal, {
      SKYLAB_PORT: '9123',
      SKYLAB_MONITORING_PORT: '9124',
      SKYLAB_REPLICA: 'skylab-2',
    })
    expect([config.api.port, config.api.monitoringPort, replica]).toEqual([9123, 9124, 'skylab-2'])
  })
})

describe('loadSettings’ namespace of the controller', () => {
  const loadIn = async (yaml: string, pod?: string) => {
    const mounted = join(folder, 'namespace')
    if (pod !== undefined) await writeFile(mounted, pod)
    await writeFile(join(folder, 'skylab.yaml'), minimal + yaml)
    return (
      await loadSettings(join(folder, 'skylab.yaml'), { SKYLAB_SEALING_KEY: sealingKey }, { podNamespaceFile: mounted })
    ).namespace
  }

  it.each([
    ['configured', 'kubernetes: {namespace: hub}', 'labs', 'hub'],
    ['of its pod', '', 'labs\n', 'labs'],
    ['skylab, outside of a cluster', '', undefined, 'skylab'],
    ['skylab, when the file is empty', '', '', 'skylab'],
  ])('is %s', async (_, yaml, pod, namespace) => {
    expect(await loadIn(yaml, pod)).toBe(namespace)
  })
})

describe('loadSettings with YAML 1.1', () => {
  it('reads YAML as deployments write it', async () => {
    const { config } = await load(`${minimal}lab: {terminationGraceSeconds: 010}`)
    expect(config.lab.terminationGraceSeconds).toBe(8)
  })

  it('refuses a repeated key, by name and line', async () => {
    expect(await problemsOf(`${minimal}api:\n  port: 1\n  port: 2\n`)).toEqual([
      'line 4, column 3: the key port is repeated',
    ])
  })

  it.each([
    ['is not YAML (tag resolve failed)', 'url: !hunter2'],
    ['is not YAML (unexpected token)', 'url: |hunter2'],
    ['is not YAML (unexpected token)', 'url: ] hunter2'],
    ['is not YAML (bad scalar start)', 'url: @hunter2'],
    ['an alias of YAML that cannot be resolved', 'url: *hunter2'],
  ])('quotes nothing of a file that cannot be parsed: %s', async (words, line) => {
    const problems = (await problemsOf(`${minimal}redis:\n  ${line}\n`)).join()
    expect(problems).toContain(words)
    expect(problems).not.toMatch(/hunter/)
  })

  it('refuses aliases that multiply', async () => {
    const bomb = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`)
    expect(await problemsOf(`a0: &a0 x\n${bomb.join('\n')}`)).toEqual(['an alias of YAML that cannot be resolved'])
  })
})

describe('loadSettings with problems', () => {
  it('reports all of them at once, by key', async () => {
    const yaml = `
identity: {static: {file: tokens.yaml}}
api: {port: many, prefix: nublado}
lab:
  sizes: {small: {limits: {cpu: 0, memory: 4Gb}}}
  colour: blue
redis: {url: "http://user:hunter2@host"}
network: {clusterRanges: [10.0.0.0]}
`
    const problems = await problemsOf(yaml)
    expect(problems.map(problem => problem.split(':')[0])).toEqual([
      'api.port',
      'api.prefix',
      'redis.url',
      'lab.sizes.small.limits.cpu',
      'lab.sizes.small.limits.memory',
      'lab.colour',
      'network.clusterRanges.0',
    ])
    expect(problems.join()).not.toMatch(/hunter2/)
  })

  it.each([
    ['lab.defaultSize', `${minimal}lab: {defaultSize: huge}`],
    [
      'lab.sizes.small.requests.cpu',
      `${minimal}lab: {sizes: {small: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 2, memory: 1Gi}}}}`,
    ],
    [
      'lab.sizes.small.requests.memory',
      `${minimal}lab: {sizes: {small: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1, memory: 1025Mi}}}}`,
    ],
    ['engine.scanIntervalMs', `${minimal}engine: {scanIntervalMs: 10001}`],
    ['api.monitoringPort', `${minimal}api: {port: 8081}`],
    ['api.monitoringPort', `${minimal}api: {monitoringPort: 65536}`],
    ['api.limits.headersTimeoutSeconds', `${minimal}api: {limits: {requestTimeoutSeconds: 14}}`],
    ['api.limits.stallTimeoutSeconds', `${minimal}api: {limits: {stallTimeoutSeconds: 15}}`],
    ['api.limits.maxBodyBytes', `${minimal}api: {limits: {maxBodyBytesInFlight: 327679}}`],
    ['api.limits.maxJsonItems', `${minimal}api: {limits: {maxJsonItems: 529}}`],
    ['api.rates.burst', `${minimal}api: {rates: {burst: 0.5}}`],
    ['api.limits.maxUsernameBytes', `${minimal}api: {limits: {maxUsernameBytes: 256}}`],
    ['api.limits.maxHeaders', `${minimal}api: {limits: {maxHeaders: 2001}}`],
    ['api.limits.maxBodyBytez', `${minimal}api: {limits: {maxBodyBytez: 1}}`],
    ['redis.commandTimeoutMs', `${minimal}redis: {commandTimeoutMs: 3334}`],
    ['redis.passwordFile', `${minimal}redis: {passwordFile: nowhere}`],
    ['kubernetes.kubeconfig', `${minimal}kubernetes: {kubeconfig: nowhere}`],
    ['sealing.keyFiles.0', `${minimal}sealing: {keyFiles: [nowhere]}`],
    [
      'images.gar.endpoint',
      `${minimal}images: {gar: {repository: a, image: b, projectId: c, location: d, endpoint: "http://r.example.org"}}`,
    ],
    ['identity.static.file', 'api: {}'],
    ['identity.static.file', 'identity: {static: {file: nowhere}}'],
  ])('reports only the key %s', async (key, yaml) => {
    const problems = await problemsOf(yaml)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${key.replaceAll('.', '\\.')}: `))
  })

  it.each([
    ['SKYLAB_PORT', { SKYLAB_PORT: '70000' }],
    ['SKYLAB_MONITORING_PORT', { SKYLAB_MONITORING_PORT: 'http' }],
    ['SKYLAB_SEALING_KEY', { SKYLAB_SEALING_KEY: randomBytes(31).toString('base64') }],
    ['SKYLAB_SEALING_KEY', { SKYLAB_SEALING_KEY: `!${sealingKey}` }],
    ['sealing.keyFiles', { SKYLAB_SEALING_KEY: '' }],
  ])('reports only %s when the environment is wrong', async (key, env) => {
    const problems = await problemsOf(minimal, env)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${key.replaceAll('.', '\\.')}: `))
  })

  it('reports tokens by their index, without their value', async () => {
    await writeFile(join(folder, 'tokens.yaml'), 'tokens: [{token: hunter2, username: ada, scopes: exec:notebook}]')
    const problems = await problemsOf(minimal)
    expect(problems).toEqual(['identity.static.file: tokens.0.scopes: expected array, received string'])
  })

  it('reports a missing file', async () => {
    await expect(loadSettings(join(folder, 'nowhere.yaml'), {})).rejects.toThrow(/cannot be read \(ENOENT\)/)
  })
})

it('loadSettings reads key files, and seals with the key of the environment', async () => {
  const older = randomBytes(32)
  await writeFile(join(folder, 'older.key'), `${older.toString('base64')}\n`)
  const { sealingKeys } = await load(`${minimal}sealing: {keyFiles: [older.key]}`)
  expect(sealingKeys).toEqual([Buffer.from(sealingKey, 'base64'), older])
})

it('loadSettings reads the password of Redis without the newline at its end', async () => {
  await writeFile(join(folder, 'password'), 'hunter2\n')
  expect(await load(`${minimal}redis: {passwordFile: password}`)).toMatchObject({
    redisLogin: { password: 'hunter2' },
  })
})

describe('loadSettings of run', () => {
  it.each([
    [
      'run: [labs, dreams]',
      'run.1: nothing of this name can be run; this release has: labs, tenants, notebooks, apps, gateway, dispatch',
    ],
    ['run: []', 'run: names nothing to run'],
    ['run: [labs, labs]', 'run: names something twice'],
    ['run: labs', 'run: expected array, received string'],
    ['run: [labs, tenants]', 'run: names kinds that take processes of their own, since each has its own account'],
  ])('refuses %s', async (yaml, problem) => {
    expect(await problemsOf(`${minimal}${yaml}\n`)).toEqual([problem])
  })

  it('reads nothing of labs for tenants, whatever the file names', async () => {
    const shared = `${minimal}run: [tenants]\nsealing: {keyFiles: [missing.key]}\nimages: {caFile: missing.pem}\n`
    const { config, sealingKeys, tokens, warnings } = await load(shared, {})
    expect([config.run, sealingKeys, tokens]).toEqual([['tenants'], [], []])
    expect(warnings.map(words => words.split(':')[0])).toEqual(['tenants.platform.quota', 'lab.namespacePrefix'])
  })
})

describe('loadSettings of REST of tenants', () => {
  const rest = 'run: [tenants]\ntenants: {rest: {}}\n'

  it('reads who may ask, and nothing of labs', async () => {
    const { tokens, sealingKeys } = await load(`${minimal}${rest}sealing: {keyFiles: [missing.key]}\n`, {})
    expect([tokens.map(({ username }) => username), sealingKeys]).toEqual([['ada'], []])
  })

  it('takes a source of identities, and for Gafaelfawr the secret of the ingress of users alone', async () => {
    expect(await problemsOf(rest)).toEqual(['identity.static.file: is required by the provider static'])
    const gafaelfawr = 'identity: {provider: gafaelfawr, gafaelfawr: {baseUrl: "https://x.org"'
    expect(await problemsOf(`${gafaelfawr}}}\n${rest}`)).toEqual([
      expect.stringMatching(/^identity.gafaelfawr.userSecretFiles: no secret/),
    ])
    await writeFile(join(folder, 'user.secret'), 'a-secret-of-the-ingress')
    const { ingressSecrets } = await load(`${gafaelfawr}, userSecretFiles: [user.secret]}}\n${rest}`, {})
    expect(ingressSecrets).toEqual({ user: ['a-secret-of-the-ingress'], admin: [], lab: [] })
  })

  it('tells that every client can claim any name where no secret is needed', async () => {
    const trusting =
      'identity: {provider: gafaelfawr, gafaelfawr: {baseUrl: "https://x.org", trustWithoutSecret: true}}\n'
    expect((await load(`${trusting}${rest}`, {})).warnings).toContainEqual(
      expect.stringContaining('can claim any name'),
    )
  })
})

describe('loadSettings of tenants', () => {
  it.each([
    ['rest: {usernameTemplate: ann}', 'tenants.rest.usernameTemplate: does not contain {username} once'],
    [
      'rest: {usernameTemplate: "{username}{username}"}',
      'tenants.rest.usernameTemplate: does not contain {username} once',
    ],
    [
      'rest: {usernameTemplate: "system:{username}"}',
      'tenants.rest.usernameTemplate: begins with system:, as names of the cluster itself',
    ],
    ['rest: {groupTemplate: "{username}"}', 'tenants.rest.groupTemplate: does not contain {group} once'],
    ['rest: {page: true}', 'tenants.rest.page: unknown key'],
    ['labelPrefixes: [example.com]', 'tenants.labelPrefixes.0: not a prefix of labels, such as example.com/'],
    [
      'labelPrefixes: [pod-security.kubernetes.io/]',
      'tenants.labelPrefixes.0: is a prefix that the cluster or this program believes',
    ],
    ['labelPrefixes: [lns.skylab/]', 'tenants.labelPrefixes.0: is a prefix that the cluster or this program believes'],
    ['reserved: [Team]', 'tenants.reserved.0: not the name of a namespace, or its beginning and an asterisk'],
    ['platform: {podSecurity: privileged}', 'tenants.platform.podSecurity: is laxer than laxestPodSecurity'],
    ['platform: {quota: {pods: many}}', 'tenants.platform.quota.pods: not a Kubernetes quantity'],
  ])('refuses %s', async (yaml, problem) => {
    expect(await problemsOf(`${minimal}tenants: {${yaml}}\n`)).toEqual([problem])
  })
})

describe('loadSettings with the files of the block redis', () => {
  it('reads user name and authorities', async () => {
    await cp(certificates, folder, { recursive: true })
    await writeFile(join(folder, 'username'), 'skylab\n')
    const block = 'redis: {url: "rediss://redis:6379", usernameFile: username, caFile: ca.crt}'
    expect((await load(minimal + block)).redisLogin).toEqual({ username: 'skylab', authorities: authority.ca })
  })

  it.each([
    ['redis.caFile: has no effect unless redis.url is a rediss:// address', 'caFile: tokens.yaml'],
    ['redis.caFile: the file has no certificate in PEM', 'url: "rediss://redis", caFile: tokens.yaml'],
    ['redis.usernameFile: contradicts the name in redis.url', 'url: "redis://me@redis", usernameFile: tokens.yaml'],
  ])('reports: %s', async (problem, block) => {
    expect(await problemsOf(`${minimal}redis: {${block}}`)).toContain(problem)
  })
})

describe('loadSettings with the files of api.tls', () => {
  it('reads them, and returns their full paths', async () => {
    await cp(certificates, folder, { recursive: true })
    const { apiTls } = await load(`${minimal}api: {tls: {certFile: api.crt, keyFile: api.key, clientCaFile: ca.crt}}`)
    expect(apiTls?.first).toMatchObject({ cert: issued.cert, key: issued.key })
    expect(apiTls?.files).toEqual({
      certFile: join(folder, 'api.crt'),
      keyFile: join(folder, 'api.key'),
      clientCaFile: join(folder, 'ca.crt'),
    })
  })

  it.each([
    ['api.tls.certFile: the file FOLDER/nowhere cannot be read (ENOENT)', 'certFile: nowhere, keyFile: nowhere'],
    ['api.tls.certFile: the file has no certificate in PEM', 'certFile: tokens.yaml, keyFile: tokens.yaml'],
    [
      'api.tls.requireClientCertificate: takes api.tls.clientCaFile',
      'certFile: nowhere, keyFile: nowhere, requireClientCertificate: true',
    ],
  ])('reports: %s', async (problem, block) => {
    expect(await problemsOf(`${minimal}api: {tls: {${block}}}`)).toContain(problem.replace('FOLDER', folder))
  })
})

it('loadSettings reports a file that cannot be read by its key and path', async () => {
  const path = join(folder, 'password-that-is-not-there')
  expect(await problemsOf(`${minimal}redis: {passwordFile: ${path}}`)).toContain(
    `redis.passwordFile: the file ${path} cannot be read (ENOENT)`,
  )
})

it('loadSettings warns of a missing size that the specification promises to bots', async () => {
  const { warnings } = await load(`${minimal}lab: {sizes: {small: {limits: {cpu: 1, memory: 1Gi}}}}`)
  expect(warnings.filter(warning => warning.startsWith('lab.sizes: '))).toHaveLength(2)
})

it.each<[string, boolean, number]>([
  ['config.json', true, 1],
  ['.dockerconfigjson', true, 0],
  ['config.json', false, 0],
])(
  'loadSettings warns of a pull secret that serves labs alone: the key %s, with prepulling %s',
  async (key, enabled, count) => {
    const secrets = `[{name: other, key: config.json}, {name: pull, key: ${key}, pull: true}]`
    const { warnings } = await load(`${minimal}lab: {secrets: ${secrets}}\nimages: {prepull: {enabled: ${enabled}}}`)
    expect(warnings.filter(warning => warning.startsWith('lab.secrets.1.key: '))).toHaveLength(count)
    expect(warnings.filter(warning => warning.startsWith('lab.secrets'))).toHaveLength(count)
  },
)

describe('loadSettings with tracing', () => {
  const endpoint = 'http://collector:4318/v1/traces'
  const withHeaders = `${minimal}tracing: {endpoint: "${endpoint}", headersFile: headers.yaml}`
  const write = (text: string) => writeFile(join(folder, 'headers.yaml'), text)

  it('is off without an endpoint', async () => {
    const { config, tracingHeaders } = await load(minimal)
    expect(config.tracing).toEqual({
      ...{ samplingRatio: 1, serviceName: 'skylab', maxQueuedSpans: 4096, timeoutSeconds: 5 },
    })
    expect(tracingHeaders).toEqual({})
  })

  it('takes headers of exports from a file', async () => {
    await write('Authorization: Bearer hunter2\nX-Scope: "7"\n')
    expect((await load(withHeaders)).tracingHeaders).toEqual({ Authorization: 'Bearer hunter2', 'X-Scope': '7' })
  })

  it.each(['- hunter2', 'hunter2', 'hunter2 hunter2: x', 'A: {b: hunter2}', 'A: "hunter2\\n"', 'A: !hunter2', ''])(
    'refuses %j as headers, without quoting it',
    async text => {
      await write(text)
      expect(await problemsOf(withHeaders)).toEqual([
        'tracing.headersFile: is not a YAML mapping of header names to values',
      ])
    },
  )

  it.each([
    ['endpoint: collector:4318', 'tracing.endpoint: not an http:// or https:// address'],
    ['samplingRatio: 1.5', 'tracing.samplingRatio: '],
    ['maxQueuedSpans: 0', 'tracing.maxQueuedSpans: '],
    ['colour: blue', 'tracing.colour: unknown key'],
  ])('refuses %s', async (line, problem) => {
    const problems = await problemsOf(`${minimal}tracing: {${line}}`)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })
})

describe('the keys of a gateway', () => {
  const gateway = (files: string) =>
    `run: [gateway]\n${minimal}gateway: {publicUrl: "https://a.example", keyFiles: [${files}]}\n`

  it('are those of its files, and no sealing key is needed', async () => {
    await writeFile(join(folder, 'a.key'), sealingKey)
    const { gatewayKeys, sealingKeys, tokens } = await load(gateway('a.key'), { SKYLAB_SEALING_KEY: '' })
    expect([gatewayKeys, sealingKeys, tokens.length]).toEqual([[Buffer.from(sealingKey, 'base64')], [], 1])
  })

  it('are refused when they are no keys', async () => {
    await writeFile(join(folder, 'a.key'), 'short')
    expect(await problemsOf(gateway('a.key, b.key'))).toEqual([
      'gateway.keyFiles.0: not 32 bytes in base64',
      'gateway.keyFiles.1: the file cannot be read (ENOENT)',
    ])
  })
})
