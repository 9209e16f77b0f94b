import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { lookTwice, markOf, statOf } from './proc.ts'

const entry = 'SKYLAB_PROC_TEST=ours'
const children: ChildProcess[] = []

async function started(command: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['pipe', 'pipe', 'ignore'] })
  children.push(child)
  await once(child, 'spawn')
  return child.pid!
}

afterEach(async () => {
  for (const child of children.splice(0)) if (child.kill('SIGKILL')) await once(child, 'exit')
})

describe('markOf', () => {
  it('tells a process that has the entry from others', async () => {
    expect(markOf(await started(['cat'], { SKYLAB_PROC_TEST: 'ours' }), entry)).toBe('ours')
    expect(markOf(await started(['cat'], { SKYLAB_PROC_TEST: 'ours2', X: entry }), entry)).toBe('other')
  })

  it('is other when a program has an empty environment', async () => {
    const pid = await started(['env', '-i', '/bin/cat'], {})
    await expect.poll(() => markOf(pid, `PATH=${process.env.PATH}`)).toBe('other')
  })

  it('is other when there is no process, or the kernel has it', () => {
    expect(markOf(2 ** 22, entry)).toBe('other')
    expect(markOf(2, entry)).toBe('other')
  })

  it('is never other when a process with the entry starts programs without an end', async () => {
    // Each program is started by the one before, in the same process.
    const again = 'exec /bin/sh -c "$SCRIPT"'
    const pid = await started(['/bin/sh', '-c', again], { SKYLAB_PROC_TEST: 'ours', SCRIPT: again })
    const seen = { ours: 0, other: 0, starting: 0 }
    while (seen.starting < 20) {
      seen[markOf(pid, entry)]++
      if (seen.other > 0) break
    }
    expect(seen).toMatchObject({ other: 0, starting: 20 })
    expect(statOf(pid)).toMatchObject({ parent: process.pid })
  })
})

describe('lookTwice', () => {
  it('is unsure when the look that found nothing was', () => {
    const looks = [
      { found: [], isUnsure: true },
      { found: [1], isUnsure: false },
    ]
    expect(lookTwice(() => looks.shift()!)).toEqual({ found: [1], isUnsure: true })
  })
})
