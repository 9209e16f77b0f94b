/** Sends one request to EC2, once: callers decide about another attempt. */
import { readFile } from 'node:fs/promises'
import {
  type $Command,
  EC2Client,
  type EC2ClientConfig,
  type EC2ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-ec2'
import type { Clock } from '../../base/clock.ts'
import { Deadline } from '../../base/deadline.ts'
import type { Ec2Parameters } from '../../config/dispatch-ec2.ts'
import type { CloudCall } from '../driver.ts'
import { RateLimited } from '../errors.ts'
import { type Asked, meaningOf } from './answers.ts'
import { Throttle } from './throttle.ts'

type Command<I extends ServiceInputTypes, O extends ServiceOutputTypes> = $Command<
  I,
  O,
  EC2ClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes
>

export interface SenderOptions {
  readonly parameters: Ec2Parameters
  readonly clock: Clock
  /** Limit of a request, with its connection and its credentials. */
  readonly timeoutMs: number
}

/** A request, and the facts about it. */
export interface Sending extends Omit<Asked, 'throttled'> {
  readonly call: CloudCall
  /** It changes something: it passes the failpoints, and needs the lease. */
  readonly writes?: boolean
  /** EC2 counts the rates of creations and of other calls apart. */
  readonly creates?: boolean
}

/** Thrown by the caller's own check or failpoint, and to be thrown on as it is. */
interface Refusal {
  readonly reason: unknown
}

export class Sender {
  readonly #client: EC2Client
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #throttles = { creates: new Throttle(), others: new Throttle() }

  constructor({ parameters, clock, timeoutMs }: SenderOptions) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#client = new EC2Client({
      region: parameters.Region,
      ...(parameters.Endpoint !== undefined && { endpoint: parameters.Endpoint }),
      ...credentialsOf(parameters, clock),
      maxAttempts: 1,
      logger: silent,
    })
  }

  /**
   * @throws the reason of the call's signal, or what its check threw, as they are
   * @throws an error of `errors.ts` otherwise
   */
  async send<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
    command: Command<I, O>,
    { call, writes = false, creates = false, ...about }: Sending,
  ): Promise<O> {
    call.signal.throwIfAborted()
    const throttle = creates ? this.#throttles.creates : this.#throttles.others
    const sentMs = this.#clock.monotonicMs()
    const pauseMs = throttle.pauseMs(sentMs)
    // Each refused call would prolong the pause. The end of a machine is asked for in any case: it costs until then.
    if (creates && pauseMs > 0)
      throw new RateLimited('EC2 wants a slower pace of creations', this.#clock.wallMs() + pauseMs)
    const deadline = new Deadline(this.#clock, this.#timeoutMs, call.signal)
    const refusal = watch(command, call, writes)
    try {
      const answer = await this.#client.send(command, { abortSignal: deadline.signal })
      throttle.answered()
      return answer
    } catch (error) {
      const refused = refusal()
      if (refused) throw refused.reason
      call.signal.throwIfAborted()
      const reason = deadline.signal.aborted ? deadline.signal.reason : error
      throw this.#meaning(reason, { ...about, throttled: () => this.#refused(throttle, sentMs) }, throttle)
    } finally {
      deadline.release()
    }
  }

  #refused(throttle: Throttle, sentMs: number): number {
    return this.#clock.wallMs() + throttle.refused(sentMs, this.#clock.monotonicMs())
  }

  #meaning(error: unknown, about: Asked, throttle: Throttle): Error {
    const meaning = meaningOf(error, about)
    // Another answer says that calls are welcome again; none says nothing.
    if (meaning.name !== 'RateLimited' && meaning.name !== 'Unanswered') throttle.answered()
    return meaning
  }

  close(): void {
    this.#client.destroy()
  }
}

/** The client would print whole requests, with secrets of machines. */
const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }

/** The client's own chain of credentials, unless the configuration has some. */
function credentialsOf(parameters: Ec2Parameters, clock: Clock): Pick<EC2ClientConfig, 'credentials'> {
  const { AccessKeyID: accessKeyId, SecretAccessKey: secretAccessKey, SecretAccessKeyFile: file } = parameters
  if (accessKeyId === undefined) return {}
  if (file === undefined) return { credentials: { accessKeyId, secretAccessKey: secretAccessKey! } }
  return {
    credentials: async () => ({
      accessKeyId,
      secretAccessKey: (await readFile(file, 'utf8').catch(unreadable)).trim(),
      // The client asks again five minutes before.
      expiration: new Date(clock.wallMs() + 360_000),
    }),
  }
}

/** As the client names errors of its own sources of credentials. */
function unreadable(error: Error): never {
  throw Object.assign(new Error(error.message), { name: 'CredentialsProviderError' })
}

/** Lets the call act around the request. @returns what the caller's own functions threw, if they did */
function watch<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  command: Command<I, O>,
  call: CloudCall,
  writes: boolean,
): () => Refusal | undefined {
  let refusal: Refusal | undefined
  const own = async (act: () => void | Promise<void>) => {
    try {
      await act()
    } catch (reason) {
      refusal = { reason }
      throw reason
    }
  }
  command.middlewareStack.add(
    next => args => {
      const { headers } = args.request as { headers: Record<string, string> }
      headers['user-agent'] = `skylab ${call.agent.replaceAll(/[^\x20-\x7e]/g, '?')} ${headers['user-agent'] ?? ''}`
      return next(args)
    },
    { step: 'build', priority: 'low', name: 'skylabAgent' },
  )
  command.middlewareStack.add(
    next => async args => {
      if (writes) await own(async () => call.failpoint?.('before-send'))
      // The last before the connection: credentials were fetched, and the request is signed.
      if (writes) await own(() => call.check?.())
      const result = await next(args)
      if (writes) await own(async () => call.failpoint?.('after-send'))
      return result
    },
    { step: 'deserialize', priority: 'low', name: 'skylabCheck' },
  )
  return () => refusal
}
