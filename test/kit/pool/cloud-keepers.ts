/** Keepers of machines of a cloud with faults: they make, ask, run nothing long, and end, as the record says. */
import type { CloudCall, Driver } from '../../../src/clouds/driver.ts'
import { IntentOver, Unanswered } from '../../../src/clouds/errors.ts'
import type { ContainerBrief, MachineBrief } from '../../../src/dispatch/container.ts'
import type { Tags } from '../../../src/pool/tagging.ts'
import type { Ownership } from '../../../src/store/owners.ts'
import type { Dispatch } from '../dispatch/store.ts'

export interface CloudKeepersOptions {
  readonly dispatch: Dispatch
  readonly driver: Driver
  readonly tagsOf: (name: string) => Tags
}

const call: CloudCall = { signal: new AbortController().signal, agent: 'keeper' }

export class CloudKeepers {
  readonly #options: CloudKeepersOptions
  readonly #own = new Map<string, Ownership>()
  readonly starts: string[] = []

  constructor(options: CloudKeepersOptions) {
    this.#options = options
  }

  /** One look at every machine. What the cloud does not answer is tried again in the next one. */
  async step(): Promise<void> {
    for (const brief of await this.#options.dispatch.machines.list()) {
      await this.#keep(brief).catch(error => {
        if (!(error instanceof Unanswered)) throw error
      })
    }
  }

  /** Redis is another one: nobody owns anything there. */
  forget(): void {
    this.#own.clear()
  }

  async #keep(brief: MachineBrief): Promise<void> {
    const { dispatch, driver } = this.#options
    const { name, state, ending, instance, containers } = brief
    const by = this.#own.get(name) ?? (await dispatch.own(name))
    this.#own.set(name, by)
    if (ending !== '') return this.#end(by, instance)
    if (instance === '') return this.#make(by, brief)
    if (state === 'booting' || state === 'unknown') {
      const found = await driver.find(instance, call)
      if (found === 'unknown') return
      await dispatch.keeping.keep(by, { state: 'idle', probed: true, asked: true })
    } else for (const each of containers) await this.#run(by, each)
  }

  /** A token that is not honoured makes a second machine here, whenever an answer was lost. */
  async #make(by: Ownership, { providerType }: MachineBrief): Promise<void> {
    const { dispatch, driver, tagsOf } = this.#options
    const intent = { token: by.name, providerType, image: '', tags: tagsOf(by.name), initCommand: '', publicKey: '' }
    const wish = { ...intent, addedScratchBytes: 0, preemptible: false }
    try {
      const prepared = (await driver.prepare?.(wish, call)) ?? []
      const made = await driver.create(wish, prepared, call)
      await dispatch.keeping.keep(by, { instance: made.id, address: made.address ?? '', state: 'booting' })
    } catch (error) {
      if (!(error instanceof IntentOver)) throw error
      await dispatch.keeping.keep(by, { ending: error.message })
    }
  }

  async #run(by: Ownership, { uuid, run }: ContainerBrief): Promise<void> {
    const { keeping } = this.#options.dispatch
    if (run > 0) {
      await keeping.tell(by, uuid, run, { what: 'ended', atMs: 0, exitCode: 0 })
      return
    }
    const sent = await keeping.send(by, uuid)
    if (sent.answer !== 'send') return
    this.starts.push(uuid)
    await keeping.tell(by, uuid, sent.run, { what: 'running', atMs: 0, gatewayAddress: '' })
  }

  async #end(by: Ownership, instance: string): Promise<void> {
    const { dispatch, driver } = this.#options
    if (instance !== '') {
      const found = await driver.find(instance, call)
      if (found === 'unknown') return
      if (found.state !== 'gone') return driver.destroy(instance, call)
    }
    await dispatch.keeping.gone(by)
    await dispatch.owners.finish(by, 0, [], 'gone', {})
  }
}
