/** The five people of the demo of idleness, and what each of their labs does. */
import type { Jupyter } from '../../test/kit/idle/jupyter.ts'
import { type DemoUsers, makeToken } from '../stack/config.ts'
import type { ActivityClient } from './client.ts'

/** How a person's lab is left alone. */
export interface Person {
  readonly name: string
  /** For the table: what the lab does meanwhile. */
  readonly does: string
  /** Whether the lab must be stopped in the end. */
  readonly isStopped: boolean
  /** Whether it must be stopped because nobody uses it. */
  readonly isIdle: boolean
  leave(using: Using): Promise<void>
}

export interface Using {
  readonly jupyter: Jupyter
  readonly activity: ActivityClient
  /** Sets the annotation of Kubeflow on the pod of this person's lab. */
  readonly stamp: () => Promise<void>
}

const runCell = async ({ jupyter }: Using) => {
  const kernel = await jupyter.startKernel()
  await jupyter.run(kernel, '1 + 1')
}

export const people: readonly Person[] = [
  { name: 'ada', does: 'ran a cell, and went home', isStopped: true, isIdle: true, leave: runCell },
  {
    name: 'grace',
    does: 'sleeps in a cell for an hour, with the browser closed',
    isStopped: false,
    isIdle: false,
    leave: async ({ jupyter }) => {
      const kernel = await jupyter.startKernel()
      await jupyter.begin(kernel, 'import time; time.sleep(3600)')
    },
  },
  {
    name: 'max',
    does: 'prints the time in a terminal',
    isStopped: false,
    isIdle: false,
    leave: async ({ jupyter }) => {
      const terminal = await jupyter.openTerminal()
      await jupyter.type(terminal, 'while sleep 2; do echo it is $((20 + 6)) "$(date)"; done', 'it is 26')
    },
  },
  {
    name: 'sue',
    does: 'asked to be kept for ten minutes',
    isStopped: false,
    isIdle: false,
    leave: async using => {
      await runCell(using)
      await using.activity.keepAlive('sue', 600)
    },
  },
  {
    name: 'uma',
    does: 'was stopped by kubectl annotate',
    isStopped: true,
    isIdle: false,
    leave: async using => {
      await runCell(using)
      await using.stamp()
    },
  },
]

const firstUid = 4_100_000

/** Accounts for those of them that no demo has by itself. */
export const accounts = (): DemoUsers =>
  Object.fromEntries(
    people.map(({ name }, index) => [
      name,
      { token: makeToken(name), scopes: ['exec:notebook'], uid: firstUid + index },
    ]),
  )
