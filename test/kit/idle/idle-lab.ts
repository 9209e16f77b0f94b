/** Labs of a fleet whose pods KWOK plays, each with a pretended Jupyter server at the address of its pod. */
import { afterAll } from 'vitest'
import type { Client } from '../fleet/client.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { type Behaviour, FakeJupyter } from './fake-jupyter.ts'

export interface IdleLab {
  readonly user: Client
  readonly username: string
  /** Of its creation. */
  readonly op: number
  readonly fake: FakeJupyter
}

export interface IdleLabOptions {
  /** Default: a fresh one. */
  readonly user?: Client
  /** From before the first look on. Default: as the server was, which has neither kernels nor terminals at first. */
  readonly behaviour?: Behaviour
  readonly env?: Readonly<Record<string, string>>
  /** Default: one of its own. */
  readonly fake?: FakeJupyter
}

export class IdleLabs {
  readonly #fleet: Fleet
  readonly #fakes: FakeJupyter[] = []

  constructor(fleet: Fleet) {
    this.#fleet = fleet
  }

  /** Makes a lab. Its pod has the address of the server before anybody looks at it. */
  async make(options: IdleLabOptions = {}): Promise<IdleLab> {
    const { user = this.#fleet.user(), behaviour, env, fake = await this.#start() } = options
    const { username } = user
    if (behaviour !== undefined) fake.behave(behaviour)
    // Only labs that run are looked at.
    const held = this.#fleet.arm('lab.create.finish.before-commit', 'hold', { user: username })
    const { status } = await user.create(undefined, { ...(env && { env }) })
    if (status !== 303) throw new Error(`the lab of ${username} was answered ${status}`)
    await held.landed()
    await this.place(username, fake)
    held.release()
    const { op, outcome, errors } = await user.follow()
    if (outcome !== 'complete') throw new Error(`the lab of ${username}: ${outcome}, ${errors.join()}`)
    return { user, username, op, fake }
  }

  /** Gives the pod of a user the address of a server, as a kubelet reports it. */
  async place(username: string, { address }: FakeJupyter): Promise<void> {
    await this.#fleet.world.setPodStatus(username, { podIP: address, podIPs: [{ ip: address }] })
  }

  /** Ends the servers that were not given. The labs stay. */
  async stop(): Promise<void> {
    await Promise.all(this.#fakes.splice(0).map(fake => fake.stop()))
  }

  async #start(): Promise<FakeJupyter> {
    const fake = await FakeJupyter.start()
    this.#fakes.push(fake)
    return fake
  }
}

/** For all tests of a file. Their servers end with it. */
export function useIdleLabs(fleet: () => Fleet): () => IdleLabs {
  let labs: IdleLabs | undefined
  afterAll(() => labs?.stop())
  return () => {
    labs ??= new IdleLabs(fleet())
    return labs
  }
}
