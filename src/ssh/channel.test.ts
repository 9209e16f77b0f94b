/** Commands on a machine, short and long ones, against OpenSSH; and what a machine may do to them. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import ssh2 from 'ssh2'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Refused, Unreachable } from './errors.ts'
import { type Answer, keepalive, says, silence } from './testing/liar.ts'
import { errorOf, Site } from './testing/site.ts'

/** Against hanging: processes start late on a busy machine. */
const soon = { timeout: 20_000 }

const site = new Site()
afterEach(site.end)

const proved = (answer: Answer) => site.proved(() => answer)

describe('exec', () => {
  test('resolves with exit code, output and last words', async () => {
    const machine = await site.connect(await site.sshd())
    expect(await machine.exec('echo out; echo why >&2; exit 3')).toEqual({ exitCode: 3, stdout: 'out\n', words: 'why' })
    expect(await machine.exec('cat')).toEqual({ exitCode: 0, stdout: '', words: '' })
    expect(await machine.exec('kill -9 $$')).toMatchObject({ stdout: '' })
  })

  test('leaves the secret out of words', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const { words } = await machine.exec(`cat ${server.folder}/secret >&2; exit 1`)
    expect(words).toBe('***')
    expect(await machine.probe(`cat ${server.folder}/secret; exit 1`)).toEqual({
      isReady: false,
      words: 'exit code 1: ***',
    })
  })

  test('rejects when a command prints too much, takes too long, or its signal fires; the connection stays', async () => {
    const machine = await site.connect(await site.sshd())
    const error = await errorOf(machine.exec('cat /dev/zero', { maxBytes: 1000 }))
    expect(error).toBeInstanceOf(Refused)
    expect(error.message).toBe('a command printed more than 1000 bytes')
    const late = await errorOf(machine.exec('sleep 60', { timeoutMs: 50 }))
    expect(late).toBeInstanceOf(Unreachable)
    expect(late.message).toBe('a command did not end within 0.05 s')
    const stop = new AbortController()
    const stopped = errorOf(machine.exec('sleep 60', { signal: stop.signal }))
    const reason = new Error('stopped')
    stop.abort(reason)
    expect(await stopped).toBe(reason)
    expect(await machine.exec('echo still')).toMatchObject({ stdout: 'still\n' })
  })

  test('bounds what a machine says at its end', async () => {
    const machine = await site.connect(await site.sshd())
    const { words } = await machine.exec('head -c 3000000 /dev/zero | tr "\\0" x >&2; exit 1')
    expect(words.length).toBeLessThan(1100)
  })

  test('runs many commands at once over one connection', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const all = await Promise.all(Array.from({ length: 9 }, (_, i) => machine.exec(`echo ${i}`)))
    expect(all.map(({ stdout }) => stdout.trim())).toEqual([...'012345678'])
    expect(server.received.length).toBe(1)
  })

  test('rejects when the machine opens no channel', async () => {
    const machine = await site.connect(await site.sshd({ config: ['MaxSessions 2'] }))
    const three = await Promise.allSettled(Array.from({ length: 3 }, () => machine.channel('cat')))
    const refused = three.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
    expect(refused.length).toBeGreaterThan(0)
    for (const error of refused) expect(error).toBeInstanceOf(Refused)
  })
})

describe('probe', () => {
  test('is ready when its command succeeds, and says why not', async () => {
    const machine = await site.connect(await site.sshd())
    expect(await machine.probe('true')).toEqual({ isReady: true, words: '' })
    expect(await machine.probe('echo starting; exit 1')).toEqual({ isReady: false, words: 'exit code 1: starting' })
    expect(await machine.probe('exit 2')).toEqual({ isReady: false, words: 'exit code 2' })
  })

  test('asks systemd by default', async () => {
    const server = await site.liar({ answer: proved(says('running\n')) })
    expect(await (await site.connect(server)).probe()).toEqual({ isReady: true, words: '' })
    expect(server.asked.at(-1)).toBe('exec systemctl is-system-running')
  })
})

describe('channel', () => {
  test('carries both ways, and takes the rest after its input has ended', async () => {
    const machine = await site.connect(await site.sshd())
    const channel = await machine.channel('cat; echo rest; echo why >&2; exit 4')
    const content = randomBytes(3_000_000).toString('base64')
    const all = text(channel)
    channel.end(content)
    expect(await all).toBe(`${content}rest\n`)
    expect(await channel.exit).toEqual({ exitCode: 4, words: 'why' })
  })

  test('ends with its command, though its input is open', async () => {
    const machine = await site.connect(await site.sshd())
    const channel = await machine.channel('echo done; exit 5')
    expect(await text(channel)).toBe('done\n')
    expect(await channel.exit).toMatchObject({ exitCode: 5 })
    await expect.poll(() => channel.destroyed, soon).toBe(true)
    expect(channel.write('more')).toBe(false)
  })

  test('takes writes when the command has ended, without a word', async () => {
    const machine = await site.connect(await site.sshd())
    // It ends once the first write has arrived.
    const channel = await machine.channel('head -c 1 >/dev/null')
    let writes = 0
    while (!channel.destroyed && channel.writable) {
      await new Promise(resolve => channel.write(Buffer.alloc(100_000), resolve))
      writes += 1
      channel.resume()
    }
    expect(writes).toBeGreaterThan(0)
    expect(await channel.exit).toMatchObject({ exitCode: 0 })
  })

  test('takes writes when the command has ended and its output is not read yet', async () => {
    const machine = await site.connect(await site.liar({ answer: proved(says('x', 4)) }))
    const channel = await machine.channel('speak')
    await channel.exit
    await new Promise(resolve => channel.write('input', resolve))
    expect(await text(channel)).toBe('x')
    expect(await channel.exit).toEqual({ exitCode: 4, words: '' })
  })

  test('has no exit code when a signal ended its command', async () => {
    const machine = await site.connect(await site.sshd())
    const channel = await machine.channel('kill -9 $$')
    channel.resume()
    expect((await channel.exit).exitCode).toBe(undefined)
  })

  test('is destroyed with the reason when the connection ends', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const channel = await machine.channel('cat')
    const failed = errorOf(text(channel))
    server.cut()
    expect(await failed).toBeInstanceOf(Unreachable)
    expect(await channel.exit).toMatchObject({ exitCode: undefined, words: expect.stringMatching(/closed|ECONN/) })
    expect(machine.ended.aborted).toBe(true)
    expect(await errorOf(machine.exec('true'))).toBe(machine.ended.reason)
    expect(await errorOf(machine.channel('true'))).toBe(machine.ended.reason)
  })
})

test('a command is unreachable when the connection takes none any more, and has not ended yet', async () => {
  const machine = await site.connect(await site.sshd())
  const exec = vi.spyOn(ssh2.Client.prototype, 'exec').mockImplementation(() => {
    throw new Error('Not connected')
  })
  try {
    const errors = await Promise.all([errorOf(machine.exec('true')), errorOf(machine.channel('true'))])
    for (const error of errors) expect(error).toBeInstanceOf(Unreachable)
  } finally {
    exec.mockRestore()
  }
})

describe('close', () => {
  test('ends the connection, its channels, and commands that run', async () => {
    const server = await site.sshd()
    const machine = await site.connect(server)
    const channel = await machine.channel('cat')
    const failed = [errorOf(text(channel)), errorOf(machine.exec('sleep 60'))]
    machine.close()
    machine.close()
    for (const error of await Promise.all(failed)) expect(error).toBeInstanceOf(Unreachable)
    await expect.poll(() => server.connections, soon).toBe(0)
  })

  test('ends a connection whose other side does not', async () => {
    const server = await site.liar({ answer: proved(silence) })
    const machine = await site.connect(server)
    const failed = errorOf(machine.exec('true'))
    machine.close()
    expect(await failed).toBeInstanceOf(Unreachable)
    await expect.poll(() => server.connections, soon).toBe(0)
  })

  test('comes with the signal of connect', async () => {
    const server = await site.sshd()
    const stop = new AbortController()
    const machine = await site.connect(server, { signal: stop.signal })
    stop.abort(new Error('stopped'))
    expect(machine.ended.aborted).toBe(true)
    await expect.poll(() => server.connections, soon).toBe(0)
  })
})

test('a machine is asked whether it is there when it says nothing, and not when it speaks', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    let speak = () => {}
    const server = await site.liar({
      answer: proved(channel => {
        speak = () => void channel.write('x')
        speak()
      }),
    })
    const machine = await site.connect(server, { keepaliveMs: 10_000 })
    const channel = await machine.channel('speak')
    for (let word = 0; word < 5; word += 1) {
      await once(channel, 'data')
      vi.advanceTimersByTime(9_000)
      speak()
    }
    await once(channel, 'data')
    expect(server.asked).not.toContain(keepalive)
    vi.advanceTimersByTime(10_000)
    await expect.poll(() => server.asked, soon).toContain(keepalive)
  } finally {
    vi.useRealTimers()
  }
})

test('a machine that says nothing any more is unreachable after two questions', async () => {
  const server = await site.sshd()
  const machine = await site.connect(server, { keepaliveMs: 30 })
  await machine.exec('true')
  server.freeze()
  await new Promise(resolve => machine.ended.addEventListener('abort', resolve))
  expect(machine.ended.reason).toBeInstanceOf(Unreachable)
  expect(machine.ended.reason.message).toMatch(/does not answer any more/)
})
