/** A connection to an SSH server, logged in. It proves nothing of the machine yet. */
import { connect as connectSocket, type Socket } from 'node:net'
import ssh2 from 'ssh2'
import { type Clock, systemClock } from '../base/clock.ts'
import { Deadline, unlessAborted } from '../base/deadline.ts'
import { cleanWords } from '../base/text.ts'
import { CommandChannel } from './channel.ts'
import { Refused, Unreachable } from './errors.ts'
import { LoginKey } from './key.ts'
import type { PrivateKey } from './machine.ts'

/** Algorithms of OpenSSH since 7.4, without SHA-1, CBC, DSA, and groups of fewer than 2048 bits. */
const algorithms: ssh2.Algorithms = {
  kex: [
    ...(['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256', 'ecdh-sha2-nistp384'] as const),
    ...(['ecdh-sha2-nistp521', 'diffie-hellman-group16-sha512', 'diffie-hellman-group14-sha256'] as const),
  ],
  serverHostKey: [
    ...(['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'] as const),
    ...(['rsa-sha2-512', 'rsa-sha2-256'] as const),
  ],
  // AES-GCM is OpenSSL's: ssh2 computes ChaCha20 in JavaScript without its native part.
  cipher: [
    ...(['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes192-ctr', 'aes256-ctr'] as const),
  ],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
}

/** Longer than the usual interval of beats. */
const keepaliveMs = 15_000
const keepaliveMisses = 2

export interface Login {
  readonly address: string
  readonly user: string
  readonly key: PrivateKey
  readonly agent: string
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly clock?: Clock | undefined
  readonly keepaliveMs?: number | undefined
}

export class Connection {
  /** Of the machine, as `known_hosts` has it: `ssh-ed25519 AAAA…`. */
  readonly hostKey: string
  /** Fires when the connection has ended; the reason is an `Unreachable`. */
  readonly ended: AbortSignal
  readonly clock: Clock
  readonly #client: ssh2.Client
  readonly #socket: Socket
  readonly #end: (reason: Error) => void
  #secret = ''

  private constructor(client: ssh2.Client, socket: Socket, clock: Clock, life: Life) {
    this.#client = client
    this.#socket = socket
    this.clock = clock
    this.hostKey = life.hostKey
    this.ended = life.ended.signal
    this.#end = life.end
  }

  /** Connects and logs in. Any host key will do. @throws {Unreachable | Refused}; the signal's reason */
  static async open(login: Login): Promise<Connection> {
    const { clock = systemClock, signal, timeoutMs, address } = login
    signal.throwIfAborted()
    const socket = connectSocket({ ...endOf(address), noDelay: true })
    const client = new ssh2.Client()
    const life = lifeOf(client, socket, address)
    const deadline = new Deadline(clock, timeoutMs, signal)
    try {
      await unlessAborted(unlessAborted(logIn(client, socket, life, login), life.ended.signal), deadline.signal)
    } catch (error) {
      life.end(error as Error)
      if (signal.aborted) throw signal.reason
      if (deadline.signal.aborted) throw new Unreachable(`${address} gave no login within ${timeoutMs / 1000} s`)
      throw error
    } finally {
      deadline.release()
    }
    const abort = () => life.end(new Unreachable('the connection was given up'))
    signal.addEventListener('abort', abort, { once: true })
    life.ended.signal.addEventListener('abort', () => signal.removeEventListener('abort', abort), { once: true })
    return new Connection(client, socket, clock, life)
  }

  /** Starts a command by the machine's shell. @throws {Unreachable | Refused}; the signal's reason */
  async start(command: string, signal?: AbortSignal): Promise<CommandChannel> {
    this.ended.throwIfAborted()
    signal?.throwIfAborted()
    const opened = new Promise<CommandChannel>((resolve, reject) => {
      const take = (error: Error | undefined, raw: ssh2.ClientChannel) => {
        if (error) reject(new Refused(`the machine starts no command: ${cleanWords(error.message)}`))
        // The caller has left.
        else if (signal?.aborted) raw.close()
        else resolve(new CommandChannel(raw, this.#socket, this.ended, text => this.hidden(text)))
      }
      try {
        this.#client.exec(command, take)
      } catch (error) {
        // The other side has ended the connection, and `ended` has not fired yet.
        reject(new Unreachable(`the machine takes no command: ${cleanWords((error as Error).message)}`))
      }
    })
    return unlessAborted(unlessAborted(opened, this.ended), signal)
  }

  /** No words of the machine show this from now on. */
  hide(secret: string): void {
    this.#secret = secret
  }

  hidden(text: string): string {
    return this.#secret ? text.replaceAll(this.#secret, '***') : text
  }

  close(reason: Error = new Unreachable('the connection was closed')): void {
    this.#end(reason)
  }
}

interface Life {
  hostKey: string
  readonly ended: AbortController
  readonly end: (reason: Error) => void
}

/** The first reason to end is the one that counts. The socket is closed at once, whatever the other side does. */
function lifeOf(client: ssh2.Client, socket: Socket, address: string): Life {
  const ended = new AbortController()
  const end = (reason: Error) => {
    if (ended.signal.aborted) return
    ended.abort(reason)
    socket.destroy()
  }
  client.on('error', error => end(errorOf(error, address)))
  client.on('close', () => end(new Unreachable(`${address} closed the connection`)))
  socket.on('error', error => end(errorOf(error, address)))
  socket.on('close', () => end(new Unreachable(`${address} closed the connection`)))
  return { hostKey: '', ended, end }
}

function logIn(client: ssh2.Client, socket: Socket, life: Life, login: Login): Promise<void> {
  const { user, key, agent } = login
  // One key, and no other way to log in.
  const method: ssh2.PublicKeyAuthMethod = { type: 'publickey', username: user, key: LoginKey.forLogin(key) }
  return new Promise((resolve, reject) => {
    client.once('ready', () => {
      socket.on('data', () => heard(client))
      resolve()
    })
    socket.once('connect', () => {
      try {
        client.connect({
          sock: socket,
          ident: identOf(agent),
          username: user,
          authHandler: [method],
          hostVerifier: (shown: Buffer) => {
            // Keys are exchanged again during long connections; who was asked first is who was proved.
            const hostKey = hostKeyOf(shown)
            life.hostKey ||= hostKey
            return life.hostKey === hostKey
          },
          algorithms,
          keepaliveInterval: login.keepaliveMs ?? keepaliveMs,
          keepaliveCountMax: keepaliveMisses,
          // The deadline of the caller ends it.
          readyTimeout: 0,
        })
      } catch (error) {
        reject(error)
      }
    })
  })
}

/**
 * A machine that speaks need not be asked whether it is there: each question and its answer cost as much as two beats. ssh2 begins
 * its interval anew for some packets alone, and has no other name for that.
 */
function heard(client: ssh2.Client): void {
  ;(client as unknown as { readonly _resetKA?: () => void })._resetKA?.()
}

/** The server logs it. Blanks begin a comment there; no other byte may break the line. */
const identOf = (agent: string) => `Skylab ${agent.replace(/[^\x21-\x7e]+/g, '_').slice(0, 200)}`

function hostKeyOf(key: Buffer): string {
  const length = key.length >= 4 ? key.readUInt32BE(0) : 0
  return `${key.toString('latin1', 4, 4 + Math.min(length, 64))} ${key.toString('base64')}`
}

function errorOf(error: Error & { level?: string; code?: unknown }, address: string): Unreachable | Refused {
  const words = cleanWords(error.message)
  if (error.level === 'client-authentication') return new Refused(`${address} refused our key: ${words}`)
  if (error.level === 'handshake') return new Refused(`${address} and we have no algorithm in common: ${words}`)
  if (error.level === 'client-timeout') return new Unreachable(`${address} does not answer any more`)
  return new Unreachable(`${address}: ${words}`)
}

function endOf(address: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^\[?([^[\]]+?)\]?:(\d{1,5})$/.exec(address) ?? []
  if (!host || Number(port) > 65_535) throw new Unreachable(`${cleanWords(address)} is no address`)
  return { host, port: Number(port) }
}
