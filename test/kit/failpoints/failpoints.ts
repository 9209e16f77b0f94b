/**
 * Only tests load this before the program (`node --import …/failpoints.ts src/main.ts serve …`). It gives failpoints
 * their effects: each pass looks at the folder of `arms.ts`.
 */
import { existsSync, linkSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFailpoint } from '../../../src/base/failpoint.ts'
import { type ArmSpec, folderVariable, goFile, type Mark, markFile, readArms, stopFirst, strikes } from './arms.ts'
import { halt } from './halt.ts'
import './skewed-clock.ts'

const folder = process.env[folderVariable]
const replica = process.env.SKYLAB_REPLICA ?? ''

/** Takes one of an arm's blows, if one is left. */
function takeBlow({ id, times }: ArmSpec, mark: Mark): boolean {
  // Linked into place, so that a reader sees only complete marks.
  const part = join(folder!, `${id}.${process.pid}.part`)
  writeFileSync(part, JSON.stringify(mark))
  try {
    for (let blow = 1; times === null || blow <= times; blow++) {
      if (tryLink(part, markFile(folder!, id, blow))) return true
    }
    return false
  } finally {
    rmSync(part)
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function strike(arm: ArmSpec, point: string): Promise<void> {
  switch (arm.effect) {
    case 'note':
      return
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      // Nothing may happen after this, though the signal takes a moment.
      return new Promise(() => {})
    case 'stop':
      process.kill(process.pid, 'SIGSTOP')
      return
    case 'hold':
      return released(arm)
    case 'spin':
      return halt(arm.ms ?? 0)
    case 'throw':
      throw new Error(`a test broke ${point}`)
  }
}

/** By file: one watch serves all that wait for a file, in one turn of the event loop. */
const releases = new Map<string, Promise<void>>()

function released({ id, group = id }: ArmSpec): Promise<void> {
  const file = goFile(folder!, group)
  const release = releases.get(file) ?? appears(file).then(() => obey(file))
  releases.set(file, release)
  return release
}

function appears(file: string): Promise<void> {
  return new Promise(resolve => {
    const look = () => {
      if (!existsSync(file)) return
      watcher.close()
      resolve()
    }
    const watcher = watch(folder!, look)
    look()
  })
}

function obey(file: string): void {
  if (readFileSync(file, 'utf8') === stopFirst) process.kill(process.pid, 'SIGSTOP')
}

if (folder !== undefined) {
  setFailpoint(async (point, user) => {
    const mark: Mark = { point, ...(user !== undefined && { user }), replica, pid: process.pid, atMs: Date.now() }
    for (const arm of readArms(folder)) {
      if (strikes(arm, mark) && takeBlow(arm, mark)) await strike(arm, point)
    }
  })
}
