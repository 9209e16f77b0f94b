import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { inTerminal, resize, terminalOf } from './terminal.ts'

const rows = 31
/** As on a busy machine: the first size takes longer to set than all others together. */
const slowFirst = `#!/bin/sh
PATH=\${PATH#*:}
[ "$4" = ${rows} ] && sleep 0.5
exec stty "$@"
`

let folder: string
let child: ChildProcessWithoutNullStreams
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terminal-'))
  writeFileSync(join(folder, 'stty'), slowFirst, { mode: 0o755 })
})
afterEach(() => {
  child.kill()
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

/** Children of this process that set a size. */
const setters = () =>
  readdirSync('/proc').filter(pid => {
    try {
      const [, comm, parent] = /^\d+ \((.*)\) \S+ (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
      return comm === 'stty' && Number(parent) === process.pid
    } catch {
      return false
    }
  }).length

test('resize leaves the last size when many are asked for at once', async () => {
  const [program, ...args] = inTerminal(['sh', '-c', 'echo rea""dy; sleep 1000'], { columns: 80, rows: 24 })
  child = spawn(program!, args)
  let said = ''
  child.stdout.on('data', chunk => {
    said += chunk
  })
  await expect.poll(() => said, { timeout: 20_000 }).toContain('ready')
  const terminal = terminalOf(child.pid!)!
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`)
  for (let i = 0; i < 5; i += 1) resize(child.pid!, { rows: rows + i, columns: 100 + i })
  await expect.poll(setters, { timeout: 20_000 }).toBe(0)
  vi.unstubAllEnvs()
  expect(execFileSync('stty', ['-F', terminal, 'size']).toString()).toBe(`${rows + 4} 104\n`)
})
