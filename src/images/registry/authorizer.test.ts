import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { LocalServer, status } from '../../../test/kit/images/server.ts'
import {
  basic,
  credentialsOfAda,
  dockerConfig,
  messageOf,
  passwordOf,
  registryAndSource,
  serviceOf,
} from '../../../test/kit/images/source.ts'

describe('Authorizer with a password', () => {
  const users = () => serviceOf(['ada', 'secret-of-ada'])

  it('sends it when the registry asks for it, and from then on', async () => {
    const { registry, server, source } = await registryAndSource({ tokens: users(), credentials: credentialsOfAda })
    registry.asks = 'basic'
    registry.push('a')
    await source.manifestOf('a')
    await source.listTags()
    expect(server.shown).toEqual([undefined, basic('ada', 'secret-of-ada'), basic('ada', 'secret-of-ada')])
  })

  it('neither sends nor reads it when the registry does not ask', async () => {
    const credentials = vi.fn(credentialsOfAda)
    const { server, source } = await registryAndSource({ credentials })
    await source.listTags()
    expect(server.shown).toEqual([undefined])
    expect(credentials).not.toHaveBeenCalled()
  })

  it('fails when there is none', async () => {
    const { registry, server, source, host } = await registryAndSource({ tokens: users() })
    registry.asks = 'basic'
    expect(await messageOf(source.listTags())).toBe(`${host} asks for credentials, and there are none`)
    expect(server.asked.length).toBe(1)
  })

  it('does not send the one of another host', async () => {
    const { registry, server, source } = await registryAndSource({
      tokens: users(),
      credentials: () => credentialsOfAda('r.example.org'),
    })
    registry.asks = 'basic'
    expect(await messageOf(source.listTags())).toContain('there are none')
    expect(server.shown).toEqual([undefined])
  })

  it('sends a wrong one only once', async () => {
    const credentials = async (host: string) => dockerConfig(host, passwordOf('ada', 'secret-of-yesterday'))
    const { registry, server, source, host } = await registryAndSource({ tokens: users(), credentials })
    registry.asks = 'basic'
    expect(await messageOf(source.listTags())).toBe(`${host} answered 401 to the credentials that it asked for`)
    expect(await messageOf(source.listTags())).toBe(`${host} answered 401 to the credentials that it asked for`)
    expect(server.asked.length).toBe(3)
  })

  it('reads a changed one when the old one is refused', async () => {
    let password = 'secret-of-ada'
    const credentials = async (host: string) => dockerConfig(host, passwordOf('ada', password))
    const { registry, server, source } = await registryAndSource({ tokens: users(), credentials })
    registry.asks = 'basic'
    await source.listTags()
    password = 'secret-of-today'
    registry.tokens.users.set('ada', password)
    await source.listTags()
    expect(server.shown.slice(2)).toEqual([basic('ada', 'secret-of-ada'), basic('ada', 'secret-of-today')])
  })

  it('reads it again after a minute', async () => {
    const credentials = vi.fn(credentialsOfAda)
    const { registry, source, clock } = await registryAndSource({ tokens: users(), credentials })
    registry.asks = 'basic'
    await source.listTags()
    clock.advance(59_999)
    await source.listTags()
    expect(credentials).toHaveBeenCalledTimes(1)
    clock.advance(1)
    await source.listTags()
    expect(credentials).toHaveBeenCalledTimes(2)
  })

  it('keeps the last one when it cannot be read any more', async () => {
    let fails = false
    const credentials = (host: string) => (fails ? Promise.reject(new Error('no Kubernetes')) : credentialsOfAda(host))
    const { registry, source, clock } = await registryAndSource({ tokens: users(), credentials })
    registry.asks = 'basic'
    await source.listTags()
    fails = true
    clock.advance(60_000)
    expect(await source.listTags()).toEqual([])
  })

  it('fails when it could never be read', async () => {
    const { registry, source } = await registryAndSource({
      credentials: () => Promise.reject(new Error('no Kubernetes')),
    })
    registry.asks = 'basic'
    expect(await messageOf(source.listTags())).toBe('the credentials of the registry cannot be read')
  })

  it('does not quote an invalid file', async () => {
    const { registry, source } = await registryAndSource({ credentials: async () => 'secret-of-ada' })
    registry.asks = 'basic'
    expect(await messageOf(source.listTags())).toBe('the credentials are no Docker config.json')
  })

  it('does not follow a redirect to another host with it', async () => {
    const { registry, server, source } = await registryAndSource({ tokens: users(), credentials: credentialsOfAda })
    registry.asks = 'basic'
    const digest = registry.push('a')
    await source.manifestOf('a')
    const other = await LocalServer.start(status(200, { 'Docker-Content-Digest': digest }))
    onTestFinished(() => other.stop())
    server.faults.push(status(307, { Location: `${other.url}/there` }))
    expect(await source.manifestOf('a')).toEqual({ digest })
    expect(server.shown.at(-1)).toBe(basic('ada', 'secret-of-ada'))
    expect(other.shown).toEqual([undefined])
  })
})
