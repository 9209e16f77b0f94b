import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const program = new URL('./program.ts', import.meta.url).href
const source = `
import { runCommand, UsageError } from '${program}'
const parse = args => {
  if (args.includes('--wrong')) throw new UsageError('--wrong: what is that?')
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

test('what is not understood is answered with usage and exit code 2, all else with its own code', () => {
  expect(runWith()).toEqual({ status: 7, stdout: '', stderr: '' })
  expect(runWith('--help')).toEqual({ status: 0, stdout: 'usage: try\n', stderr: '' })
  expect(runWith('--wrong')).toEqual({ status: 2, stdout: '', stderr: '--wrong: what is that?\n\nusage: try\n' })
  expect(runWith('--broken')).toEqual({ status: 1, stdout: '', stderr: 'something broke\n' })
})
