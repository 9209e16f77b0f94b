/** Proof of a machine before anything is sent to it, against OpenSSH and against servers that lie. */
import { createHmac } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Refused, Unreachable, WrongSecret } from './errors.ts'
import { someKey } from './testing/keys.ts'
import { type Answer, says } from './testing/liar.ts'
import { errorOf, Site } from './testing/site.ts'

/** Against hanging: processes start late on a busy machine. */
const soon = { timeout: 20_000 }

const site = new Site()
const { secret } = site
const question = 'exec cat /var/run/arvados-instance-secret'
const login = ['login root publickey', 'login root publickey']

afterEach(site.end)

describe('connect to OpenSSH', () => {
  test('resolves with the host key when the machine has the secret', async () => {
    const server = await site.sshd()
    const first = await site.connect(server)
    expect(first).toMatchObject({ changed: false, hostKey: expect.stringMatching(/^ssh-ed25519 AAAA\S+$/) })
    const again = await site.connect(server, { pinned: first.hostKey })
    expect(again).toMatchObject({ changed: false, hostKey: first.hostKey })
  })

  test('takes a newline at the end of the secret, and a digest of it', async () => {
    const server = await site.sshd({ secret: `${secret}\n` })
    const digest = (answer: string) => createHmac('sha256', 'key').update(answer).digest('hex')
    await site.connect(server, { secret: digest(secret), digest })
    expect(await errorOf(site.connect(server, { secret, digest }))).toMatchObject({
      name: 'WrongSecret',
      answer: 'other',
    })
  })

  test.each(['ecdsa', 'rsa'] as const)('logs in with a key of type %s', async type => {
    const { public: publicKey, key } = someKey(type)
    await site.connect(await site.sshd({ publicKey }), { key })
  })

  test('reports a changed key when another machine with our secret has the address', async () => {
    const before = await site.sshd()
    const { hostKey, ...machine } = await site.connect(before)
    expect(machine.changed).toBe(false)
    await before.stop()
    const after = await site.sshd({ port: before.port })
    const changed = await site.connect(after, { pinned: hostKey })
    expect(changed.changed).toBe(true)
    expect(changed.hostKey).not.toBe(hostKey)
  })

  test('rejects when there is no secret, and resolves when it has come', async () => {
    const server = await site.sshd({ secret: undefined })
    expect(await errorOf(site.connect(server))).toMatchObject({ name: 'WrongSecret', answer: 'none' })
    server.writeSecret('')
    expect(await errorOf(site.connect(server))).toMatchObject({ name: 'WrongSecret', answer: 'none' })
    server.writeSecret(secret)
    await site.connect(server)
    // Each asks: nothing else was sent to the first ones. The last byte counts are of the very same messages.
    expect(server.received[0]).toBeLessThan(4096)
    await expect.poll(() => server.connections, soon).toBe(1)
  })

  test('rejects when our key is refused', async () => {
    const server = await site.sshd({ publicKey: someKey().public })
    expect(await errorOf(site.connect(server))).toBeInstanceOf(Refused)
    await expect.poll(() => server.connections, soon).toBe(0)
  })

  test('rejects in words when there is no algorithm in common', async () => {
    const server = await site.sshd({ config: ['KexAlgorithms diffie-hellman-group14-sha1'] })
    const error = await errorOf(site.connect(server))
    expect(error).toBeInstanceOf(Refused)
    expect(error.message).toMatch(/no algorithm in common/)
  })

  test('rejects with an RSA key when the server takes that only by SHA-1', async () => {
    const { public: publicKey, key } = someKey('rsa')
    const server = await site.sshd({ publicKey, config: ['PubkeyAcceptedAlgorithms ssh-rsa'] })
    expect(await errorOf(site.connect(server, { key }))).toBeInstanceOf(Refused)
  })
})

describe('connect to a liar', () => {
  const lies: Record<string, Answer> = {
    'another secret': says('another secret'),
    'a secret that begins as ours': says(secret.slice(0, -1)),
    'our secret with more': says(`${secret}x`),
    nothing: says(''),
    'its own failure': says('cat: no such file', 1),
    'our secret and a failure': says(secret, 1),
    'no exit': channel => channel.end(secret),
  }

  test.each(Object.keys(lies))('sends only login and question when it answers %s', async name => {
    const server = await site.liar({ answer: () => lies[name]! })
    const error = await errorOf(site.connect(server))
    expect(error).toBeInstanceOf(WrongSecret)
    expect(error.message + inspect(error)).not.toContain(secret)
    expect(server.asked).toEqual([...login, question])
    expect(server.inputBytes).toBe(0)
    await expect.poll(() => server.connections, soon).toBe(0)
  })

  test('sends only login and question when the answer never ends', async () => {
    const endless: Answer = channel => {
      const write = () => {
        while (channel.writable && channel.write(`${secret}\n`.repeat(100)));
      }
      channel.on('drain', write)
      write()
    }
    const server = await site.liar({ answer: () => endless })
    const error = await errorOf(site.connect(server))
    expect(error).toBeInstanceOf(Refused)
    expect(error.message).toMatch(/more than 4096 bytes/)
    expect(server.asked).toEqual([...login, question])
  })

  test('sends only login and question when the secret comes too late', async () => {
    const clock = new ManualClock()
    const late: Answer = channel => {
      clock.advance(300)
      channel.write(secret)
    }
    const server = await site.liar({ answer: () => late })
    const error = await errorOf(site.connect(server, { timeoutMs: 300, clock }))
    expect(error).toBeInstanceOf(Unreachable)
    expect(error.message).toMatch(/did not end within/)
    expect(server.asked).toEqual([...login, question])
    expect(server.inputBytes).toBe(0)
    await expect.poll(() => server.connections, soon).toBe(0)
  })

  test('sends only login and question when a pinned key is another, and the secret too', async () => {
    const before = await site.liar({ answer: () => says(secret) })
    const { hostKey } = await site.connect(before)
    await before.stop()
    const after = await site.liar({ port: before.port, answer: () => says('another') })
    expect(await errorOf(site.connect(after, { pinned: hostKey }))).toMatchObject({
      name: 'WrongSecret',
      answer: 'other',
    })
    expect(after.asked).toEqual([...login, question])
  })

  test('asks also when the key is the pinned one: machines of an image may share it', async () => {
    const hostKey = someKey().private
    const before = await site.liar({ hostKey, answer: () => says(secret) })
    const { hostKey: pinned } = await site.connect(before)
    await before.stop()
    const after = await site.liar({ hostKey, port: before.port, answer: () => says('another') })
    expect(await errorOf(site.connect(after, { pinned }))).toBeInstanceOf(WrongSecret)
  })

  test('rejects an empty secret of ours, which any machine would have', async () => {
    const server = await site.liar({ answer: () => says('anything') })
    expect(await errorOf(site.connect(server, { secret: '' }))).toBeInstanceOf(WrongSecret)
    expect(await errorOf(site.connect(server, { secret: '', digest: () => '' }))).toBeInstanceOf(WrongSecret)
  })

  test('names itself to the server, in one line', async () => {
    const server = await site.liar({ answer: () => says(secret) })
    await site.connect(server, { agent: 'replica-1/lo 5\r\n/7' })
    expect(server.agents).toEqual(['replica-1/lo_5_/7'])
  })

  test('asks a user who is not root for root', async () => {
    const server = await site.liar({ answer: () => says(secret) })
    await site.connect(server, { user: 'admin' })
    expect(server.asked.at(-1)).toBe("exec sudo -n sh -c 'cat /var/run/arvados-instance-secret'")
  })
})

describe('connect to a server that is none', () => {
  const tcp = async (onConnection: (socket: Socket) => void): Promise<Server> => {
    const server = createServer(socket => {
      socket.on('error', () => {})
      site.onEnd(() => socket.destroy())
      onConnection(socket)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    site.onEnd(() => server.close())
    return server
  }
  const addressOf = (server: Server) => ({ address: `127.0.0.1:${(server.address() as { port: number }).port}` })

  test('rejects when it never answers', async () => {
    const error = await errorOf(site.connect(addressOf(await tcp(() => {})), { timeoutMs: 100 }))
    expect(error).toBeInstanceOf(Unreachable)
    expect(error.message).toMatch(/no login within 0.1 s/)
  })

  test('rejects when it closes', async () => {
    expect(await errorOf(site.connect(addressOf(await tcp(socket => socket.end()))))).toBeInstanceOf(Unreachable)
  })

  test('rejects when it talks for ever', async () => {
    const talk = (socket: Socket) => {
      const write = () => {
        while (socket.writable && socket.write('x'.repeat(60_000)));
      }
      socket.on('drain', write)
      write()
    }
    const error = await errorOf(site.connect(addressOf(await tcp(talk)), { timeoutMs: 2000 }))
    expect(error).toBeInstanceOf(Error)
    expect(error.message.length).toBeLessThan(300)
  })

  test('rejects when nobody listens, and when the address is none', async () => {
    const server = await tcp(() => {})
    const address = addressOf(server)
    await new Promise(resolve => server.close(resolve))
    expect(await errorOf(site.connect(address))).toBeInstanceOf(Unreachable)
    for (const none of ['', 'host', ':22', 'host:99999']) {
      expect(await errorOf(site.connect({ address: none }))).toBeInstanceOf(Unreachable)
    }
  })

  test('rejects with the reason of its signal when that fires, before or during the attempt', async () => {
    const address = addressOf(await tcp(() => {}))
    const reason = new Error('stopped')
    expect(await errorOf(site.connect(address, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    const stop = new AbortController()
    const attempt = errorOf(site.connect(address, { signal: stop.signal }))
    stop.abort(reason)
    expect(await attempt).toBe(reason)
  })
})
