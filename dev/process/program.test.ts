import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const program = new URL('./program.ts', import.meta.url).href
const source = `
import { runCommand, UsageError } from '${program}'
const parse = args => {
  if (args.includes('--wrong')) throw new UsageError('--wrong: unknown')
  return args.includes('--broken')
}
await runCommand({ usage: 'usage: try\\n', parse, run: async broken => {
  if (broken) throw new Error('something broke')
  return 7
} })
`

function runWith(...args: string[]) {
  const command = ['--input-type=module', '--eval', source, '--', 'the program', ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('runCommand prints usage and exits with 2 for a usage error, and passes other exit codes on', () => {
  expect(runWith()).toEqual({ status: 7, stdout: '', stderr: '' })
  expect(runWith('--help')).toEqual({ status: 0, stdout: 'usage: try\n', stderr: '' })
  expect(runWith('--wrong')).toEqual({ status: 2, stdout: '', stderr: '--wrong: unknown\n\nusage: try\n' })
  expect(runWith('--broken')).toEqual({ status: 1, stdout: '', stderr: 'something broke\n' })
})
