import { describe, expect, it, onTestFinished } from 'vitest'
import { type FakeRegistry, TokenService } from '../../../test/kit/images/registry.ts'
import { faults, json, LocalServer, type Respond, status } from '../../../test/kit/images/server.ts'
import {
  basic,
  credentialsOfAda,
  dockerConfig,
  messageOf,
  passwordOf,
  registryAndSource,
  serviceOf,
} from '../../../test/kit/images/source.ts'
import { systemClock } from '../../base/clock.ts'
import { Authorizer } from './authorizer.ts'
import type { RegistryHttp } from './http.ts'

/** A token service on a host of its own. */
async function otherHost(tokens: TokenService) {
  const server = await LocalServer.start((asked, response) => tokens.answer(asked)(asked, response))
  onTestFinished(() => server.stop())
  return server
}

describe('Authorizer with tokens', () => {
  it('gets an anonymous token when there are no credentials', async () => {
    const { registry, server, source } = await registryAndSource()
    registry.asks = 'bearer'
    registry.tags = ['a']
    expect(await source.listTags()).toEqual([{ tag: 'a' }])
    const [token] = registry.tokens.tokens
    expect(server.shown).toEqual([undefined, undefined, `Bearer ${token}`])
    expect(server.lines[1]).toBe('GET /token?service=registry&scope=repository%3Asome%2Flab%3Apull')
  })

  it('gets a token by a password, which the registry does not receive', async () => {
    const tokens = serviceOf(['ada', 'secret-of-ada'])
    const service = await otherHost(tokens)
    const { registry, server, source } = await registryAndSource({ tokens, credentials: credentialsOfAda })
    Object.assign(registry, { asks: 'bearer', realm: `${service.url}/auth?a=b` })
    await source.listTags()
    expect(service.lines).toEqual(['GET /auth?a=b&service=registry&scope=repository%3Asome%2Flab%3Apull'])
    expect(service.shown).toEqual([basic('ada', 'secret-of-ada')])
    expect(server.shown).toEqual([undefined, `Bearer ${[...tokens.tokens][0]}`])
  })

  it.each([
    ['named', (host: string) => [host], true],
    ['none', () => [], false],
    ['another', (host: string) => [host.replace(/\d+$/, '1')], false],
  ])('asks another host only as images.tokenHosts allows: %s', async (_, hostsOf, isAsked) => {
    const tokens = serviceOf(['ada', 'secret-of-ada'])
    const service = await otherHost(tokens)
    const images = { tokenHosts: hostsOf(service.host) }
    const { registry, source } = await registryAndSource({ tokens, images, credentials: credentialsOfAda })
    Object.assign(registry, { asks: 'bearer', realm: `${service.url}/auth` })
    if (isAsked) await source.listTags()
    else expect(await messageOf(source.listTags())).toMatch(/sends to .* for a token, which is not trusted/)
    expect(service.asked).toHaveLength(isAsked ? 1 : 0)
  })

  it.each([
    ['http://registry.example:5000', undefined, false],
    ['http://registry.example:5000', ['auth.example'], true],
    ['https://registry.example', undefined, true],
    ['https://registry.example', ['auth.other'], false],
  ])('of a registry at %s asks auth.example, with hosts %j: %s', async (origin, tokenHosts, isAsked) => {
    const sent: string[] = []
    const answer = { url: new URL(origin), status: 200, header: () => '', body: Buffer.from('{"token": "t"}') }
    const send = async ({ url }: { url: URL }) => {
      sent.push(url.host)
      return answer
    }
    const http = { send } as unknown as RegistryHttp
    const registry = new URL(origin).host
    const authorizer = new Authorizer({
      ...{ registry, repository: 'some/lab', origin: new URL(origin), http, clock: systemClock, tokenHosts },
      credentials: async () => dockerConfig(registry, passwordOf('ada', 'secret-of-ada')),
    })
    const header = authorizer.renewed('Bearer realm="https://auth.example/token"', undefined)
    if (isAsked) expect(await header).toBe('Bearer t')
    else expect(await messageOf(header)).toContain('which is not trusted')
    expect(sent).toEqual(isAsked ? ['auth.example'] : [])
  })

  it('gets a token by an identity token, which the registry does not receive', async () => {
    const tokens = new TokenService()
    tokens.identityTokens.add('secret-identity')
    const service = await otherHost(tokens)
    const credentials = async (host: string) => dockerConfig(host, { identitytoken: 'secret-identity' })
    const { registry, server, source } = await registryAndSource({ tokens, credentials })
    Object.assign(registry, { asks: 'bearer', realm: `${service.url}/auth` })
    await source.listTags()
    expect(service.lines).toEqual(['POST /auth'])
    expect(Object.fromEntries(new URLSearchParams(service.asked[0]!.body))).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'secret-identity',
      client_id: 'skylab',
      service: 'registry',
      scope: 'repository:some/lab:pull',
    })
    expect(server.shown).toEqual([undefined, `Bearer ${[...tokens.tokens][0]}`])
  })

  it('fails for a registry without tokens when there is only an identity token', async () => {
    const credentials = async (host: string) => dockerConfig(host, { identitytoken: 'secret-identity' })
    const { registry, source } = await registryAndSource({ credentials })
    registry.asks = 'basic'
    expect(await messageOf(source.listTags())).toContain('and there is an identity token alone')
  })

  it('prefers a token to a password, among several challenges', async () => {
    const tokens = serviceOf(['ada', 'secret-of-ada'])
    const { registry, server, source } = await registryAndSource({ tokens, credentials: credentialsOfAda })
    const bearer = `Bearer realm="${server.url}/token"`
    server.faults.push(status(401, { 'WWW-Authenticate': ['Basic realm="a, b"', bearer] }))
    await source.listTags()
    expect(server.lines[1]).toBe('GET /token?scope=repository%3Asome%2Flab%3Apull')
    expect(server.shown[2]).toBe(`Bearer ${[...registry.tokens.tokens][0]}`)
  })

  it.each<[number | undefined, number]>([
    [undefined, 60],
    [300, 300],
  ])('uses a token that lasts %s seconds for %i', async (seconds, lasts) => {
    const { registry, server, source, clock } = await registryAndSource()
    registry.asks = 'bearer'
    registry.tokens.seconds = seconds
    await source.listTags()
    clock.advance(lasts * 1000 - 1)
    await source.listTags()
    expect(registry.tokens.tokens.size).toBe(1)
    clock.advance(1)
    await source.listTags()
    expect(registry.tokens.tokens.size).toBe(2)
    // Not sent again to be refused.
    expect(server.asked.length).toBe(6)
  })

  it('renews a refused token once', async () => {
    const { registry, server, source } = await registryAndSource()
    registry.asks = 'bearer'
    await source.listTags()
    registry.tokens.tokens.clear()
    expect(await source.listTags()).toEqual([])
    expect(server.lines.slice(3).map(line => line.replace(/\?.*/, ''))).toEqual([
      'GET /v2/some/lab/tags/list',
      'GET /token',
      'GET /v2/some/lab/tags/list',
    ])
  })

  it('does not ask for ever new tokens', async () => {
    const { registry, server, source, host } = await registryAndSource({ tokens: new Deaf() })
    registry.asks = 'bearer'
    expect(await messageOf(source.listTags())).toBe(`${host} answered 401 to the credentials that it asked for`)
    expect(server.asked.length).toBe(3)
  })

  it('shares one token among concurrent requests', async () => {
    const { registry, server, source } = await registryAndSource()
    registry.asks = 'bearer'
    for (const tag of ['a', 'b', 'c']) registry.push(tag)
    await Promise.all(['a', 'b', 'c'].map(tag => source.manifestOf(tag)))
    expect(server.lines.filter(line => line.startsWith('GET /token')).length).toBe(1)
  })

  it('keeps a bounded number of tokens', async () => {
    const { registry, server, source } = await registryAndSource()
    registry.asks = 'bearer'
    registry.push('a')
    const wants = (scope: number) =>
      status(401, { 'WWW-Authenticate': `Bearer realm="${server.url}/token",scope="${scope}"` })
    for (const scope of [...Array(101).keys(), 0]) {
      server.faults.push(wants(scope))
      await source.manifestOf('a')
    }
    expect(registry.tokens.tokens.size).toBe(102)
  })

  it('keeps a token for other callers when one aborts', async () => {
    const { registry, server, source } = await registryAndSource()
    registry.asks = 'bearer'
    const gate = Promise.withResolvers<void>()
    const caller = new AbortController()
    const reached = Promise.withResolvers<void>()
    const held: Respond = (asked, response) => {
      reached.resolve()
      void gate.promise.then(() => registry.tokens.answer(asked)(asked, response))
    }
    server.faults.push((_, response) => response.writeHead(401, challengeOf(registry)).end(), held)
    const leaving = source.listTags(caller.signal)
    await reached.promise
    const staying = source.listTags()
    caller.abort(new Error('gone'))
    await expect(leaving).rejects.toThrow('gone')
    gate.resolve()
    expect(await staying).toEqual([])
    expect(registry.tokens.tokens.size).toBe(1)
  })

  it('gets another token for changed credentials', async () => {
    let credentials: string | undefined
    const tokens = serviceOf(['ada', 'secret-of-ada'])
    const { registry, source, clock, host } = await registryAndSource({ tokens, credentials: async () => credentials })
    registry.asks = 'bearer'
    tokens.seconds = 3600
    credentials = await credentialsOfAda(host)
    await source.listTags()
    tokens.users.set('eve', 'secret-of-eve')
    credentials = dockerConfig(host, passwordOf('eve', 'secret-of-eve'))
    clock.advance(60_000)
    await source.listTags()
    expect(tokens.tokens.size).toBe(2)
  })

  it('reads a changed password when the old one is refused', async () => {
    let password = 'secret-of-ada'
    const tokens = serviceOf(['ada', password])
    const credentials = async (host: string) => dockerConfig(host, passwordOf('ada', password))
    const { registry, source, clock } = await registryAndSource({ tokens, credentials })
    registry.asks = 'bearer'
    tokens.seconds = 10
    await source.listTags()
    password = 'secret-of-today'
    tokens.users.set('ada', password)
    clock.advance(10_000)
    expect(await source.listTags()).toEqual([])
  })

  it.each<[string, Respond, RegExp]>([
    ['401', status(401), /gave no token but 401$/],
    ['403', status(403), /gave no token but 403$/],
    ['404', status(404), /gave no token but 404$/],
    ['a redirect', status(307, { Location: '/elsewhere' }), /gave no token but 307$/],
    ['nothing', json({}), /gave no token$/],
    ['a token that no header takes', json({ token: 'secret\r\nX: y' }), /is malformed at token$/],
    ['no object', json('secret'), /is malformed at the whole$/],
    ['garbage', faults['no JSON'], /is not JSON$/],
    ['too much', faults.huge, /larger than 1048576 bytes$/],
  ])('fails after %s', async (_, fault, words) => {
    const tokens = serviceOf(['ada', 'secret-of-ada'])
    const service = await otherHost(tokens)
    const { registry, source } = await registryAndSource({ tokens, credentials: credentialsOfAda })
    Object.assign(registry, { asks: 'bearer', realm: `${service.url}/auth` })
    service.faults.push(fault)
    const message = await messageOf(source.listTags())
    expect(message).toMatch(words)
    expect(message).toContain(service.host)
    expect(service.asked.length).toBe(1)
    // The next request asks again.
    expect(await source.listTags()).toEqual([])
  })

  it.each([
    ['in the clear', 'http://auth.example.org/token'],
    ['nowhere', 'token'],
    ['by another protocol', 'ftp://127.0.0.1/token'],
  ])('does not ask %s', async (_, realm) => {
    const { registry, server, source } = await registryAndSource({ credentials: credentialsOfAda })
    Object.assign(registry, { asks: 'bearer', realm })
    expect(await messageOf(source.listTags())).toMatch(/for a token, which is not trusted$/)
    expect(server.asked.length).toBe(1)
  })

  it('ignores a challenge with an empty realm', async () => {
    const { server, source } = await registryAndSource()
    server.faults.push(status(401, { 'WWW-Authenticate': 'Bearer realm=""' }))
    expect(await messageOf(source.listTags())).toContain('asks for credentials')
  })
})

/** Returns tokens that are not accepted anywhere. */
class Deaf extends TokenService {
  override readonly tokens = new (class extends Set<string> {
    override has() {
      return false
    }
  })()
}

const challengeOf = (registry: FakeRegistry) => ({
  'WWW-Authenticate': `Bearer realm="${registry.server.url}/token",service="registry",scope="repository:some/lab:pull"`,
})
