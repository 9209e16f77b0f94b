/** Plays many machines in one process. Each listens on an address of its own, below 127. */

import { serveSsh } from '../../src/clouds/loopback/server.ts'
import { newKey } from '../../src/ssh/new-key.ts'
import { answerQuestions } from '../measure/worker.ts'
import { Played, type PlayedOptions } from './played.ts'

export type Question =
  | { readonly ask: 'listen'; readonly authorizedKey: string; readonly machines: readonly PlayedOptions[] }
  /** When each machine obeyed its first keeper after that time. */
  | { readonly ask: 'hellos'; readonly sinceMs: number }
  /** When a container was to be started; undefined before. */
  | { readonly ask: 'start'; readonly uuid: string }

export interface Listening {
  readonly address: string
  readonly hostKey: string
}

const all: Played[] = []

answerQuestions<Question>(async question => {
  if (question.ask === 'listen') return listen(question.authorizedKey, question.machines)
  if (question.ask === 'start') return all.map(each => each.starts.get(question.uuid)).find(at => at !== undefined)
  return all.flatMap(({ hellos }) => hellos.find(at => at > question.sinceMs) ?? [])
})

async function listen(authorizedKey: string, machines: readonly PlayedOptions[]): Promise<Listening[]> {
  const listening: Listening[] = []
  for (const options of machines) {
    const machine = new Played(options)
    const hostKey = newKey()
    const host = `127.20.${Math.floor(all.length / 250)}.${(all.length % 250) + 1}`
    all.push(machine)
    const { port } = await serveSsh({
      ...{ authorizedKey, host, hostKey: hostKey.private },
      run: (channel, command) => machine.run(channel, command),
    })
    listening.push({ address: `${host}:${port}`, hostKey: hostKey.public.split(' ').slice(0, 2).join(' ') })
  }
  return listening
}
