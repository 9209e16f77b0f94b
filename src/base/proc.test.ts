import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { lookTwice, statOf, whoseIs } from './proc.ts'

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

const whose = (pid: number, of = entry) => {
  const stat = statOf(pid)
  return stat ? whoseIs(pid, of, stat) : 'none'
}

describe('whoseIs', () => {
  it('tells a process that has the entry from others', async () => {
    expect(whose(await started(['cat'], { SKYLAB_PROC_TEST: 'ours' }), entry)).toBe('ours')
    expect(whose(await started(['cat'], { SKYLAB_PROC_TEST: 'ours2', X: entry }), entry)).toBe('other')
  })

  it('is other when a program has an empty environment', async () => {
    const pid = await started(['env', '-i', '/bin/cat'], {})
    await expect.poll(() => whose(pid, `PATH=${process.env.PATH}`)).toBe('other')
  })

  it('is other when there is no process, or the kernel has it', () => {
    expect(whose(2 ** 22)).toBe('none')
    expect(whose(2)).toBe('other')
  })

  it.each([
    ['', []],
    // The next program then has its environment at the same address.
    [' at addresses that do not change', ['setarch', '-R']],
  ])('is never other when a process with the entry starts programs without an end%s', async (_, before) => {
    // Each program is started by the one before, in the same process.
    const again = 'exec /bin/sh -c "$SCRIPT"'
    const pid = await started([...before, '/bin/sh', '-c', again], { SKYLAB_PROC_TEST: 'ours', SCRIPT: again })
    const seen = { ours: 0, other: 0, starting: 0, none: 0 }
    for (let looks = 0; looks < 500_000 && seen.starting < 20 && seen.other === 0; looks++) seen[whose(pid)]++
    expect(seen).toMatchObject({ other: 0, starting: 20, none: 0 })
    expect(statOf(pid)).toMatchObject({ parent: process.pid })
  })
})

describe('statOf', () => {
  it('has one that has not ended when its first thread alone has', async () => {
    const program =
      'import threading,time,ctypes; threading.Thread(target=lambda: time.sleep(60)).start(); ctypes.CDLL(None).pthread_exit(None)'
    const pid = await started(['python3', '-c', program], {})
    await expect.poll(() => statOf(pid)?.isProgram, { timeout: 20_000 }).toBe(false)
    expect(statOf(pid)).toMatchObject({ hasEnded: false, parent: process.pid })
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
