import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findProgram } from '../process/command.ts'
import { type Balancer, balancerConfig, startBalancer } from './haproxy.ts'

describe('balancerConfig', () => {
  const lines = balancerConfig({
    port: 8000,
    replicas: [8001, 8002].map(port => ({ port, monitoringPort: port + 1000 })),
  })
    .split('\n')
    .map(line => line.trim())

  it('names each replica once, with a check of its readiness', () => {
    expect(lines.filter(line => line.startsWith('server '))).toEqual([
      'server replica-1 127.0.0.1:8001 port 9001',
      'server replica-2 127.0.0.1:8002 port 9002',
    ])
    expect(lines).toContain('option httpchk GET /readyz')
  })

  it('distributes without stickiness, and repeats only requests that never reached a replica', () => {
    expect(lines).toContain('balance roundrobin')
    expect(lines).toContain('retry-on conn-failure')
    expect(lines.some(line => /cookie|stick|source/.test(line))).toBe(false)
  })

  it('speaks TLS to clients where it has a certificate', () => {
    const config = balancerConfig({ port: 8000, replicas: [], certificate: '/pki/balancer.pem' })
    expect(lines).toContain('bind 127.0.0.1:8000')
    expect(config).toContain('bind 127.0.0.1:8000 ssl crt /pki/balancer.pem\n')
  })
})

/** A replica that answers its name, and can stream. */
class Replica {
  readonly #server: Server

  constructor(name: string) {
    this.#server = createServer((request, response) => {
      if (request.url === '/readyz') response.end()
      else if (request.url === '/events')
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
      else response.end(name)
    })
  }

  async start(): Promise<number> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }
}

const haproxy = findProgram('haproxy')

describe.skipIf(!haproxy)('startBalancer', () => {
  let stateDir: string
  let balancer: Balancer
  let replicas: Replica[]
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'balancer-'))
    replicas = ['one', 'two', 'three'].map(name => new Replica(name))
    const ports = await Promise.all(replicas.map(replica => replica.start()))
    balancer = await startBalancer({
      stateDir,
      program: haproxy!,
      replicas: ports.map(port => ({ port, monitoringPort: port })),
    })
  })
  afterEach(async () => {
    await balancer.stop()
    await Promise.all(replicas.map(replica => replica.stop()))
    await rm(stateDir, { recursive: true, force: true })
  })

  const ask = async () => {
    const response = await fetch(`${balancer.url}/who`)
    return { status: response.status, text: await response.text() }
  }

  it('sends requests to the replicas in turn', async () => {
    const names = new Set<string>()
    for (let i = 0; i < 6; i++) names.add((await ask()).text)
    expect(names).toEqual(new Set(['one', 'two', 'three']))
  })

  it('loses no request when a replica is gone', async () => {
    await replicas[0]?.stop()
    const answers = []
    for (let i = 0; i < 8; i++) answers.push(await ask())
    expect(answers.filter(answer => answer.status !== 200)).toEqual([])
    expect(answers.some(answer => answer.text === 'one')).toBe(false)
  })

  it("answers in the replicas' format when all are gone", async () => {
    await Promise.all(replicas.map(replica => replica.stop()))
    const nobody = await fetch(`${balancer.url}/who`)
    expect([nobody.status, nobody.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await nobody.json()).toMatchObject({ detail: [{ type: 'unavailable' }] })
  })

  it('passes an event on while its stream is open', async () => {
    const response = await fetch(`${balancer.url}/events`)
    const reader = response.body!.getReader()
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toBe('data: 1\n\n')
    await reader.cancel()
  })
})
