import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Shell } from './shell.ts'

const limitMs = 20_000
/** Limit of a test: starting a process takes long on a busy machine. */
const patientMs = 60_000

function startShell(): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'shell-'))
  const shell = new Shell({ cwd: folder, env: { PATH: process.env.PATH }, folder })
  onTestFinished(() => {
    shell.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return shell
}

test(
  'Shell keeps variables and the folder from one command to the next',
  async () => {
    const shell = startShell()
    expect((await shell.run('mkdir sub && cd sub; word=one', limitMs)).code).toBe(0)
    const { code, output } = await shell.run('echo "$word" >&2; basename "$PWD"', limitMs)
    expect([code, output]).toEqual([0, 'one\nsub\n'])
  },
  patientMs,
)

test(
  'Shell returns the code of a command, even of the first in a pipe',
  async () => {
    const shell = startShell()
    expect((await shell.run('exit_code() { return 3; }; exit_code', limitMs)).code).toBe(3)
    expect((await shell.run('false | cat', limitMs)).code).toBe(1)
  },
  patientMs,
)

test(
  'Shell gives commands no input',
  async () => {
    expect((await startShell().run('cat', limitMs)).code).toBe(0)
  },
  patientMs,
)

test(
  'Shell returns null and the output when a command ends the shell',
  async () => {
    const { code, output } = await startShell().run('echo before; echo "$nothing"', limitMs)
    expect(code).toBeNull()
    expect(output).toMatch(/^before\n.*nothing: unbound variable/s)
  },
  patientMs,
)

test(
  'Shell ends a command that takes too long',
  async () => {
    expect((await startShell().run('sleep 600', 100)).code).toBeNull()
  },
  patientMs,
)

test(
  'Shell counts a command in the background as started when it has printed something',
  async () => {
    const shell = startShell()
    const { code, output } = await shell.run('(sleep 0.2; echo begun; sleep 600) &', limitMs)
    expect([code, output]).toEqual([0, 'begun\n'])
    expect((await shell.run('kill $!', limitMs)).code).toBe(0)
  },
  patientMs,
)
